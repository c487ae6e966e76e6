//! Private directories of sessions.

use std::sync::Mutex;

use skills_runtime::{SessionDirectory, SkillRuntime};
use skills_threads::lock;

use super::output::run_error;
use crate::ToolError;
use crate::path_map::PathMap;

/// Maximum number of session directories. Beyond that, the least recently used one is removed.
const MAX_SESSIONS: usize = 256;

/// The private directories of sessions, created on first use.
#[derive(Default)]
pub(crate) struct SessionDirectories(Mutex<Vec<(String, SessionDirectory)>>);

impl SessionDirectories {
    /// Returns the directory of a session, or a new one for a call without a session.
    ///
    /// # Errors
    /// Fails if the directory cannot be created.
    pub(crate) fn get_or_create(
        &self,
        runtime: &SkillRuntime,
        session: Option<&str>,
    ) -> Result<SessionDirectory, ToolError> {
        let create = || {
            runtime
                .executor()
                .session_directory()
                .map_err(|error| run_error(&error, None, &PathMap::default()))
        };
        let Some(session) = session else {
            return create();
        };
        // Created outside of the lock, which other sessions need; a lost race is resolved in
        // `insert`.
        if let Some(directory) = self.get(session) {
            return Ok(directory);
        }
        // Directories that are evicted or not needed are removed after the lock is released.
        let (directory, _evicted) = self.insert(session, create()?);
        Ok(directory)
    }

    /// Returns the directory of a session, and marks it as most recently used.
    fn get(&self, session: &str) -> Option<SessionDirectory> {
        let mut sessions = lock(&self.0);
        let index = sessions.iter().position(|(known, _)| known == session)?;
        let found = sessions.remove(index);
        let directory = found.1.clone();
        sessions.push(found);
        Some(directory)
    }

    /// Inserts a directory, unless another call inserted one first. Returns the directory in use,
    /// and the ones to remove.
    fn insert(
        &self,
        session: &str,
        created: SessionDirectory,
    ) -> (SessionDirectory, Vec<(String, SessionDirectory)>) {
        let mut sessions = lock(&self.0);
        if let Some((_, directory)) = sessions.iter().find(|(known, _)| known == session) {
            return (directory.clone(), vec![(session.to_owned(), created)]);
        }
        sessions.push((session.to_owned(), created.clone()));
        // Least recently used first: `get` moves used ones to the end.
        let surplus = sessions.len().saturating_sub(MAX_SESSIONS);
        (created, sessions.drain(..surplus).collect())
    }

    /// Ends a session. Its directory is removed with the last run that uses it.
    pub(crate) fn remove(&self, session: &str) {
        let removed: Vec<_> = lock(&self.0)
            // Collected first, since removing a directory is slow and must not hold the lock.
            .extract_if(.., |(known, _)| known == session)
            .collect();
        drop(removed);
    }
}
