//! The source tree: test data, examples and documents.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

/// The environment variable with the directory of a copy of the source tree. `cargo xtask test` sets
/// it for users who may not be able to enter the directory of the clone.
pub const SOURCE_TREE: &str = "SKILLS_TEST_TREE";

/// Returns the root directory of the source tree, an absolute path.
///
/// It is the copy that [`SOURCE_TREE`] names, else the workspace of the cargo that runs the test. All
/// test data is found through this function. A path that the compiler wrote into a test program is
/// that of the clone that built it, which another user may not be able to enter, and which may be
/// gone, since clones can share a target directory.
///
/// ```
/// let notes = skills_test_support::source_tree().join("examples/skills");
/// assert!(notes.is_dir());
/// ```
///
/// # Panics
/// If neither cargo nor `cargo xtask test` started the test.
#[must_use]
pub fn source_tree() -> PathBuf {
    find(
        std::env::var_os(SOURCE_TREE),
        std::env::var_os("CARGO_MANIFEST_DIR"),
    )
    .unwrap()
}

fn find(copy: Option<OsString>, package: Option<OsString>) -> Result<PathBuf, String> {
    if let Some(copy) = copy {
        return Ok(copy.into());
    }
    let package = package.map(PathBuf::from).ok_or_else(|| {
        format!("cannot find the source tree: run tests with cargo, or set `{SOURCE_TREE}`")
    })?;
    package
        .ancestors()
        .find(|directory| directory.join("Cargo.lock").is_file())
        .map(Path::to_owned)
        .ok_or_else(|| {
            format!(
                "cannot find the source tree: no `Cargo.lock` above {}",
                package.display()
            )
        })
}

/// Compares a generated text with a file of the source tree.
///
/// # Panics
/// If they differ, with the command that updates the file.
#[track_caller]
pub fn assert_document(file: &str, text: &str) {
    let known = fs::read_to_string(source_tree().join(file)).unwrap_or_default();
    if known == text {
        return;
    }
    let name = Path::new(file).file_name().unwrap_or_default();
    let (_, written) = tempfile::Builder::new()
        .suffix(name)
        .tempfile()
        .unwrap()
        .keep()
        .unwrap();
    fs::write(&written, text).unwrap();
    panic!("{file} is outdated: cp {} {file}", written.display());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_replaces_the_workspace() {
        assert_eq!(
            find(Some("/copy".into()), Some("/clone/crates/a".into())),
            Ok("/copy".into())
        );
    }

    #[test]
    fn the_tree_is_found_above_a_package() {
        let clone = tempfile::tempdir().unwrap();
        let package = clone.path().join("crates/a");
        fs::create_dir_all(&package).unwrap();
        let error = find(None, Some(package.clone().into())).unwrap_err();
        assert!(error.contains("no `Cargo.lock` above"), "{error}");
        fs::write(clone.path().join("Cargo.lock"), "").unwrap();
        assert_eq!(
            find(None, Some(package.into())),
            Ok(clone.path().to_owned())
        );
    }

    #[test]
    fn a_program_without_cargo_needs_the_variable() {
        assert_eq!(
            find(None, None).unwrap_err(),
            "cannot find the source tree: run tests with cargo, or set `SKILLS_TEST_TREE`"
        );
    }

    #[test]
    #[should_panic(expected = "docs/glossary.md is outdated: cp ")]
    fn a_document_that_differs_fails() {
        let known = fs::read_to_string(source_tree().join("docs/glossary.md")).unwrap();
        assert_document("docs/glossary.md", &known);
        assert_document("docs/glossary.md", "other");
    }
}
