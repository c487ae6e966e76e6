//! Race-free opening of paths below a directory handle.

use std::ffi::OsString;
use std::io::{Error, ErrorKind, Result};
use std::path::{Component, PathBuf};

use cap_fs_ext::{DirExt, FollowSymlinks, OpenOptionsFollowExt};
use cap_std::fs::{Dir, File, Metadata, OpenOptions};

/// Canonicalizes a path below `base`, following symlinks that stay in it.
///
/// The caller checks the result and opens it without following symlinks, so the checked file is the
/// opened file.
pub(crate) fn canonicalize(base: &Dir, parts: &[String]) -> Result<Vec<OsString>> {
    if parts.is_empty() {
        return Ok(Vec::new());
    }
    let path: PathBuf = parts.iter().collect();
    let canonical = base.canonicalize(path)?;
    // cap-std has checked that the path stays inside; anything but plain names would still be a
    // mistake.
    let name = |component: Component<'_>| match component {
        Component::Normal(name) => Some(Ok(name.to_owned())),
        Component::CurDir => None,
        _ => Some(Err(Error::from(ErrorKind::PermissionDenied))),
    };
    canonical.components().filter_map(name).collect()
}

/// Opens a directory by a path without symlinks.
pub(crate) fn open_directory(base: &Dir, parts: &[OsString]) -> Result<Dir> {
    let mut directory = base.try_clone()?;
    for part in parts {
        directory = directory.open_dir_nofollow(part)?;
    }
    Ok(directory)
}

/// The object at the end of a path.
pub(crate) enum OpenedFile {
    /// A regular file, opened for reading.
    File(File, Metadata),
    /// A directory.
    Directory,
    /// A pipe, socket or device.
    Special,
}

/// Opens a regular file by a path without symlinks. Does not block on pipes and does not open
/// devices.
pub(crate) fn open_file(base: &Dir, parts: &[OsString]) -> Result<OpenedFile> {
    let Some((name, parents)) = parts.split_last() else {
        return Ok(OpenedFile::Directory);
    };
    let parent = open_directory(base, parents)?;
    let metadata = parent.symlink_metadata(name)?;
    if metadata.is_dir() {
        return Ok(OpenedFile::Directory);
    }
    // The path was canonical when it was checked, so a symlink here has appeared since then.
    if metadata.is_symlink() {
        return Err(Error::from(ErrorKind::PermissionDenied));
    }
    // Opening a device can have side effects, so its type is checked before.
    if !metadata.is_file() {
        return Ok(OpenedFile::Special);
    }
    let mut options = OpenOptions::new();
    options.read(true);
    set_nonblocking(&mut options);
    let file = parent.open_with(name, &options)?;
    // Checked again on the handle: the entry may have been replaced in between.
    let metadata = file.metadata()?;
    Ok(if metadata.is_file() {
        OpenedFile::File(file, metadata)
    } else {
        OpenedFile::Special
    })
}

/// Sets options that do not follow a symlink at the end of the path and do not block on a pipe.
pub(crate) fn set_nonblocking(options: &mut OpenOptions) {
    options.follow(FollowSymlinks::No);
    #[cfg(unix)]
    {
        use cap_std::fs::OpenOptionsExt;
        // Without it, opening a pipe without a writer blocks forever.
        options.custom_flags(nix::fcntl::OFlag::O_NONBLOCK.bits());
    }
}
