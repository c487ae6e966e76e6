//! Writes small files on several threads.

use std::io::{self, ErrorKind, Write};
use std::path::Path;

use cap_std::fs::{Dir, File, OpenOptions};
use skills_discovery::parallel_map;

use crate::TreePath;
use crate::error::InstallError;

/// Limits of a batch, in files and bytes.
const MAX_FILES: usize = 512;
const MAX_BYTES: usize = 4 << 20;

/// New files that wait to be written together.
#[derive(Debug, Default)]
pub(crate) struct FileBatch {
    files: Vec<NewFile>,
    bytes: usize,
}

/// A file with its whole content.
#[derive(Debug)]
struct NewFile {
    path: TreePath,
    is_executable: bool,
    content: Vec<u8>,
}

impl FileBatch {
    /// Adds a file. Returns true if the batch should be written.
    pub(crate) fn add(&mut self, path: &TreePath, is_executable: bool, content: &[u8]) -> bool {
        self.files.push(NewFile {
            path: path.clone(),
            is_executable,
            content: content.to_owned(),
        });
        self.bytes += content.len();
        self.files.len() >= MAX_FILES || self.bytes >= MAX_BYTES
    }

    /// Writes the files below a directory. `shown` is its path, for messages.
    pub(crate) fn write(&mut self, directory: &Dir, shown: &Path) -> Result<(), InstallError> {
        let batch = std::mem::take(self);
        let written = parallel_map(&batch.files, |file| {
            create_below(directory, &file.path, file.is_executable)
                .and_then(|mut created| created.write_all(&file.content))
                .map_err(|error| InstallError::io("write", &shown.join(file.path.as_str()), error))
        });
        written.into_iter().collect()
    }
}

/// Creates a file, and the directories above it if they do not exist.
pub(crate) fn create_below(handle: &Dir, path: &TreePath, is_executable: bool) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    set_mode(&mut options, is_executable);
    match handle.open_with(path.as_str(), &options) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            if let Some(parent) = path.parent().filter(|parent| !parent.is_root()) {
                handle.create_dir_all(parent.as_str())?;
            }
            handle.open_with(path.as_str(), &options)
        }
        opened => opened,
    }
}

#[cfg(unix)]
fn set_mode(options: &mut OpenOptions, is_executable: bool) {
    use cap_std::fs::OpenOptionsExt;
    // The umask restricts it, as for any file that the user creates.
    options.mode(if is_executable { 0o777 } else { 0o666 });
}

#[cfg(not(unix))]
fn set_mode(_options: &mut OpenOptions, _is_executable: bool) {}
