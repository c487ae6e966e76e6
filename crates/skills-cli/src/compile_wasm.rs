//! `skills compile-wasm`: the child processes in which this command compiles WebAssembly.
//!
//! It is for this command alone, so it is not in the command line's help and completions.

use std::env;
use std::io::{Write, stderr, stdin, stdout};
use std::path::PathBuf;

use skills_runtime::{Builder, CompileCommand, compile_child};

use crate::exit::Exit;

/// The only argument of a child.
const ARGUMENT: &str = "compile-wasm";

/// Compiles what is on standard input, when this process was started for it.
pub(crate) fn if_asked() -> Option<Exit> {
    let mut arguments = env::args_os().skip(1);
    if arguments.next()? != ARGUMENT || arguments.next().is_some() {
        return None;
    }
    Some(match compile_child(stdin().lock(), stdout().lock()) {
        Ok(()) => Exit::Done,
        Err(error) => {
            let _ = writeln!(stderr(), "error: cannot compile: {error}");
            Exit::Usage
        }
    })
}

/// Lets a runtime compile large modules in children. Where this program cannot be found, large
/// modules are refused.
pub(crate) fn in_children(builder: Builder) -> Builder {
    let Some(program) = program() else {
        return builder;
    };
    builder.wasm_compile_command(CompileCommand::new(program).argument(ARGUMENT))
}

/// Names this program. On Linux it is the very file that runs, even after an update has put another
/// one in its place.
fn program() -> Option<PathBuf> {
    let this = PathBuf::from("/proc/self/exe");
    if cfg!(target_os = "linux") && this.exists() {
        Some(this)
    } else {
        env::current_exe().ok()
    }
}
