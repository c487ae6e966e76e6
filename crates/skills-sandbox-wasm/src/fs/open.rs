//! Opening: beneath a directory, never something that blocks.

use std::fs::File as StdFile;
use std::io;
use std::path::Path;

use cap_primitives::fs::{FollowSymlinks, OpenOptions};
use wasmtime_wasi::filesystem::{Descriptor, Dir, File};
use wasmtime_wasi::{FsPerms, OpenMode};

use super::error_code::FsErrorCode;
use super::preopens::Preopens;

/// What a program wants to open, in the words of both generations.
#[derive(Clone, Copy)]
pub(super) struct OpenRequest {
    pub(super) follow: FollowSymlinks,
    pub(super) access: OpenMode,
    pub(super) create: Create,
    pub(super) truncate: bool,
    /// Fail if it is no directory.
    pub(super) directory: bool,
    /// Wants writes to reach the disk at once, which nobody offers.
    pub(super) synchronized: bool,
}

/// What happens to a name that is free, and to one that is not.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Create {
    Never,
    IfMissing,
    /// Fail if there is something.
    Exclusive,
}

/// Writes `fn open_request`, which translates the flags of one generation: their types have the
/// same names and values, and nothing in common.
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
    /// Whether opening alone may change something, or the handle may.
    fn writes(&self) -> bool {
        self.truncate || self.create != Create::Never || self.access.contains(OpenMode::WRITE)
    }

    /// The mode that the handle remembers: whoever does not ask to write reads.
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
/// What is written to is first opened as it is, then judged by where it really lies, and only then
/// cut to nothing.
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
    directories.protected.check_visible(&opened)?;
    let metadata = opened.metadata()?;
    if !metadata.is_dir() && !metadata.is_file() {
        // A pipe without a writer, a terminal, a device: reading it could take for ever.
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
        // Not through a link to nowhere, which could lead to where nothing may be made.
        let options = options.create_new(true);
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
    // Opening a pipe waits for its other end otherwise; for regular files it means nothing.
    let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
    options.custom_flags(flags.bits().cast_signed());
}

#[cfg(not(unix))]
fn never_waits(options: &mut OpenOptions) {
    options.maybe_dir(true);
}
