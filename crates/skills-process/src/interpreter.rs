//! Finds interpreters and other programs on the host, outside of any sandbox and by reading files
//! only.
//!
//! ```text
//! ScriptType --names--> directories --symlinks, shims--> real program --prefix--> ResolvedProgram
//!                            \--> broken shims are rejected, with a reason
//! ```
//!
//! No program is executed to identify it, and the environment is not read: the caller's `PATH` has
//! no effect. The kind of a script is given: its first line is text of the author of the script.
//!
//! A [`ResolvedProgram`] says what a backend has to grant so that the program starts: the prefix of
//! a virtual environment, of a version manager, of conda. A prefix is granted as a whole only if it
//! holds what interpreters install there and nothing that home directories contain. Home
//! directories are never granted.
//!
//! ```
//! use skills_process::ProgramFinder;
//! use skills_sandbox::{SandboxErrorKind, ScriptType};
//!
//! let finder = ProgramFinder::with_search_path(["/nowhere"])
//!     .override_interpreter(ScriptType::Python, "/project/.venv/bin/python3");
//! let error = finder.find_interpreter(ScriptType::Node).unwrap_err();
//! assert_eq!(error.kind(), SandboxErrorKind::Unavailable);
//! assert_eq!(finder.find_program("../bin/git"), None);
//! ```

mod bounded_read;
mod finder;
mod grantable;
mod installed;
mod prefix;
mod resolve;
mod resolved_program;
mod runtimes;
mod shim;
mod symlinks;
mod typescript;

mod venv;
mod version;

pub use finder::ProgramFinder;
pub use installed::installed_program;
pub use resolved_program::ResolvedProgram;
pub use runtimes::{interpreter_args, interpreter_names};
