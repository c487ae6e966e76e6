//! Writes small files on other threads, while the next ones are read.

use std::io::{self, ErrorKind, Write};
use std::path::Path;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use cap_std::fs::{Dir, File, OpenOptions};

use crate::TreePath;
use crate::error::InstallError;

/// Maximum number of threads: more do not make a disk faster.
const MAX_THREADS: usize = 4;
/// Maximum number of batches that wait to be written.
const MAX_WAITING: usize = 16;
/// Limits of a batch, in files and bytes: a thread takes a batch at a time.
const BATCH_FILES: usize = 16;
const BATCH_BYTES: usize = 256 << 10;

/// Threads that write new files below a directory.
#[derive(Debug)]
pub(crate) struct FileWriters {
    /// Dropped to end the threads.
    batches: Option<SyncSender<Vec<NewFile>>>,
    /// The next batch: mostly files of one directory, which one thread writes without waiting for
    /// others.
    batch: Vec<NewFile>,
    batch_bytes: usize,
    threads: Vec<JoinHandle<Result<(), InstallError>>>,
}

/// A file with its whole content.
#[derive(Debug)]
struct NewFile {
    path: TreePath,
    is_executable: bool,
    content: Vec<u8>,
}

impl FileWriters {
    /// Starts the threads, at least one of them. `path` is the path of the directory, for messages.
    ///
    /// # Errors
    /// Fails if the directory handle cannot be copied, or if no thread can be started.
    pub(crate) fn start(handle: &Dir, path: &Path) -> io::Result<Self> {
        let threads = thread::available_parallelism().map_or(1, usize::from);
        let (sender, batches) = mpsc::sync_channel(MAX_WAITING);
        let batches = Arc::new(Mutex::new(batches));
        let mut writers = Self {
            batches: Some(sender),
            batch: Vec::new(),
            batch_bytes: 0,
            threads: Vec::new(),
        };
        for _ in 0..threads.min(MAX_THREADS) {
            let (handle, path) = (handle.try_clone()?, path.to_owned());
            let batches = Arc::clone(&batches);
            let write = move || write_all(&handle, &path, &batches);
            match skills_threads::spawn("skills-write", write) {
                Ok(thread) => writers.threads.push(thread),
                // Fewer threads write the same files.
                Err(_) if !writers.threads.is_empty() => break,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(writers)
    }

    /// Passes a file to a thread, now or with the next ones. Errors of writing it are returned
    /// later.
    pub(crate) fn write(
        &mut self,
        path: &TreePath,
        is_executable: bool,
        content: &[u8],
    ) -> Result<(), InstallError> {
        self.batch.push(NewFile {
            path: path.clone(),
            is_executable,
            content: content.to_owned(),
        });
        self.batch_bytes += content.len();
        if self.batch.len() < BATCH_FILES && self.batch_bytes < BATCH_BYTES {
            return Ok(());
        }
        self.send()
    }

    fn send(&mut self) -> Result<(), InstallError> {
        let batch = std::mem::take(&mut self.batch);
        self.batch_bytes = 0;
        let Some(batches) = &self.batches else {
            let error = io::Error::other("the tree is complete");
            let path = batch.first().map_or("", |file| file.path.as_str());
            return Err(InstallError::io("write", Path::new(path), error));
        };
        match batches.send(batch) {
            Ok(()) => Ok(()),
            // All threads have ended, with errors.
            Err(_) => self.join(),
        }
    }

    /// Waits until all files are written. No more can be written.
    pub(crate) fn finish(&mut self) -> Result<(), InstallError> {
        if !self.batch.is_empty() {
            self.send()?;
        }
        self.join()
    }

    fn join(&mut self) -> Result<(), InstallError> {
        self.batches = None;
        let mut result = Ok(());
        for thread in self.threads.drain(..) {
            let ended = thread
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            result = result.and(ended);
        }
        result
    }
}

impl Drop for FileWriters {
    fn drop(&mut self) {
        // The directory may be removed next.
        self.batches = None;
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn write_all(
    handle: &Dir,
    path: &Path,
    batches: &Mutex<Receiver<Vec<NewFile>>>,
) -> Result<(), InstallError> {
    loop {
        let batch = batches
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .recv();
        let Ok(batch) = batch else {
            return Ok(());
        };
        for file in batch {
            create_below(handle, &file.path, file.is_executable)
                .and_then(|mut created| created.write_all(&file.content))
                .map_err(|error| {
                    InstallError::io("write", &path.join(file.path.as_str()), error)
                })?;
        }
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
