//! Atomic writes: a file has either the old or the new content.

use std::io::{ErrorKind, Read, Write};

use cap_fs_ext::{DirExt, MetadataExt};
use cap_std::fs::{Dir, File, Metadata, OpenOptions};

use super::open::set_nonblocking;
use super::read::{MAX_IN_MEMORY_BYTES, sha256};
use super::{io_error, temporary};
use crate::{ToolError, ToolErrorCode};

/// A write to one file.
pub(crate) struct WriteRequest<'a> {
    /// The path that errors show.
    pub(crate) display_path: &'a str,
    pub(crate) content: &'a [u8],
    pub(crate) mode: WriteMode,
    /// The SHA-256 that the existing file must have.
    pub(crate) if_match: Option<&'a str>,
    /// Whether the file is executable; `None` leaves it unchanged.
    pub(crate) executable: Option<bool>,
    /// The mode of a new file, from which the umask takes what it does from others; `None` for that of
    /// other new files.
    pub(crate) new_mode: Option<u32>,
}

/// The treatment of an existing file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WriteMode {
    Overwrite,
    Create,
    Append,
}

#[derive(Debug)]
pub(crate) struct WriteResult {
    /// Digest of the whole file, if it is not larger than 16 MiB.
    pub(crate) sha256: Option<String>,
    pub(crate) is_new: bool,
}

/// Opens a directory by its components, and creates missing ones. Does not follow symlinks.
pub(crate) fn create_parent(
    base: &Dir,
    parts: &[String],
    display_path: &str,
) -> Result<Dir, ToolError> {
    walk_parents(base, parts, display_path, open_or_create_dir)
}

/// Opens the directory of a file that must exist, and creates nothing. Does not follow symlinks.
pub(crate) fn open_parent(
    base: &Dir,
    parts: &[String],
    display_path: &str,
) -> Result<Dir, ToolError> {
    walk_parents(base, parts, display_path, |_, _| {
        Err(ErrorKind::NotFound.into())
    })
    .map_err(|error| match error.code {
        // The caller expected a file, so a missing directory means that it was removed.
        ToolErrorCode::NotFound => conflict_error(display_path, "no longer exists"),
        _ => error,
    })
}

fn walk_parents(
    base: &Dir,
    parts: &[String],
    display_path: &str,
    on_missing: fn(&Dir, &str) -> std::io::Result<Dir>,
) -> Result<Dir, ToolError> {
    let mut directory = base
        .try_clone()
        .map_err(|error| io_error(&error, display_path))?;
    for part in parts {
        // Component by component from the handle: a symlink that replaces a parent is never
        // followed.
        directory = match directory.open_dir_nofollow(part) {
            Err(error) if error.kind() == ErrorKind::NotFound => on_missing(&directory, part),
            opened => opened,
        }
        .map_err(|error| parent_error(&directory, part, display_path, &error))?;
    }
    Ok(directory)
}

/// Writes a file in a directory.
pub(crate) fn write_file(
    parent: &Dir,
    name: &str,
    request: &WriteRequest<'_>,
) -> Result<WriteResult, ToolError> {
    let old = check_existing(parent, name, request.display_path)?;
    if old.is_some() && request.mode == WriteMode::Create {
        return Err(ToolErrorCode::AlreadyExists
            .error_at(
                request.display_path,
                format!("'{}' already exists", request.display_path),
            )
            .with_hint("use mode `overwrite` or `append`, or another path"));
    }
    check_match(parent, name, old.as_ref(), request)?;
    // A missing file is created by `replace`, so that a crash leaves no partial first append.
    if old.is_some() && request.mode == WriteMode::Append {
        return append(parent, name, request);
    }
    match replace(parent, name, old.as_ref(), request) {
        Ok(()) => Ok(WriteResult {
            sha256: Some(sha256(request.content)),
            is_new: old.is_none(),
        }),
        // The file was created concurrently; its content is kept.
        Err(error)
            if error.kind() == ErrorKind::AlreadyExists && request.mode == WriteMode::Append =>
        {
            append(parent, name, request)
        }
        Err(error) => Err(io_error(&error, request.display_path)),
    }
}

/// Reads a small file of a directory. Returns `None` if it does not exist.
pub(crate) fn read_small(
    parent: &Dir,
    name: &str,
    display_path: &str,
) -> Result<Option<Vec<u8>>, ToolError> {
    if check_existing(parent, name, display_path)?.is_none() {
        return Ok(None);
    }
    let mut options = OpenOptions::new();
    options.read(true);
    set_nonblocking(&mut options);
    let file = parent
        .open_with(name, &options)
        .map_err(|error| io_error(&error, display_path))?;
    let mut bytes = Vec::new();
    file.take(MAX_IN_MEMORY_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| io_error(&error, display_path))?;
    if bytes.len() as u64 > MAX_IN_MEMORY_BYTES {
        return Err(ToolErrorCode::TooLarge.error_at(
            display_path,
            format!("'{display_path}' is larger than 16 MiB"),
        ));
    }
    Ok(Some(bytes))
}

/// Tolerates that another process creates the directory concurrently.
fn open_or_create_dir(directory: &Dir, part: &str) -> std::io::Result<Dir> {
    match directory.create_dir(part) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(error),
        // Opened without following symlinks, since another process may have created it.
        _ => directory.open_dir_nofollow(part),
    }
}

fn parent_error(
    directory: &Dir,
    part: &str,
    display_path: &str,
    error: &std::io::Error,
) -> ToolError {
    // The system error of `O_NOFOLLOW` differs between platforms, so the cause is looked up.
    match directory.symlink_metadata(part) {
        Ok(metadata) if metadata.is_symlink() => symlink_error(display_path),
        _ => io_error(error, display_path),
    }
}

fn symlink_error(display_path: &str) -> ToolError {
    ToolErrorCode::PermissionDenied
        .error_at(
            display_path,
            format!("cannot write '{display_path}': its path contains a symlink"),
        )
        .with_hint("write to the target of the symlink")
}

/// Returns the metadata of the existing file, and rejects everything but a regular file with one
/// name.
pub(crate) fn check_existing(
    parent: &Dir,
    name: &str,
    display_path: &str,
) -> Result<Option<Metadata>, ToolError> {
    let metadata = match parent.symlink_metadata(name) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(io_error(&error, display_path)),
    };
    let reject = |code: ToolErrorCode, reason: &str| {
        Err(code.error_at(display_path, format!("'{display_path}' {reason}")))
    };
    // A write through a symlink could leave the mount or reach a protected file.
    if metadata.is_symlink() {
        return Err(symlink_error(display_path));
    }
    if metadata.is_dir() {
        return reject(ToolErrorCode::IsADirectory, "is a directory");
    }
    unwritable_reason(&metadata).map_or(Ok(Some(metadata)), |reason| {
        reject(ToolErrorCode::PermissionDenied, reason)
    })
}

/// Returns the reason why a file must not be written. A write to a hard link would change a file
/// elsewhere.
fn unwritable_reason(metadata: &Metadata) -> Option<&'static str> {
    match metadata.is_file() {
        false => Some("is not a regular file"),
        true if metadata.nlink() > 1 => Some("has several hard links and is not writable"),
        true => None,
    }
}

fn check_match(
    parent: &Dir,
    name: &str,
    old: Option<&Metadata>,
    request: &WriteRequest<'_>,
) -> Result<(), ToolError> {
    let Some(expected) = request.if_match else {
        return Ok(());
    };
    let display_path = request.display_path;
    let current = match old {
        Some(_) => read_small(parent, name, display_path)?,
        None => None,
    };
    let problem = match current {
        Some(bytes) if sha256(&bytes).eq_ignore_ascii_case(expected) => return Ok(()),
        Some(_) => "has changed since it was read",
        None => "no longer exists",
    };
    Err(conflict_error(display_path, problem))
}

fn conflict_error(display_path: &str, problem: &str) -> ToolError {
    let hint = "read it again with skills_read and use the new `sha256`";
    ToolErrorCode::Conflict
        .error_at(display_path, format!("'{display_path}' {problem}"))
        .with_hint(hint)
}

/// Appends without copying the file. Later failures do not turn a successful append into an error.
fn append(parent: &Dir, name: &str, request: &WriteRequest<'_>) -> Result<WriteResult, ToolError> {
    let to_tool_error = |error: std::io::Error| io_error(&error, request.display_path);
    let mut options = OpenOptions::new();
    options.append(true);
    // The file may have been replaced by a pipe or a symlink since it was checked.
    set_nonblocking(&mut options);
    let mut file = parent.open_with(name, &options).map_err(to_tool_error)?;
    let metadata = file.metadata().map_err(to_tool_error)?;
    // The file may have been replaced since it was checked.
    if let Some(reason) = unwritable_reason(&metadata) {
        return Err(ToolErrorCode::PermissionDenied.error_at(
            request.display_path,
            format!("'{}' {reason}", request.display_path),
        ));
    }
    file.write_all(request.content)
        // Success is reported only for content that survives a crash.
        .and_then(|()| file.sync_all())
        .map_err(to_tool_error)?;
    set_mode(&file, Some(&metadata), request.executable)
        // The content is written already, so a plain error would make the caller append it twice.
        .map_err(|_| permission_error(request.display_path))?;
    // A digest of a large file would cost more than the append itself.
    let is_small =
        metadata.len().saturating_add(request.content.len() as u64) <= MAX_IN_MEMORY_BYTES;
    // A file may be writable but not readable.
    let whole = if is_small {
        read_small(parent, name, request.display_path)
            .ok()
            .flatten()
    } else {
        None
    };
    Ok(WriteResult {
        sha256: whole.map(|bytes| sha256(&bytes)),
        is_new: false,
    })
}

fn permission_error(display_path: &str) -> ToolError {
    let message = format!(
        "content was appended to '{display_path}', but its executable bit could not be changed"
    );
    ToolErrorCode::PermissionDenied
        .error_at(display_path, message)
        .with_hint("do not append it again")
}

/// Writes to a temporary file and renames it, so that a crash leaves the old or the new content.
fn replace(
    parent: &Dir,
    name: &str,
    old: Option<&Metadata>,
    request: &WriteRequest<'_>,
) -> std::io::Result<()> {
    let (mut file, temporary) = create_temp(parent, old, request.new_mode)?;
    let written = file
        .write_all(request.content)
        // Before the rename, so that the file never has its new content with the wrong mode.
        .and_then(|()| set_mode(&file, old, request.executable))
        .and_then(|()| file.sync_all());
    let published = written.and_then(|()| match request.mode {
        // A file that appeared since the check must not be replaced.
        WriteMode::Create | WriteMode::Append => publish_new(parent, &temporary, name),
        WriteMode::Overwrite => parent.rename(&temporary, parent, name),
    });
    if published.is_err() {
        // Cleanup is best effort: the leftover has a temporary name, and the original error matters
        // more.
        let _ = parent.remove_file(&temporary);
    }
    published?;
    sync_directory(parent);
    Ok(())
}

/// Publishes by hard link, which never replaces an existing file, unlike a rename.
fn publish_new(parent: &Dir, temporary: &str, name: &str) -> std::io::Result<()> {
    match parent.hard_link(temporary, parent, name) {
        Ok(()) => parent.remove_file(temporary),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(error),
        // The file system has no hard links: reserve the name first.
        Err(_) => {
            // Exclusive creation still fails if the name exists; the rename then replaces only the
            // reserved file.
            parent.open_with(name, OpenOptions::new().write(true).create_new(true))?;
            parent.rename(temporary, parent, name)
        }
    }
}

/// Creates a file under a temporary name, which is not considered abandoned until it is closed.
/// Other users cannot open it before it has the mode of the old file.
fn create_temp(
    parent: &Dir,
    old: Option<&Metadata>,
    new_mode: Option<u32>,
) -> std::io::Result<(File, String)> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    // The old file may be private; its new content must not be readable while it is written.
    let mode = old.map(|_| 0o600).or(new_mode);
    if let Some(mode) = mode {
        set_creation_mode(&mut options, mode);
    }
    temporary::create_file(parent, &options)
}

/// Sets the mode of a file that is created. Never the set-user-ID, set-group-ID and sticky bits.
#[cfg(unix)]
fn set_creation_mode(options: &mut OpenOptions, mode: u32) {
    use cap_std::fs::OpenOptionsExt;
    options.mode(mode & 0o777);
}

#[cfg(not(unix))]
fn set_creation_mode(_options: &mut OpenOptions, _mode: u32) {}

/// Applies the mode of the old file and the requested executable bit; does nothing if the mode is
/// already right.
#[cfg(unix)]
fn set_mode(file: &File, old: Option<&Metadata>, executable: Option<bool>) -> std::io::Result<()> {
    use cap_std::fs::{Permissions, PermissionsExt};
    if old.is_none() && executable.is_none() {
        return Ok(());
    }
    let now = file.metadata()?.permissions().mode();
    // Never the set-user-ID, set-group-ID and sticky bits.
    let mode = old.map_or(now, |old| old.permissions().mode()) & 0o777;
    let mode = match executable {
        None => mode,
        // Readers get the permission to execute.
        Some(true) => mode | (mode & 0o444) >> 2,
        Some(false) => mode & !0o111,
    };
    if mode == now & 0o7777 {
        return Ok(());
    }
    file.set_permissions(Permissions::from_mode(mode))
}

#[cfg(not(unix))]
fn set_mode(
    _file: &File,
    _old: Option<&Metadata>,
    _executable: Option<bool>,
) -> std::io::Result<()> {
    Ok(())
}

/// Makes the rename durable. Best effort: some file systems do not support it, and the content is
/// safe without it.
pub(crate) fn sync_directory(directory: &Dir) {
    #[cfg(unix)]
    if let Ok(directory) = directory.try_clone() {
        // Without it, the file could be missing after a power failure.
        let _ = directory.into_std_file().sync_all();
    }
    #[cfg(not(unix))]
    let _ = directory;
}

#[cfg(test)]
mod tests {
    use cap_std::ambient_authority;

    use super::*;

    const WRITING: WriteRequest<'_> = WriteRequest {
        display_path: "a",
        content: b"new",
        mode: WriteMode::Overwrite,
        if_match: None,
        executable: None,
        new_mode: None,
    };

    fn directory() -> (tempfile::TempDir, Dir) {
        let held = tempfile::tempdir().unwrap();
        let directory = Dir::open_ambient_dir(held.path(), ambient_authority()).unwrap();
        directory.write("a", "old").unwrap();
        (held, directory)
    }

    #[test]
    fn a_crash_before_the_rename_leaves_the_old_file() {
        let (_held, directory) = directory();
        let (mut file, _) = create_temp(&directory, None, None).unwrap();
        file.write_all(b"ne").unwrap();
        drop(file);
        assert_eq!(directory.read_to_string("a").unwrap(), "old");
        assert!(!write_file(&directory, "a", &WRITING).unwrap().is_new);
        assert_eq!(directory.read_to_string("a").unwrap(), "new");
    }

    #[cfg(unix)]
    #[test]
    fn guessed_temporary_names_are_not_followed() {
        let (_held, directory) = directory();
        directory.write("canary", "alive").unwrap();
        let (_, now) = create_temp(&directory, None, None).unwrap();
        let number: u64 = now
            .trim_end_matches(".tmp")
            .rsplit('-')
            .next()
            .unwrap()
            .parse()
            .unwrap();
        for next in number + 1..number + 500 {
            directory
                .symlink(
                    "canary",
                    format!(".skills-{}-{next}.tmp", std::process::id()),
                )
                .unwrap();
        }
        assert!(!write_file(&directory, "a", &WRITING).unwrap().is_new);
        assert_eq!(
            (
                directory.read_to_string("a").unwrap().as_str(),
                directory.read_to_string("canary").unwrap().as_str()
            ),
            ("new", "alive")
        );
    }

    #[test]
    fn a_new_file_does_not_replace_an_existing_one() {
        let (_held, directory) = directory();
        let (_, temporary) = create_temp(&directory, None, None).unwrap();
        assert_eq!(
            publish_new(&directory, &temporary, "a").unwrap_err().kind(),
            ErrorKind::AlreadyExists
        );
        publish_new(&directory, &temporary, "b").unwrap();
        assert_eq!(
            (
                directory.read_to_string("a").unwrap().as_str(),
                directory.exists(&temporary)
            ),
            ("old", false)
        );
    }

    #[test]
    fn append_does_not_replace_a_concurrently_created_file() {
        let (_held, directory) = directory();
        let request = WriteRequest {
            mode: WriteMode::Append,
            ..WRITING
        };
        // Simulates a file that is created after the check.
        assert_eq!(
            replace(&directory, "a", None, &request).unwrap_err().kind(),
            ErrorKind::AlreadyExists
        );
        assert_eq!(
            directory.entries().unwrap().count(),
            1,
            "no file of the writer is left"
        );
        assert!(!append(&directory, "a", &request).unwrap().is_new);
        assert_eq!(directory.read_to_string("a").unwrap(), "oldnew");
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test fails by panicking")]
    fn concurrent_first_appends_lose_no_content() {
        let (_held, directory) = directory();
        let append = |name: &str, line: &str| {
            let request = WriteRequest {
                content: line.as_bytes(),
                mode: WriteMode::Append,
                ..WRITING
            };
            write_file(&directory, name, &request)
                .is_ok()
                .then(|| line.to_owned())
        };
        for round in 0..100 {
            let name = format!("log-{round}");
            let mut written: Vec<String> = std::thread::scope(|scope| {
                let all: Vec<_> = ["a\n", "b\n", "c\n", "d\n"]
                    .map(|line| scope.spawn(|| append(&name, line)))
                    .into();
                all.into_iter()
                    .filter_map(|one| one.join().unwrap())
                    .collect()
            });
            // Some writes fail, since a file has two names while it is published.
            assert!(!written.is_empty());
            let mut found: Vec<String> = directory
                .read_to_string(&name)
                .unwrap()
                .split_inclusive('\n')
                .map(str::to_owned)
                .collect();
            written.sort();
            found.sort();
            assert_eq!(found, written);
        }
    }

    #[cfg(unix)]
    #[test]
    fn new_content_is_private_until_it_has_the_mode_of_the_old() {
        use cap_std::fs::{MetadataExt, Permissions, PermissionsExt};
        let (_held, directory) = directory();
        directory
            .set_permissions("a", Permissions::from_mode(0o640))
            .unwrap();
        let old = directory.metadata("a").unwrap();
        let (file, _) = create_temp(&directory, Some(&old), None).unwrap();
        assert_eq!(file.metadata().unwrap().mode() & 0o777, 0o600);
        set_mode(&file, Some(&old), None).unwrap();
        assert_eq!(file.metadata().unwrap().mode() & 0o777, 0o640);
    }

    #[cfg(unix)]
    #[test]
    fn an_unchanged_mode_is_not_set_again() {
        use cap_std::fs::MetadataExt;
        let (_held, directory) = directory();
        let changed = || {
            directory
                .metadata("a")
                .map(|metadata| (metadata.ctime(), metadata.ctime_nsec()))
                .unwrap()
        };
        let (file, before) = (directory.open("a").unwrap(), changed());
        // File timestamps have a resolution of some milliseconds, but these calls take longer.
        for _ in 0..10_000 {
            set_mode(&file, Some(&file.metadata().unwrap()), Some(false)).unwrap();
        }
        assert_eq!(changed(), before);
    }
}
