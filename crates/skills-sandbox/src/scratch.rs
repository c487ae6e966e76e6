//! A private directory for one run.

use std::io;
use std::path::Path;

use tempfile::TempDir;

/// A directory that only one run may use; removed, with all its content, when dropped.
///
/// Its name is random and only its owner may enter it (mode 0700).
#[derive(Debug)]
pub struct Scratch(TempDir);

impl Scratch {
    /// Makes one below `parent`.
    ///
    /// # Errors
    /// When `parent` is missing, full or not writable.
    pub fn new(parent: &Path) -> io::Result<Self> {
        let mut builder = tempfile::Builder::new();
        let builder = builder.prefix("skill-");
        #[cfg(unix)]
        let builder = builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
        builder.tempdir_in(parent).map(Self)
    }

    /// Returns its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.0.path()
    }
}
