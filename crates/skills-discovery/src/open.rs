//! Opens directories and regular files below a directory handle.

use std::io::Read;
use std::path::Path;

use cap_std::ambient_authority;
use cap_std::fs::{Dir, File, OpenOptions};

use crate::FileStamp;
use crate::error::{DiscoveryError, Repr};

/// Opens a directory by its path: the one place where a path, not a handle, leads to files.
pub(crate) fn open_root(path: &Path) -> Result<Dir, DiscoveryError> {
    Dir::open_ambient_dir(path, ambient_authority()).map_err(DiscoveryError::from_io)
}

/// Opens a directory by the canonical path that it had before. A part of the path that has become a
/// symlink since then leads elsewhere, and is not followed.
#[cfg(target_os = "linux")]
pub(crate) fn open_canonical(path: &Path) -> Result<Dir, DiscoveryError> {
    use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    match rustix::fs::openat2(
        CWD,
        path,
        flags,
        Mode::empty(),
        ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS,
    ) {
        Ok(handle) => Ok(Dir::from_std_file(std::fs::File::from(handle))),
        Err(rustix::io::Errno::LOOP) => Err(Repr::OutsideSkill.into()),
        // A kernel or a filter without this call.
        Err(rustix::io::Errno::NOSYS | rustix::io::Errno::PERM) => open_and_compare(path),
        Err(error) => Err(DiscoveryError::from_io(error.into())),
    }
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn open_canonical(path: &Path) -> Result<Dir, DiscoveryError> {
    open_and_compare(path)
}

fn open_and_compare(path: &Path) -> Result<Dir, DiscoveryError> {
    let handle = open_root(path)?;
    let now = path.canonicalize().map_err(DiscoveryError::from_io)?;
    if now == path {
        Ok(handle)
    } else {
        Err(Repr::OutsideSkill.into())
    }
}

/// Opens a regular file of at most `max_bytes` bytes. Never blocks on a FIFO, never leaves
/// `directory`.
pub(crate) fn open_regular(
    directory: &Dir,
    path: &Path,
    max_bytes: u64,
) -> Result<(File, FileStamp), DiscoveryError> {
    let file = match open_without_symlinks(directory, path, PathOrigin::Untrusted) {
        Some(file) => file?,
        None => {
            let mut options = OpenOptions::new();
            options.read(true);
            set_nonblocking(&mut options);
            directory
                .open_with(path, &options)
                .map_err(DiscoveryError::from_io)?
        }
    };
    let stamp = check_regular(&file, max_bytes)?;
    Ok((file, stamp))
}

/// Opens a regular file on a path without symlinks, whose parts a listing gave; nothing when that
/// does not decide.
pub(crate) fn open_listed_regular(
    directory: &Dir,
    path: &Path,
    max_bytes: u64,
) -> Option<Result<(File, FileStamp), DiscoveryError>> {
    let file = match open_without_symlinks(directory, path, PathOrigin::FromListing)? {
        Ok(file) => file,
        Err(error) => return Some(Err(error)),
    };
    Some(check_regular(&file, max_bytes).map(|stamp| (file, stamp)))
}

/// Checks what was opened on its handle, so that nothing can be put in its place in between.
#[cfg(unix)]
fn check_regular(file: &File, max_bytes: u64) -> Result<FileStamp, DiscoveryError> {
    let stat = rustix::fs::fstat(file).map_err(|error| DiscoveryError::from_io(error.into()))?;
    if !rustix::fs::FileType::from_raw_mode(stat.st_mode).is_file() {
        return Err(Repr::NotRegular.into());
    }
    let stamp = FileStamp::from_stat(&stat);
    if stamp.bytes() > max_bytes {
        return Err(Repr::TooLarge {
            bytes: stamp.bytes(),
            limit: max_bytes,
        }
        .into());
    }
    Ok(stamp)
}

#[cfg(not(unix))]
fn check_regular(file: &File, max_bytes: u64) -> Result<FileStamp, DiscoveryError> {
    let metadata = file.metadata().map_err(DiscoveryError::from_io)?;
    if !metadata.is_file() {
        return Err(Repr::NotRegular.into());
    }
    if metadata.len() > max_bytes {
        return Err(Repr::TooLarge {
            bytes: metadata.len(),
            limit: max_bytes,
        }
        .into());
    }
    Ok(FileStamp::from_metadata(&metadata))
}

/// Where a path comes from.
#[derive(Clone, Copy, PartialEq)]
enum PathOrigin {
    /// From somebody: it may hold `..` or begin with `/`.
    Untrusted,
    /// From listings of directories: without symlinks it cannot lead out.
    FromListing,
}

/// Opens a path without symlinks by one system call; nothing when that does not decide and the
/// careful way must.
#[cfg(target_os = "linux")]
fn open_without_symlinks(
    directory: &Dir,
    path: &Path,
    way: PathOrigin,
) -> Option<Result<File, DiscoveryError>> {
    use rustix::fs::{Mode, OFlags, ResolveFlags};
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let mut resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    // It costs the kernel a second walk.
    if way == PathOrigin::Untrusted {
        resolve |= ResolveFlags::BENEATH;
    }
    match rustix::fs::openat2(directory, path, flags, Mode::empty(), resolve) {
        Ok(file) => Some(Ok(File::from_std(std::fs::File::from(file)))),
        // A missing file is missing, whichever way one looks.
        Err(rustix::io::Errno::NOENT) => Some(Err(Repr::NotFound.into())),
        Err(_) => None,
    }
}

#[cfg(not(target_os = "linux"))]
fn open_without_symlinks(
    _directory: &Dir,
    _path: &Path,
    _way: PathOrigin,
) -> Option<Result<File, DiscoveryError>> {
    None
}

/// Reads `file` until `buffer` holds `length` bytes or the file ends.
pub(crate) fn fill_buffer(
    file: &mut File,
    buffer: &mut Vec<u8>,
    length: usize,
) -> Result<(), DiscoveryError> {
    let wanted = length.saturating_sub(buffer.len()) as u64;
    file.take(wanted)
        .read_to_end(buffer)
        .map_err(DiscoveryError::from_io)?;
    Ok(())
}

/// Reads the first `length` bytes of a file of `bytes` bytes by one call where that is enough; says
/// whether these are all of it.
pub(crate) fn read_head(
    file: &mut File,
    bytes: u64,
    buffer: &mut Vec<u8>,
    length: usize,
) -> Result<ReadEnd, DiscoveryError> {
    buffer.resize(length, 0);
    let read = file.read(buffer).map_err(DiscoveryError::from_io)?;
    buffer.truncate(read);
    if read as u64 == bytes {
        return Ok(ReadEnd::Eof);
    }
    fill_buffer(file, buffer, length)?;
    Ok(ReadEnd::More)
}

/// Whether a file was read to its end.
#[derive(PartialEq)]
pub(crate) enum ReadEnd {
    Eof,
    More,
}

/// Opening a FIFO for reading waits for a writer; what was opened is checked afterwards, on the
/// handle.
#[cfg(unix)]
fn set_nonblocking(options: &mut OpenOptions) {
    use cap_std::fs::OpenOptionsExt;
    options.custom_flags(nix::fcntl::OFlag::O_NONBLOCK.bits());
}

#[cfg(not(unix))]
fn set_nonblocking(_options: &mut OpenOptions) {}

#[cfg(test)]
#[cfg(target_os = "linux")]
#[expect(clippy::disallowed_methods, reason = "tests make their own files")]
mod tests {
    use std::fs;
    use std::os::fd::AsFd;

    use rustix::io::{FdFlags, fcntl_getfd};

    use super::*;
    use crate::error::ErrorKind;

    /// Programs that are started meanwhile must not inherit the files of a skill.
    #[test]
    fn what_is_opened_is_closed_in_programs_that_are_started() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().canonicalize().unwrap();
        fs::write(path.join("file"), "").unwrap();
        let is_closed = |handle: &dyn AsFd| {
            fcntl_getfd(handle.as_fd())
                .unwrap()
                .contains(FdFlags::CLOEXEC)
        };
        let handle = open_canonical(&path).unwrap();
        assert!(is_closed(&handle) && is_closed(&open_root(&path).unwrap()));
        assert!(is_closed(
            &open_regular(&handle, Path::new("file"), 0).unwrap().0
        ));
        let listed = open_listed_regular(&handle, Path::new("file"), 0).unwrap();
        assert!(is_closed(&listed.unwrap().0));
    }

    #[test]
    fn a_canonical_path_has_no_symlink_and_leads_to_a_directory() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().canonicalize().unwrap();
        fs::create_dir_all(path.join("real/skill")).unwrap();
        fs::write(path.join("real/file"), "").unwrap();
        std::os::unix::fs::symlink(path.join("real"), path.join("link")).unwrap();
        for open in [open_canonical, open_and_compare] {
            let kind = |below: &str| {
                open(&path.join(below))
                    .map(|_| ())
                    .map_err(|error| error.kind())
            };
            assert_eq!(kind("real/skill"), Ok(()));
            assert_eq!(kind("link/skill"), Err(ErrorKind::OutsideSkill));
            assert_eq!(kind("link"), Err(ErrorKind::OutsideSkill));
            assert_eq!(kind("real/file"), Err(ErrorKind::Io));
            assert_eq!(kind("absent"), Err(ErrorKind::NotFound));
        }
    }
}
