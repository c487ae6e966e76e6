//! Compiles ahead of time.

use std::sync::Arc;

use skills_discovery::{Catalog, Entry};
use skills_sandbox::{Preparation, Program};

use crate::error::{Repr, RuntimeError};
use crate::job::read_module;
use crate::runtime::{Shared, find_entry};
use crate::{ErrorKind, ExecutionMode, ExecutionOptions, SkillRuntime, detect_execution_mode};

/// When programs are compiled.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Precompile {
    /// By the first run of each.
    #[default]
    OnDemand,
    /// As soon as a scan finds them, one after the other on a thread of its own; whoever runs one
    /// meanwhile shares the work. What cannot be compiled is told by its run.
    AtDiscovery,
}

impl SkillRuntime {
    /// Does ahead of time what the first run of a skill's program would wait for: compiles its
    /// WebAssembly. For a script there is nothing to do.
    ///
    /// Nothing runs and nothing is decided. Worth its time where the backend keeps compiled code on
    /// disk, or in a process that stays.
    ///
    /// # Errors
    /// When there is no such skill, or its program cannot be read or loaded.
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
        let failed = |source| {
            RuntimeError::from(Repr::FileAccess {
                path: entry.location(),
                source,
            })
        };
        let files = entry.open().map_err(failed)?;
        let manifest = files.document().map_err(failed)?.manifest().clone();
        let mode = match detect_execution_mode(
            entry.name().as_str(),
            &files,
            &manifest,
            &ExecutionOptions::default(),
        ) {
            // Several scripts, or nothing to run at all.
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

/// Begins to compile what a scan found. Where no thread can be had it is left to the runs.
pub(crate) fn spawn_precompile(shared: &Arc<Shared>, catalog: &Arc<Catalog>) {
    let (shared, catalog) = (Arc::downgrade(shared), Arc::clone(catalog));
    let work = move || {
        let Ok(executor) = tokio::runtime::Builder::new_current_thread().build() else {
            return;
        };
        for entry in catalog.entries() {
            // It ends with the runtime, or when a later scan found something else, after what it is
            // at.
            let Some(shared) = shared.upgrade() else {
                return;
            };
            if !shared.is_current(&catalog) {
                return;
            }
            let _ = executor.block_on(shared.precompile(entry));
        }
    };
    let _ = std::thread::Builder::new()
        .name("skills-precompile".into())
        .spawn(work);
}
