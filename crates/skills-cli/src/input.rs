//! Reads arguments of the form `JSON`, `@FILE`, `-` and paths.
#![expect(
    clippy::disallowed_methods,
    reason = "a file from the command line is not a file of a skill"
)]

use std::fs::{File, OpenOptions};
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde_json::Value;
use skills_runtime::discovery::canonical_skill_path;

use crate::error::CommandError;

/// Maximum size of an input, in bytes.
pub(crate) const MAX_BYTES: u64 = 64 << 20;

/// Reads text from the argument, from the file after `@`, or from standard input for `-`.
pub(crate) fn read_text(argument: &str) -> anyhow::Result<String> {
    match argument.strip_prefix('@') {
        // An `@name` that is not a file is text.
        Some(path) if Path::new(path).is_file() => {
            let file = File::open(path)
                .with_context(|| CommandError::input(format!("cannot open `{path}`")))?;
            read_all(file)
        }
        Some(path)
            if path.contains(std::path::is_separator) && !path.contains(char::is_whitespace) =>
        {
            // With a separator and without spaces it is a mistyped path, and not text.
            Err(CommandError::input(format!("cannot open `{path}`")).into())
        }
        _ if argument == "-" => read_all(std::io::stdin()),
        _ => Ok(argument.to_owned()),
    }
}

/// Reads JSON from the argument, from the file after `@`, or from standard input for `-`. Errors
/// refer to the argument as `option`.
pub(crate) fn read_json(argument: &str, option: &str) -> anyhow::Result<Value> {
    let (text, source) = match argument.strip_prefix('@') {
        Some(path) => {
            let file = File::open(path).with_context(|| {
                CommandError::input(format!("cannot open the input file `{path}`"))
            })?;
            (read_all(file)?, format!("`{path}`"))
        }
        None if argument == "-" => (read_all(std::io::stdin())?, "standard input".to_owned()),
        None => (argument.to_owned(), option.to_owned()),
    };
    serde_json::from_str(&text).map_err(|error| {
        let failed = CommandError::input(format!("cannot parse {source} as JSON: {error}"));
        let failed = match option {
            "--input" => {
                failed.with_help("pass text with `--stdin -` or a file with `--stdin FILE`")
            }
            _ => failed,
        };
        failed.into()
    })
}

/// Reads the standard input of a program from a file, or from that of this process for `-`.
pub(crate) fn read_stdin_file(argument: &str) -> anyhow::Result<Vec<u8>> {
    if argument != "-" {
        return read_bytes(Path::new(argument), MAX_BYTES);
    }
    let mut bytes = Vec::new();
    let read = std::io::stdin()
        .take(MAX_BYTES + 1)
        .read_to_end(&mut bytes)
        .with_context(|| CommandError::input("cannot read standard input"))?;
    if read as u64 > MAX_BYTES {
        let message = format!("cannot read standard input: larger than {MAX_BYTES} bytes");
        return Err(CommandError::input(message).into());
    }
    Ok(bytes)
}

fn read_all(reader: impl Read) -> anyhow::Result<String> {
    let mut text = String::new();
    let read = reader
        // One more byte than allowed tells a file of the maximum size from a larger one.
        .take(MAX_BYTES + 1)
        .read_to_string(&mut text)
        .with_context(|| CommandError::input("cannot read the input as UTF-8 text"))?;
    if read as u64 > MAX_BYTES {
        let message = format!("cannot read the input: larger than {MAX_BYTES} bytes");
        return Err(CommandError::input(message).into());
    }
    Ok(text)
}

/// Reads a regular file of at most `max_bytes` bytes. Does not block: a pipe is rejected.
pub(crate) fn read_bytes(path: &Path, max_bytes: u64) -> anyhow::Result<Vec<u8>> {
    let shown = path.display();
    let failed = || CommandError::input(format!("cannot read `{shown}`"));
    let file = open_file(path).with_context(failed)?;
    // Of the open file and not of the path, which can refer to another file by now.
    if !file.metadata().with_context(failed)?.is_file() {
        let message = format!("`{shown}` is not a regular file");
        return Err(CommandError::input(message).into());
    }
    let mut bytes = Vec::new();
    let read = file
        .take(max_bytes + 1)
        .read_to_end(&mut bytes)
        .with_context(failed)?;
    if read as u64 > max_bytes {
        let message = format!("`{shown}` is larger than {max_bytes} bytes");
        return Err(CommandError::input(message).into());
    }
    Ok(bytes)
}

/// Reads a regular UTF-8 file like [`read_bytes`].
pub(crate) fn read_text_file(path: &Path, max_bytes: u64) -> anyhow::Result<String> {
    decode_utf8(path, read_bytes(path, max_bytes)?)
}

/// Decodes the bytes of a file as UTF-8.
pub(crate) fn decode_utf8(path: &Path, bytes: Vec<u8>) -> anyhow::Result<String> {
    String::from_utf8(bytes)
        .map_err(|_| CommandError::input(format!("`{}` is not valid UTF-8", path.display())).into())
}

fn open_file(path: &Path) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    // Opening a named pipe would otherwise wait for a writer, before its type can be checked.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(
        &mut options,
        nix::fcntl::OFlag::O_NONBLOCK.bits(),
    );
    options.read(true).open(path)
}

/// Resolves the path of a directory that must exist.
pub(crate) fn resolve_directory(path: &Path) -> anyhow::Result<PathBuf> {
    let cannot_open = |cause: String| {
        CommandError::input(format!(
            "cannot open directory `{}`: {cause}",
            path.display()
        ))
    };
    let resolved = path.canonicalize().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => cannot_open("not found".to_owned()),
        _ => cannot_open(error.to_string()),
    })?;
    if resolved.is_dir() {
        Ok(resolved)
    } else {
        Err(cannot_open("not a directory".to_owned()).into())
    }
}

/// Returns true if two paths name the same file: by their texts, or as a file that exists.
pub(crate) fn is_same_path(one: &Path, other: &Path) -> bool {
    let is_same_text = one == other || path_below(one, other) == Some(PathBuf::new());
    is_same_text
        || one
            .canonicalize()
            .is_ok_and(|one| other.canonicalize().is_ok_and(|other| one == other))
}

/// Returns the rest of a path in a directory, each of which can be relative to the working directory
/// and need not exist; `None` for paths elsewhere.
pub(crate) fn path_below(directory: &Path, path: &Path) -> Option<PathBuf> {
    // An empty path has no absolute one. Without `.`, but with `..`.
    let (directory, path) = (absolute(directory)?, absolute(path)?);
    Some(path.strip_prefix(directory).ok()?.to_owned())
}

fn absolute(path: &Path) -> Option<PathBuf> {
    std::path::absolute(path).ok()
}

/// Returns true if an argument that names a skill is a path: it has a separator, or is `.` or `..`.
pub(crate) fn is_explicit_path(argument: &str) -> bool {
    argument.contains(std::path::is_separator) || matches!(argument, "." | "..")
}

/// Resolves a skill that is given by its directory. A bare name is returned unchanged.
pub(crate) fn resolve_skill_name(argument: &str) -> String {
    if is_explicit_path(argument)
        && let Some(path) = canonical_skill_path(Path::new(argument))
    {
        return path.to_string_lossy().into_owned();
    }
    argument.to_owned()
}
