//! Paths as they are shown, the same on all systems.

use std::path::Path;

/// Returns a path with `/` as separator on all systems.
pub(crate) fn to_slash_path(path: &Path) -> String {
    path.components()
        .map(|part| part.as_os_str().to_string_lossy())
        .collect::<Vec<_>>()
        .join("/")
}
