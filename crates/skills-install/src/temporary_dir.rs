//! Temporary directories that other users cannot read or write.

use std::path::Path;

use skills_store::PrivateDir;

use crate::error::InstallError;

/// Creates a directory of the user alone, which this process or a later one removes.
pub(crate) fn temporary_dir(parent: &Path) -> Result<PrivateDir, InstallError> {
    PrivateDir::create(parent, "skills-install-")
        .map_err(|error| InstallError::io("create a directory in", parent, error))
}
