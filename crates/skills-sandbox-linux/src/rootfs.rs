//! The file tree of a program, resolved: which operations build it, with strings and numbers as the
//! kernel takes them.

use std::collections::BTreeSet;
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use nix::fcntl::readlink;
use skills_sandbox::SandboxError;

use crate::granted_path::{Kind, OpenedPath};
use crate::rootfs_plan::{RootFsEntry, RootFsPlan};

/// Names and values of mount options.
pub(crate) type MountOptions = [(CString, CString)];

/// What the child does to build the tree, in this order. Paths without a leading slash are below
/// the new root.
pub(crate) struct RootFs {
    pub(crate) mount_options: Vec<(CString, CString)>,
    pub(crate) operations: Vec<MountOp>,
}

pub(crate) enum MountOp {
    Directory(CString),
    Symlink {
        path: CString,
        target: CString,
    },
    File {
        path: CString,
        text: Vec<u8>,
    },
    Scratch {
        path: CString,
        options: Vec<(CString, CString)>,
    },
    /// Mounts the scratch space at one more place.
    ScratchAlias {
        path: CString,
        scratch: CString,
    },
    Proc {
        path: CString,
        options: Vec<(CString, CString)>,
    },
    /// Covers a directory with an empty one that cannot be written.
    Mask {
        path: CString,
        options: Vec<(CString, CString)>,
    },
    /// Shows a file or directory of the host at its own path.
    Bind {
        source: CString,
        path: CString,
        /// Device and number of what was looked at before; anything else that lies there now is not
        /// shown.
        identity: (u64, u64),
        attributes: MountAttrs,
        mount_point: MountPoint,
    },
}

/// Whether the place of a mount has to be made first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MountPoint {
    Directory,
    File,
    /// It lies in a directory that is shown already, and is there.
    Existing,
}

/// Attributes of a mount, as the kernel numbers them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MountAttrs(u32);

impl MountAttrs {
    pub(crate) const READ_ONLY: Self = Self(1);
    pub(crate) const NOSUID: Self = Self(2);
    pub(crate) const NODEV: Self = Self(4);
    pub(crate) const NOEXEC: Self = Self(8);

    pub(crate) const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(crate) const fn bits(self) -> u32 {
        self.0
    }
}

impl MountOp {
    /// Returns the path that the operation is about.
    pub(crate) fn path(&self) -> String {
        let path = match self {
            Self::Directory(path)
            | Self::Symlink { path, .. }
            | Self::File { path, .. }
            | Self::Scratch { path, .. }
            | Self::ScratchAlias { path, .. }
            | Self::Proc { path, .. }
            | Self::Mask { path, .. }
            | Self::Bind { path, .. } => path,
        };
        format!("/{}", path.to_string_lossy())
    }
}

/// The size of the root itself, which holds nothing but empty directories, links and a few short
/// files.
const ROOT_BYTES: u64 = 1 << 20;
const ROOT_FILES: u64 = 4_096;

impl RootFs {
    /// Resolves what is to be seen. What the host does not have is left out; a symlink of the
    /// system is shown as a symlink.
    pub(crate) fn new(view: &RootFsPlan, sources: &[OpenedPath]) -> Result<Self, SandboxError> {
        let mut building = RootFsBuilder {
            created: BTreeSet::new(),
            bound: Vec::new(),
            operations: Vec::new(),
        };
        for item in view.entries() {
            building.add(item, sources)?;
        }
        Ok(Self {
            mount_options: size_options(ROOT_BYTES, ROOT_FILES, 0o755)?,
            operations: building.operations,
        })
    }
}

struct RootFsBuilder {
    created: BTreeSet<PathBuf>,
    /// Directories of the host that are shown so far, and how.
    bound: Vec<(PathBuf, MountAttrs)>,
    operations: Vec<MountOp>,
}

impl RootFsBuilder {
    fn add(&mut self, item: &RootFsEntry, sources: &[OpenedPath]) -> Result<(), SandboxError> {
        let path = below_root(item.path())?;
        let operation = match item {
            RootFsEntry::Directory(_) => {
                if !self.created.insert(item.path().to_owned()) {
                    return Ok(());
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
            RootFsEntry::Mask(place) => match sources
                .iter()
                .find(|source| source.path() == place)
                .map(OpenedPath::kind)
            {
                Some(Kind::Directory) => MountOp::Mask {
                    path,
                    options: size_options(4_096, 1, 0o500)?,
                },
                // Nothing is there that could be seen; where it could be made, the run is refused
                // before.
                None => return Ok(()),
                Some(_) => {
                    return Err(SandboxError::rejected(
                        "linux",
                        format!(
                            "{} is not a directory and cannot be hidden",
                            place.display()
                        ),
                    ));
                }
            },
            RootFsEntry::ScratchAlias { scratch, .. } => MountOp::ScratchAlias {
                path,
                scratch: below_root(scratch)?,
            },
            RootFsEntry::Proc(_) => MountOp::Proc {
                path,
                options: vec![(c"subset".into(), c"pid".into())],
            },
            RootFsEntry::Bind {
                path: place,
                attributes,
            } => match self.add_bind(place, path, *attributes, sources)? {
                Some(operation) => operation,
                None => return Ok(()),
            },
        };
        self.create_parents(item.path())?;
        self.operations.push(operation);
        Ok(())
    }

    fn add_bind(
        &mut self,
        place: &Path,
        path: CString,
        attributes: MountAttrs,
        sources: &[OpenedPath],
    ) -> Result<Option<MountOp>, SandboxError> {
        let opened;
        let source = match sources.iter().find(|source| source.path() == place) {
            Some(source) => source,
            // A directory above a protected path.
            None => match OpenedPath::open_ungranted(place) {
                Some(source) => {
                    opened = source;
                    &opened
                }
                None => return Ok(None),
            },
        };
        let shown = self.bound_attrs(place);
        if source.kind() == Kind::Link {
            // A path that leads through a link of the system, and is none itself, is seen through
            // that link. What a link leads to is shown only when it is granted by itself.
            let is_alone = place
                .parent()
                .is_some_and(|parent| parent.canonicalize().is_ok_and(|real| real == parent));
            let (Ok(target), None, true) = (readlink(place), shown, is_alone) else {
                return Ok(None);
            };
            return Ok(Some(MountOp::Symlink {
                path,
                target: path_c_string(Path::new(&target))?,
            }));
        }
        // A writable directory is shown once more inside another when something below it is not
        // writable: a mount cannot be renamed.
        if shown == Some(attributes) && attributes.bits() & MountAttrs::READ_ONLY.bits() != 0 {
            return Ok(None);
        }
        let new_place = if source.kind() == Kind::Directory {
            MountPoint::Directory
        } else {
            MountPoint::File
        };
        if source.kind() == Kind::Directory {
            self.bound.push((place.to_owned(), attributes));
        }
        let place = if shown.is_some() {
            MountPoint::Existing
        } else {
            new_place
        };
        Ok(Some(MountOp::Bind {
            source: path_c_string(source.location())?,
            path,
            identity: source.identity(),
            attributes,
            mount_point: place,
        }))
    }

    /// Says how a path is seen already, as a part of what was shown before.
    fn bound_attrs(&self, path: &Path) -> Option<MountAttrs> {
        let above = self
            .bound
            .iter()
            .filter(|(shown, _)| path.starts_with(shown));
        above
            .max_by_key(|(shown, _)| shown.components().count())
            .map(|(_, attributes)| *attributes)
    }

    /// Makes the directories above a path, but none in what is the host's.
    fn create_parents(&mut self, path: &Path) -> Result<(), SandboxError> {
        let mut above: Vec<&Path> = path
            .ancestors()
            .skip(1)
            .filter(|path| path.parent().is_some())
            .collect();
        above.reverse();
        for directory in above {
            if self.bound_attrs(directory).is_none() && self.created.insert(directory.to_owned()) {
                self.operations
                    .push(MountOp::Directory(below_root(directory)?));
            }
        }
        Ok(())
    }
}

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
    CString::new(path.as_os_str().as_bytes()).map_err(|_| {
        SandboxError::rejected("linux", "a path, argument or variable holds a NUL byte")
    })
}
