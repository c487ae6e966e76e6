//! Ahead-of-time compilation of WebAssembly.

use std::sync::Arc;

use skills_discovery::{Catalog, Entry};
use skills_library::{Library, OpenedSkill};
use skills_sandbox::{Preparation, Program};

use crate::backends::Backends;
use crate::error::RuntimeError;
use crate::program_detection::{detect_execution_mode, read_module};
use crate::{ErrorKind, ExecutionMode, ExecutionOptions};

/// When WebAssembly programs are compiled.
///
/// Compiling a large module takes seconds. Without a code cache it is repeated in every process;
/// within a process the result is shared. Scripts are not affected.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Precompile {
    /// On the first run of each program.
    #[default]
    OnDemand,
    /// After each scan, one after another on a background thread. A concurrent run of the same
    /// program shares the work. Compilation errors are reported by the run.
    AtDiscovery,
}

/// Compiles the WebAssembly of a skill, if it has any.
pub(crate) async fn precompile(
    entry: &Entry,
    backends: &Backends,
) -> Result<Preparation, RuntimeError> {
    let skill = OpenedSkill::open(entry)?;
    let mode = match detect_execution_mode(
        entry.name().as_str(),
        &skill.files,
        skill.manifest(),
        &ExecutionOptions::default(),
    ) {
        // Several scripts, or nothing to run.
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::AmbiguousScript | ErrorKind::NothingToRun
            ) =>
        {
            return Ok(Preparation::NotNeeded);
        }
        mode => mode?,
    };
    let ExecutionMode::Wasm { wasm_module } = &mode else {
        return Ok(Preparation::NotNeeded);
    };
    let program = Program::Wasm(read_module(entry, &skill.files, wasm_module)?);
    Ok(backends.for_mode(&mode)?.prepare(program).await?)
}

/// Starts to compile the programs of a catalog on a background thread. If the thread cannot be
/// started, programs are compiled by their first run.
pub fn spawn_precompile(library: &Library, backends: &Arc<Backends>, catalog: &Arc<Catalog>) {
    // Weak, so that this thread does not keep what a dropped runtime had.
    let (library, backends) = (library.downgrade(), Arc::downgrade(backends));
    let catalog = Arc::clone(catalog);
    let work = move || {
        let Ok(executor) = tokio::runtime::Builder::new_current_thread().build() else {
            return;
        };
        for entry in catalog.entries() {
            // Stops after the current program if the runtime was dropped or a later scan found
            // another catalog.
            let (Some(library), Some(backends)) = (library(), backends.upgrade()) else {
                return;
            };
            if !Arc::ptr_eq(&library.catalog(), &catalog) {
                return;
            }
            // The run of the program reports the error.
            let _ = executor.block_on(precompile(entry, &backends));
        }
    };
    let _ = std::thread::Builder::new()
        .name("skills-precompile".into())
        .spawn(work);
}
