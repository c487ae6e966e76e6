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
/// How deep directories may lie in it.
const MAX_DEPTH: usize = 64;

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
        let directory = match self.known(session) {
            Some(directory) => directory,
            None => {
                // What is made in vain, or not needed any more, is removed once the lock is free.
                let (directory, _gone) = self.keep(session, make()?);
                directory
            }
        };
        has_room(&directory)?;
        Ok(directory)
    }

    /// Finds the directory of a conversation, which is the one that was used last then.
    fn known(&self, session: &str) -> Option<SessionDirectory> {
        let mut sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let index = sessions.iter().position(|(known, _)| known == session)?;
        let found = sessions.remove(index);
        let directory = found.1.clone();
        sessions.push(found);
        Some(directory)
    }

    /// Keeps a directory, unless somebody was faster; returns the one that counts, and those that nobody needs any more.
    fn keep(&self, session: &str, made: SessionDirectory) -> (SessionDirectory, Vec<(String, SessionDirectory)>) {
        let mut sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, directory)) = sessions.iter().find(|(known, _)| known == session) {
            return (directory.clone(), vec![(session.to_owned(), made)]);
        }
        sessions.push((session.to_owned(), made.clone()));
        let surplus = sessions.len().saturating_sub(MAX_SESSIONS);
        (made, sessions.drain(..surplus).collect())
    }

    /// Forgets a conversation; its directory goes with the last run that uses it.
    pub(crate) fn end(&self, session: &str) {
        let gone: Vec<_> = self.0.lock().unwrap_or_else(PoisonError::into_inner).extract_if(.., |(known, _)| known == session).collect();
        drop(gone);
    }
}

/// Refuses a directory that is full; nobody else watches what many runs leave in it. What cannot be looked at may be anything.
fn has_room(directory: &SessionDirectory) -> Result<(), ToolError> {
    let (mut bytes, mut files) = (0, 0);
    let top = Dir::open_ambient_dir(directory.path(), ambient_authority());
    match top.and_then(|top| count(&top, 0, &mut bytes, &mut files)) {
        Ok(()) if bytes <= MAX_BYTES && files <= MAX_FILES => Ok(()),
        _ => {
            let error = ToolError::new(Code::TooLarge, "the private directory of this conversation is full");
            Err(error.hint("begin another conversation, which has a directory of its own"))
        }
    }
}

/// Counts what lies in a directory, one open directory for each level, and stops when it is enough.
fn count(directory: &Dir, depth: usize, bytes: &mut u64, files: &mut usize) -> std::io::Result<()> {
    if depth > MAX_DEPTH {
        return Err(std::io::Error::other("too deep"));
    }
    for entry in directory.entries()? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        *files += 1;
        *bytes += metadata.len();
        if *bytes > MAX_BYTES || *files > MAX_FILES {
            return Ok(());
        }
        if metadata.is_dir() {
            count(&entry.open_dir()?, depth + 1, bytes, files)?;
        }
    }
    Ok(())
}
