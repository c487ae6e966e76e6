//! The skills that sessions have activated.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use skills_threads::lock;

use crate::virtual_files::VirtualFiles;

/// The skills that each session has activated, by directory, the latest last. Every session is
/// removed at its end.
#[derive(Debug, Default)]
pub(crate) struct ActiveSkills(Mutex<HashMap<String, Vec<PathBuf>>>);

impl ActiveSkills {
    /// Records that a session uses a skill. Without a session, nothing is recorded.
    pub(super) fn activate(&self, files: &VirtualFiles, session: Option<&str>, name: &str) {
        if let (Some(session), Some(entry)) = (session, files.find_active(name)) {
            self.add(session, entry.directory());
        }
    }

    fn add(&self, session: &str, directory: &Path) {
        let mut sessions = lock(&self.0);
        let skills = sessions.entry(session.to_owned()).or_default();
        skills.retain(|known| known != directory);
        skills.push(directory.to_owned());
    }

    pub(super) fn of_session(&self, session: &str) -> Vec<PathBuf> {
        let sessions = lock(&self.0);
        sessions.get(session).cloned().unwrap_or_default()
    }

    pub(super) fn remove(&self, session: &str) {
        let mut sessions = lock(&self.0);
        sessions.remove(session);
    }
}
