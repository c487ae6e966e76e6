//! Compiles large components in a child process with limits.
//!
//! ```text
//! parent: spawn --request: key, limits, component--> child: set limits, compile
//!         verify <--reply: status, authentication code, compiled code--
//! ```
//!
//! The compiler has no limits of its own: a few megabytes of WebAssembly can take gigabytes and
//! minutes, and a compiling thread cannot be stopped. A process can be limited by the kernel and
//! killed. The child is a program that the host application configures, usually itself, and runs
//! only [`compile_child`]; it never executes what it compiles.

mod abandon_signal;
mod child;
mod command;
mod parent;
mod protocol;

pub(crate) use abandon_signal::{AbandonCause, AbandonSignal};
pub use child::compile_child;
pub use command::CompileCommand;
pub(crate) use parent::{CompileFailure, compile_in_child};
