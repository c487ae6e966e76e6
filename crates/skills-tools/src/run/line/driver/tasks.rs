//! What the steps of a line need of files and of other tasks.

use std::future::poll_fn;
use std::task::Poll;

use super::{LineCommand, LineOutput, OutputFile, OwnCommand};
use crate::virtual_files::VirtualFiles;
use crate::{ToolError, ToolErrorCode};

/// Finds the files to which the streams of a command go; `None` for a stream that goes elsewhere.
pub(super) fn find_outputs(
    files: &VirtualFiles,
    current_dir: &str,
    command: &LineCommand,
) -> Result<Vec<Option<OutputFile>>, ToolError> {
    let outputs = [&command.stdout, &command.stderr].into_iter();
    let found = outputs.map(|output| match output {
        LineOutput::File { path, append } => {
            OutputFile::find(files, current_dir, path, *append).map(Some)
        }
        _ => Ok(None),
    });
    found.collect()
}

/// Finds the files of `tee` on a blocking thread.
pub(super) async fn find_operands(
    files: &VirtualFiles,
    current_dir: &str,
    command: OwnCommand,
) -> Result<Vec<OutputFile>, ToolError> {
    let (files, current_dir) = (files.clone(), current_dir.to_owned());
    let find = move || {
        let paths = command.operands.iter();
        paths
            .map(|path| OutputFile::find(&files, &current_dir, path, command.has_option))
            .collect()
    };
    run_blocking(find).await
}

/// Scans the skills again on a blocking thread.
pub(super) async fn rescan(files: &VirtualFiles) -> Result<(), ToolError> {
    let files = files.clone();
    let scan = move || {
        files.rescan_after_write();
        Ok(())
    };
    run_blocking(scan).await
}

pub(super) async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    let result = skills_threads::run_blocking(work).await;
    result.map_err(|_| ToolErrorCode::Internal.error("cannot access a file"))?
}

/// Lets other tasks of the thread run.
pub(super) async fn yield_once() {
    let mut has_yielded = false;
    poll_fn(|context| {
        if std::mem::replace(&mut has_yielded, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
