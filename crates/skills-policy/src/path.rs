//! Checks of paths and program names.

use std::path::{Component, Path, PathBuf};

use serde::Serializer;

/// Returns true if two names are of one program. Default file systems of macOS and Windows find `git`
/// by `Git`, too.
pub(crate) fn is_same_program(one: &str, other: &str) -> bool {
    if cfg!(any(target_os = "macos", windows)) {
        one.eq_ignore_ascii_case(other)
    } else {
        one == other
    }
}

/// Serializes a path as text. Lossy conversion is safe here: a path that is not UTF-8 is never
/// granted.
pub(crate) fn serialize_lossy<S: Serializer>(
    path: &Path,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&path.to_string_lossy())
}

/// Returns true if a path can be compared by component and be displayed: absolute, UTF-8, without
/// `..` and null bytes, which no path has.
pub(crate) fn is_comparable(path: &Path) -> bool {
    // Without `..`, a path that starts with the components of another one is inside it.
    let has_null = path.as_os_str().as_encoded_bytes().contains(&0);
    path.is_absolute() && path.to_str().is_some() && !has_parent(path) && !has_null
}

/// Returns true if one of two paths is the other one or below it.
pub(crate) fn paths_overlap(a: &Path, b: &Path) -> bool {
    a.starts_with(b) || b.starts_with(a)
}

/// Returns true if a path contains `..`.
pub(crate) fn has_parent(path: &Path) -> bool {
    path.components().any(|part| part == Component::ParentDir)
}

/// Returns true if a part of a path contains `*`. Rules are about a path and everything below it: the
/// `*` would be a part of a name, which no file has.
pub(crate) fn is_pattern(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().contains(&b'*')
}

/// Returns the path without `.` and doubled slashes, which would break comparison by component. A
/// slash at the end stays: it says that the path is a directory.
pub(crate) fn normalize(path: &Path) -> PathBuf {
    let mut normal: PathBuf = path.components().collect();
    if path.as_os_str().as_encoded_bytes().ends_with(b"/") {
        // Adds a slash, unless there is one.
        normal.push("");
    }
    normal
}

/// Returns the path without a slash at its end, which only says what to create if it is missing.
pub(crate) fn without_final_slash(path: &Path) -> PathBuf {
    if path.as_os_str().as_encoded_bytes().ends_with(b"/") {
        path.components().collect()
    } else {
        path.to_owned()
    }
}

/// Returns true if a text is a bare program name of at most 128 bytes. Anything that a file system,
/// a shell, an option parser or a reader could interpret differently is rejected.
pub(crate) fn is_program_name(name: &str) -> bool {
    let has_valid_chars = name
        .bytes()
        .all(|b| b.is_ascii_alphanumeric() || b"._+-@".contains(&b));
    has_valid_chars
        && (1..=128).contains(&name.len())
        // `-x` would be an option of `env` and of shells.
        && !name.starts_with('-')
        && name != "."
        && name != ".."
}
