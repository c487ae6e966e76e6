//! The private directories of conversations.

use std::sync::{Mutex, PoisonError};

use skills_runtime::{SessionDirectory, SkillRuntime};

use super::output::run_error;
use crate::ToolError;
use crate::path_map::PathMap;

/// The most conversations that have a directory; of more the one that was used least lately loses
/// its own.
const MAX_SESSIONS: usize = 256;

/// The private directories of conversations, made when they are first used.
#[derive(Default)]
pub(crate) struct SessionDirectories(Mutex<Vec<(String, SessionDirectory)>>);

impl SessionDirectories {
    /// Returns the directory of a conversation, or a new one for a call that belongs to none.
    ///
    /// # Errors
    /// When one cannot be made.
    pub(crate) fn get_or_create(
        &self,
        runtime: &SkillRuntime,
        session: Option<&str>,
    ) -> Result<SessionDirectory, ToolError> {
        let make = || {
            runtime
                .session_directory()
                .map_err(|error| run_error(&error, None, &PathMap::default()))
        };
        let Some(session) = session else {
            return make();
        };
        if let Some(directory) = self.get(session) {
            return Ok(directory);
        }
        // What is made in vain, or not needed any more, is removed once the lock is free.
        let (directory, _gone) = self.insert(session, make()?);
        Ok(directory)
    }

    /// Finds the directory of a conversation, which is the one that was used last then.
    fn get(&self, session: &str) -> Option<SessionDirectory> {
        let mut sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let index = sessions.iter().position(|(known, _)| known == session)?;
        let found = sessions.remove(index);
        let directory = found.1.clone();
        sessions.push(found);
        Some(directory)
    }

    /// Keeps a directory, unless somebody was faster; returns the one that counts, and those that
    /// nobody needs any more.
    fn insert(
        &self,
        session: &str,
        made: SessionDirectory,
    ) -> (SessionDirectory, Vec<(String, SessionDirectory)>) {
        let mut sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, directory)) = sessions.iter().find(|(known, _)| known == session) {
            return (directory.clone(), vec![(session.to_owned(), made)]);
        }
        sessions.push((session.to_owned(), made.clone()));
        let surplus = sessions.len().saturating_sub(MAX_SESSIONS);
        (made, sessions.drain(..surplus).collect())
    }

    /// Forgets a conversation; its directory goes with the last run that uses it.
    pub(crate) fn remove(&self, session: &str) {
        let gone: Vec<_> = self
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .extract_if(.., |(known, _)| known == session)
            .collect();
        drop(gone);
    }
}
