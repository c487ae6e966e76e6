//! Directories that a host application exposes to a model.

use std::fmt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cap_std::ambient_authority;
use cap_std::fs::Dir;

pub(crate) use skills_runtime::policy::Access;

use crate::virtual_path::invalid_part_reason;

/// Default write quota of a mount: 256 MiB.
pub(crate) const DEFAULT_QUOTA_BYTES: u64 = 256 << 20;
/// File systems of the kernel: writing changes the system, reading exposes other processes.
const KERNEL_FILE_SYSTEMS: [&str; 3] = ["/proc", "/sys", "/dev"];
/// Names that the tools use themselves.
const RESERVED_NAMES: [&str; 3] = ["skills", "workspace", "session"];
/// Names of directories at the root of a file system, which programs see there.
const SYSTEM_DIRECTORIES: [&str; 20] = [
    "bin", "boot", "dev", "etc", "home", "lib", "lib32", "lib64", "media", "mnt", "opt", "proc",
    "root", "run", "sbin", "srv", "sys", "tmp", "usr", "var",
];

/// Exposes a directory to a model under a name.
///
/// Tools reach the files as `NAME/PATH`, programs as `/NAME/PATH`. The directory is opened when the
/// tool set is built and remains the same even if another directory is moved to its path. Mounts
/// must not overlap.
///
/// ```
/// use serde_json::json;
/// use skills_tools::runtime::SkillRuntime;
/// use skills_tools::{CallContext, Mount, ToolSet};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let directory = tempfile::tempdir()?;
/// std::fs::write(directory.path().join("notes.txt"), "hello")?;
/// let tools = ToolSet::builder(SkillRuntime::builder().build())
///     .mount(Mount::read_only("data", directory.path()))
///     .build()?;
/// let context = CallContext::default();
/// let read = tools.call("skills_read", json!({"path": "data/notes.txt"}), &context).await?;
/// assert_eq!(read.structured["content"], "hello");
/// let change = json!({"path": "data/notes.txt", "content": "bye"});
/// let written = tools.call("skills_write", change, &context).await?;
/// assert_eq!(written.code(), Some("read_only"));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct Mount {
    name: String,
    directory: PathBuf,
    access: Access,
    /// Whether the host path of the directory is accepted, too.
    exposes_host_path: bool,
    quota_bytes: u64,
}

impl Mount {
    /// Creates a read-only mount. The name is a single path component, and not one that the tools
    /// or operating systems use (`skills`, `etc`, …).
    ///
    /// By default, the directory is accessible by its name only, not by its host path; the write
    /// quota of a writable mount is 256 MiB.
    pub fn read_only(name: impl Into<String>, directory: impl Into<PathBuf>) -> Self {
        Self::new(name.into(), directory.into(), Access::ReadOnly)
    }

    /// Creates a writable mount, with the defaults of [`read_only`](Self::read_only).
    pub fn writable(name: impl Into<String>, directory: impl Into<PathBuf>) -> Self {
        Self::new(name.into(), directory.into(), Access::ReadWrite)
    }

    /// Also accepts the absolute host path of the directory, so that users and models can refer to
    /// its files by the same path.
    ///
    /// Both the canonical path and the path that was given are accepted, the latter only if it is
    /// absolute.
    pub fn with_host_path(mut self) -> Self {
        self.exposes_host_path = true;
        self
    }

    /// Sets how many bytes the tools may write below the mount during the lifetime of the tool set,
    /// 256 MiB by default. Overwritten and removed bytes count, too. Programs are limited by the
    /// policy instead.
    pub fn quota_bytes(mut self, bytes: u64) -> Self {
        self.quota_bytes = bytes;
        self
    }

    fn new(name: String, directory: PathBuf, access: Access) -> Self {
        Self {
            name,
            directory,
            access,
            exposes_host_path: false,
            quota_bytes: DEFAULT_QUOTA_BYTES,
        }
    }
}

/// Error of a directory that cannot be mounted.
///
/// The name is invalid or taken, the directory cannot be opened or must not be mounted, or two
/// mounts overlap. The message names the mount and the reason and may contain host paths: it is
/// meant for the host application, not for a model.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct MountError(#[from] Repr);

#[derive(Debug, thiserror::Error)]
enum Repr {
    #[error("invalid mount name `{name}`: {reason}")]
    InvalidName { name: String, reason: &'static str },
    #[error("duplicate mount name `{name}`")]
    DuplicateName { name: String },
    #[error("cannot mount {} as `{name}`: {reason}", directory.display())]
    InvalidDirectory {
        name: String,
        directory: PathBuf,
        reason: &'static str,
    },
    #[error(
        "mounts `{name}` and `{other}` overlap, so that a file would have two names with different permissions; use separate directories"
    )]
    Nested { name: String, other: String },
    #[error("cannot open {} for mount `{name}`", directory.display())]
    Open {
        name: String,
        directory: PathBuf,
        source: std::io::Error,
    },
}

/// All mounts, opened.
#[derive(Debug, Clone, Default)]
pub(crate) struct MountTable {
    workspace: Option<OpenMount>,
    mounts: Vec<OpenMount>,
}

#[derive(Debug, Clone)]
pub(crate) struct OpenMount {
    pub(crate) name: String,
    /// Handle that was opened at the start. It refers to the same directory even if its path is
    /// replaced.
    pub(crate) directory: Arc<Dir>,
    /// The canonical host path, for sandboxes; never shown to a model.
    pub(crate) path: PathBuf,
    pub(crate) access: Access,
    pub(crate) quota: Arc<WriteQuota>,
    /// Host paths that are accepted for the mount.
    host_paths: Vec<PathBuf>,
}

/// The remaining number of bytes that may be written.
pub(crate) struct WriteQuota {
    remaining_bytes: AtomicU64,
}

impl MountTable {
    /// Opens the directories. The workspace is named `workspace`, whatever name it has.
    ///
    /// # Errors
    /// Fails if a name is reserved, duplicate or not a plain name; for `/` and directories in
    /// `/proc`, `/sys` and `/dev`; if a directory cannot be opened; and if mounts overlap.
    pub(crate) fn new(workspace: Option<Mount>, mounts: Vec<Mount>) -> Result<Self, MountError> {
        let workspace = workspace
            .map(|mount| {
                OpenMount::open(Mount {
                    // Tools and prompts name it `workspace`, so another name would not be found.
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
            table.add(OpenMount::open(mount)?)?;
        }
        Ok(table)
    }

    /// Returns the table with another workspace. The other mounts stay open and keep their quotas.
    pub(crate) fn with_workspace(&self, workspace: Mount) -> Result<Self, MountError> {
        let mut table = Self::new(Some(workspace), Vec::new())?;
        self.mounts
            .iter()
            .try_for_each(|mount| table.add(mount.clone()))?;
        Ok(table)
    }

    fn add(&mut self, mount: OpenMount) -> Result<(), MountError> {
        // With two names for one file, the stricter permissions could be bypassed through the other
        // name.
        let overlaps = |known: &&OpenMount| {
            known.path.starts_with(&mount.path) || mount.path.starts_with(&known.path)
        };
        if let Some(other) = self.all_mounts().find(overlaps) {
            return Err(Repr::Nested {
                name: mount.name,
                other: other.name.clone(),
            }
            .into());
        }
        self.mounts.push(mount);
        Ok(())
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

    /// Finds the innermost mount that contains an absolute path, and returns it with the rest of
    /// the path.
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
        // The given path of a mount can be a symlink below another mount; the longest match is
        // meant.
        found.min_by_key(|(_, rest)| rest.len())
    }

    /// Returns the names of all mounts, for error messages.
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
            exposes_host_path,
            quota_bytes,
        } = mount;
        let cannot_open = |source| Repr::Open {
            name: name.clone(),
            directory: directory.clone(),
            source,
        };
        // Resolved once at the start, so that later changes of symlinks do not move the mount.
        let path = directory.canonicalize().map_err(cannot_open)?;
        if let Some(reason) = invalid_directory_reason(&path) {
            return Err(Repr::InvalidDirectory {
                name,
                directory,
                reason,
            }
            .into());
        }
        // All file tools use this handle, whatever happens to the path.
        let handle = Dir::open_ambient_dir(&path, ambient_authority()).map_err(cannot_open)?;
        let mut host_paths = Vec::new();
        if exposes_host_path {
            host_paths.push(path.clone());
            // A relative path depends on the working directory, so only the canonical one is used.
            if directory.is_absolute() {
                host_paths.push(directory);
            }
        }
        Ok(Self {
            name,
            directory: Arc::new(handle),
            path,
            access,
            quota: Arc::new(WriteQuota::new(quota_bytes)),
            host_paths,
        })
    }
}

impl WriteQuota {
    pub(crate) fn new(bytes: u64) -> Self {
        Self {
            remaining_bytes: AtomicU64::new(bytes),
        }
    }

    /// Reserves bytes, or returns how many are left.
    pub(crate) fn reserve(&self, bytes: u64) -> Result<(), u64> {
        let updated =
            self.remaining_bytes
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |remaining| {
                    // One atomic step, so that concurrent writes cannot exceed the quota together.
                    remaining.checked_sub(bytes)
                });
        updated.map(|_| ())
    }

    /// Returns bytes that were not written.
    pub(crate) fn release(&self, bytes: u64) {
        self.remaining_bytes.fetch_add(bytes, Ordering::Relaxed);
    }
}

impl fmt::Debug for WriteQuota {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "WriteQuota({})",
            self.remaining_bytes.load(Ordering::Relaxed)
        )
    }
}

fn invalid_name_reason(name: &str) -> Option<&'static str> {
    match () {
        () if is_one_of(name, &RESERVED_NAMES) => Some("the name is reserved"),
        // Programs see mounts at the root, where such a name would hide the directory of the
        // system.
        () if is_one_of(name, &SYSTEM_DIRECTORIES) => {
            Some("operating systems have a directory of that name")
        }
        () => invalid_part_reason(name),
    }
}

fn is_one_of(name: &str, names: &[&str]) -> bool {
    names.iter().any(|known| name.eq_ignore_ascii_case(known))
}

fn invalid_directory_reason(path: &Path) -> Option<&'static str> {
    if path.parent().is_none() {
        return Some("it is the root of the file system");
    }
    KERNEL_FILE_SYSTEMS
        .iter()
        .any(|file_system| path.starts_with(file_system))
        .then_some("kernel file systems cannot be mounted")
}

/// Compares by component: `/data` is not a prefix of `/database`.
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
            // Windows prefixes and `..` never match a virtual path.
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
    fn host_paths_match_mounts_by_component() {
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
                .contains("overlap")
        );
        check("database/x", None);
        check("plain/x", None);
        assert_eq!(table.names(), ["skills", "outer", "inner", "plain"]);
    }

    #[test]
    fn a_mount_is_found_by_the_host_path_that_was_given() {
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
    fn reserved_names_and_directories_are_rejected() {
        let directory = tempfile::tempdir().unwrap();
        let error_of = |mounts: Vec<Mount>| MountTable::new(None, mounts).unwrap_err().to_string();
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
            let message = error_of(vec![Mount::read_only(name, directory.path())]);
            assert!(
                message.contains("invalid mount name"),
                "{name:?}: {message}"
            );
        }
        let twice = vec![
            Mount::read_only("a", directory.path()),
            Mount::writable("a", directory.path()),
        ];
        assert_eq!(error_of(twice), "duplicate mount name `a`");
        assert!(
            error_of(vec![Mount::read_only("all", "/")]).contains("the root of the file system")
        );
        assert!(
            error_of(vec![Mount::read_only(
                "gone",
                directory.path().join("gone")
            )])
            .starts_with("cannot open ")
        );
        if cfg!(target_os = "linux") {
            for path in ["/proc", "/proc/self", "/sys", "/dev"] {
                assert!(
                    error_of(vec![Mount::read_only("kernel", path)]).contains("cannot be mounted"),
                    "{path}"
                );
            }
        }
    }

    #[test]
    fn a_relative_directory_matches_no_absolute_path() {
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
    fn overlapping_mounts_are_rejected() {
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
        let rest = "so that a file would have two names with different permissions; use separate directories";
        let overlap =
            |second: &str, first: &str| format!("mounts `{second}` and `{first}` overlap, {rest}");
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
    fn a_quota_is_exhausted() {
        let quota = WriteQuota::new(10);
        assert_eq!(
            (quota.reserve(6), quota.reserve(5), quota.reserve(4)),
            (Ok(()), Err(4), Ok(()))
        );
        quota.release(1);
        assert_eq!(quota.reserve(1), Ok(()));
    }
}
