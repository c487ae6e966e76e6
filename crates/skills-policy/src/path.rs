//! Paths, and names of programs, as they are compared and written.

use std::path::{Component, Path, PathBuf};

use serde::Serializer;

/// Writes a path as text whatever its bytes are; a path that is no text is never granted.
pub(crate) fn serialize_lossy<S: Serializer>(
    path: &Path,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&path.to_string_lossy())
}

/// Says whether a path can be compared part by part, and be shown.
pub(crate) fn is_comparable(path: &Path) -> bool {
    path.is_absolute() && path.to_str().is_some() && !has_parent(path)
}

pub(crate) fn has_parent(path: &Path) -> bool {
    path.components().any(|part| part == Component::ParentDir)
}

/// Leaves out the `.` and the doubled `/` that comparing would trip over.
pub(crate) fn normalize(path: &Path) -> PathBuf {
    path.components().collect()
}

/// Says whether a text is the bare name of a program, and nothing that a path, a shell or a reader
/// would take for more.
pub(crate) fn is_program_name(name: &str) -> bool {
    let inside = name
        .bytes()
        .all(|b| b.is_ascii_alphanumeric() || b"._+-@".contains(&b));
    inside
        && (1..=128).contains(&name.len())
        && !name.starts_with('-')
        && name != "."
        && name != ".."
}
