//! Which directories can be a workspace that the user did not name.

use std::path::Path;

/// Returns why a directory is not used unless it is named by an option, if there is a reason: a
/// client starts a server for no project in such a directory, and a user wants to give one file of it.
pub(crate) fn refusal(directory: &Path, home: Option<&Path>) -> Option<&'static str> {
    if directory.parent().is_none() {
        return Some("it is the root directory");
    }
    let Some(home) = home else {
        return Some("the home directory is not known");
    };
    let resolved = home.canonicalize().ok();
    std::iter::once(home)
        .chain(resolved.as_deref())
        .any(|home| home.starts_with(directory))
        .then_some("it is a home directory, or contains one")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_and_home_directories_are_refused() {
        let home = Some(Path::new("/home/ada"));
        for (directory, is_refused) in [
            ("/", true),
            ("/home", true),
            ("/home/ada", true),
            ("/home/ada/project", false),
            ("/home/adam", false),
            ("/srv", false),
        ] {
            let found = refusal(Path::new(directory), home).is_some();
            assert_eq!(found, is_refused, "{directory}");
        }
        assert!(refusal(Path::new("/srv"), None).is_some());
    }

    #[cfg(unix)]
    #[test]
    fn a_home_directory_behind_a_symlink_is_refused() {
        let top = tempfile::tempdir().unwrap();
        let real = top.path().canonicalize().unwrap().join("real");
        std::fs::create_dir(&real).unwrap();
        let link = top.path().join("link");
        std::os::unix::fs::symlink(&real, &link).unwrap();
        assert!(refusal(&real, Some(&link)).is_some());
    }
}
