//! Generated files: what programs create in the directory of a skill without being part of it.
//!
//! Running a script, opening the directory, building a package or installing the skill creates them,
//! so they would change a digest or a list although the skill was not edited. They count in neither,
//! and a [copy](crate::SkillFiles::copy_to) does not contain them: a run of approved content cannot
//! use what the approval does not cover.

use std::ffi::OsStr;
use std::path::{Component, Path};

use cap_std::fs::FileType;

/// Directories with byte code, which Python loads in place of the source next to them.
const PYTHON_CACHE: &str = "__pycache__";
/// The directory in which tools of JavaScript keep compiled code and downloads, below
/// [`PACKAGES`].
const PACKAGE_CACHE: &str = ".cache";
const PACKAGES: &str = "node_modules";
/// Directories in the directory of a skill in which ClawHub's installer records where the skill came
/// from and when.
const INSTALL_RECORDS: [&str; 2] = [".clawhub", ".clawdhub"];
/// The file in which the file manager of macOS keeps positions of icons, in any directory.
pub const FOLDER_SETTINGS: &str = ".DS_Store";

/// Returns true if the entry `name` of `directory`, a path relative to the skill directory, is
/// generated.
///
/// Only the type that programs create is generated: a symlink or a file `__pycache__` belongs to
/// the skill. So do files `*.pyc` elsewhere, which Python executes without a source.
///
/// Generated files are in no [content digest](crate::ContentDigest) on Unix, so a program that
/// installs or signs a skill leaves them out.
///
/// ```
/// # let directory = cap_std::fs::Dir::open_ambient_dir(".", cap_std::ambient_authority())?;
/// let file_type = directory.dir_metadata()?.file_type();
/// assert!(skills_discovery::is_generated("scripts".as_ref(), "__pycache__".as_ref(), file_type));
/// # Ok::<(), std::io::Error>(())
/// ```
#[must_use]
pub fn is_generated(directory: &Path, name: &OsStr, file_type: FileType) -> bool {
    if file_type.is_dir() {
        is_generated_directory(directory, name)
    } else {
        file_type.is_file() && name == FOLDER_SETTINGS
    }
}

/// Returns true if a path relative to the skill directory leads into a generated directory, or to
/// one. Symlinks are not resolved.
///
/// ```
/// use skills_discovery::is_in_generated_directory;
///
/// assert!(is_in_generated_directory("scripts/__pycache__/run.pyc".as_ref()));
/// assert!(!is_in_generated_directory("scripts/run.pyc".as_ref()));
/// ```
#[must_use]
pub fn is_in_generated_directory(path: &Path) -> bool {
    path.ancestors().any(|ancestor| {
        matches!(
            (ancestor.parent(), ancestor.components().next_back()),
            (Some(parent), Some(Component::Normal(name))) if is_generated_directory(parent, name)
        )
    })
}

fn is_generated_directory(parent: &Path, name: &OsStr) -> bool {
    // In exactly this case: elsewhere a file system that ignores case could show two directories
    // with different content as one.
    name == PYTHON_CACHE
        || name == PACKAGE_CACHE
            && parent
                .file_name()
                .is_some_and(|directory| directory == PACKAGES)
        || parent.as_os_str().is_empty() && INSTALL_RECORDS.iter().any(|record| name == *record)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_in_generated_directories_are_recognized_by_their_names() {
        for path in [
            "__pycache__",
            "scripts/__pycache__",
            "scripts/__pycache__/a.cpython-312.pyc",
            "__pycache__/deep/er/a.py",
            "node_modules/.cache/x/y.js",
            "web/node_modules/.cache",
            ".clawhub/origin.json",
            ".clawdhub",
        ] {
            assert!(is_in_generated_directory(Path::new(path)), "{path}");
        }
        for path in [
            "",
            "SKILL.md",
            "scripts/a.pyc",
            "scripts/__PYCACHE__/a.pyc",
            "scripts/__pycache__.py",
            ".cache/x",
            "node_modules/x/.cache/y",
            "node_modules/.bin/x",
            ".DS_Store",
            "scripts/.clawhub/x",
            ".ClawHub",
        ] {
            assert!(!is_in_generated_directory(Path::new(path)), "{path}");
        }
    }
}
