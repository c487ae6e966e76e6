//! Lists what a program left in the private home directory of its run, and in a layer.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use nix::dir::{Dir, Type};
use nix::fcntl::{OFlag, OpenHow, ResolveFlag, openat2};
use nix::sys::stat::Mode;
use skills_sandbox::PrivateHome;

/// The most entries that are read.
const MAX_ENTRIES: usize = 1_000;
/// The most files that are listed.
const MAX_FILES: usize = 64;
/// The most levels of directories that are read.
const MAX_DEPTH: usize = 8;

/// Lists the files in a home directory that a program has written, without sockets, which are of
/// use only while it runs. Symlinks are not followed, and directories that are mounted in it are
/// not read: they are granted directories of the host, or content that a program cannot have
/// written. `links` are the symlinks of the run itself, and their targets.
pub(crate) fn list(
    directory: Option<OwnedFd>,
    path: &Path,
    links: &[(PathBuf, PathBuf)],
) -> PrivateHome {
    let mut home = PrivateHome::new(path.to_owned());
    let Some(directory) = directory else {
        return home;
    };
    let mut remaining = MAX_ENTRIES;
    let mut pending = vec![PathBuf::new()];
    while let Some(below) = pending.pop() {
        // A directory that cannot be read is one of which nothing is known.
        let Some(mut opened) = open(&directory, &below) else {
            continue;
        };
        for entry in opened.iter().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if name == "." || name == ".." {
                continue;
            }
            remaining = remaining.saturating_sub(1);
            if remaining == 0 {
                return home;
            }
            let entry_path = below.join(&name);
            if links
                .iter()
                .any(|(link, _)| *link == path.join(&entry_path))
            {
                continue;
            }
            if entry.file_type() == Some(Type::Directory) {
                if entry_path.components().count() < MAX_DEPTH {
                    pending.push(entry_path);
                }
            } else if is_kept(entry.file_type()) && home.files.len() < MAX_FILES {
                home.files.push(entry_path.to_string_lossy().into_owned());
            }
        }
    }
    home
}

/// Returns true for what is not of use only while a program runs, and no mark of a layer that a file was
/// removed.
fn is_kept(kind: Option<Type>) -> bool {
    !matches!(kind, Some(Type::Socket | Type::CharacterDevice))
}

/// Opens a home directory in a scratch directory of the host; `None` if the program removed it or put
/// something else in its place.
pub(crate) fn open_home(path: &Path) -> Option<OwnedFd> {
    let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    nix::fcntl::open(path, flags, Mode::empty()).ok()
}

fn open(directory: &OwnedFd, below: &Path) -> Option<Dir> {
    let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    let how = OpenHow::new().flags(flags).resolve(
        ResolveFlag::RESOLVE_BENEATH
            | ResolveFlag::RESOLVE_NO_SYMLINKS
            | ResolveFlag::RESOLVE_NO_XDEV,
    );
    let path = if below.as_os_str().is_empty() {
        Path::new(".")
    } else {
        below
    };
    Dir::from_fd(openat2(directory, path, how).ok()?).ok()
}
