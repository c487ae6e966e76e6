//! Opens files beneath a directory, and never a file that blocks.

use std::fs::File as StdFile;
use std::io;
use std::path::Path;

use cap_primitives::fs::{FollowSymlinks, OpenOptions};
use wasmtime_wasi::filesystem::{Descriptor, Dir, File};
use wasmtime_wasi::{FsPerms, OpenMode};

use super::error_code::FsErrorCode;
use super::preopens::Preopens;
use super::refused::Attempt;

/// The options of an open call, for both versions of WASI.
#[derive(Clone, Copy)]
pub(super) struct OpenRequest {
    pub(super) follow: FollowSymlinks,
    pub(super) access: OpenMode,
    pub(super) create: Create,
    pub(super) truncate: bool,
    /// Fail if it is not a directory.
    pub(super) directory: bool,
    /// Synchronous writes, which are not supported.
    pub(super) synchronized: bool,
}

/// What happens if the name is free, and if it exists.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Create {
    Never,
    IfMissing,
    /// Fail if it exists.
    Exclusive,
}

/// Defines `fn open_request`, which translates the flags of one version: their types have the same
/// names and values, but are unrelated types.
macro_rules! translate_flags {
    () => {
        fn open_request(
            path_flags: PathFlags,
            open_flags: OpenFlags,
            flags: DescriptorFlags,
        ) -> OpenRequest {
            let mut access = OpenMode::empty();
            access.set(OpenMode::READ, flags.contains(DescriptorFlags::READ));
            access.set(OpenMode::WRITE, flags.contains(DescriptorFlags::WRITE));
            let data = DescriptorFlags::DATA_INTEGRITY_SYNC | DescriptorFlags::REQUESTED_WRITE_SYNC;
            OpenRequest {
                follow: if path_flags.contains(PathFlags::SYMLINK_FOLLOW) {
                    FollowSymlinks::Yes
                } else {
                    FollowSymlinks::No
                },
                access,
                create: match (
                    open_flags.contains(OpenFlags::CREATE),
                    open_flags.contains(OpenFlags::EXCLUSIVE),
                ) {
                    (false, _) => Create::Never,
                    (true, false) => Create::IfMissing,
                    (true, true) => Create::Exclusive,
                },
                truncate: open_flags.contains(OpenFlags::TRUNCATE),
                directory: open_flags.contains(OpenFlags::DIRECTORY),
                synchronized: flags.intersects(DescriptorFlags::FILE_INTEGRITY_SYNC | data),
            }
        }
    };
}
pub(super) use translate_flags;

impl OpenRequest {
    pub(super) fn attempt(&self) -> Attempt {
        if self.writes() {
            Attempt::Write
        } else {
            Attempt::Read
        }
    }

    /// Returns true if opening or the handle may modify something.
    fn writes(&self) -> bool {
        self.truncate || self.create != Create::Never || self.access.contains(OpenMode::WRITE)
    }

    /// The mode of the handle: without write access it is for reading.
    fn mode(&self) -> OpenMode {
        let read = if self.access.contains(OpenMode::WRITE) {
            OpenMode::empty()
        } else {
            OpenMode::READ
        };
        let write = if self.writes() {
            OpenMode::WRITE
        } else {
            OpenMode::empty()
        };
        self.access | read | write
    }

    fn options(&self) -> OpenOptions {
        let mut options = OpenOptions::new();
        let mode = self.mode();
        options
            .read(mode.contains(OpenMode::READ))
            .write(mode.contains(OpenMode::WRITE));
        options._cap_fs_ext_follow(self.follow);
        never_waits(&mut options);
        options
    }
}

/// Opens `path` beneath `dir`.
///
/// A file to be written is first opened without truncating, then checked by its real path, and only
/// then truncated.
pub(super) fn open(
    dir: &Dir,
    path: &str,
    wish: OpenRequest,
    directories: &Preopens,
) -> io::Result<Descriptor> {
    if wish.synchronized {
        return Err(FsErrorCode::Unsupported.into());
    }
    if wish.directory && (wish.truncate || wish.create != Create::Never) {
        return Err(FsErrorCode::Invalid.into());
    }
    let is_read_only = dir.perms.write_not_permitted();
    if is_read_only && wish.writes() {
        return Err(FsErrorCode::NotPermitted.into());
    }
    let (opened, is_new) = existing_or_new(dir, path, wish, directories)?;
    // Checked on the open file, which no other process can exchange any more.
    directories.protected.check_visible(&opened)?;
    let metadata = opened.metadata()?;
    if !metadata.is_dir() && !metadata.is_file() {
        // A pipe without a writer, a terminal, a device: reading it could block forever.
        return Err(FsErrorCode::NotPermitted.into());
    }
    let perms = if is_read_only || directories.protected.is_protected(&opened)? {
        FsPerms::ReadOnly
    } else {
        FsPerms::ReadWrite
    };
    if perms.write_not_permitted() && wish.writes() {
        return Err(FsErrorCode::NotPermitted.into());
    }
    if metadata.is_dir() {
        return Ok(Descriptor::Dir(Dir::new(opened, perms, wish.mode(), true)));
    }
    if wish.directory {
        return Err(FsErrorCode::NotDirectory.into());
    }
    // Only now that it is known to be writable: the path may have led through a symlink.
    if wish.truncate && !is_new {
        opened.set_len(0)?;
    }
    Ok(Descriptor::File(File::new(
        opened,
        perms,
        wish.mode(),
        true,
    )))
}

fn existing_or_new(
    dir: &Dir,
    path: &str,
    wish: OpenRequest,
    directories: &Preopens,
) -> io::Result<(StdFile, bool)> {
    let path = Path::new(path);
    let create = |options: &mut OpenOptions| {
        // Not through a dangling symlink, which could create a file at a protected path.
        let options = options.create_new(true);
        // Only the scratch directory is writable then, and nothing in it is protected.
        if directories.protected.is_read_only() {
            directories.quota.count_entry()?;
            return Ok((cap_primitives::fs::open(&dir.dir, path, options)?, true));
        }
        let entry = directories.protected.check(&dir.dir, path)?;
        directories.quota.count_entry()?;
        Ok((
            cap_primitives::fs::open(&entry.parent, &entry.name, options)?,
            true,
        ))
    };
    match wish.create {
        Create::Exclusive => create(&mut wish.options()),
        Create::Never => Ok((
            cap_primitives::fs::open(&dir.dir, path, &wish.options())?,
            false,
        )),
        Create::IfMissing => match cap_primitives::fs::open(&dir.dir, path, &wish.options()) {
            Ok(opened) => Ok((opened, false)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => create(&mut wish.options()),
            Err(error) => Err(error),
        },
    }
}

#[cfg(unix)]
fn never_waits(options: &mut OpenOptions) {
    use cap_primitives::fs::OpenOptionsExt;
    // Otherwise opening a pipe waits for its other end; for regular files the flag has no effect.
    let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
    options.custom_flags(flags.bits().cast_signed());
}

#[cfg(not(unix))]
fn never_waits(options: &mut OpenOptions) {
    options.maybe_dir(true);
}
