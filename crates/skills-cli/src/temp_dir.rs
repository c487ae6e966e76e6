//! Selects the directory of temporary files.

use std::path::{Path, PathBuf};

use skills_store::create_private_dir;
use skills_store::trusted_file::{TrustError, check_temporary_parent};

/// The directories that are tried after the one of the environment. Files in the second one outlive
/// a restart, so it comes last.
const SHARED: [&str; 2] = ["/tmp", "/var/tmp"];

/// The parent directory of temporary files, which no other user can exchange.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TempDir {
    pub(crate) path: PathBuf,
    /// Why it is not the one of the environment.
    pub(crate) problem: Option<String>,
}

impl TempDir {
    /// Selects the first usable directory: `first` (that of the environment), `/tmp`, `/var/tmp`,
    /// or `own`, which is created. If none is usable it is `first`, so that a run fails with its
    /// name.
    pub(crate) fn select(first: PathBuf, own: Option<PathBuf>) -> Self {
        let shared = SHARED.map(PathBuf::from);
        Self::select_of(first, &shared, own)
    }

    fn select_of(first: PathBuf, shared: &[PathBuf], own: Option<PathBuf>) -> Self {
        let Err(problem) = check(&first) else {
            return Self {
                path: first,
                problem: None,
            };
        };
        let mut shared = shared.iter().cloned();
        let usable = shared.find(|path| check(path).is_ok()).or_else(|| {
            let own = own.filter(|own| create_private_dir(own).is_ok())?;
            check(&own).is_ok().then_some(own)
        });
        Self {
            problem: usable.is_some().then_some(problem),
            path: usable.unwrap_or(first),
        }
    }
}

fn check(path: &Path) -> Result<(), String> {
    // A relative one would depend on the working directory.
    if !path.is_absolute() {
        return Err(format!("`{}` is not an absolute path", path.display()));
    }
    check_temporary_parent(path).map_err(|error: TrustError| error.to_string())
}

#[cfg(all(test, unix))]
#[expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests make their own files"
)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    struct Host(tempfile::TempDir);

    impl Host {
        fn new() -> Self {
            Self(tempfile::tempdir().unwrap())
        }

        fn directory(&self, name: &str, mode: u32) -> PathBuf {
            let path = self.path(name);
            fs::create_dir_all(&path).unwrap();
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            path
        }

        fn path(&self, name: &str) -> PathBuf {
            self.0.path().canonicalize().unwrap().join(name)
        }
    }

    fn is_used(first: PathBuf) -> bool {
        let host = Host::new();
        let shared = host.directory("shared", 0o1777);
        let selected = TempDir::select_of(first.clone(), std::slice::from_ref(&shared), None);
        assert_eq!(selected.problem.is_none(), selected.path == first);
        assert!([first.clone(), shared].contains(&selected.path));
        selected.path == first
    }

    #[test]
    fn a_directory_that_another_user_can_exchange_has_no_temporary_files() {
        let host = Host::new();
        assert!(is_used(host.directory("private", 0o700)));
        assert!(is_used(host.directory("sticky", 0o1777)));
        assert!(!is_used(host.directory("open", 0o777)));
        assert!(!is_used(host.directory("open/below", 0o700)));
        assert!(!is_used(host.path("missing")));
        assert!(!is_used(PathBuf::from("relative")) && !is_used(PathBuf::new()));
        fs::write(host.path("file"), "").unwrap();
        assert!(!is_used(host.path("file")));
        // A link is followed, and its target and the directory that has it are checked.
        for (name, target) in [
            ("good", "private"),
            ("bad", "open"),
            ("dangling", "missing"),
        ] {
            symlink(host.path(target), host.path(name)).unwrap();
            assert_eq!(is_used(host.path(name)), name == "good", "{name}");
        }
        symlink(host.path("private"), host.path("open/link")).unwrap();
        assert!(!is_used(host.path("open/link")));
        if nix::unistd::geteuid().is_root() {
            assert!(
                is_used(host.directory("read-only", 0o500)),
                "root can write"
            );
            for mode in [0o700, 0o1777] {
                let other = host.directory("other", mode);
                std::os::unix::fs::chown(&other, Some(54_321), Some(54_321)).unwrap();
                assert!(!is_used(other), "{mode:o}");
            }
            let link = host.path("sticky/link");
            symlink(host.path("private"), &link).unwrap();
            std::os::unix::fs::lchown(&link, Some(54_321), Some(54_321)).unwrap();
            assert!(
                !is_used(link),
                "a link of another user in a directory of all users"
            );
        } else {
            assert!(!is_used(host.directory("read-only", 0o500)));
        }
    }

    #[test]
    fn directories_are_tried_in_order_and_the_last_one_is_created() {
        let host = Host::new();
        let (missing, own) = (host.path("missing"), host.path("cache/own"));
        let [one, two] = ["one", "two"].map(|name| host.directory(name, 0o1777));
        let select = |shared: &[PathBuf]| {
            TempDir::select_of(missing.clone(), shared, Some(own.clone())).path
        };
        assert_eq!(select(&[one.clone(), two.clone()]), one);
        assert_eq!(select(&[missing.clone(), two.clone()]), two);
        assert!(!own.exists());
        assert_eq!(select(std::slice::from_ref(&missing)), own);
        assert_eq!(
            fs::metadata(&own).unwrap().permissions().mode() & 0o777,
            0o700
        );
        let none = TempDir::select_of(missing.clone(), &[], None);
        assert_eq!((none.path, none.problem), (missing, None));
    }
}
