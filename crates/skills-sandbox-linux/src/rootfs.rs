//! The mount operations that build the root file system of a run, with the strings and numbers that
//! the kernel takes.
//!
//! The parent resolves a [`RootFsPlan`] to operations, since the child must not allocate.

use std::collections::BTreeSet;
use std::ffi::{CStr, CString, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use nix::fcntl::readlink;
use skills_sandbox::SandboxError;

use crate::granted_path::{Kind, OpenedPath};
use crate::proc_entries::{CoverFile, Covers, cover_files, covers};
use crate::rootfs_plan::{MountAttrs, RootFsEntry, RootFsPlan};

/// Names and values of mount options; a flag has an empty value.
pub(crate) type MountOptions = [(CString, CString)];

/// What all root file systems have, and the child creates before its run is planned: the root itself
/// and perhaps `/proc`.
#[derive(PartialEq, Eq)]
pub(crate) struct BaseRootFs {
    pub(crate) mount_options: Vec<(CString, CString)>,
    pub(crate) operations: Vec<MountOp>,
}

/// The root file system of a run: the operations that the child executes, in this order, in the
/// base. Paths without a leading slash are relative to the new root.
pub(crate) struct RootFs {
    pub(crate) operations: Vec<MountOp>,
}

/// One operation of the child.
#[derive(PartialEq, Eq)]
pub(crate) enum MountOp {
    /// Creates an empty directory.
    Directory(CString),
    /// Creates a symlink.
    Symlink { path: CString, target: CString },
    /// Creates a file with a text.
    File { path: CString, text: Vec<u8> },
    /// Mounts the scratch space, a file system in memory.
    Scratch {
        path: CString,
        options: Vec<(CString, CString)>,
    },
    /// Mounts a writable layer over a directory, if the kernel allows it.
    Layer {
        path: CString,
        /// Those of the file system in memory that keeps what is written.
        memory: Vec<(CString, CString)>,
        /// Those of the layer.
        overlay: Vec<(CString, CString)>,
    },
    /// Mounts the scratch space at another path.
    ScratchAlias { path: CString, scratch: CString },
    /// Mounts a new `/proc`.
    Proc(ProcMount),
    /// Mounts a file system of terminals, none of which is one of the host.
    Terminals {
        path: CString,
        options: Vec<(CString, CString)>,
    },
    /// Mounts an empty, read-only file system over a directory.
    Mask {
        path: CString,
        options: Vec<(CString, CString)>,
    },
    /// Creates the file and the directory that [`Self::Withhold`] mounts.
    Unreadable,
    /// Mounts a file or directory that cannot be opened over one of the host.
    Withhold {
        path: CString,
        /// Device and inode number of what is covered. Another file at this path is an error.
        identity: (u64, u64),
        is_directory: bool,
    },
    /// Mounts a file or directory of the host.
    Bind {
        source: CString,
        path: CString,
        /// Device and inode number of the file that the parent opened. Another file at this path is
        /// an error.
        identity: (u64, u64),
        attributes: MountAttrs,
        mount_point: MountPoint,
    },
}

/// A `/proc` of a run.
#[derive(PartialEq, Eq)]
pub(crate) struct ProcMount {
    pub(crate) path: CString,
    /// The options for one that contains only processes, where no other is allowed.
    pub(crate) pid_only: Vec<(CString, CString)>,
    pub(crate) covers: Covers,
}

/// What has to be created before a mount.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MountPoint {
    Directory,
    File,
    /// Nothing, since the path is in a directory of the host that is mounted already.
    Existing,
}

impl MountOp {
    /// Returns the absolute path that the operation creates or mounts.
    pub(crate) fn path(&self) -> String {
        let path = match self {
            Self::Unreadable => UNREADABLE_DIRECTORY,
            Self::Directory(path)
            | Self::Symlink { path, .. }
            | Self::File { path, .. }
            | Self::Scratch { path, .. }
            | Self::ScratchAlias { path, .. }
            | Self::Layer { path, .. }
            | Self::Proc(ProcMount { path, .. })
            | Self::Terminals { path, .. }
            | Self::Mask { path, .. }
            | Self::Withhold { path, .. }
            | Self::Bind { path, .. } => path,
        };
        format!("/{}", path.to_string_lossy())
    }
}

/// The directory of what is mounted over withheld paths, in the root file system.
const UNREADABLE_DIRECTORY: &CStr = c".withheld";
/// The file in it, with mode 0.
pub(crate) const UNREADABLE_FILE: &CStr = c".withheld/file";
/// The directory in it, with mode 0.
pub(crate) const UNREADABLE_DIRECTORY_ENTRY: &CStr = c".withheld/directory";

/// The directory with the parts of a layer, in the root file system, until the layer is mounted. Names in
/// mount options are constants, which need no escapes.
pub(crate) const LAYER_PARTS: &CStr = c".layer";
/// The directory below the layer.
pub(crate) const LAYER_LOWER: &CStr = c".layer/lower";
/// What the program writes.
pub(crate) const LAYER_UPPER: &CStr = c".layer/upper";
/// The directory that the kernel uses.
pub(crate) const LAYER_WORK: &CStr = c".layer/work";

/// The size of the root itself, which contains only empty directories, symlinks and short files.
const ROOT_BYTES: u64 = 1 << 20;
const ROOT_FILES: u64 = 4_096;
/// Maximum files in a layer.
const LAYER_FILES: u64 = 4_096;

impl BaseRootFs {
    /// Returns the base with or without a `/proc`.
    ///
    /// # Errors
    /// Never fails, since no path contains a NUL byte.
    pub(crate) fn new(has_proc: bool) -> Result<Self, SandboxError> {
        let mut builder = RootFsBuilder::default();
        if has_proc {
            builder.create_covers()?;
            builder.operations.push(MountOp::Proc(ProcMount {
                path: c"proc".into(),
                pid_only: vec![(c"subset".into(), c"pid".into())],
                covers: covers(),
            }));
        }
        Ok(Self {
            mount_options: size_options(ROOT_BYTES, ROOT_FILES, 0o755)?,
            operations: builder.operations,
        })
    }
}

impl RootFs {
    /// Resolves the entries of a plan. Paths that the host does not have are skipped; a symlink of
    /// the system stays a symlink.
    ///
    /// # Errors
    /// Fails if a path to hide is not a directory, or a path contains a NUL byte.
    pub(crate) fn new(plan: &RootFsPlan, sources: &[OpenedPath]) -> Result<Self, SandboxError> {
        let mut builder = RootFsBuilder::default();
        for entry in plan.entries() {
            builder.add(entry, sources)?;
        }
        Ok(Self {
            operations: builder.operations,
        })
    }
}

#[derive(Default)]
struct RootFsBuilder {
    created: BTreeSet<PathBuf>,
    /// Directories of the host that are mounted so far, with their attributes.
    bound: Vec<(PathBuf, MountAttrs)>,
    operations: Vec<MountOp>,
}

impl RootFsBuilder {
    fn add(&mut self, entry: &RootFsEntry, sources: &[OpenedPath]) -> Result<(), SandboxError> {
        if let Some(operation) = self.resolve(entry, sources)? {
            self.create_parents(entry.path())?;
            self.operations.push(operation);
        }
        Ok(())
    }

    /// Returns the operation for an entry, or `None` if there is nothing to do.
    fn resolve(
        &mut self,
        entry: &RootFsEntry,
        sources: &[OpenedPath],
    ) -> Result<Option<MountOp>, SandboxError> {
        let path = below_root(entry.path())?;
        Ok(Some(match entry {
            RootFsEntry::Directory(directory) => {
                if !self.created.insert(directory.clone()) {
                    return Ok(None);
                }
                MountOp::Directory(path)
            }
            RootFsEntry::Symlink { target, .. } => MountOp::Symlink {
                path,
                target: path_c_string(target)?,
            },
            RootFsEntry::File { text, .. } => MountOp::File {
                path,
                text: text.clone().into_bytes(),
            },
            RootFsEntry::Scratch { bytes, files, .. } => MountOp::Scratch {
                path,
                options: size_options(*bytes, *files, 0o700)?,
            },
            RootFsEntry::Terminals(_) => MountOp::Terminals {
                path,
                options: vec![
                    (c"ptmxmode".into(), c"0666".into()),
                    (c"mode".into(), c"0600".into()),
                    // The host has one number of terminals for all its users.
                    (c"max".into(), c"64".into()),
                ],
            },
            RootFsEntry::Mask(hidden) => return resolve_mask(hidden, path, sources),
            RootFsEntry::Withhold { file, .. } => {
                self.create_unreadable()?;
                MountOp::Withhold {
                    path,
                    identity: file.identity,
                    is_directory: file.is_directory,
                }
            }
            RootFsEntry::Layer { bytes, .. } => MountOp::Layer {
                path,
                memory: size_options(*bytes, LAYER_FILES, 0o700)?,
                overlay: vec![
                    (c"lowerdir".into(), LAYER_LOWER.into()),
                    (c"upperdir".into(), LAYER_UPPER.into()),
                    (c"workdir".into(), LAYER_WORK.into()),
                    (c"userxattr".into(), c"".into()),
                ],
            },
            RootFsEntry::ScratchAlias { scratch, .. } => MountOp::ScratchAlias {
                path,
                scratch: below_root(scratch)?,
            },
            // Part of the base.
            RootFsEntry::Proc(_) => return Ok(None),
            RootFsEntry::Bind {
                path: bound,
                attributes,
            } => return self.resolve_bind(bound, path, *attributes, sources),
        }))
    }

    /// Creates what covers entries of `/proc`.
    fn create_covers(&mut self) -> Result<(), SandboxError> {
        for cover in cover_files() {
            match cover {
                CoverFile::Directory(path) => {
                    self.create_parents(&path)?;
                    self.created.insert(path.clone());
                    self.operations.push(MountOp::Directory(below_root(&path)?));
                }
                CoverFile::File(path, text) => self.operations.push(MountOp::File {
                    path: below_root(&path)?,
                    text: text.into_bytes(),
                }),
            }
        }
        Ok(())
    }

    /// Creates what is mounted over withheld paths, once.
    fn create_unreadable(&mut self) -> Result<(), SandboxError> {
        let path = Path::new("/").join(OsStr::from_bytes(UNREADABLE_DIRECTORY.to_bytes()));
        if self.bound_attrs(&path).is_some() {
            let reason = format!("`{}` cannot be granted", path.display());
            return Err(SandboxError::rejected("linux", reason));
        }
        // At the top, where no directory of the host is mounted.
        if self.created.insert(path.clone()) {
            self.operations
                .push(MountOp::Directory(UNREADABLE_DIRECTORY.into()));
            self.operations.push(MountOp::Unreadable);
        }
        Ok(())
    }

    fn resolve_bind(
        &mut self,
        bound: &Path,
        path: CString,
        attributes: MountAttrs,
        sources: &[OpenedPath],
    ) -> Result<Option<MountOp>, SandboxError> {
        let opened;
        let source = match sources.iter().find(|source| source.path() == bound) {
            Some(source) => source,
            // A directory above a protected path, which has no rule.
            None => match OpenedPath::open_ungranted(bound) {
                Some(source) => {
                    opened = source;
                    &opened
                }
                None => return Ok(None),
            },
        };
        let outer_attrs = self.bound_attrs(bound);
        if source.kind() == Kind::Link {
            return resolve_link(bound, path, outer_attrs);
        }
        // A read-only path in a read-only mount needs no mount, unless it shows files of another
        // place, such as the copy of a skill. A writable directory in a writable mount does, if
        // something below it is read-only: it could otherwise be renamed together with that, and a
        // mount point cannot be renamed.
        if outer_attrs == Some(attributes)
            && attributes.bits() & MountAttrs::READ_ONLY.bits() != 0
            && source.location() == bound
        {
            return Ok(None);
        }
        let is_directory = source.kind() == Kind::Directory;
        if is_directory {
            self.bound.push((bound.to_owned(), attributes));
        }
        let mount_point = match (outer_attrs, is_directory) {
            (Some(_), _) => MountPoint::Existing,
            (None, true) => MountPoint::Directory,
            (None, false) => MountPoint::File,
        };
        Ok(Some(MountOp::Bind {
            source: path_c_string(source.location())?,
            path,
            identity: source.identity(),
            attributes,
            mount_point,
        }))
    }

    /// Returns the attributes of the innermost mount of the host that contains a path, if any.
    fn bound_attrs(&self, path: &Path) -> Option<MountAttrs> {
        self.bound
            .iter()
            .filter(|(bound, _)| path.starts_with(bound))
            .max_by_key(|(bound, _)| bound.components().count())
            .map(|(_, attributes)| *attributes)
    }

    /// Creates the directories above a path, except in mounts of the host, which must not change.
    fn create_parents(&mut self, path: &Path) -> Result<(), SandboxError> {
        let mut parents: Vec<&Path> = path
            .ancestors()
            .skip(1)
            .filter(|path| path.parent().is_some())
            .collect();
        parents.reverse();
        for directory in parents {
            if self.bound_attrs(directory).is_none() && self.created.insert(directory.to_owned()) {
                self.operations
                    .push(MountOp::Directory(below_root(directory)?));
            }
        }
        Ok(())
    }
}

fn resolve_mask(
    hidden: &Path,
    path: CString,
    sources: &[OpenedPath],
) -> Result<Option<MountOp>, SandboxError> {
    match sources
        .iter()
        .find(|source| source.path() == hidden)
        .map(OpenedPath::kind)
    {
        Some(Kind::Directory) => Ok(Some(MountOp::Mask {
            path,
            options: size_options(4_096, 1, 0o500)?,
        })),
        // The path does not exist. `check_grants` rejected the run if the program could create it.
        None => Ok(None),
        Some(Kind::File | Kind::Link) => Err(SandboxError::rejected(
            "linux",
            format!("cannot hide `{}`: it is not a directory", hidden.display()),
        )),
    }
}

/// Resolves a path of the system that leads through a symlink.
fn resolve_link(
    bound: &Path,
    path: CString,
    outer_attrs: Option<MountAttrs>,
) -> Result<Option<MountOp>, SandboxError> {
    // If the symlink is a directory above it, the path is visible through that symlink. The target
    // is visible only if it is granted by itself.
    let is_last_component = bound
        .parent()
        .is_some_and(|parent| parent.canonicalize().is_ok_and(|real| real == parent));
    match (readlink(bound), outer_attrs) {
        (Ok(target), None) if is_last_component => Ok(Some(MountOp::Symlink {
            path,
            target: path_c_string(Path::new(&target))?,
        })),
        _ => Ok(None),
    }
}

/// Returns the mount options of a file system in memory.
fn size_options(
    bytes: u64,
    files: u64,
    mode: u32,
) -> Result<Vec<(CString, CString)>, SandboxError> {
    let text = |text: String| path_c_string(Path::new(&text));
    Ok(vec![
        (c"size".into(), text(bytes.to_string())?),
        (c"nr_inodes".into(), text(files.to_string())?),
        (c"mode".into(), text(format!("{mode:o}"))?),
    ])
}

fn below_root(path: &Path) -> Result<CString, SandboxError> {
    path_c_string(path.strip_prefix("/").unwrap_or(path))
}

pub(crate) fn path_c_string(path: &Path) -> Result<CString, SandboxError> {
    CString::new(path.as_os_str().as_bytes()).map_err(|_| nul_error())
}

/// Returns the error for a string that the kernel cannot take.
pub(crate) fn nul_error() -> SandboxError {
    SandboxError::rejected("linux", "a path, argument or variable contains a NUL byte")
}
