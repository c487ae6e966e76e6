//! Who may change a trusted file. As root, other owners are made with `chown`; an unprivileged user has
//! mode bits only.

use std::fs::{self, OpenOptions, Permissions};
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use nix::sys::stat::Mode;
use nix::unistd::{geteuid, mkfifo};
use skills_store::trusted_file::{
    Privacy, TrustError, TrustErrorKind, check_directory, open_lock, open_untrusted, open_with,
    read,
};
use tempfile::TempDir;

const MAX_BYTES: u64 = 1 << 20;
/// A user and a group without members.
const STRANGER: u32 = 54_321;

/// `DIR/config/skills/policy.toml`.
struct Config {
    directory: TempDir,
}

impl Config {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let config = Self { directory };
        fs::create_dir_all(config.path("config/skills")).unwrap();
        fs::write(config.policy(), "mode = 'ask'").unwrap();
        for (name, mode) in [("config", 0o755), ("config/skills", 0o755)] {
            config.chmod(name, mode);
        }
        config.chmod("config/skills/policy.toml", 0o644);
        config
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn policy(&self) -> PathBuf {
        self.path("config/skills/policy.toml")
    }

    fn chmod(&self, name: &str, mode: u32) {
        fs::set_permissions(self.path(name), Permissions::from_mode(mode)).unwrap();
    }

    fn error(&self, name: &str) -> TrustError {
        read(&self.path(name), MAX_BYTES, Privacy::Readable).unwrap_err()
    }

    /// Returns the message and the hint of an error, without the path of the directory.
    fn text(&self, error: &TrustError) -> String {
        let text = format!("{error}; {}", error.help().unwrap_or_default());
        let directory = self.directory.path().canonicalize().unwrap();
        text.replace(&directory.display().to_string(), "DIR")
    }
}

fn is_root() -> bool {
    geteuid().is_root()
}

fn read_policy(path: &Path) -> Result<Vec<u8>, TrustError> {
    read(path, MAX_BYTES, Privacy::Readable)
}

#[test]
fn a_file_that_only_its_user_can_change_is_read() {
    let config = Config::new();
    assert_eq!(read_policy(&config.policy()).unwrap(), b"mode = 'ask'");
    symlink("skills/policy.toml", config.path("config/relative")).unwrap();
    symlink(config.path("config"), config.path("absolute")).unwrap();
    for name in ["config/relative", "absolute/skills/../relative"] {
        assert_eq!(read_policy(&config.path(name)).unwrap(), b"mode = 'ask'");
    }
    check_directory(&config.path("absolute/skills")).unwrap();
    let missing = config.error("config/skills/none.toml");
    assert_eq!(missing.kind(), TrustErrorKind::NotFound);
    let missing = config.error("config/skills/policy.toml/none");
    assert_eq!(missing.kind(), TrustErrorKind::NotFound);
}

#[test]
fn every_directory_that_leads_to_a_file_is_checked() {
    for (name, mode) in [
        ("config/skills/policy.toml", 0o666),
        ("config/skills", 0o777),
        ("config", 0o757),
    ] {
        let config = Config::new();
        config.chmod(name, mode);
        let expected = format!(
            "cannot use `DIR/config/skills/policy.toml`: `DIR/{name}` is writable by every user (mode {mode:04o}); run `chmod o-w DIR/{name}`"
        );
        let path = config.directory.path().canonicalize().unwrap();
        let error = read_policy(&path.join("config/skills/policy.toml")).unwrap_err();
        assert_eq!(config.text(&error), expected);
        assert_eq!(error.kind(), TrustErrorKind::Untrusted);
    }
}

#[test]
fn a_link_is_checked_with_the_directories_of_its_target() {
    let config = Config::new();
    fs::create_dir(config.path("shared")).unwrap();
    fs::write(config.path("shared/policy.toml"), "mode = 'trusted'").unwrap();
    config.chmod("shared", 0o777);
    symlink(
        config.path("shared/policy.toml"),
        config.path("config/file"),
    )
    .unwrap();
    symlink("../shared", config.path("config/directory")).unwrap();
    symlink("/proc/self/root", config.path("config/root")).unwrap();
    let below_root = config.path("shared/policy.toml");
    let below_root = format!("config/root{}", below_root.display());
    for name in ["config/file", "config/directory/policy.toml", &below_root] {
        let text = config.text(&config.error(name));
        assert!(
            text.contains("shared` is writable by every user (mode 0777)"),
            "{name}: {text}"
        );
    }
    symlink("loop", config.path("config/loop")).unwrap();
    assert_eq!(config.error("config/loop").kind(), TrustErrorKind::Io);
}

#[test]
fn a_sticky_directory_only_leads_to_a_file() {
    let config = Config::new();
    config.chmod("config", 0o1777);
    read_policy(&config.policy()).unwrap();
    check_directory(&config.path("config/skills")).unwrap();
    // Others can create files in it.
    let error = check_directory(&config.path("config")).unwrap_err();
    assert!(error.to_string().contains("is writable by every user"));
    if is_root() {
        symlink("skills/policy.toml", config.path("config/link")).unwrap();
        read_policy(&config.path("config/link")).unwrap();
        std::os::unix::fs::lchown(config.path("config/link"), Some(STRANGER), None).unwrap();
        let text = config.text(&config.error("config/link"));
        assert!(text.contains("link` belongs to user 54321"), "{text}");
        // Only the owner of the directory can replace it there.
        config.chmod("config", 0o755);
        read_policy(&config.path("config/link")).unwrap();
    }
}

#[test]
fn a_group_with_members_may_not_write() {
    let config = Config::new();
    for (name, mode) in [
        ("config/skills/policy.toml", 0o664),
        ("config/skills", 0o775),
        ("config", 0o2775),
    ] {
        if is_root() {
            // That of root.
            config.chmod(name, mode);
            read_policy(&config.policy()).unwrap();
            chown(config.path(name), None, Some(STRANGER)).unwrap();
            config.chmod(name, mode);
            let text = config.text(&config.error("config/skills/policy.toml"));
            assert!(
                text.contains(&format!("is writable by group 54321 (mode {mode:04o})"))
                    && text.contains("run `chmod g-w "),
                "{text}"
            );
            chown(config.path(name), None, Some(0)).unwrap();
        }
        config.chmod(name, mode & !0o020);
        read_policy(&config.policy()).unwrap();
    }
}

#[test]
fn another_owner_is_not_trusted() {
    if !is_root() {
        // Root is.
        assert!(read_policy(Path::new("/etc/passwd")).is_ok());
        return;
    }
    for (name, help) in [
        (
            "config/skills/policy.toml",
            "run `chown 0 DIR/config/skills/policy.toml`",
        ),
        (
            "config/skills",
            "only files of root are used as root: run the command as user 54321, or set `HOME` (or `XDG_CONFIG_HOME` and `XDG_STATE_HOME`) to a directory of root",
        ),
        (
            "config",
            "only files of root are used as root: run the command as user 54321, or set `HOME` (or `XDG_CONFIG_HOME` and `XDG_STATE_HOME`) to a directory of root",
        ),
    ] {
        let config = Config::new();
        chown(config.path(name), Some(STRANGER), None).unwrap();
        let error = config.error("config/skills/policy.toml");
        let expected = format!("`DIR/{name}` belongs to user 54321; {help}");
        assert!(
            config.text(&error).ends_with(&expected),
            "{}",
            config.text(&error)
        );
        chown(config.path(name), Some(65_534), None).unwrap();
        let text = config.text(&config.error("config/skills/policy.toml"));
        assert!(
            text.contains("users that this container does not know"),
            "{text}"
        );
    }
}

/// A group that may write, as the mode shows it, can be the mask of a list.
#[cfg(target_os = "linux")]
#[test]
fn an_access_control_list_may_not_let_others_write() {
    let config = Config::new();
    let entry = |kind: u16, mode: u16, id: u32| {
        let (kind, mode) = (kind.to_le_bytes(), mode.to_le_bytes());
        [&kind[..], &mode[..], &id.to_le_bytes()[..]].concat()
    };
    let none = u32::MAX;
    let list = [
        2_u32.to_le_bytes().to_vec(),
        entry(0x01, 6, none),
        entry(0x02, 6, STRANGER),
        entry(0x04, 4, none),
        entry(0x10, 6, none),
        entry(0x20, 4, none),
    ]
    .concat();
    let flags = rustix::fs::XattrFlags::empty();
    let name = "system.posix_acl_access";
    if rustix::fs::setxattr(config.policy(), name, &list, flags).is_err() {
        eprintln!("skipped: the file system has no access control lists");
        return;
    }
    let text = config.text(&config.error("config/skills/policy.toml"));
    assert!(
        text.contains("is writable by user 54321, by an access control list (mode 0664)"),
        "{text}"
    );
}

#[test]
fn only_regular_files_are_opened_and_nothing_waits() {
    let config = Config::new();
    mkfifo(&config.path("config/fifo"), Mode::S_IRWXU).unwrap();
    let _socket = UnixListener::bind(config.path("config/socket")).unwrap();
    symlink("/dev/zero", config.path("config/device")).unwrap();
    for (name, kind) in [
        ("config/fifo", "a FIFO"),
        ("config/socket", "a socket"),
        ("config/device", "a device"),
        ("config/skills", "a directory"),
    ] {
        let path = config.path(name);
        let mut append = OpenOptions::new();
        append.create(true).append(true);
        let mut lock = OpenOptions::new();
        lock.create(true).truncate(false).write(true);
        for error in [
            config.error(name),
            open_with(&path, &mut append).unwrap_err(),
            open_with(&path, &mut lock).unwrap_err(),
            open_untrusted(&path, MAX_BYTES).unwrap_err(),
        ] {
            assert!(
                error
                    .to_string()
                    .ends_with(&format!(" is {kind}, not a regular file")),
                "{error}"
            );
            assert_eq!(error.kind(), TrustErrorKind::Invalid);
        }
    }
}

#[test]
fn a_sparse_file_is_not_read() {
    let config = Config::new();
    let file = OpenOptions::new()
        .write(true)
        .open(config.policy())
        .unwrap();
    file.set_len(32 << 30).unwrap();
    let text = config.text(&config.error("config/skills/policy.toml"));
    assert!(text.contains("is larger than 1048576 bytes"), "{text}");
    assert!(open_untrusted(&config.policy(), MAX_BYTES).is_err());
    file.set_len(MAX_BYTES).unwrap();
    assert_eq!(read_policy(&config.policy()).unwrap().len(), 1 << 20);
}

#[test]
fn a_private_file_is_read_by_its_owner_only() {
    let config = Config::new();
    for mode in [0o640, 0o604, 0o610, 0o601] {
        config.chmod("config/skills/policy.toml", mode);
        let error = read(&config.policy(), MAX_BYTES, Privacy::Private).unwrap_err();
        let text = config.text(&error);
        assert!(
            text.contains(&format!(
                "is accessible by other users (mode {mode:04o}); run `chmod 600 "
            )),
            "{text}"
        );
    }
    config.chmod("config/skills/policy.toml", 0o600);
    read(&config.policy(), MAX_BYTES, Privacy::Private).unwrap();
}

#[test]
fn a_new_file_is_private_and_is_not_created_where_others_can_write() {
    let config = Config::new();
    let create = |name: &str| {
        let mut options = OpenOptions::new();
        open_with(&config.path(name), options.create(true).append(true))
    };
    create("config/log").unwrap().write_all(b"1").unwrap();
    let mode = config.path("config/log").metadata().unwrap().permissions();
    assert_eq!(mode.mode() & 0o777, 0o600);
    symlink("target", config.path("config/dangling")).unwrap();
    create("config/dangling").unwrap();
    assert!(config.path("config/target").exists());
    config.chmod("config", 0o777);
    assert_eq!(
        create("config/other").unwrap_err().kind(),
        TrustErrorKind::Untrusted
    );
    assert!(!config.path("config/other").exists());
}

#[test]
fn a_file_that_is_locked_keeps_its_content() {
    let config = Config::new();
    let lock = config.path("config/lock");
    open_lock(&lock).unwrap().write_all(b"held").unwrap();
    drop(open_lock(&lock).unwrap());
    assert_eq!(fs::read_to_string(&lock).unwrap(), "held");
    config.chmod("config/lock", 0o666);
    let error = open_lock(&lock).unwrap_err();
    assert_eq!(error.kind(), TrustErrorKind::Untrusted);
}

#[test]
fn the_error_is_found_behind_others() {
    let config = Config::new();
    config.chmod("config", 0o777);
    let error = std::io::Error::from(config.error("config/skills/policy.toml"));
    assert_eq!(error.kind(), std::io::ErrorKind::PermissionDenied);
    let found = TrustError::find(&error).unwrap();
    assert!(found.help().unwrap().starts_with("run `chmod o-w "));
    let other = std::io::Error::other("x");
    assert!(TrustError::find(&other).is_none());
}
