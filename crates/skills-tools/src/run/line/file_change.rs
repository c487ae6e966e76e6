//! Makes, copies, moves and removes single files for a line.

use std::collections::HashSet;
use std::io::{Error, ErrorKind};
use std::sync::Arc;
use std::time::SystemTime;

use cap_std::fs::OpenOptions;
use serde_json::{Value, json};
use skills_threads::lock;

use super::own_command::{OwnCommand, OwnProgram};
use super::redirected_files::{
    OutputFile, check_no_keys, find_writable, is_directory, open_input, open_target, read_all,
};
use crate::files::open::set_nonblocking;
use crate::files::read::MAX_IN_MEMORY_BYTES;
use crate::files::{io_error, write};
use crate::virtual_files::VirtualFiles;
use crate::{ToolError, ToolErrorCode};

/// What a directory or an empty file counts in the write quota, in bytes.
const ENTRY_BYTES: u64 = 4_096;

/// One change, of which a command is a list.
pub(super) enum FileChange {
    Copy { source: String, target: String },
    MakeDirectory { path: String, with_parents: bool },
    Move { source: String, target: String },
    Remove { path: String, may_be_missing: bool },
    Touch { path: String },
}

/// What a change did.
#[derive(Default)]
pub(super) struct Changed {
    /// The message of the program and a line end, if it fails with exit code 1.
    pub(super) failure: Option<String>,
    /// The path and the data of a file that was written, for the result.
    pub(super) written: Option<(String, Value)>,
    /// The path of a file that does not exist any more.
    pub(super) removed: Option<String>,
}

impl Changed {
    fn failed(message: String) -> Self {
        Self {
            failure: Some(message + "\n"),
            ..Self::default()
        }
    }
}

impl FileChange {
    /// Returns the changes of a command, or the message with which it fails.
    pub(super) fn list(
        files: &VirtualFiles,
        current_dir: &str,
        command: OwnCommand,
    ) -> Result<Vec<Self>, String> {
        let (program, has_option) = (command.program, command.has_option);
        let mut operands = command.operands;
        if operands.is_empty() {
            let operand = match program {
                OwnProgram::Copy | OwnProgram::Move | OwnProgram::Touch => "file operand",
                _ => "operand",
            };
            return match program {
                OwnProgram::Remove if has_option => Ok(Vec::new()),
                _ => Err(usage(program, &format!("missing {operand}"))),
            };
        }
        if !matches!(program, OwnProgram::Copy | OwnProgram::Move) {
            let change = |path| match program {
                OwnProgram::MakeDirectory => Self::MakeDirectory {
                    path,
                    with_parents: has_option,
                },
                OwnProgram::Remove => Self::Remove {
                    path,
                    may_be_missing: has_option,
                },
                _ => Self::Touch { path },
            };
            return Ok(operands.into_iter().map(change).collect());
        }
        let target = operands.pop().unwrap_or_default();
        if operands.is_empty() {
            let message = format!("missing destination file operand after '{target}'");
            return Err(usage(program, &message));
        }
        let into_directory = !target.is_empty() && is_directory(files, current_dir, &target);
        if operands.len() > 1 && !into_directory {
            return Err(format!(
                "{}: target '{target}': {}\n",
                program.name(),
                not_directory(files, current_dir, &target,)
            ));
        }
        if target.ends_with('/') && !into_directory {
            return Err(format!(
                "{}: target '{target}': Not a directory\n",
                program.name()
            ));
        }
        let change = |source: String| {
            let target = if into_directory {
                let name = source.trim_end_matches('/').rsplit('/').next();
                let name = name.unwrap_or_default();
                format!("{}/{name}", target.trim_end_matches('/'))
            } else {
                target.clone()
            };
            match program {
                OwnProgram::Copy => Self::Copy { source, target },
                _ => Self::Move { source, target },
            }
        };
        Ok(operands.into_iter().map(change).collect())
    }

    /// Returns the target of a copied or moved file.
    pub(super) fn target(&self) -> Option<&str> {
        match self {
            Self::Copy { target, .. } | Self::Move { target, .. } => Some(target),
            _ => None,
        }
    }

    /// Returns the failure of a change that would replace what the same command has just made, such as
    /// that of the second file in `mv x/a y/a d`. `made` are the targets so far.
    pub(super) fn replaces_made(&self, made: &HashSet<String>) -> Option<Changed> {
        let (program, source, target) = match self {
            Self::Copy { source, target } => ("cp", source, target),
            Self::Move { source, target } => ("mv", source, target),
            _ => return None,
        };
        made.contains(target).then(|| {
            let message =
                format!("{program}: will not overwrite just-created '{target}' with '{source}'");
            Changed::failed(message)
        })
    }

    /// Returns the failure of a change with an empty path, or with a file that is named as a directory, by
    /// a `/` at its end.
    fn misnamed(&self, files: &VirtualFiles, current_dir: &str) -> Option<Changed> {
        let is_file =
            |path: &str| path.ends_with('/') && open_input(files, current_dir, path).is_ok();
        let reason = |path: &str| match path {
            "" => Some("No such file or directory"),
            path => is_file(path).then_some("Not a directory"),
        };
        let (problem, reason) = match self {
            Self::Copy { source, target } => match reason(source) {
                Some(reason) => (format!("cp: cannot stat '{source}'"), Some(reason)),
                None => (
                    format!("cp: cannot create regular file '{target}'"),
                    reason(target),
                ),
            },
            Self::Move { source, target } => match reason(source) {
                Some(reason) => (format!("mv: cannot stat '{source}'"), Some(reason)),
                None => (
                    format!("mv: cannot move '{source}' to '{target}'"),
                    reason(target),
                ),
            },
            Self::Remove {
                may_be_missing: true,
                path,
            } if path.is_empty() => {
                return Some(Changed::default());
            }
            Self::Remove { path, .. } => (format!("rm: cannot remove '{path}'"), reason(path)),
            Self::MakeDirectory { path, .. } => {
                let empty = path.is_empty().then_some("No such file or directory");
                (format!("mkdir: cannot create directory '{path}'"), empty)
            }
            Self::Touch { path } => (format!("touch: cannot touch '{path}'"), reason(path)),
        };
        reason.map(|reason| Changed::failed(format!("{problem}: {reason}")))
    }

    /// Makes the change.
    ///
    /// # Errors
    /// Fails if it is refused, or larger than a limit. What a program would report is not an error.
    pub(super) fn apply(
        &self,
        files: &VirtualFiles,
        current_dir: &str,
    ) -> Result<Changed, ToolError> {
        if let Some(failed) = self.misnamed(files, current_dir) {
            return Ok(failed);
        }
        match self {
            Self::Copy { source, target } => copy(files, current_dir, source, target),
            Self::MakeDirectory { path, with_parents } => {
                make_directory(files, current_dir, path, *with_parents)
            }
            Self::Move { source, target } => move_file(files, current_dir, source, target),
            Self::Remove {
                path,
                may_be_missing,
            } => remove(files, current_dir, path, *may_be_missing),
            Self::Touch { path } => touch(files, current_dir, path),
        }
    }
}

fn copy(
    files: &VirtualFiles,
    current_dir: &str,
    source: &str,
    target: &str,
) -> Result<Changed, ToolError> {
    if is_directory(files, current_dir, source) {
        let message = format!("cp: -r not specified; omitting directory '{source}'");
        return Ok(Changed::failed(message));
    }
    let opened = open_input(files, current_dir, source);
    let (file, metadata, display) = match opened {
        Ok(opened) => opened,
        Err(error) => return reported(error, &format!("cp: cannot stat '{source}'")),
    };
    let output = match OutputFile::find(files, current_dir, target, false) {
        Ok(output) => output,
        Err(error) => {
            return reported(error, &format!("cp: cannot create regular file '{target}'"));
        }
    };
    if output.display() == display {
        let message = format!("cp: '{source}' and '{target}' are the same file");
        return Ok(Changed::failed(message));
    }
    let bytes = read_all(file, &display, MAX_IN_MEMORY_BYTES, "copy it with a script")?;
    let mut output = output.with_mode(mode_of(&metadata));
    output.write(files, &bytes)?;
    Ok(written(output.describe()))
}

fn make_directory(
    files: &VirtualFiles,
    current_dir: &str,
    path: &str,
    with_parents: bool,
) -> Result<Changed, ToolError> {
    let problem = format!("mkdir: cannot create directory '{path}'");
    let resolved = find_writable(files, current_dir, path)?;
    let Some((name, parents)) = resolved.parts.split_last() else {
        return Ok(match with_parents {
            true => Changed::default(),
            false => Changed::failed(format!("{problem}: File exists")),
        });
    };
    let _write_guard = lock(&files.write_lock);
    if with_parents {
        let is_missing = resolved
            .base_dir
            .symlink_metadata(resolved.parts.iter().collect::<std::path::PathBuf>())
            .is_err();
        if is_missing {
            reserve(
                &resolved.quota,
                resolved.parts.len() as u64,
                &resolved.display,
            )?;
        }
        let made = write::create_parent(&resolved.base_dir, &resolved.parts, &resolved.display);
        return match made {
            Ok(_) => Ok(Changed::default()),
            Err(error) => reported(error, &problem),
        };
    }
    let parent = match write::open_parent(&resolved.base_dir, parents, &resolved.display) {
        Ok(parent) => parent,
        Err(error) => return reported(error, &problem),
    };
    if parent.symlink_metadata(name).is_ok() {
        return Ok(Changed::failed(format!("{problem}: File exists")));
    }
    reserve(&resolved.quota, 1, &resolved.display)?;
    match parent.create_dir(name) {
        Ok(()) => Ok(Changed::default()),
        Err(error) => reported_io(&error, &resolved.display, &problem),
    }
}

fn move_file(
    files: &VirtualFiles,
    current_dir: &str,
    source: &str,
    target: &str,
) -> Result<Changed, ToolError> {
    let from = find_writable(files, current_dir, source)?;
    let stat = format!("mv: cannot stat '{source}'");
    let (parent, name) = match open_target(&from) {
        Ok(found) => found,
        Err(error) => return reported(error, &stat),
    };
    if let Err(error) = parent.symlink_metadata(name) {
        return reported_io(&error, &from.display, &stat);
    }
    // A regular file with one name and without keys.
    write::check_existing(&parent, name, &from.display)?;
    files.canonicalize(&from)?;
    let to = find_writable(files, current_dir, target)?;
    if from.display == to.display {
        let message = format!("mv: '{source}' and '{target}' are the same file");
        return Ok(Changed::failed(message));
    }
    let problem = format!("mv: cannot move '{source}' to '{target}'");
    let (new_parent, new_name) = match open_target(&to) {
        Ok(found) => found,
        Err(error) => return reported(error, &problem),
    };
    if !Arc::ptr_eq(&from.base_dir, &to.base_dir) {
        return Err(ToolErrorCode::PermissionDenied
            .error_at(&to.display, format!("{problem}: it is in another mount"))
            .with_hint("copy the file, and remove it"));
    }
    let _write_guard = lock(&files.write_lock);
    let replaced = write::check_existing(&new_parent, new_name, &to.display)?;
    if replaced.is_some() {
        check_no_keys(files, &to)?;
    }
    // A link that replaces the target now is replaced itself, and not followed.
    if let Err(error) = parent.rename(name, &new_parent, new_name) {
        return reported_io(&error, &to.display, &problem);
    }
    write::sync_directory(&new_parent);
    let size = new_parent
        .symlink_metadata(new_name)
        .map_or(0, |file| file.len());
    let data = json!({"path": to.display, "size": size, "created": replaced.is_none()});
    Ok(Changed {
        removed: Some(from.display),
        ..written((to.display, data))
    })
}

fn remove(
    files: &VirtualFiles,
    current_dir: &str,
    path: &str,
    may_be_missing: bool,
) -> Result<Changed, ToolError> {
    let resolved = find_writable(files, current_dir, path)?;
    let problem = format!("rm: cannot remove '{path}'");
    let _write_guard = lock(&files.write_lock);
    let found = open_target(&resolved).and_then(|(parent, name)| {
        let metadata = parent.symlink_metadata(name);
        let metadata = metadata.map_err(|error| io_error(&error, &resolved.display))?;
        Ok((parent, name, metadata))
    });
    let (parent, name, metadata) = match found {
        Err(error) if may_be_missing && is_missing(&error) => return Ok(Changed::default()),
        Err(error) => return reported(error, &problem),
        Ok(found) => found,
    };
    if metadata.is_dir() {
        return Ok(Changed::failed(format!("{problem}: Is a directory")));
    }
    if !metadata.is_file() && !metadata.is_symlink() {
        return Err(ToolErrorCode::PermissionDenied.error_at(
            &resolved.display,
            format!("'{}' is not a regular file", resolved.display),
        ));
    }
    // A link is removed itself.
    if metadata.is_file() {
        check_no_keys(files, &resolved)?;
    }
    match parent.remove_file(name) {
        Ok(()) => Ok(Changed {
            removed: Some(resolved.display),
            ..Changed::default()
        }),
        Err(error) => reported_io(&error, &resolved.display, &problem),
    }
}

fn touch(files: &VirtualFiles, current_dir: &str, path: &str) -> Result<Changed, ToolError> {
    let problem = format!("touch: cannot touch '{path}'");
    let mut output = match OutputFile::find(files, current_dir, path, true) {
        Ok(output) => output,
        Err(error) => return reported(error, &problem),
    };
    let resolved = find_writable(files, current_dir, path)?;
    let (parent, name) = open_target(&resolved)?;
    let mut options = OpenOptions::new();
    options.write(true);
    set_nonblocking(&mut options);
    match parent.open_with(name, &options) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            reserve(&resolved.quota, 1, &resolved.display)?;
            output.write(files, &[])?;
            Ok(written(output.describe()))
        }
        Err(error) => reported_io(&error, &resolved.display, &problem),
        Ok(file) => {
            let changed = file.into_std().set_modified(SystemTime::now());
            match changed {
                Ok(()) => Ok(Changed::default()),
                Err(error) => reported_io(&error, &resolved.display, &problem),
            }
        }
    }
}

fn written(file: (String, Value)) -> Changed {
    Changed {
        written: Some(file),
        ..Changed::default()
    }
}

fn reserve(quota: &crate::mount::WriteQuota, entries: u64, display: &str) -> Result<(), ToolError> {
    quota.reserve(entries * ENTRY_BYTES).map_err(|remaining| {
        let message =
            format!("cannot write '{display}': {remaining} bytes left in the write quota");
        ToolErrorCode::TooLarge.error_at(display, message)
    })
}

/// Returns what a program reports, or the error of what it would not be refused.
fn reported(error: ToolError, problem: &str) -> Result<Changed, ToolError> {
    let reason = match error.code {
        ToolErrorCode::NotFound | ToolErrorCode::Conflict => "No such file or directory",
        ToolErrorCode::NotADirectory => "Not a directory",
        ToolErrorCode::AlreadyExists => "File exists",
        ToolErrorCode::IsADirectory => "Is a directory",
        _ => return Err(error),
    };
    Ok(Changed::failed(format!("{problem}: {reason}")))
}

fn reported_io(error: &Error, display: &str, problem: &str) -> Result<Changed, ToolError> {
    reported(io_error(error, display), problem)
}

fn is_missing(error: &ToolError) -> bool {
    matches!(
        error.code,
        ToolErrorCode::NotFound | ToolErrorCode::Conflict | ToolErrorCode::NotADirectory
    )
}

fn usage(program: OwnProgram, problem: &str) -> String {
    let name = program.name();
    format!("{name}: {problem}\nTry '{name} --help' for more information.\n")
}

fn not_directory(files: &VirtualFiles, current_dir: &str, target: &str) -> &'static str {
    match open_input(files, current_dir, target) {
        Ok(_) => "Not a directory",
        Err(_) => "No such file or directory",
    }
}

#[cfg(unix)]
fn mode_of(metadata: &cap_std::fs::Metadata) -> Option<u32> {
    use cap_std::fs::MetadataExt;

    Some(metadata.mode())
}

#[cfg(not(unix))]
fn mode_of(_metadata: &cap_std::fs::Metadata) -> Option<u32> {
    None
}
