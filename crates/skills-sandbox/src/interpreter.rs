//! Finds interpreters and other programs on this machine, outside any sandbox and by reading alone.
//!
//! ```text
//! ScriptKind --names--> directories --symlinks, shims--> the real program --its prefix--> Interpreter
//!                            \--> shims that lead nowhere are passed over, with a reason
//! ```
//!
//! Nothing is run to find out what it is, and the environment is never asked: a `PATH` of the
//! caller decides nothing. The kind of a script comes from its file's ending
//! ([`ScriptType::from_path`](crate::ScriptType::from_path)), never from its first line.
//!
//! An [`ResolvedProgram`] says what a backend has to grant so that it starts: the prefix of a
//! virtual environment, of a version manager, of conda. A prefix is granted whole only when it
//! holds what interpreters keep there and nothing that homes hold; no home is ever granted.
//!
//! ```
//! use skills_sandbox::{ErrorKind, ScriptKind, interpreter::Interpreters};
//!
//! let search = Interpreters::in_directories(["/nowhere"]).interpreter(ScriptKind::Python, "/project/.venv/bin/python3");
//! assert_eq!(search.find(ScriptKind::Node).unwrap_err().kind(), ErrorKind::Unavailable);
//! assert_eq!(search.program("../bin/git"), None);
//! ```

mod cache;
mod finder;
mod grantable;
mod prefix;
mod resolve;
mod resolved_program;
mod runtimes;
mod shim;
mod symlinks;
mod tracked_fs;
mod venv;
mod version;

pub use finder::ProgramFinder;
pub use resolved_program::ResolvedProgram;
pub use runtimes::MemoryRlimit;

/// Why something that was found is not used.
type SkipReason = String;
