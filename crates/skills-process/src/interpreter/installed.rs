//! Programs of the versions that a version manager has installed.

use std::path::{Path, PathBuf};

use super::bounded_read::list_names;
use super::version::{highest_first, is_version};

/// Returns a program of an installed version: `VERSIONS/VERSION/PROGRAMS/NAME`, where the version
/// is the wanted one, else the highest that begins with it (`3.11` is `3.11.7`). A leading `v`
/// makes no difference. Only files are read, and no manager is started.
///
/// `wanted` can be text of anyone: `None` if it is not one plain name of a version, if no such
/// version has the program, or if what has it is a virtual environment, which contains code of its
/// own.
///
/// ```
/// use skills_process::installed_program;
///
/// # let home = tempfile::tempdir()?;
/// let versions = home.path().join("versions");
/// # std::fs::create_dir_all(versions.join("3.11.7/bin"))?;
/// # std::fs::write(versions.join("3.11.7/bin/python3"), "")?;
/// let found = installed_program(&versions, "bin", "3.11", "python3");
/// assert_eq!(found, Some(versions.join("3.11.7/bin/python3")));
/// assert_eq!(installed_program(&versions, "bin", "../versions/3.11.7", "python3"), None);
/// # Ok::<(), std::io::Error>(())
/// ```
#[must_use]
pub fn installed_program(
    versions: &Path,
    programs: &str,
    wanted: &str,
    name: &str,
) -> Option<PathBuf> {
    if !is_version(wanted) {
        return None;
    }
    let installed = highest_first(list_names(versions));
    let exact = installed.iter().filter(|version| is_same(version, wanted));
    let similar = installed
        .iter()
        .filter(|version| is_version_of(plain(version), plain(wanted)));
    exact
        .chain(similar)
        .map(|version| versions.join(version))
        .filter(|version| !version.join("pyvenv.cfg").exists())
        .map(|version| version.join(programs).join(name))
        .find(|program| program.is_file())
}

/// Returns true if a version is the wanted one, or a part of it: `3.11` means the highest `3.11.x`,
/// as it does for the managers themselves.
pub(super) fn is_version_of(version: &str, wanted: &str) -> bool {
    version
        .strip_prefix(wanted)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

fn is_same(version: &str, wanted: &str) -> bool {
    plain(version) == plain(wanted)
}

/// Node's versions begin with `v`.
fn plain(version: &str) -> &str {
    version.strip_prefix('v').unwrap_or(version)
}
