//! Opens what a path leads to, and nothing else.

use std::ffi::OsString;
use std::io::{Error, ErrorKind, Result};
use std::path::{Component, PathBuf};

use cap_fs_ext::{DirExt, FollowSymlinks, OpenOptionsFollowExt};
use cap_std::fs::{Dir, File, Metadata, OpenOptions};

/// Finds where a path really is below `top`, following symlinks that stay in it.
///
/// What is judged is what is opened: the result is walked again without following anything.
pub(crate) fn canonicalize(top: &Dir, parts: &[String]) -> Result<Vec<OsString>> {
    if parts.is_empty() {
        return Ok(Vec::new());
    }
    let path: PathBuf = parts.iter().collect();
    let real = top.canonicalize(path)?;
    let name = |component: Component<'_>| match component {
        Component::Normal(name) => Some(Ok(name.to_owned())),
        Component::CurDir => None,
        _ => Some(Err(Error::from(ErrorKind::PermissionDenied))),
    };
    real.components().filter_map(name).collect()
}

/// Opens a directory by a path without symlinks.
pub(crate) fn open_directory(top: &Dir, parts: &[OsString]) -> Result<Dir> {
    let mut directory = top.try_clone()?;
    for part in parts {
        directory = directory.open_dir_nofollow(part)?;
    }
    Ok(directory)
}

/// What is at the end of a path.
pub(crate) enum OpenedFile {
    /// A regular file, opened for reading.
    File(File, Metadata),
    /// A directory.
    Directory,
    /// A pipe, a socket, a device.
    Special,
}

/// Opens a regular file by a path without symlinks. Never waits for a writer, and never touches a
/// device.
pub(crate) fn open_file(top: &Dir, parts: &[OsString]) -> Result<OpenedFile> {
    let Some((name, above)) = parts.split_last() else {
        return Ok(OpenedFile::Directory);
    };
    let parent = open_directory(top, above)?;
    let metadata = parent.symlink_metadata(name)?;
    if metadata.is_dir() {
        return Ok(OpenedFile::Directory);
    }
    if metadata.is_symlink() {
        return Err(Error::from(ErrorKind::PermissionDenied));
    }
    if !metadata.is_file() {
        return Ok(OpenedFile::Special);
    }
    let mut options = OpenOptions::new();
    options.read(true);
    set_nonblocking(&mut options);
    let file = parent.open_with(name, &options)?;
    let metadata = file.metadata()?;
    Ok(if metadata.is_file() {
        OpenedFile::File(file, metadata)
    } else {
        OpenedFile::Special
    })
}

/// Makes opening follow no symlink at the end of the path, and wait for nobody at the other end of
/// a pipe.
pub(crate) fn set_nonblocking(options: &mut OpenOptions) {
    options.follow(FollowSymlinks::No);
    #[cfg(unix)]
    {
        use cap_std::fs::OpenOptionsExt;
        options.custom_flags(nix::fcntl::OFlag::O_NONBLOCK.bits());
    }
}
