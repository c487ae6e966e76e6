//! The private directories of conversations.

use std::sync::{Mutex, PoisonError};

use skills_runtime::{SessionDirectory, SkillRuntime};

use super::result::not_run;
use crate::ToolError;
use crate::shown::Shown;

/// The most conversations that have a directory; of more the one that was used least lately loses its own.
const MAX_SESSIONS: usize = 256;

/// The private directories of conversations, made when they are first used.
#[derive(Default)]
pub(crate) struct Sessions(Mutex<Vec<(String, SessionDirectory)>>);

impl Sessions {
    /// Returns the directory of a conversation.
    pub(crate) fn directory(&self, runtime: &SkillRuntime, session: &str) -> Result<SessionDirectory, ToolError> {
        let mut sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = sessions.iter().position(|(known, _)| known == session);
        let found = match known {
            Some(index) => sessions.remove(index),
            None => {
                let made = runtime.session_directory().map_err(|error| not_run(&error, None, &Shown::default()))?;
                (session.to_owned(), made)
            }
        };
        let directory = found.1.clone();
        sessions.push(found);
        if sessions.len() > MAX_SESSIONS {
            sessions.remove(0);
        }
        Ok(directory)
    }

    /// Forgets a conversation; its directory goes with the last run that uses it.
    pub(crate) fn end(&self, session: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).retain(|(known, _)| known != session);
    }
}
