//! Which directories may be granted as a whole.

use std::path::Path;

/// Directories that contain home directories.
const PARENTS_OF_HOMES: [&str; 2] = ["/home", "/Users"];
const HOMES_OF_ROOT: [&str; 3] = ["/root", "/var/root", "/private/var/root"];
/// Directories of secrets, which never contain libraries.
const SECRET_DIRS: [&str; 6] = [
    ".aws",
    ".docker",
    ".gnupg",
    ".kube",
    ".password-store",
    ".ssh",
];
/// Entries of home directories that interpreter prefixes do not have.
const HOME_MARKERS: [&str; 21] = [
    ".aws",
    ".bash_history",
    ".bash_profile",
    ".bashrc",
    ".cache",
    ".config",
    ".docker",
    ".git-credentials",
    ".gnupg",
    ".kube",
    ".local",
    ".netrc",
    ".npmrc",
    ".pgpass",
    ".profile",
    ".ssh",
    ".vscode",
    ".zprofile",
    ".zsh_history",
    ".zshenv",
    ".zshrc",
];

/// Returns true if a directory, given without symlinks, may be granted with everything in it. False
/// near the root of the file system, and for directories that are or look like home directories.
pub(super) fn is_grantable(directory: &Path) -> bool {
    directory.is_absolute()
        // `/` and directories directly below it contain the rest of the system.
        && directory.components().count() > 2
        && !is_home(directory)
        && !is_secret(directory)
        && !has_home_marker(directory)
}

fn is_home(directory: &Path) -> bool {
    let is = |path: Option<&Path>, other: &&str| path == Some(Path::new(other));
    let mut homes = HOMES_OF_ROOT.iter();
    let mut parents = PARENTS_OF_HOMES.iter();
    homes.any(|home| is(Some(directory), home))
        || parents.any(|parent| is(directory.parent(), parent))
}

/// Returns true for a directory of secrets, and for a tool's prefix at `~/.local`, where keyrings
/// and mail are next to its libraries.
fn is_secret(directory: &Path) -> bool {
    directory
        .iter()
        .any(|name| SECRET_DIRS.iter().any(|secret| name == *secret))
        || directory.file_name().is_none_or(|name| name == ".local")
}

fn has_home_marker(directory: &Path) -> bool {
    HOME_MARKERS
        .iter()
        .any(|name| directory.join(name).symlink_metadata().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn top_level_and_home_directories_are_never_granted() {
        for never in [
            "/",
            "/opt",
            "/home",
            "/home/alice",
            "/Users/alice",
            "/root",
            "/var/root",
            "/srv/alice/.local",
            "/home/alice/.ssh",
            "/srv/alice/.gnupg/x",
            "relative/a",
        ] {
            assert!(!is_grantable(Path::new(never)), "{never}");
        }
        for may in [
            "/opt/python",
            "/home/alice/.pyenv/versions/3.11.7",
            "/root/.pyenv/versions/3.11.7",
            "/Users/alice/project/.venv",
        ] {
            assert!(is_grantable(Path::new(may)), "{may}");
        }
    }
}
