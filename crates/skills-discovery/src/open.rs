//! Opens directories and regular files, without leaving a directory handle.
//!
//! All files of skills are opened here. A path is resolved from a handle that is already open, and
//! what was opened is checked on its own handle, so that nothing can be replaced between a check
//! and the use.

use std::io::Read;
use std::path::Path;

use cap_std::ambient_authority;
use cap_std::fs::{Dir, File, OpenOptions};

use crate::FileStamp;
use crate::error::{DiscoveryError, Repr};

/// Opens a directory by its path. This is the only function of the crate that opens by a path of
/// the caller; symlinks on it are followed.
pub(crate) fn open_root(path: &Path) -> Result<Dir, DiscoveryError> {
    Dir::open_ambient_dir(path, ambient_authority()).map_err(DiscoveryError::from)
}

/// Opens a directory by the canonical path that an earlier call resolved. Fails if a component of
/// the path is a symlink, since then the path was replaced and leads to another directory.
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
        // A symlink on a path that was canonical: it was replaced.
        Err(rustix::io::Errno::LOOP) => Err(Repr::OutsideSkill.into()),
        // `openat2` does not exist before Linux 5.6, and a seccomp filter may reject it.
        Err(rustix::io::Errno::NOSYS | rustix::io::Errno::PERM) => open_and_compare(path),
        Err(error) => Err(std::io::Error::from(error).into()),
    }
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn open_canonical(path: &Path) -> Result<Dir, DiscoveryError> {
    open_and_compare(path)
}

/// Opens a directory and checks that its path is still canonical.
fn open_and_compare(path: &Path) -> Result<Dir, DiscoveryError> {
    // Open first: a symlink that is put there after the check can no longer redirect the handle.
    let handle = open_root(path)?;
    let now = path.canonicalize()?;
    if now == path {
        Ok(handle)
    } else {
        Err(Repr::OutsideSkill.into())
    }
}

/// Opens a directory by a path that consists of names from listings, to list it once. Symlinks may
/// be followed but never lead out of `directory`.
pub(crate) fn open_listed_dir(directory: &Dir, path: &Path) -> Result<Dir, DiscoveryError> {
    // The handle of cap-std only resolves paths, so that a listing would open the directory again.
    match open_dir_without_symlinks(directory, path) {
        Some(handle) => Ok(handle),
        None => directory.open_dir(path).map_err(DiscoveryError::from),
    }
}

/// Opens a directory by a path without symlinks, for reading, by a single system call. Returns
/// `None` if that fails for whatever reason.
#[cfg(target_os = "linux")]
fn open_dir_without_symlinks(directory: &Dir, path: &Path) -> Option<Dir> {
    use rustix::fs::{Mode, OFlags, ResolveFlags};
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    // Names of listings lead nowhere else without symlinks.
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let opened = rustix::fs::openat2(directory, path, flags, Mode::empty(), resolve);
    Some(Dir::from_std_file(std::fs::File::from(opened.ok()?)))
}

#[cfg(not(target_os = "linux"))]
fn open_dir_without_symlinks(_directory: &Dir, _path: &Path) -> Option<Dir> {
    None
}

/// Opens a regular file of at most `max_bytes` bytes. Symlinks may be followed but never lead out
/// of `directory`, and a FIFO does not block.
pub(crate) fn open_regular(
    directory: &Dir,
    path: &Path,
    max_bytes: u64,
) -> Result<(File, FileStamp), DiscoveryError> {
    // Nearly no path has symlinks, and then one system call is enough. cap-std resolves the rest,
    // component by component.
    let file = match open_without_symlinks(directory, path, PathOrigin::Untrusted) {
        Some(file) => file?,
        None => {
            let mut options = OpenOptions::new();
            options.read(true);
            set_nonblocking(&mut options);
            directory.open_with(path, &options)?
        }
    };
    check_regular(file, max_bytes)
}

/// Reads the text of a regular file of at most `max_bytes` bytes below an open directory. Symlinks
/// may be followed but never lead out of it, and a FIFO does not block.
///
/// # Errors
/// Fails if the file does not exist, is not a regular file, is larger, or is not UTF-8.
pub fn read_regular_text(
    directory: &Dir,
    path: &Path,
    max_bytes: u64,
) -> Result<String, DiscoveryError> {
    let (mut file, stamp) = open_regular(directory, path, max_bytes)?;
    let mut bytes = Vec::with_capacity(usize::try_from(stamp.bytes()).unwrap_or_default());
    // Bounded by `take`, since a file can grow after its size was checked.
    (&mut file)
        .take(max_bytes.saturating_add(1))
        .read_to_end(&mut bytes)?;
    let read = bytes.len() as u64;
    if read > max_bytes {
        return Err(Repr::TooLarge {
            bytes: read,
            limit: max_bytes,
        }
        .into());
    }
    String::from_utf8(bytes).map_err(|error| {
        std::io::Error::new(std::io::ErrorKind::InvalidData, error.utf8_error()).into()
    })
}

/// Opens a regular file by a path that consists of names from listings. Returns `None` if the path
/// has a symlink or the fast path is unavailable; then use [`open_regular`].
pub(crate) fn open_listed_regular(
    directory: &Dir,
    path: &Path,
    max_bytes: u64,
) -> Option<Result<(File, FileStamp), DiscoveryError>> {
    let opened = open_without_symlinks(directory, path, PathOrigin::FromListing)?;
    Some(opened.and_then(|file| check_regular(file, max_bytes)))
}

/// Opens a regular file by a path that was canonical. Returns `None` as [`open_listed_regular`]
/// does; then use [`open_canonical`] for its directory.
#[cfg(target_os = "linux")]
pub(crate) fn open_canonical_regular(
    path: &Path,
    max_bytes: u64,
) -> Option<Result<(File, FileStamp), DiscoveryError>> {
    let opened = open_without_symlinks(rustix::fs::CWD, path, PathOrigin::FromListing)?;
    Some(opened.and_then(|file| check_regular(file, max_bytes)))
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn open_canonical_regular(
    _path: &Path,
    _max_bytes: u64,
) -> Option<Result<(File, FileStamp), DiscoveryError>> {
    None
}

/// Checks type and size of an open file, and returns it with its stamp. The check is on the handle,
/// not the path, so that the file cannot be replaced between check and use.
fn check_regular(file: File, max_bytes: u64) -> Result<(File, FileStamp), DiscoveryError> {
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(Repr::NotRegular.into());
    }
    let stamp = FileStamp::from_metadata(&metadata);
    if stamp.bytes() > max_bytes {
        return Err(Repr::TooLarge {
            bytes: stamp.bytes(),
            limit: max_bytes,
        }
        .into());
    }
    Ok((file, stamp))
}

/// The origin of a path, which decides how strictly it is resolved.
#[derive(Clone, Copy, PartialEq)]
enum PathOrigin {
    /// From a caller or a skill: it may contain `..` or be absolute.
    Untrusted,
    /// From listings of directories: without symlinks it cannot leave the directory.
    FromListing,
}

/// Opens a path without symlinks by a single system call. Returns `None` if that fails for a reason
/// that only the resolution component by component can classify.
#[cfg(target_os = "linux")]
fn open_without_symlinks(
    directory: impl std::os::fd::AsFd,
    path: &Path,
    origin: PathOrigin,
) -> Option<Result<File, DiscoveryError>> {
    use rustix::fs::{Mode, OFlags, ResolveFlags};
    // `NONBLOCK`: opening a FIFO for reading waits for a writer otherwise. `NOCTTY`: a terminal
    // must not become the controlling one.
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let mut resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    // The kernel checks `BENEATH` with additional work, which is not needed for names of listings.
    if origin == PathOrigin::Untrusted {
        resolve |= ResolveFlags::BENEATH;
    }
    match rustix::fs::openat2(directory, path, flags, Mode::empty(), resolve) {
        Ok(file) => Some(Ok(File::from_std(std::fs::File::from(file)))),
        // Resolving the path in another way cannot find a file that does not exist.
        Err(rustix::io::Errno::NOENT) => Some(Err(Repr::NotFound.into())),
        Err(_) => None,
    }
}

#[cfg(not(target_os = "linux"))]
fn open_without_symlinks(
    _directory: &Dir,
    _path: &Path,
    _origin: PathOrigin,
) -> Option<Result<File, DiscoveryError>> {
    None
}

/// Reads from `file` until `buffer` contains `length` bytes or the file ends.
pub(crate) fn fill_buffer(
    file: &mut File,
    buffer: &mut Vec<u8>,
    length: usize,
) -> Result<(), DiscoveryError> {
    // Bounded by `take`, since a file can grow after its size was checked.
    let wanted = length.saturating_sub(buffer.len()) as u64;
    file.take(wanted).read_to_end(buffer)?;
    Ok(())
}

/// Reads an open file of at most `max_bytes` bytes with this stamp.
pub(crate) fn read_opened(
    mut file: File,
    stamp: FileStamp,
    max_bytes: u64,
) -> Result<Vec<u8>, DiscoveryError> {
    let length = usize::try_from(max_bytes).unwrap_or(usize::MAX);
    // With space for one more byte, which finds the end of the file.
    let size = usize::try_from(stamp.bytes()).unwrap_or(usize::MAX);
    let mut bytes = Vec::with_capacity(size.saturating_add(1).min(length));
    fill_buffer(&mut file, &mut bytes, length)?;
    Ok(bytes)
}

/// Reads the first bytes of a file of `bytes` bytes, as many as `buffer` has, and returns them and
/// whether that was the whole file.
pub(crate) fn read_head<'a>(
    file: &mut File,
    bytes: u64,
    buffer: &'a mut [u8],
) -> Result<(&'a [u8], ReadEnd), DiscoveryError> {
    let mut filled = 0;
    loop {
        let read = file.read(&mut buffer[filled..])?;
        filled += read;
        // The size is known, so a small file needs no second call to find its end.
        if filled as u64 == bytes {
            return Ok((&buffer[..filled], ReadEnd::Eof));
        }
        if read == 0 || filled == buffer.len() {
            return Ok((&buffer[..filled], ReadEnd::More));
        }
    }
}

/// Whether a file was read to its end.
#[derive(PartialEq)]
pub(crate) enum ReadEnd {
    Eof,
    More,
}

/// Keeps `open` from blocking: opening a FIFO for reading waits for a writer otherwise. That it is
/// not a regular file is detected afterwards, on the handle.
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
    use crate::error::DiscoveryErrorKind;

    /// Programs that are started meanwhile must not inherit the files of a skill.
    #[test]
    fn handles_are_closed_on_exec() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().canonicalize().unwrap();
        fs::write(path.join("file"), "").unwrap();
        let is_close_on_exec = |handle: &dyn AsFd| {
            fcntl_getfd(handle.as_fd())
                .unwrap()
                .contains(FdFlags::CLOEXEC)
        };
        let handle = open_canonical(&path).unwrap();
        assert!(is_close_on_exec(&handle) && is_close_on_exec(&open_root(&path).unwrap()));
        assert!(is_close_on_exec(
            &open_regular(&handle, Path::new("file"), 0).unwrap().0
        ));
        let listed = open_listed_regular(&handle, Path::new("file"), 0).unwrap();
        assert!(is_close_on_exec(&listed.unwrap().0));
    }

    #[test]
    fn canonical_paths_with_symlinks_are_rejected() {
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
            assert_eq!(kind("link/skill"), Err(DiscoveryErrorKind::OutsideSkill));
            assert_eq!(kind("link"), Err(DiscoveryErrorKind::OutsideSkill));
            assert_eq!(kind("real/file"), Err(DiscoveryErrorKind::Io));
            assert_eq!(kind("absent"), Err(DiscoveryErrorKind::NotFound));
        }
    }
}
