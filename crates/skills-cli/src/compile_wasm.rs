//! `skills compile-wasm`: the child processes in which this command compiles WebAssembly.
//!
//! It is for this command alone, so it is not in the command line's help and completions.

use std::env;
use std::io::{Write, stderr, stdin, stdout};
use std::path::PathBuf;

use skills_runtime::{Builder, CompileCommand, compile_child};

use crate::exit::Exit;

/// The only argument of a child.
const CHILD_ARGUMENT: &str = "compile-wasm";

/// Compiles what is on standard input, when this process was started for it.
pub(crate) fn run_if_child() -> Option<Exit> {
    let mut arguments = env::args_os().skip(1);
    if arguments.next()? != CHILD_ARGUMENT || arguments.next().is_some() {
        return None;
    }
    Some(match compile_child(stdin().lock(), stdout().lock()) {
        Ok(()) => Exit::Success,
        Err(error) => {
            let _ = writeln!(stderr(), "error: cannot compile: {error}");
            Exit::Usage
        }
    })
}

/// Lets a runtime compile large modules in children. Where this program cannot be found, large
/// modules are refused.
pub(crate) fn with_child_compiler(builder: Builder) -> Builder {
    let Some(program) = current_program() else {
        return builder;
    };
    builder.wasm_compile_command(CompileCommand::new(program).arg(CHILD_ARGUMENT))
}

/// Names this program. On Linux it is the very file that runs, even after an update has put another
/// one in its place.
fn current_program() -> Option<PathBuf> {
    let this = PathBuf::from("/proc/self/exe");
    if cfg!(target_os = "linux") && this.exists() {
        Some(this)
    } else {
        env::current_exe().ok()
    }
}
