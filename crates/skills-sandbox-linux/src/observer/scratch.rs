//! Finds sockets and creates files in the scratch space of a run, as its program names them.

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{OFlag, open, openat, readlinkat};
use nix::sys::stat::{Mode, SFlag, fstat};

/// The most symlinks in a path, as in the kernel.
const MAX_LINKS: usize = 40;

/// The scratch space: a file system in memory that only the run uses.
pub(super) struct Scratch {
    directory: OwnedFd,
    device: libc::dev_t,
}

/// A path of a program, with the directories where it begins.
pub(super) struct NamedPath {
    path: PathBuf,
    root: OwnedFd,
    start: OwnedFd,
}

/// Why a path leads to no socket of the run.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum LookupError {
    /// It leads to a directory of the host, or through one.
    Outside,
    /// It leads to nothing in the memory of the run.
    Failed(Errno),
}

impl From<Errno> for LookupError {
    fn from(error: Errno) -> Self {
        Self::Failed(error)
    }
}

impl NamedPath {
    /// Opens the directories in which a process resolves a path.
    pub(super) fn of_process(process: u32, path: &Path) -> Result<Self, Errno> {
        Ok(Self {
            path: path.to_owned(),
            root: open_directory(format!("/proc/{process}/root"))?,
            start: open_directory(format!("/proc/{process}/cwd"))?,
        })
    }
}

fn open_directory(path: String) -> Result<OwnedFd, Errno> {
    let flags = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
    open(path.as_str(), flags, Mode::empty())
}

impl Scratch {
    /// Opens the scratch space that contains the home directory of a run.
    pub(super) fn around(home: &OwnedFd) -> Result<Self, Errno> {
        let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        let directory = openat(home, "..", flags, Mode::empty())?;
        let device = fstat(home)?.st_dev;
        if fstat(&directory)?.st_dev != device {
            return Err(Errno::EXDEV);
        }
        Ok(Self { directory, device })
    }

    /// Opens the socket that a path names, component by component: only the file systems in memory
    /// that nothing but the run uses are read, so neither the result nor an error depends on a
    /// directory of the host. May block.
    pub(super) fn find_socket(&self, named: &NamedPath) -> Result<OwnedFd, LookupError> {
        let own_devices = [fstat(&named.root)?.st_dev, self.device];
        let mut current = copy(&named.start)?;
        let mut pending = Vec::new();
        add_components(&named.path, &mut pending);
        let mut links = 0;
        while let Some(step) = pending.pop() {
            let Step::Name(name) = step else {
                current = copy(&named.root)?;
                continue;
            };
            check_device(&current, own_devices)?;
            let flags = OFlag::O_PATH | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
            let next = openat(&current, name.as_os_str(), flags, Mode::empty())?;
            if check_device(&next, own_devices)? != SFlag::S_IFLNK {
                current = next;
                continue;
            }
            links += 1;
            if links > MAX_LINKS {
                return Err(Errno::ELOOP.into());
            }
            add_components(Path::new(&readlinkat(&next, "")?), &mut pending);
        }
        let kind = check_device(&current, own_devices)?;
        if kind != SFlag::S_IFSOCK {
            return Err(Errno::ECONNREFUSED.into());
        }
        check_device(&current, [self.device; 2])?;
        Ok(current)
    }

    /// Creates a file without a name, which the size of the scratch space limits. Landlock lets no
    /// program start from it.
    pub(super) fn create_file(&self) -> Result<OwnedFd, Errno> {
        let flags = OFlag::O_TMPFILE | OFlag::O_RDWR | OFlag::O_CLOEXEC;
        let mode = Mode::S_IRUSR | Mode::S_IWUSR;
        openat(&self.directory, ".", flags, mode)
    }
}

fn copy(directory: &OwnedFd) -> Result<OwnedFd, Errno> {
    directory.try_clone().map_err(|_| Errno::EMFILE)
}

/// A step of the resolution of a path.
enum Step {
    Root,
    Name(OsString),
}

/// Adds the components of a path to a stack, the first on top.
fn add_components(path: &Path, pending: &mut Vec<Step>) {
    pending.extend(
        path.components()
            .rev()
            .filter_map(|component| match component {
                Component::RootDir => Some(Step::Root),
                Component::CurDir | Component::Prefix(_) => None,
                Component::ParentDir | Component::Normal(_) => {
                    Some(Step::Name(component.as_os_str().to_owned()))
                }
            }),
    );
}

/// Returns the type of a file on one of two devices.
fn check_device(file: &OwnedFd, devices: [libc::dev_t; 2]) -> Result<SFlag, LookupError> {
    let status = fstat(file)?;
    if !devices.contains(&status.st_dev) {
        return Err(LookupError::Outside);
    }
    Ok(SFlag::from_bits_truncate(status.st_mode & libc::S_IFMT))
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test creates its own files")]
mod tests {
    use std::fs::{self, File};
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    use super::*;

    /// A directory of the file system of the test is the root; the scratch space is that file
    /// system.
    #[test]
    fn a_path_is_resolved_in_its_root() {
        let directory = tempfile::tempdir().unwrap();
        let below = |path: &str| directory.path().join(path);
        fs::create_dir_all(below("tmp/home/deep")).unwrap();
        let _listener = UnixListener::bind(below("tmp/home/s")).unwrap();
        File::create(below("file")).unwrap();
        for (link, target) in [
            ("up", "../home/s"),
            ("root", "/tmp/home/s"),
            ("loop", "loop"),
            ("away", "/proc/self/root"),
        ] {
            symlink(target, below("tmp/home").join(link)).unwrap();
        }
        let home = OwnedFd::from(File::open(below("tmp/home")).unwrap());
        let scratch = Scratch::around(&home).unwrap();
        let find = |path: &str| {
            let named = NamedPath {
                path: path.into(),
                root: OwnedFd::from(File::open(directory.path()).unwrap()),
                start: OwnedFd::from(File::open(below("tmp/home")).unwrap()),
            };
            scratch.find_socket(&named).map(drop)
        };
        for path in [
            "s",
            "./s",
            "deep/../s",
            "/tmp/home/s",
            "//tmp//home/s",
            "up",
            "root",
        ] {
            assert_eq!(find(path), Ok(()), "{path}");
        }
        let failed = |error| Err(LookupError::Failed(error));
        assert_eq!(find("none"), failed(Errno::ENOENT));
        assert_eq!(find("s/x"), failed(Errno::ENOTDIR));
        assert_eq!(find("/file"), failed(Errno::ECONNREFUSED));
        assert_eq!(find("loop"), failed(Errno::ELOOP));
        // A link is followed in the root of the program, where there is no `/proc`.
        assert_eq!(find("away"), failed(Errno::ENOENT));
        let outside = NamedPath {
            path: "s".into(),
            root: OwnedFd::from(File::open(directory.path()).unwrap()),
            start: OwnedFd::from(File::open("/proc").unwrap()),
        };
        assert_eq!(
            scratch.find_socket(&outside).map(drop),
            Err(LookupError::Outside)
        );
    }
}
