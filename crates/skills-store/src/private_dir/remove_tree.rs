//! Removes a directory whatever a program left in it.
#![expect(
    clippy::disallowed_methods,
    reason = "the directory is private, and the processes that used it have been killed"
)]

use std::fs;
use std::io;
use std::path::Path;

/// Removes a directory, first with the library, which uses handles; if that fails, level by level.
pub(super) fn remove_tree(path: &Path) -> io::Result<()> {
    if fs::remove_dir_all(path).is_ok() {
        return Ok(());
    }
    empty_directory(path)?;
    fs::remove_dir(path)
}

/// Empties `top`: every directory in it is made accessible, its subdirectories are moved up into
/// `top`, and then it is removed. So no path is longer than two names below `top`, and at most two
/// directories are open. Symlinks are removed, not followed.
fn empty_directory(top: &Path) -> io::Result<()> {
    let mut number = 0u64;
    loop {
        // Listed again after each pass, since directories are moved up during it.
        let mut entries = fs::read_dir(top)?.peekable();
        if entries.peek().is_none() {
            return Ok(());
        }
        for entry in entries {
            let path = entry?.path();
            if is_directory(&path)? {
                number = dissolve(&path, top, number)?;
            } else {
                // A symlink is removed like a file, not followed.
                fs::remove_file(&path)?;
            }
        }
    }
}

/// Removes a directory after its subdirectories were moved up into `top`, under free numbers;
/// returns the next number.
fn dissolve(path: &Path, top: &Path, mut number: u64) -> io::Result<u64> {
    // The program can have removed all permissions of its directories.
    open_up(path)?;
    for child in fs::read_dir(path)? {
        let child = child?.path();
        if is_directory(&child)? {
            number = move_up(&child, top, number)?;
        } else {
            fs::remove_file(&child)?;
        }
    }
    fs::remove_dir(path)?;
    Ok(number)
}

/// Moves a directory into `top` under a free number; returns the next number.
fn move_up(child: &Path, top: &Path, mut number: u64) -> io::Result<u64> {
    // Moving a directory changes its `..` entry.
    open_up(child)?;
    loop {
        let free = top.join(format!("removed-{number}"));
        number += 1;
        // The program can have created a directory of that name.
        if fs::symlink_metadata(&free).is_err() {
            fs::rename(child, free)?;
            return Ok(number);
        }
    }
}

fn is_directory(path: &Path) -> io::Result<bool> {
    Ok(fs::symlink_metadata(path)?.is_dir())
}

#[cfg(unix)]
fn open_up(path: &Path) -> io::Result<()> {
    use cap_std::ambient_authority;
    use cap_std::fs::{Dir, Permissions, PermissionsExt};

    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    // Relative to a handle no symlink escapes, whatever replaces the directory. The mode may forbid
    // to open the directory itself.
    Dir::open_ambient_dir(parent, ambient_authority())?
        .set_permissions(name, Permissions::from_mode(super::DIRECTORY_MODE))
}

#[cfg(not(unix))]
fn open_up(_path: &Path) -> io::Result<()> {
    Ok(())
}
