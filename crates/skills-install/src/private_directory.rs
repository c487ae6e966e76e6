//! Temporary directories that other users cannot read or write.

use std::path::Path;

use tempfile::TempDir;

use crate::error::InstallError;

/// Creates a directory of the user alone, in the given one or with the temporary files of the
/// system.
pub(crate) fn private_directory(parent: Option<&Path>) -> Result<TempDir, InstallError> {
    let mut builder = tempfile::Builder::new();
    builder.prefix("skills-install-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(std::fs::Permissions::from_mode(0o700));
    }
    let created = match parent {
        Some(parent) => builder.tempdir_in(parent),
        None => builder.tempdir(),
    };
    let shown = parent.unwrap_or(Path::new("the temporary directory"));
    created.map_err(|error| InstallError::io("create a directory in", shown, error))
}
