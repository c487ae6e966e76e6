//! Which directories may be granted whole.

use std::path::Path;

/// Directories whose children are homes.
const PARENTS_OF_HOMES: [&str; 2] = ["/home", "/Users"];
const HOMES_OF_ROOT: [&str; 3] = ["/root", "/var/root", "/private/var/root"];
/// Directories of secrets: nothing in them is anybody's library.
const SECRET_DIRS: [&str; 6] = [
    ".aws",
    ".docker",
    ".gnupg",
    ".kube",
    ".password-store",
    ".ssh",
];
/// What homes hold and interpreters do not.
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

/// Says whether a directory, given without symlinks, may be granted with all that is in it: not
/// when it is near the top of the disk, a home, or looks like one.
pub(super) fn is_grantable(directory: &Path) -> bool {
    let is_home = directory.parent().is_some_and(|parent| {
        PARENTS_OF_HOMES
            .iter()
            .any(|homes| parent == Path::new(homes))
    });
    let is_root = HOMES_OF_ROOT
        .iter()
        .any(|home| directory == Path::new(home));
    // With a tool's prefix at `~/.local`, keyrings and mail lie beside its libraries.
    let is_secret = directory
        .iter()
        .any(|name| SECRET_DIRS.iter().any(|secret| name == *secret));
    let is_local = directory.file_name().is_none_or(|name| name == ".local");
    directory.is_absolute()
        && directory.components().count() > 2
        && !(is_home || is_root || is_secret || is_local)
        && !has_home_marker(directory)
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
    fn tops_and_homes_are_never_granted() {
        for never in [
            "/",
            "/opt",
            "/home",
            "/home/somebody",
            "/Users/somebody",
            "/root",
            "/var/root",
            "/srv/somebody/.local",
            "/home/somebody/.ssh",
            "/srv/somebody/.gnupg/x",
            "relative/a",
        ] {
            assert!(!is_grantable(Path::new(never)), "{never}");
        }
        for may in [
            "/opt/python",
            "/home/somebody/.pyenv/versions/3.11.7",
            "/root/.pyenv/versions/3.11.7",
            "/Users/somebody/project/.venv",
        ] {
            assert!(is_grantable(Path::new(may)), "{may}");
        }
    }
}
