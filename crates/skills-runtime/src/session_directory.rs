//! A directory for the files of several runs.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use skills_sandbox::{SandboxError, ScratchDir};

use crate::{RuntimeError, SkillRuntime};

/// A private directory for the files of several runs. It is empty at first, and gone with the last
/// of its handles.
///
/// Only its owner may enter it (mode 0700), and its name is random: a name that others can foresee
/// in a directory that all may write to is theirs to take.
#[derive(Debug, Clone)]
pub struct SessionDirectory {
    path: PathBuf,
    _scratch: Arc<ScratchDir>,
}

impl SkillRuntime {
    /// Makes a directory for the files of several runs, where private scratch directories are made.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn session_directory(&self) -> Result<SessionDirectory, RuntimeError> {
        let failed = |error| SandboxError::setup("making a directory for a session", error);
        let scratch = ScratchDir::new(&self.shared.scratch).map_err(failed)?;
        Ok(SessionDirectory {
            path: scratch.path().canonicalize().map_err(failed)?,
            _scratch: Arc::new(scratch),
        })
    }
}

impl SessionDirectory {
    /// Returns its canonical path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl PartialEq for SessionDirectory {
    fn eq(&self, other: &Self) -> bool {
        self.path == other.path
    }
}

impl Eq for SessionDirectory {}
