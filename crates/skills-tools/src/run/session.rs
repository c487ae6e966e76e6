//! The private directories of conversations.

use std::sync::{Mutex, PoisonError};

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use skills_runtime::{SessionDirectory, SkillRuntime};

use super::result::not_run;
use crate::shown::Shown;
use crate::{Code, ToolError};

/// The most conversations that have a directory; of more the one that was used least lately loses its own.
const MAX_SESSIONS: usize = 256;
/// The most that may lie in a directory when a script begins, in bytes; what one run writes is bounded by the run's own limits.
const MAX_BYTES: u64 = 256 << 20;
/// The most files and directories in it.
const MAX_FILES: usize = 20_000;

/// The private directories of conversations, made when they are first used.
#[derive(Default)]
pub(crate) struct Sessions(Mutex<Vec<(String, SessionDirectory)>>);

impl Sessions {
    /// Returns the directory of a conversation, or a new one for a call that belongs to none.
    ///
    /// # Errors
    /// `too_large` when it holds too much for another run.
    pub(crate) fn directory(&self, runtime: &SkillRuntime, session: Option<&str>) -> Result<SessionDirectory, ToolError> {
        let make = || runtime.session_directory().map_err(|error| not_run(&error, None, &Shown::default()));
        let Some(session) = session else { return make() };
        let known = self.known(session);
        let directory = match known {
            Some(directory) => directory,
            None => make()?,
        };
        has_room(&directory)?;
        drop(self.keep(session, directory.clone()));
        Ok(directory)
    }

    fn known(&self, session: &str) -> Option<SessionDirectory> {
        let sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.iter().find(|(known, _)| known == session).map(|(_, directory)| directory.clone())
    }

    /// Keeps a directory as the one that was used last; returns what nobody needs any more, whose removal takes its time.
    fn keep(&self, session: &str, directory: SessionDirectory) -> Vec<(String, SessionDirectory)> {
        let mut sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut gone: Vec<_> = sessions.extract_if(.., |(known, _)| known == session).collect();
        sessions.push((session.to_owned(), directory));
        let surplus = sessions.len().saturating_sub(MAX_SESSIONS);
        gone.extend(sessions.drain(..surplus));
        gone
    }

    /// Forgets a conversation; its directory goes with the last run that uses it.
    pub(crate) fn end(&self, session: &str) {
        let gone: Vec<_> = self.0.lock().unwrap_or_else(PoisonError::into_inner).extract_if(.., |(known, _)| known == session).collect();
        drop(gone);
    }
}

/// Refuses a directory that is full; nobody else watches what many runs leave in it.
fn has_room(directory: &SessionDirectory) -> Result<(), ToolError> {
    let (mut bytes, mut files) = (0, 0);
    let top = Dir::open_ambient_dir(directory.path(), ambient_authority());
    let mut open: Vec<Dir> = top.into_iter().collect();
    while let Some(one) = open.pop() {
        for entry in one.entries().into_iter().flatten().flatten() {
            files += 1;
            if let Ok(metadata) = entry.metadata() {
                bytes += metadata.len();
                if metadata.is_dir() && files <= MAX_FILES {
                    open.extend(entry.open_dir());
                }
            }
            if bytes > MAX_BYTES || files > MAX_FILES {
                let error = ToolError::new(Code::TooLarge, "the private directory of this conversation is full");
                return Err(error.hint("run a script that removes what it left there, or begin another conversation"));
            }
        }
    }
    Ok(())
}
