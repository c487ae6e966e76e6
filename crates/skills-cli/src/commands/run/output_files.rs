//! Saves the output files of a run in a directory of the user.

use std::io;
use std::path::{Component, Path, PathBuf};

use skills_runtime::ExecutionArtifacts;
use skills_tools::protected_name;

use crate::error::CommandError;
use crate::input;

/// Creates the output directory unless it exists.
pub(super) fn create_output_dir(path: &Path) -> anyhow::Result<PathBuf> {
    if let Err(error) = std::fs::create_dir(path)
        && error.kind() != io::ErrorKind::AlreadyExists
    {
        return Err(
            CommandError::input(format!("cannot create `{}`: {error}", path.display())).into(),
        );
    }
    input::resolve_directory(path)
}

/// How files are kept that are not read from a private workspace.
pub(super) const KEEP_HELP: &str = "let the program write into a directory that stays, with `--workspace DIR` instead of `--output`";

/// Returns true if files of a private workspace are not kept, such as those beyond a limit.
pub(super) fn loses_files(artifacts: &ExecutionArtifacts) -> bool {
    let output_files = &artifacts.output_files;
    let mut files = output_files.files.iter();
    files.any(|file| file.content.is_none()) || unlisted_files(artifacts) > 0
}

fn unlisted_files(artifacts: &ExecutionArtifacts) -> u64 {
    let output_files = &artifacts.output_files;
    output_files
        .found
        .saturating_sub(output_files.files.len() as u64)
}

/// Writes the output files of a private workspace and returns an error message for each that could
/// not be written, and for those beyond the limits. Existing files are not replaced.
pub(super) fn write_output_files(artifacts: &ExecutionArtifacts, directory: &Path) -> Vec<String> {
    let output_files = &artifacts.output_files;
    let mut errors = Vec::new();
    for file in &output_files.files {
        let written = match &file.content {
            Some(content) => write_output_file(directory, &file.path, content),
            None => Err(io::Error::other(
                file.content_error.as_deref().unwrap_or("it was not read"),
            )),
        };
        if let Err(error) = written {
            errors.push(format!("cannot save `{}`: {error}", file.path));
        }
    }
    let (listed, unlisted) = (output_files.files.len(), unlisted_files(artifacts));
    if unlisted > 0 {
        errors.push(format!(
            "cannot save {unlisted} more files: at most {listed} are saved"
        ));
    }
    errors
}

#[expect(
    clippy::disallowed_methods,
    reason = "the directory is given on the command line"
)]
fn write_output_file(directory: &Path, name: &str, content: &[u8]) -> io::Result<()> {
    // The name comes from the program, so it is not trusted.
    let is_below = Path::new(name)
        .components()
        // Rejects absolute paths, `..` and prefixes of Windows alike.
        .all(|part| matches!(part, Component::Normal(_)));
    if !is_below || name.is_empty() {
        return Err(io::Error::other("the path leaves the output directory"));
    }
    // A program could otherwise create hooks, start files or keys in the directory of a project,
    // which other programs execute or trust later.
    if let Some(protected) = protected_name(&directory.join(name), directory) {
        let reason = format!(
            "`{protected}` is a protected name: other programs execute or trust such files"
        );
        return Err(io::Error::other(reason));
    }
    let path = directory.join(name);
    let parents: Vec<&Path> = path
        .ancestors()
        .skip(1)
        .take_while(|parent| *parent != directory)
        .collect();
    for parent in parents.into_iter().rev() {
        // One directory at a time from the top, and not `create_dir_all`, which follows a symlink
        // in the path to wherever it leads.
        match std::fs::create_dir(parent) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ if parent.symlink_metadata()?.is_dir() => {}
            _ => {
                return Err(io::Error::other(
                    "a parent directory is a symlink or a file",
                ));
            }
        }
    }
    let mut file = std::fs::OpenOptions::new()
        .write(true)
        // Neither replaces a file of the user nor follows a symlink at the path.
        .create_new(true)
        .open(&path)?;
    let written = io::Write::write_all(&mut file, content);
    if written.is_err() {
        // A partial file, as on a full disk, would look complete. If it cannot be removed either,
        // the write error is still reported.
        let _ = std::fs::remove_file(&path);
    }
    written
}
