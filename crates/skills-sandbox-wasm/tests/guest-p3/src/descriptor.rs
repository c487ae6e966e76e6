//! Actions on files.

use wasip3::filesystem::preopens::get_directories;
use wasip3::filesystem::types::{Descriptor, DescriptorFlags, ErrorCode, NewTimestamp, OpenFlags, PathFlags};
use wasip3::wit_stream;

use crate::number;

/// Does what `action` says; `None` when there is no such action.
pub(crate) async fn act(action: &str, rest: &[String]) -> Option<Result<String, String>> {
    let path = rest.first().map_or("", String::as_str);
    let text = match action {
        "read" | "raw-read" => read(At::new(path)).await,
        "open-in" => read(At::within(path, &rest[1])).await,
        "long-path" => read(At::within("/work", &"a".repeat(number(path)))).await,
        "list" => list(path).await,
        "write" => write(path).await,
        "remove" | "unlink" | "make-directory" | "remove-directory" | "set-times" | "set-times-through" => change(action, path).await,
        "create" | "truncate" | "set-size" => change_content(action, path).await,
        "resize" | "pour" => enlarge(action, path, number(&rest[1])).await,
        "stat" => stat(path).await,
        "symlink" | "link" | "rename" | "hold" => join(action, path, &rest[1]).await,
        _ => return None,
    };
    Some(text.map_err(word))
}

/// Opens one file as often as it can, and ends with what stopped it.
pub(crate) async fn open_many(path: &str) {
    let mut files = Vec::new();
    loop {
        let file = open(At::new(path), OpenFlags::empty(), DescriptorFlags::READ).await;
        files.push(file.unwrap_or_else(|_| panic!("open")));
    }
}

/// A path and the granted directory that it is looked up in.
struct At {
    directory: Descriptor,
    path: String,
}

impl At {
    fn new(path: &str) -> Result<Self, ErrorCode> {
        let rest = |name: &str| match path.strip_prefix(name)? {
            "" => Some(".".to_owned()),
            rest => rest.strip_prefix('/').map(str::to_owned),
        };
        let found = get_directories().into_iter().find_map(|(directory, name)| Some(Self { directory, path: rest(&name)? }));
        found.ok_or(ErrorCode::NoEntry)
    }

    /// Hands over `path` as it is, be it absolute.
    fn within(directory: &str, path: &str) -> Result<Self, ErrorCode> {
        let found = get_directories().into_iter().find(|(_, name)| name == directory);
        found.map(|(directory, _)| Self { directory, path: path.to_owned() }).ok_or(ErrorCode::NoEntry)
    }
}

async fn open(at: Result<At, ErrorCode>, how: OpenFlags, access: DescriptorFlags) -> Result<Descriptor, ErrorCode> {
    let at = at?;
    at.directory.open_at(PathFlags::SYMLINK_FOLLOW, at.path, how, access).await
}

async fn read(at: Result<At, ErrorCode>) -> Result<String, ErrorCode> {
    let file = open(at, OpenFlags::empty(), DescriptorFlags::READ).await?;
    let (stream, done) = file.read_via_stream(0);
    let bytes = stream.collect().await;
    done.await?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

async fn list(path: &str) -> Result<String, ErrorCode> {
    let directory = open(At::new(path), OpenFlags::DIRECTORY, DescriptorFlags::READ).await?;
    let (stream, done) = directory.read_directory();
    let mut names: Vec<String> = stream.collect().await.into_iter().map(|entry| entry.name).collect();
    done.await?;
    names.sort_unstable();
    Ok(names.join(" "))
}

async fn write(path: &str) -> Result<String, ErrorCode> {
    let file = open(At::new(path), OpenFlags::CREATE | OpenFlags::TRUNCATE, DescriptorFlags::WRITE).await?;
    let (mut writer, reader) = wit_stream::new();
    let done = file.write_via_stream(reader, 0);
    writer.write_all(b"written".to_vec()).await;
    drop(writer);
    done.await?;
    Ok("written".to_owned())
}

async fn change(action: &str, path: &str) -> Result<String, ErrorCode> {
    let At { directory, path } = At::new(path)?;
    match action {
        "make-directory" => directory.create_directory_at(path).await?,
        "remove-directory" => directory.remove_directory_at(path).await?,
        "set-times" | "set-times-through" => {
            let flags = if action == "set-times" { PathFlags::empty() } else { PathFlags::SYMLINK_FOLLOW };
            directory.set_times_at(flags, path, NewTimestamp::Now, NewTimestamp::Now).await?;
        }
        _ => directory.unlink_file_at(path).await?,
    }
    Ok(action.to_owned())
}

async fn change_content(action: &str, path: &str) -> Result<String, ErrorCode> {
    let (how, access) = match action {
        "create" => (OpenFlags::CREATE, DescriptorFlags::WRITE),
        "truncate" => (OpenFlags::TRUNCATE, DescriptorFlags::WRITE),
        _ => (OpenFlags::empty(), DescriptorFlags::READ),
    };
    let file = open(At::new(path), how, access).await?;
    if action == "set-size" {
        file.set_size(0).await?;
    }
    Ok(action.to_owned())
}

async fn stat(path: &str) -> Result<String, ErrorCode> {
    let At { directory, path } = At::new(path)?;
    directory.stat_at(PathFlags::SYMLINK_FOLLOW, path).await?;
    Ok("stat".to_owned())
}

async fn enlarge(action: &str, path: &str, bytes: u64) -> Result<String, ErrorCode> {
    let file = open(At::new(path), OpenFlags::CREATE, DescriptorFlags::WRITE).await?;
    if action == "resize" {
        file.set_size(bytes).await?;
        return Ok(action.to_owned());
    }
    let (mut writer, reader) = wit_stream::new();
    let done = file.write_via_stream(reader, 0);
    let mut left = bytes;
    // What the host does not take, it does not give room for; why is told at the end.
    while left > 0 && writer.write_all(vec![b'x'; 1 << 16]).await.is_empty() {
        left = left.saturating_sub(1 << 16);
    }
    drop(writer);
    done.await?;
    Ok(action.to_owned())
}

async fn join(action: &str, old: &str, new: &str) -> Result<String, ErrorCode> {
    let new = At::new(new)?;
    if action == "symlink" {
        new.directory.symlink_at(old.to_owned(), new.path).await?;
        return Ok(action.to_owned());
    }
    let old = At::new(old)?;
    match action {
        "link" => old.directory.link_at(PathFlags::empty(), old.path, &new.directory, new.path).await?,
        // Opens a directory, moves it, and makes a file by what it opened before, whether the move worked or not.
        "hold" => {
            let held = old.directory.open_at(PathFlags::empty(), old.path.clone(), OpenFlags::DIRECTORY, DescriptorFlags::READ).await?;
            let moved = old.directory.rename_at(old.path, &new.directory, new.path).await;
            held.open_at(PathFlags::empty(), "config".to_owned(), OpenFlags::CREATE, DescriptorFlags::WRITE).await?;
            moved?;
        }
        _ => old.directory.rename_at(old.path, &new.directory, new.path).await?,
    }
    Ok(action.to_owned())
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
