//! The compiler of WebAssembly: its cache, and the child processes (`skills compile-wasm`) in which
//! this command compiles large modules.
//!
//! The subcommand is internal, so it does not appear in help and completions.

use std::env;
use std::io::{Write, stderr, stdin, stdout};
use std::path::PathBuf;

use anyhow::Context;
use skills_runtime::{Builder, CodeCache, CompileCommand, compile_child};

use crate::exit::Exit;
use crate::finish_compilations::MAX_COMPILE_TIME;
use crate::process_environment::Environment;

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

/// Opens the code cache.
///
/// # Errors
/// Fails without a home directory, or if the directory cannot be created.
pub(crate) fn open_cache(environment: &Environment) -> anyhow::Result<CodeCache> {
    let cache = environment
        .cache_dir()
        .context("cannot open the code cache: no home directory; set `XDG_CACHE_HOME`")?;
    Ok(CodeCache::open(cache.join("code"))?)
}

/// Configures a runtime to use the code cache, and to compile large modules in child processes. If
/// the path of this program is unknown, large modules are rejected.
pub(crate) fn configure(builder: Builder, environment: &Environment) -> Builder {
    // The cache saves time only, so its absence is not an error.
    let cache = open_cache(environment).into_iter();
    let builder = cache.fold(builder, Builder::code_cache);
    // Large modules must not be compiled in this process, which has no memory limit and cannot
    // interrupt it.
    match current_program() {
        Some(program) => {
            let command = CompileCommand::new(program)
                .arg(CHILD_ARGUMENT)
                .timeout(MAX_COMPILE_TIME);
            builder.wasm_compile_command(command)
        }
        None => builder,
    }
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
