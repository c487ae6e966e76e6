//! A program on this machine, and what it needs to start.

use std::path::PathBuf;

use super::runtimes::{self, MemoryRlimit};
use crate::ScriptType;

/// A program on this machine, and what it needs to start inside a sandbox: plain data.
///
/// A backend grants the paths below, besides the directories of the system (`/usr`, `/bin`, `/lib`
/// …), which every program needs.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ResolvedProgram {
    /// The kind of script that it was found for; `None` for a program found by name.
    pub kind: Option<ScriptType>,
    /// The path by which it must be called (`argv[0]`), for it finds its own files by it: that of a
    /// virtual environment, or the one of many names of a program. Its parent directories hold no
    /// symlinks; it may itself be one, and need not be there inside the sandbox.
    pub argv0: PathBuf,
    /// The file to be executed, without symlinks.
    pub executable: PathBuf,
    /// The arguments that come before the script.
    pub leading_args: Vec<String>,
    /// The directories and files outside the system's directories that must be readable, in order,
    /// none below another.
    pub readable: Vec<PathBuf>,
    /// The files that must be readable and executable, [`executable`](Self::executable) first.
    pub executable_paths: Vec<PathBuf>,
    /// The variables that it needs besides those of the backend.
    pub environment: Vec<(String, String)>,
    /// The limit that bounds its memory.
    pub memory: MemoryRlimit,
}

impl ResolvedProgram {
    /// Returns the argument that keeps its heap below a limit, to be put after
    /// [`arguments`](Self::args) and before the script; only V8, in Node and Deno, wants one.
    /// Parts of a mebibyte are cut off; the least is one mebibyte.
    #[must_use]
    pub fn heap_argument(&self, memory_bytes: u64) -> Option<String> {
        runtimes::heap_argument(self.kind?, (memory_bytes >> 20).max(1))
    }
}
