//! `skills compile-wasm`: child processes in which this command compiles WebAssembly.
//!
//! The subcommand is internal, so it does not appear in help and completions.

use std::env;
use std::io::{Write, stderr, stdin, stdout};
use std::path::PathBuf;

use skills_runtime::{Builder, CompileCommand, compile_child};

use crate::exit::Exit;

/// The only argument of a child process.
const CHILD_ARGUMENT: &str = "compile-wasm";

/// Compiles the module on standard input if this process was started as a compiler child. Returns
/// `None` otherwise.
pub(crate) fn run_if_child() -> Option<Exit> {
    let mut arguments = env::args_os().skip(1);
    if arguments.next()? != CHILD_ARGUMENT || arguments.next().is_some() {
        return None;
    }
    Some(match compile_child(stdin().lock(), stdout().lock()) {
        Ok(()) => Exit::Success,
        Err(error) => {
            let _ = writeln!(stderr(), "error: cannot compile the module: {error}");
            Exit::Usage
        }
    })
}

/// Configures a runtime to compile large modules in child processes. If the path of this program is
/// unknown, large modules are rejected.
pub(crate) fn with_child_compiler(builder: Builder) -> Builder {
    // Large modules must not be compiled in this process, which has no memory limit and cannot
    // interrupt it.
    let Some(program) = current_program() else {
        return builder;
    };
    builder.wasm_compile_command(CompileCommand::new(program).arg(CHILD_ARGUMENT))
}

/// Returns the path of this program. On Linux it refers to the running file, even after an update
/// has replaced it.
fn current_program() -> Option<PathBuf> {
    let this = PathBuf::from("/proc/self/exe");
    if cfg!(target_os = "linux") && this.exists() {
        Some(this)
    } else {
        env::current_exe().ok()
    }
}
