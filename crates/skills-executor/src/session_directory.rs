//! Temporary directories for the files of several runs.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use skills_process::SCRATCH_PREFIX;
use skills_sandbox::SandboxError;
use skills_store::PrivateDir;

use crate::RuntimeError;

/// A private temporary directory for the files of several runs. It is removed with its last handle.
///
/// The directory is initially empty, has mode 0700 and a random name, so other users cannot create
/// it first in a shared parent directory. Pass it to runs as
/// [`Workspace::Session`](crate::Workspace::Session).
#[derive(Debug, Clone)]
pub struct SessionDirectory {
    path: PathBuf,
    _scratch: Arc<PrivateDir>,
}

impl SessionDirectory {
    pub(crate) fn new(parent: &Path) -> Result<Self, RuntimeError> {
        let failed = |error| SandboxError::setup("creating a session directory", error);
        let scratch = PrivateDir::create(parent, SCRATCH_PREFIX).map_err(failed)?;
        Ok(Self {
            // Grants have canonical paths, and the parent can be a symlink, as `/tmp` is on macOS.
            path: scratch.path().canonicalize().map_err(failed)?,
            _scratch: Arc::new(scratch),
        })
    }

    /// Returns the canonical path of the directory.
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
