//! The files of redirections, with the checks of the tools that read and write files.

use std::path::PathBuf;

use cap_std::fs::{Dir, File, Metadata};
use serde_json::{Value, json};
use skills_runtime::policy::Access;
use skills_threads::lock;

use super::usage::MAX_PASSED_BYTES;
use crate::files::open::{self, OpenedFile};
use crate::files::write::{self, WriteMode, WriteRequest};
use crate::files::{io_error, join_parts};
use crate::mount::Access as MountAccess;
use crate::virtual_files::{ResolvedPath, VirtualFiles};
use crate::virtual_path::VirtualPath;
use crate::{ToolError, ToolErrorCode};

/// Returns a path of a command as a virtual path. A relative one stays below the working directory:
/// unlike for the file tools, its first component names no mount and no skill, since it does not for
/// the programs of the same line.
fn join_path(current_dir: &str, path: &str) -> String {
    let mut path = match path.trim_end_matches('/') {
        "" if path.starts_with('/') => "/",
        trimmed => trimmed,
    };
    if path.starts_with('/') {
        return path.to_owned();
    }
    while let Some(rest) = path.strip_prefix("./") {
        path = rest;
    }
    let base = match current_dir.trim_end_matches('/') {
        "" if current_dir.is_empty() => ".",
        "" => "/",
        base => base,
    };
    if path.is_empty() || path == "." {
        base.to_owned()
    } else {
        format!("{base}/{path}")
    }
}

/// Returns a path of a command as a virtual path, without `..`. A directory before `..` is opened, so that
/// the path is what it is for a program, also after a symlink, and never above the workspace or a mount.
pub(super) fn find_path(
    files: &VirtualFiles,
    current_dir: &str,
    path: &str,
) -> Result<String, ToolError> {
    let joined = join_path(current_dir, path);
    if !joined.split('/').any(|part| part == "..") {
        return Ok(joined);
    }
    let mut found: Option<String> = None;
    for part in joined.split('/') {
        found = Some(match (found, part) {
            (None, part) => part.to_owned(),
            (Some(directory), "..") => parent_of(files, &directory)?,
            (Some(directory), "." | "") if !directory.is_empty() => directory,
            (Some(directory), part) => format!("{directory}/{part}"),
        });
    }
    Ok(found.unwrap_or_default())
}

fn parent_of(files: &VirtualFiles, directory: &str) -> Result<String, ToolError> {
    let resolved = files.resolve(&VirtualPath::parse(directory)?)?;
    let (_, canonical) = files.open_directory(&resolved)?;
    let outside = || {
        ToolErrorCode::PathOutsideMounts.error_at(
            &resolved.display,
            format!(
                "cannot use `..` in '{}': not below it",
                resolved.base_display()
            ),
        )
    };
    let (_, parents) = canonical.split_last().ok_or_else(outside)?;
    let mut path = resolved.base_display().to_owned();
    for name in parents {
        let name = name.to_str().ok_or_else(outside)?;
        path = format!("{path}/{name}");
    }
    Ok(path)
}

/// Resolves a path of a command.
pub(super) fn resolve(
    files: &VirtualFiles,
    current_dir: &str,
    path: &str,
) -> Result<ResolvedPath, ToolError> {
    files.resolve(&VirtualPath::parse(&find_path(files, current_dir, path)?)?)
}

/// Reads the file of `<`. It is opened here, so the program needs no access to it.
pub(super) fn read_input(
    files: &VirtualFiles,
    current_dir: &str,
    path: &str,
) -> Result<Vec<u8>, ToolError> {
    if path == "/dev/null" {
        return Ok(Vec::new());
    }
    let (file, _, display) = open_input(files, current_dir, path)?;
    let hint = "pass its path to the program instead of `<`";
    read_all(file, &display, MAX_PASSED_BYTES as u64, hint)
}

/// Opens a file that may be read, and returns it with the path that errors show.
pub(super) fn open_input(
    files: &VirtualFiles,
    current_dir: &str,
    path: &str,
) -> Result<(File, Metadata, String), ToolError> {
    let resolved = resolve(files, current_dir, path)?;
    let canonical = files.canonicalize(&resolved)?;
    let target = join_parts(&resolved.base_path(), &canonical);
    check_policy(files, &resolved, target, Access::ReadOnly)?;
    let opened = open::open_file(&resolved.base_dir, &canonical);
    let opened = opened.map_err(|error| io_error(&error, &resolved.display))?;
    match opened {
        OpenedFile::File(file, metadata) => Ok((file, metadata, resolved.display)),
        _ => Err(ToolErrorCode::PermissionDenied.error_at(
            &resolved.display,
            format!("cannot read '{}': not a regular file", resolved.display),
        )),
    }
}

/// Reads a file of at most `max_bytes`.
pub(super) fn read_all(
    file: File,
    display: &str,
    max_bytes: u64,
    hint: &str,
) -> Result<Vec<u8>, ToolError> {
    let mut bytes = Vec::new();
    let mut limited = std::io::Read::take(file, max_bytes + 1);
    std::io::Read::read_to_end(&mut limited, &mut bytes)
        .map_err(|error| io_error(&error, display))?;
    if bytes.len() as u64 > max_bytes {
        let message = format!("'{display}' is larger than {} MiB", max_bytes >> 20);
        let error = ToolErrorCode::TooLarge.error_at(display, message);
        return Err(error.with_hint(hint));
    }
    Ok(bytes)
}

/// Returns true if a path is a directory that may be opened.
pub(super) fn is_directory(files: &VirtualFiles, current_dir: &str, path: &str) -> bool {
    resolve(files, current_dir, path).is_ok_and(|resolved| files.open_directory(&resolved).is_ok())
}

/// Returns a path that may be written: in the writable workspace or a mount, by rules without a
/// question, and not one that is executed or trusted by other programs.
pub(super) fn find_writable(
    files: &VirtualFiles,
    current_dir: &str,
    path: &str,
) -> Result<ResolvedPath, ToolError> {
    let resolved = resolve(files, current_dir, path)?;
    // Drafts are written by the tool that validates them.
    if resolved.skill.is_some() || resolved.access != MountAccess::ReadWrite {
        return Err(ToolErrorCode::ReadOnly
            .error_at(
                &resolved.display,
                format!("'{}' is read-only", resolved.display),
            )
            .with_hint("write to the workspace instead"));
    }
    files.check_writable(&resolved)?;
    let host_path = resolved.host_path.clone();
    check_policy(files, &resolved, host_path, Access::ReadWrite)?;
    Ok(resolved)
}

/// Fails for an existing file that may hold keys, also by its content: it is not replaced or removed.
pub(super) fn check_no_keys(
    files: &VirtualFiles,
    resolved: &ResolvedPath,
) -> Result<(), ToolError> {
    let readable = files.canonicalize(resolved);
    readable.map(drop).map_err(|error| match error.code {
        ToolErrorCode::PermissionDenied => error.code.error_at(
            &resolved.display,
            format!(
                "cannot change '{}': it may contain keys or secrets",
                resolved.display
            ),
        ),
        _ => error,
    })
}

/// The file of `>` or `>>`, which may be written.
pub(super) struct OutputFile {
    resolved: ResolvedPath,
    mode: WriteMode,
    /// Its mode if it is new.
    new_mode: Option<u32>,
    bytes: usize,
    is_new: bool,
}

impl OutputFile {
    /// Checks that a file can and [may be](find_writable) written.
    pub(super) fn find(
        files: &VirtualFiles,
        current_dir: &str,
        path: &str,
        append: bool,
    ) -> Result<Self, ToolError> {
        let resolved = find_writable(files, current_dir, path)?;
        if resolved.parts.is_empty() || path.ends_with('/') {
            return Err(is_a_directory(&resolved));
        }
        let (parent, name) = open_target(&resolved)?;
        let existing = write::check_existing(&parent, name, &resolved.display)?;
        if existing.is_some() {
            check_no_keys(files, &resolved)?;
        }
        Ok(Self {
            is_new: existing.is_none(),
            resolved,
            mode: if append {
                WriteMode::Append
            } else {
                WriteMode::Overwrite
            },
            new_mode: None,
            bytes: 0,
        })
    }

    /// Sets the mode of the file, unless it exists.
    pub(super) fn with_mode(mut self, mode: Option<u32>) -> Self {
        self.new_mode = mode;
        self
    }

    /// Returns the path that errors show.
    pub(super) fn display(&self) -> &str {
        &self.resolved.display
    }

    /// Writes the file as a whole: it is opened here, without following a symlink.
    pub(super) fn write(&mut self, files: &VirtualFiles, bytes: &[u8]) -> Result<(), ToolError> {
        let resolved = &self.resolved;
        let _write_guard = lock(&files.write_lock);
        let size = bytes.len() as u64;
        resolved.quota.reserve(size).map_err(|remaining| {
            let message = format!(
                "cannot write: {remaining} bytes left in the write quota of '{}'",
                resolved.base_display()
            );
            ToolErrorCode::TooLarge.error_at(&resolved.display, message)
        })?;
        let written = open_target(resolved).and_then(|(parent, name)| {
            let request = WriteRequest {
                display_path: &resolved.display,
                content: bytes,
                mode: self.mode,
                if_match: None,
                executable: None,
                new_mode: self.new_mode,
            };
            write::write_file(&parent, name, &request)
        });
        let written = written.inspect_err(|_| resolved.quota.release(size))?;
        (self.bytes, self.is_new) = (bytes.len(), written.is_new);
        Ok(())
    }

    /// Returns the path and the data of a changed file, for the result.
    pub(super) fn describe(&self) -> (String, Value) {
        let path = self.resolved.display.clone();
        let data = json!({"path": path, "size": self.bytes, "created": self.is_new});
        (path, data)
    }
}

/// Opens the directory of a file, without following a symlink, and returns the name of the file in it.
pub(super) fn open_target(resolved: &ResolvedPath) -> Result<(Dir, &str), ToolError> {
    let Some((name, parents)) = resolved.parts.split_last() else {
        return Err(is_a_directory(resolved));
    };
    let parent = write::open_parent(&resolved.base_dir, parents, &resolved.display);
    let parent = parent.map_err(|error| match error.code {
        ToolErrorCode::Conflict => ToolErrorCode::NotFound.error_at(
            &resolved.display,
            format!(
                "cannot write '{}': its directory does not exist",
                resolved.display
            ),
        ),
        _ => error,
    })?;
    Ok((parent, name))
}

fn is_a_directory(resolved: &ResolvedPath) -> ToolError {
    ToolErrorCode::IsADirectory.error_at(
        &resolved.display,
        format!("'{}' is a directory", resolved.display),
    )
}

/// Fails unless rules let a program access the path without a question. The tools that read and write
/// files have no rules; a program has.
fn check_policy(
    files: &VirtualFiles,
    resolved: &ResolvedPath,
    path: PathBuf,
    access: Access,
) -> Result<(), ToolError> {
    let directory = resolved.base_path();
    if files
        .runtime
        .executor()
        .allows_path(&directory, &path, access)
    {
        return Ok(());
    }
    let verb = match access {
        Access::ReadOnly => "read",
        Access::ReadWrite => "write",
    };
    Err(ToolErrorCode::PermissionDenied
        .error_at(
            &resolved.display,
            format!(
                "cannot {verb} '{}': the policy does not allow it",
                resolved.display
            ),
        )
        .with_hint(format!("ask the user to allow commands to {verb} it")))
}

#[cfg(test)]
mod tests {
    use super::join_path;

    #[test]
    fn relative_paths_stay_below_the_working_directory() {
        for (current_dir, path, expected) in [
            ("", "a", "./a"),
            ("", "./skills/kit", "./skills/kit"),
            ("", "data/a.csv", "./data/a.csv"),
            ("", ".", "."),
            ("", "", "."),
            ("", "a/", "./a"),
            ("", "/", "/"),
            ("", "///", "/"),
            ("src", "/data/a", "/data/a"),
            ("src", "././a", "src/a"),
            ("src/", ".", "src"),
            ("/skills/kit", "a", "/skills/kit/a"),
            ("", ".//etc", ".//etc"),
        ] {
            assert_eq!(
                join_path(current_dir, path),
                expected,
                "{current_dir} {path}"
            );
        }
    }
}
