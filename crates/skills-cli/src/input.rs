//! What the user names: input, files, directories.
#![expect(
    clippy::disallowed_methods,
    reason = "a file that the user names on the command line is no file of a skill"
)]

use std::fmt;
use std::fs::Metadata;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde_json::Value;
use skills_runtime::discovery::canonical_skill_path;

/// The most input that is read, in bytes.
pub(crate) const MAX_BYTES: u64 = 64 << 20;

/// The input cannot be used: wrong usage, not a failed skill.
#[derive(Debug)]
pub(crate) struct InputError(String);

impl InputError {
    pub(crate) fn new(message: String) -> Self {
        Self(message)
    }
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for InputError {}

/// Reads text from the argument, from the file behind `@`, or from standard input for `-`.
pub(crate) fn read_text(argument: &str) -> anyhow::Result<String> {
    match argument.strip_prefix('@') {
        // A name with a sigil is text.
        Some(path) if std::path::Path::new(path).is_file() => {
            let file = std::fs::File::open(path)
                .with_context(|| InputError(format!("the file {path:?} cannot be opened")))?;
            read_all(file)
        }
        Some(path)
            if path.contains(std::path::is_separator) && !path.contains(char::is_whitespace) =>
        {
            Err(InputError(format!("the file {path:?} cannot be opened")).into())
        }
        _ if argument == "-" => read_all(std::io::stdin()),
        _ => Ok(argument.to_owned()),
    }
}

/// Reads JSON from the argument, which `option` names, from the file behind `@`, or from standard
/// input for `-`.
pub(crate) fn read_json(argument: &str, option: &str) -> anyhow::Result<Value> {
    let (text, source) = match argument.strip_prefix('@') {
        Some(path) => {
            let file = std::fs::File::open(path)
                .with_context(|| InputError(format!("the input file {path:?} cannot be opened")))?;
            (read_all(file)?, path)
        }
        None if argument == "-" => (read_all(std::io::stdin())?, "standard input"),
        None => (argument.to_owned(), option),
    };
    serde_json::from_str(&text)
        .map_err(|error| InputError(format!("{source} is not JSON: {error}")).into())
}

fn read_all(reader: impl Read) -> anyhow::Result<String> {
    let mut text = String::new();
    let read = reader
        .take(MAX_BYTES + 1)
        .read_to_string(&mut text)
        .with_context(|| InputError("the input cannot be read as text".to_owned()))?;
    if read as u64 > MAX_BYTES {
        return Err(InputError(format!("the input has more than {MAX_BYTES} bytes")).into());
    }
    Ok(text)
}

/// Reads a regular file of at most `max_bytes` bytes. Nothing is waited for: a pipe is no file.
pub(crate) fn read_bytes(path: &Path, max_bytes: u64) -> anyhow::Result<Vec<u8>> {
    Ok(read_bytes_and_metadata(path, max_bytes)?.0)
}

/// Reads a regular file, as [`bytes`] does, with the metadata that it had just before.
pub(crate) fn read_bytes_and_metadata(
    path: &Path,
    max_bytes: u64,
) -> anyhow::Result<(Vec<u8>, Metadata)> {
    let failed = || InputError(format!("{} cannot be read", path.display()));
    let file = open_file(path).with_context(failed)?;
    let metadata = file.metadata().with_context(failed)?;
    if !metadata.is_file() {
        return Err(InputError(format!("{} is no regular file", path.display())).into());
    }
    let mut bytes = Vec::new();
    let read = file
        .take(max_bytes + 1)
        .read_to_end(&mut bytes)
        .with_context(failed)?;
    if read as u64 > max_bytes {
        return Err(InputError(format!(
            "{} has more than {max_bytes} bytes",
            path.display()
        ))
        .into());
    }
    Ok((bytes, metadata))
}

/// Reads a regular text file, as [`bytes`] does.
pub(crate) fn read_text_file(path: &Path, max_bytes: u64) -> anyhow::Result<String> {
    decode_utf8(path, read_bytes(path, max_bytes)?)
}

/// Takes the bytes of a file as text.
pub(crate) fn decode_utf8(path: &Path, bytes: Vec<u8>) -> anyhow::Result<String> {
    String::from_utf8(bytes)
        .map_err(|_| InputError(format!("{} is no text", path.display())).into())
}

#[cfg(unix)]
fn open_file(path: &Path) -> std::io::Result<std::fs::File> {
    use std::os::unix::fs::OpenOptionsExt;
    std::fs::OpenOptions::new()
        .read(true)
        .custom_flags(nix::fcntl::OFlag::O_NONBLOCK.bits())
        .open(path)
}

#[cfg(not(unix))]
fn open_file(path: &Path) -> std::io::Result<std::fs::File> {
    std::fs::File::open(path)
}

/// Resolves a directory that the user names.
pub(crate) fn resolve_directory(path: &Path) -> anyhow::Result<PathBuf> {
    let resolved = path.canonicalize().ok().filter(|path| path.is_dir());
    resolved.ok_or_else(|| InputError(format!("{}: no such directory", path.display())).into())
}

/// Resolves a skill that is named by its directory; a bare name stays one.
pub(crate) fn resolve_skill_name(argument: &str) -> String {
    let path = Path::new(argument);
    let resolved = argument
        .contains(std::path::is_separator)
        .then(|| canonical_skill_path(path))
        .flatten();
    resolved.map_or_else(
        || argument.to_owned(),
        |path| path.to_string_lossy().into_owned(),
    )
}
