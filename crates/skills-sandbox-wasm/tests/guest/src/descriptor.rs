//! Actions on files by the calls of the system interface themselves, whose paths no library has tidied.

use wasip2::filesystem::preopens::get_directories;
use wasip2::filesystem::types::{Descriptor, DescriptorFlags, ErrorCode, NewTimestamp, OpenFlags, PathFlags};

use crate::number;

/// Does what `action` says; `None` when there is no such action.
pub(crate) fn act(action: &str, rest: &[String]) -> Option<Result<String, String>> {
    let path = rest.first().map_or("", String::as_str);
    let done = match action {
        "raw-read" => return Some(At::new(path).and_then(|at| at.read()).map_err(word)),
        "open-in" => return Some(At::within(path, &rest[1]).and_then(|at| at.read()).map_err(word)),
        "long-path" => {
            At::within("/work", &"a".repeat(number(path))).and_then(|at| at.open(OpenFlags::empty(), DescriptorFlags::READ)).map(|_| ())
        }
        "create" => At::new(path).and_then(|at| at.open(OpenFlags::CREATE, DescriptorFlags::WRITE)).map(|_| ()),
        "truncate" => At::new(path).and_then(|at| at.open(OpenFlags::TRUNCATE, DescriptorFlags::WRITE)).map(|_| ()),
        "set-size" => At::new(path).and_then(|at| at.open(OpenFlags::empty(), DescriptorFlags::READ)?.set_size(0)),
        "make-directory" => At::new(path).and_then(|at| at.directory.create_directory_at(&at.path)),
        "remove-directory" => At::new(path).and_then(|at| at.directory.remove_directory_at(&at.path)),
        "unlink" => At::new(path).and_then(|at| at.directory.unlink_file_at(&at.path)),
        "set-times" => {
            At::new(path).and_then(|at| at.directory.set_times_at(PathFlags::empty(), &at.path, NewTimestamp::Now, NewTimestamp::Now))
        }
        "set-times-through" => {
            let now = NewTimestamp::Now;
            At::new(path).and_then(|at| at.directory.set_times_at(PathFlags::SYMLINK_FOLLOW, &at.path, now, now))
        }
        "stat" => At::new(path).and_then(|at| at.directory.stat_at(PathFlags::SYMLINK_FOLLOW, &at.path)).map(|_| ()),
        "resize" => At::new(path).and_then(|at| at.open(OpenFlags::CREATE, DescriptorFlags::WRITE)?.set_size(number(&rest[1]))),
        "pour" => At::new(path).and_then(|at| at.pour(number(&rest[1]))),
        "litter" => At::new(path).and_then(|at| at.litter(number(&rest[1]))),
        "hold" => pair(rest).and_then(|(old, new)| hold(&old, &new)),
        "symlink" => At::new(&rest[1]).and_then(|at| at.directory.symlink_at(path, &at.path)),
        "link" => pair(rest).and_then(|(old, new)| old.directory.link_at(PathFlags::empty(), &old.path, &new.directory, &new.path)),
        "rename" => pair(rest).and_then(|(old, new)| old.directory.rename_at(&old.path, &new.directory, &new.path)),
        _ => return None,
    };
    Some(done.map(|()| action.to_owned()).map_err(word))
}

/// A path and the granted directory that it is looked up in.
struct At {
    directory: Descriptor,
    path: String,
}

impl At {
    fn new(path: &str) -> Result<Self, ErrorCode> {
        let parts = |name: &str| path.strip_prefix(name)?.strip_prefix('/').map(str::to_owned);
        let found = get_directories().into_iter().find_map(|(directory, name)| Some(Self { directory, path: parts(&name)? }));
        found.ok_or(ErrorCode::NoEntry)
    }

    /// Hands over `path` as it is, be it absolute.
    fn within(directory: &str, path: &str) -> Result<Self, ErrorCode> {
        let found = get_directories().into_iter().find(|(_, name)| name == directory);
        found.map(|(directory, _)| Self { directory, path: path.to_owned() }).ok_or(ErrorCode::NoEntry)
    }

    fn open(&self, how: OpenFlags, access: DescriptorFlags) -> Result<Descriptor, ErrorCode> {
        self.directory.open_at(PathFlags::SYMLINK_FOLLOW, &self.path, how, access)
    }

    /// Writes so many bytes.
    fn pour(&self, bytes: u64) -> Result<(), ErrorCode> {
        let file = self.open(OpenFlags::CREATE, DescriptorFlags::WRITE)?;
        let block = [b'x'; 1 << 16];
        let mut offset = 0;
        while offset < bytes {
            offset += file.write(&block, offset)?;
        }
        Ok(())
    }

    /// Makes so many files.
    fn litter(&self, files: u64) -> Result<(), ErrorCode> {
        for number in 0..files {
            let path = [&self.path, "/", &number.to_string()].concat();
            self.directory.open_at(PathFlags::empty(), &path, OpenFlags::CREATE, DescriptorFlags::WRITE)?;
        }
        Ok(())
    }

    fn read(&self) -> Result<String, ErrorCode> {
        let (bytes, _) = self.open(OpenFlags::empty(), DescriptorFlags::READ)?.read(4096, 0)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// Opens a directory, moves it, and makes a file by what it opened before, whether the move worked or not.
fn hold(old: &At, new: &At) -> Result<(), ErrorCode> {
    let held = old.open(OpenFlags::DIRECTORY, DescriptorFlags::READ | DescriptorFlags::MUTATE_DIRECTORY)?;
    let moved = old.directory.rename_at(&old.path, &new.directory, &new.path);
    held.open_at(PathFlags::empty(), "config", OpenFlags::CREATE, DescriptorFlags::WRITE)?;
    moved
}

fn pair(rest: &[String]) -> Result<(At, At), ErrorCode> {
    Ok((At::new(&rest[0])?, At::new(&rest[1])?))
}

fn word(code: ErrorCode) -> String {
    let word = match code {
        ErrorCode::Access | ErrorCode::NotPermitted => "PermissionDenied",
        ErrorCode::NoEntry => "NotFound",
        ErrorCode::NameTooLong => "nametoolong",
        ErrorCode::NotDirectory => "notdirectory",
        _ => "another reason",
    };
    word.to_owned()
}
