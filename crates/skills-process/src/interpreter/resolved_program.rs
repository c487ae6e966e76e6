//! A program on the host, and what it needs to start.

use std::path::PathBuf;

use super::runtimes;
use skills_sandbox::ScriptType;

/// A program on the host, and what it needs to start inside a sandbox. Plain data; created by
/// [`ProgramFinder`](super::ProgramFinder).
///
/// A backend grants the paths below, in addition to the system directories (`/usr`, `/bin`, `/lib`
/// …) that every program needs.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ResolvedProgram {
    /// The kind of script that it was found for; `None` for a program found by name.
    pub kind: Option<ScriptType>,
    /// The path by which it must be called (`argv[0]`), from which it finds its own files: that of
    /// a virtual environment, or one of several names of a program. Its parent directories contain
    /// no symlinks; it may be a symlink itself, and need not exist inside the sandbox.
    pub argv0: PathBuf,
    /// The file to execute, without symlinks.
    pub executable: PathBuf,
    /// The arguments before the script.
    pub leading_args: Vec<String>,
    /// The directories and files outside of the system directories that must be readable, sorted,
    /// none below another.
    pub readable: Vec<PathBuf>,
    /// The files and directories that must be readable and executable,
    /// [`executable`](Self::executable) first.
    pub executable_paths: Vec<PathBuf>,
    /// The variables that it needs in addition to those of the backend.
    pub environment: Vec<(String, String)>,
}

impl ResolvedProgram {
    /// Returns the argument that keeps its heap below a limit in bytes, to be passed after
    /// [`leading_args`](Self::leading_args) and before the script; only V8, in Node and Deno, needs
    /// one. Rounded down to mebibytes, at least one.
    #[must_use]
    pub fn heap_argument(&self, memory_bytes: u64) -> Option<String> {
        let mebibytes = (memory_bytes >> 20).max(1);
        runtimes::heap_argument(self.kind?, mebibytes)
    }
}
