//! The directories that a host lets a model see.

use std::fmt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cap_std::ambient_authority;
use cap_std::fs::Dir;

use crate::virtual_path::invalid_part_reason;

/// How much is written below a mount when nobody says otherwise: 256 MiB.
pub(crate) const DEFAULT_QUOTA_BYTES: u64 = 256 << 20;
/// What the kernel shows as files; writing there changes the machine, and reading shows other
/// processes.
const KERNEL_FILE_SYSTEMS: [&str; 3] = ["/proc", "/sys", "/dev"];
/// Names of places that the tools have.
const RESERVED_NAMES: [&str; 3] = ["skills", "workspace", "session"];
/// What systems have at the root of their files; programs see it there.
const SYSTEM_DIRECTORIES: [&str; 20] = [
    "bin", "boot", "dev", "etc", "home", "lib", "lib32", "lib64", "media", "mnt", "opt", "proc",
    "root", "run", "sbin", "srv", "sys", "tmp", "usr", "var",
];

/// A directory that a host lets a model see under a name.
#[derive(Debug, Clone)]
#[must_use]
pub struct Mount {
    name: String,
    directory: PathBuf,
    access: Access,
    host_path: HostPathVisibility,
    quota_bytes: u64,
}

/// What may be done below a mount.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Access {
    /// Reading.
    ReadOnly,
    /// Reading and writing.
    ReadWrite,
}

/// Whether the directory's own path leads to it as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum HostPathVisibility {
    Hidden,
    Visible,
}

impl Mount {
    /// Names a directory that a model may read. The name is one part of a path, and none that the
    /// tools or systems have (`skills`, `etc`, …).
    ///
    /// Defaults: only its name leads to it, not its path; of a writable one 256 MiB are written.
    pub fn read_only(name: impl Into<String>, directory: impl Into<PathBuf>) -> Self {
        Self::new(name.into(), directory.into(), Access::ReadOnly)
    }

    /// Names a directory that a model may read and write; defaults as for
    /// [`read_only`](Self::read_only).
    pub fn writable(name: impl Into<String>, directory: impl Into<PathBuf>) -> Self {
        Self::new(name.into(), directory.into(), Access::ReadWrite)
    }

    /// Lets the directory's absolute path lead to it as well, so that people and models can speak
    /// of its files by one path.
    ///
    /// That is the path without symlinks, and the one that was given when it is absolute.
    pub fn with_host_path(mut self) -> Self {
        self.host_path = HostPathVisibility::Visible;
        self
    }

    /// Sets how many bytes the tools write below it as long as they live.
    pub fn quota_bytes(mut self, bytes: u64) -> Self {
        self.quota_bytes = bytes;
        self
    }

    fn new(name: String, directory: PathBuf, access: Access) -> Self {
        Self {
            name,
            directory,
            access,
            host_path: HostPathVisibility::Hidden,
            quota_bytes: DEFAULT_QUOTA_BYTES,
        }
    }
}

/// Why a directory is not mounted.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct MountError(#[from] Repr);

#[derive(Debug, thiserror::Error)]
enum Repr {
    #[error("{name:?} cannot be the name of a mount: {reason}")]
    InvalidName { name: String, reason: &'static str },
    #[error("there are two mounts of the name {name:?}")]
    DuplicateName { name: String },
    #[error("{} cannot be the mount {name:?}: {reason}", directory.display())]
    InvalidDirectory {
        name: String,
        directory: PathBuf,
        reason: &'static str,
    },
    #[error(
        "the mounts {name:?} and {other:?} lie in each other, so that one thing would have several names and rules; keep them apart"
    )]
    Nested { name: String, other: String },
    #[error("cannot open {} for the mount {name:?}", directory.display())]
    Open {
        name: String,
        directory: PathBuf,
        source: std::io::Error,
    },
}

impl From<Access> for skills_runtime::policy::Access {
    fn from(access: Access) -> Self {
        match access {
            Access::ReadOnly => Self::ReadOnly,
            Access::ReadWrite => Self::ReadWrite,
        }
    }
}

/// The mounts, opened.
#[derive(Debug, Default)]
pub(crate) struct MountTable {
    workspace: Option<OpenMount>,
    mounts: Vec<OpenMount>,
}

/// An open mount.
#[derive(Debug, Clone)]
pub(crate) struct OpenMount {
    pub(crate) name: String,
    /// Held since the beginning: whatever is put at its path later, this stays the directory that
    /// the host meant.
    pub(crate) directory: Arc<Dir>,
    /// The canonical path, for sandboxes; no model sees it.
    pub(crate) path: PathBuf,
    pub(crate) access: Access,
    pub(crate) quota: Arc<WriteQuota>,
    /// The paths that lead to it.
    host_paths: Vec<PathBuf>,
}

/// How much may still be written.
pub(crate) struct WriteQuota {
    remaining_bytes: AtomicU64,
}

impl MountTable {
    /// Opens the directories. The workspace is called `workspace`, whatever its name is.
    ///
    /// # Errors
    /// For a name that is taken, given twice or no plain name, for `/` and what lies in `/proc`,
    /// `/sys` and `/dev`, for what cannot be opened as a directory, and for mounts that lie in each
    /// other.
    pub(crate) fn new(workspace: Option<Mount>, mounts: Vec<Mount>) -> Result<Self, MountError> {
        let workspace = workspace
            .map(|mount| {
                OpenMount::open(Mount {
                    name: "workspace".to_owned(),
                    ..mount
                })
            })
            .transpose()?;
        let mut table = Self {
            workspace,
            mounts: Vec::new(),
        };
        for mount in mounts {
            if let Some(reason) = invalid_name_reason(&mount.name) {
                return Err(Repr::InvalidName {
                    name: mount.name,
                    reason,
                }
                .into());
            }
            if table.find_by_name(&mount.name).is_some() {
                return Err(Repr::DuplicateName { name: mount.name }.into());
            }
            let mount = OpenMount::open(mount)?;
            let overlaps = |known: &&OpenMount| {
                known.path.starts_with(&mount.path) || mount.path.starts_with(&known.path)
            };
            if let Some(other) = table.all_mounts().find(overlaps) {
                return Err(Repr::Nested {
                    name: mount.name,
                    other: other.name.clone(),
                }
                .into());
            }
            table.mounts.push(mount);
        }
        Ok(table)
    }

    pub(crate) fn workspace(&self) -> Option<&OpenMount> {
        self.workspace.as_ref()
    }

    /// Returns the workspace, then the mounts.
    pub(crate) fn all_mounts(&self) -> impl Iterator<Item = &OpenMount> {
        self.workspace.iter().chain(&self.mounts)
    }

    /// Returns the mount of a name, other than the workspace.
    pub(crate) fn find_by_name(&self, name: &str) -> Option<&OpenMount> {
        self.mounts.iter().find(|mount| mount.name == name)
    }

    /// Finds the mount that an absolute path of these parts lies in, and what remains of the path
    /// below it. The innermost one counts.
    pub(crate) fn find_by_host_path<'a>(
        &self,
        parts: &'a [String],
    ) -> Option<(&OpenMount, &'a [String])> {
        let all = self.workspace.iter().chain(&self.mounts);
        let found = all.flat_map(|mount| {
            mount
                .host_paths
                .iter()
                .filter_map(move |path| Some((mount, strip_prefix(path, parts)?)))
        });
        found.min_by_key(|(_, rest)| rest.len())
    }

    /// Returns the names that lead somewhere, for errors.
    pub(crate) fn names(&self) -> Vec<&str> {
        let workspace = self.workspace.iter().map(|_| "workspace");
        workspace
            .chain(["skills"])
            .chain(self.mounts.iter().map(|mount| mount.name.as_str()))
            .collect()
    }
}

impl OpenMount {
    fn open(mount: Mount) -> Result<Self, MountError> {
        let Mount {
            name,
            directory,
            access,
            host_path: mirror,
            quota_bytes,
        } = mount;
        let path = match directory.canonicalize() {
            Ok(path) => path,
            Err(source) => {
                return Err(Repr::Open {
                    name,
                    directory,
                    source,
                }
                .into());
            }
        };
        if let Some(reason) = invalid_directory_reason(&path) {
            return Err(Repr::InvalidDirectory {
                name,
                directory,
                reason,
            }
            .into());
        }
        let handle = match Dir::open_ambient_dir(&path, ambient_authority()) {
            Ok(handle) => Arc::new(handle),
            Err(source) => {
                return Err(Repr::Open {
                    name,
                    directory,
                    source,
                }
                .into());
            }
        };
        let mirrors = match mirror {
            HostPathVisibility::Hidden => Vec::new(),
            // A relative path has another meaning in every directory.
            HostPathVisibility::Visible if !directory.is_absolute() => vec![path.clone()],
            HostPathVisibility::Visible => vec![directory, path.clone()],
        };
        Ok(Self {
            name,
            directory: handle,
            path,
            access,
            quota: Arc::new(WriteQuota::new(quota_bytes)),
            host_paths: mirrors,
        })
    }
}

impl WriteQuota {
    pub(crate) fn new(bytes: u64) -> Self {
        Self {
            remaining_bytes: AtomicU64::new(bytes),
        }
    }

    /// Takes so many bytes, or says how many are left.
    pub(crate) fn reserve(&self, bytes: u64) -> Result<(), u64> {
        let taken =
            self.remaining_bytes
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
                    left.checked_sub(bytes)
                });
        taken.map(|_| ())
    }

    /// Gives back what was not written.
    pub(crate) fn release(&self, bytes: u64) {
        self.remaining_bytes.fetch_add(bytes, Ordering::Relaxed);
    }
}

impl fmt::Debug for WriteQuota {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Quota({})", self.remaining_bytes.load(Ordering::Relaxed))
    }
}

fn invalid_name_reason(name: &str) -> Option<&'static str> {
    let is_one_of = |names: &[&str]| names.iter().any(|taken| name.eq_ignore_ascii_case(taken));
    match () {
        () if is_one_of(&RESERVED_NAMES) => Some("it is taken"),
        () if is_one_of(&SYSTEM_DIRECTORIES) => Some("systems have a directory of that name"),
        () => invalid_part_reason(name),
    }
}

fn invalid_directory_reason(path: &Path) -> Option<&'static str> {
    if path.parent().is_none() {
        return Some("it is the root of all files");
    }
    KERNEL_FILE_SYSTEMS
        .iter()
        .any(|never| path.starts_with(never))
        .then_some("what the kernel shows as files is never mounted")
}

/// Part by part: `/data` does not hold `/database`.
fn strip_prefix<'a>(path: &Path, parts: &'a [String]) -> Option<&'a [String]> {
    if !path.has_root() {
        return None;
    }
    let mut rest = parts;
    for component in path.components() {
        match component {
            Component::RootDir => {}
            Component::Normal(name) => {
                let (first, tail) = rest.split_first()?;
                rest = (name == first.as_str()).then_some(tail)?;
            }
            _ => return None,
        }
    }
    Some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str) -> Vec<String> {
        text.split('/')
            .filter(|part| !part.is_empty())
            .map(str::to_owned)
            .collect()
    }

    #[test]
    fn absolute_paths_lie_below_mirrored_mounts_part_by_part() {
        let directory = tempfile::tempdir().unwrap();
        let top = directory.path().canonicalize().unwrap();
        for name in ["data", "other", "database", "plain"] {
            std::fs::create_dir(top.join(name)).unwrap();
        }
        let mounts = vec![
            Mount::read_only("outer", top.join("data")).with_host_path(),
            Mount::writable("inner", top.join("other")).with_host_path(),
            Mount::read_only("plain", top.join("plain")),
        ];
        let table = MountTable::new(None, mounts).unwrap();
        let check = |path: &str, expected: Option<(&str, &str)>| {
            let all = parts(top.join(path).to_str().unwrap());
            let found = table
                .find_by_host_path(&all)
                .map(|(mount, rest)| (mount.name.clone(), rest.join("/")));
            assert_eq!(
                found,
                expected.map(|(name, rest)| (name.to_owned(), rest.to_owned())),
                "{path}"
            );
        };
        check("data", Some(("outer", "")));
        check("data/x/y", Some(("outer", "x/y")));
        check("other/y", Some(("inner", "y")));
        let nested = vec![
            Mount::read_only("outer", top.join("data")),
            Mount::read_only("same", top.join("data")),
        ];
        assert!(
            MountTable::new(None, nested)
                .unwrap_err()
                .to_string()
                .contains("lie in each other")
        );
        check("database/x", None);
        check("plain/x", None);
        assert_eq!(table.names(), ["skills", "outer", "inner", "plain"]);
    }

    #[test]
    fn a_mirrored_mount_is_found_by_the_path_that_the_host_gave() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("real")).unwrap();
        let link = directory.path().join("link");
        if let Err(error) =
            cap_std::fs::Dir::open_ambient_dir(directory.path(), ambient_authority())
                .unwrap()
                .symlink("real", "link")
        {
            return skills_test_support::skip(format!("no symlinks: {error}"));
        }
        let table =
            MountTable::new(None, vec![Mount::read_only("m", &link).with_host_path()]).unwrap();
        assert!(
            table
                .find_by_host_path(&parts(link.join("x").to_str().unwrap()))
                .is_some()
        );
    }

    #[test]
    fn some_names_and_directories_are_never_mounted() {
        let directory = tempfile::tempdir().unwrap();
        let refused = |mounts: Vec<Mount>| MountTable::new(None, mounts).unwrap_err().to_string();
        for name in [
            "skills",
            "workspace",
            "",
            "..",
            "a/b",
            "a\\b",
            "a\u{200b}",
            "etc",
            "session",
            "Tmp",
            "usr",
        ] {
            let message = refused(vec![Mount::read_only(name, directory.path())]);
            assert!(
                message.contains("cannot be the name of a mount"),
                "{name:?}: {message}"
            );
        }
        let twice = vec![
            Mount::read_only("a", directory.path()),
            Mount::writable("a", directory.path()),
        ];
        assert_eq!(refused(twice), "there are two mounts of the name \"a\"");
        assert!(refused(vec![Mount::read_only("all", "/")]).contains("the root of all files"));
        assert!(
            refused(vec![Mount::read_only(
                "gone",
                directory.path().join("gone")
            )])
            .starts_with("cannot open ")
        );
        if cfg!(target_os = "linux") {
            for path in ["/proc", "/proc/self", "/sys", "/dev"] {
                assert!(
                    refused(vec![Mount::read_only("kernel", path)]).contains("never mounted"),
                    "{path}"
                );
            }
        }
    }

    #[test]
    fn a_relative_directory_takes_over_no_absolute_path() {
        let table = match MountTable::new(None, vec![Mount::read_only("m", "src").with_host_path()])
        {
            Ok(table) => table,
            Err(error) => {
                return skills_test_support::skip(format!(
                    "not started in the crate's directory: {error}"
                ));
            }
        };
        assert!(table.find_by_host_path(&parts("/src/lib.rs")).is_none());
        let own = table.find_by_name("m").unwrap().path.join("lib.rs");
        assert_eq!(
            table
                .find_by_host_path(&parts(own.to_str().unwrap()))
                .map(|(_, rest)| rest.join("/")),
            Some("lib.rs".to_owned())
        );
        assert_eq!(strip_prefix(Path::new("src"), &parts("/src/lib.rs")), None);
    }

    #[test]
    fn mounts_lie_apart_from_each_other() {
        let directory = tempfile::tempdir().unwrap();
        let (outer, inner) = (directory.path().join("a"), directory.path().join("a/b"));
        std::fs::create_dir_all(&inner).unwrap();
        std::fs::create_dir(directory.path().join("ab")).unwrap();
        let says =
            |workspace: Option<Mount>, mounts: Vec<Mount>| match MountTable::new(workspace, mounts)
            {
                Ok(_) => String::new(),
                Err(error) => error.to_string(),
            };
        let rest = "so that one thing would have several names and rules; keep them apart";
        let overlap = |second: &str, first: &str| {
            format!("the mounts {second:?} and {first:?} lie in each other, {rest}")
        };
        let (read_only, writable) = (Mount::read_only("i", &inner), Mount::writable("o", &outer));
        assert_eq!(
            says(None, vec![read_only.clone(), writable.clone()]),
            overlap("o", "i")
        );
        assert_eq!(
            says(None, vec![writable.clone(), read_only.clone()]),
            overlap("i", "o")
        );
        assert_eq!(
            says(Some(writable.clone()), vec![read_only.clone()]),
            overlap("i", "workspace")
        );
        assert_eq!(
            says(None, vec![Mount::read_only("x", &outer), writable.clone()]),
            overlap("o", "x")
        );
        assert_eq!(
            says(Some(writable.clone()), vec![Mount::writable("i", &inner)]),
            overlap("i", "workspace")
        );
        assert_eq!(
            says(
                None,
                vec![
                    writable,
                    Mount::read_only("beside", directory.path().join("ab"))
                ]
            ),
            ""
        );
    }

    #[test]
    fn a_quota_is_used_up() {
        let quota = WriteQuota::new(10);
        assert_eq!(
            (quota.reserve(6), quota.reserve(5), quota.reserve(4)),
            (Ok(()), Err(4), Ok(()))
        );
        quota.release(1);
        assert_eq!(quota.reserve(1), Ok(()));
    }
}
