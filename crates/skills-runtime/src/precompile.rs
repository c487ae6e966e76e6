//! Ahead-of-time compilation of WebAssembly.

use std::sync::Arc;

use skills_discovery::{Catalog, Entry};
use skills_sandbox::{Preparation, Program};

use crate::error::RuntimeError;
use crate::job::read_module;
use crate::runtime::{Shared, find_entry, read_error};
use crate::{ErrorKind, ExecutionMode, ExecutionOptions, SkillRuntime, detect_execution_mode};

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

impl SkillRuntime {
    /// Compiles the WebAssembly of a skill, so that its first run does not have to. Does nothing
    /// for scripts.
    ///
    /// Nothing is authorized or run. Useful with an on-disk code cache, or in a long-lived process.
    ///
    /// # Errors
    /// Fails if the skill is not found, or if its program cannot be read or compiled.
    pub async fn precompile_skill(&self, name: &str) -> Result<Preparation, RuntimeError> {
        let catalog = self.catalog();
        self.shared.precompile(find_entry(&catalog, name)?).await
    }
}

impl Shared {
    fn is_current(&self, catalog: &Arc<Catalog>) -> bool {
        self.latest_snapshot()
            .is_some_and(|known| Arc::ptr_eq(&known.catalog, catalog))
    }

    async fn precompile(&self, entry: &Entry) -> Result<Preparation, RuntimeError> {
        let failed = |source| read_error(entry, source);
        let files = entry.open().map_err(failed)?;
        let manifest = files.document().map_err(failed)?.manifest().clone();
        let mode = match detect_execution_mode(
            entry.name().as_str(),
            &files,
            &manifest,
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
        let bytes = read_module(entry, &files, wasm_module)?;
        Ok(self
            .backends
            .for_mode(&mode)?
            .prepare(Program::Wasm(bytes))
            .await?)
    }
}

/// Starts to compile the programs of a catalog on a background thread. If the thread cannot be
/// started, programs are compiled by their first run.
pub(crate) fn spawn_precompile(shared: &Arc<Shared>, catalog: &Arc<Catalog>) {
    // Weak, so that this thread does not keep a dropped runtime alive.
    let shared = Arc::downgrade(shared);
    let catalog = Arc::clone(catalog);
    let work = move || {
        let Ok(executor) = tokio::runtime::Builder::new_current_thread().build() else {
            return;
        };
        for entry in catalog.entries() {
            // Stops after the current program if the runtime was dropped or a later scan found
            // another catalog.
            let Some(shared) = shared.upgrade() else {
                return;
            };
            if !shared.is_current(&catalog) {
                return;
            }
            // The run of the program reports the error.
            let _ = executor.block_on(shared.precompile(entry));
        }
    };
    let _ = std::thread::Builder::new()
        .name("skills-precompile".into())
        .spawn(work);
}
