//! The engine, shared by all runs of a process.

mod compile;
mod components;
mod config;
mod linkers;
mod rejections;
mod ticker;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use skills_sandbox::SandboxError;
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::code_cache::CodeCache;
use crate::compiler::CompileCommand;
use crate::prepared_component::{CodeSource, PreparedComponent, SharedComponent};
use crate::{LoadError, WasmProfile};

pub(crate) use compile::Caller;
use components::ComponentCache;
use config::INSTANCE_SLOTS;
pub(crate) use config::{Allocation, engine_config};
use linkers::EngineLinkers;
use rejections::CompileRejections;
pub(crate) use ticker::TickGuard;

/// The engine with everything that is created once per process: linkers, ticker, compiled
/// components, instance slots.
pub(crate) struct SharedEngine {
    /// Engine with the on-demand allocator: fast to create, without a size limit per memory.
    on_demand: EngineLinkers,
    /// Engine with the pooling allocator, created for the second run, since a process may have only
    /// one. `None` if the address space is too small.
    pooled: OnceLock<Option<EngineLinkers>>,
    /// Whether a program has run.
    is_used: AtomicBool,
    profile: WasmProfile,
    ticker: ticker::Ticker,
    instance_slots: Semaphore,
    components: ComponentCache,
    code_cache: Option<CodeCache>,
    compile_command: Option<CompileCommand>,
    rejections: CompileRejections,
}

impl SharedEngine {
    pub(crate) fn new(
        profile: WasmProfile,
        cache: Option<CodeCache>,
        command: Option<CompileCommand>,
    ) -> Result<Self, SandboxError> {
        let on_demand = EngineLinkers::new(profile, Allocation::OnDemand)
            .map_err(|error| setup_error("starting the WebAssembly engine", &error))?;
        let ticker = ticker::Ticker::start()
            .map_err(|error| SandboxError::setup("starting the ticker thread", error))?;
        ticker.register_engine(&on_demand.engine);
        let instance_slots = Semaphore::new(INSTANCE_SLOTS as usize);
        Ok(Self {
            on_demand,
            pooled: OnceLock::new(),
            is_used: AtomicBool::new(false),
            profile,
            ticker,
            instance_slots,
            components: ComponentCache::default(),
            code_cache: cache,
            compile_command: command,
            rejections: CompileRejections::default(),
        })
    }

    /// Compiles a component, or returns it from memory or the cache; concurrent callers with the
    /// same component share the work. The deadline decides whether an attempt is worthwhile; a
    /// caller that stops waiting drops the future. Components of one caller are compiled
    /// sequentially; cached ones do not wait for them.
    pub(crate) async fn prepare(
        self: &Arc<Self>,
        bytes: &Arc<[u8]>,
        caller: &Caller,
        deadline: Option<Instant>,
    ) -> Result<(SharedComponent, CodeSource), LoadError> {
        let (kept, is_new) = self.components.get(bytes, self, caller, deadline).await?;
        // Only the run that loaded it reports how. For all others it was in memory.
        let origin = if is_new {
            kept.source.clone()
        } else {
            CodeSource::Memory
        };
        Ok((kept, origin))
    }

    /// Returns true if a component is being compiled or loaded.
    pub(crate) fn is_loading(&self) -> bool {
        self.components.is_loading()
    }

    /// Waits for the components that are being compiled or loaded, and returns where the last one
    /// came from. Dropping the future stops them.
    pub(crate) async fn finish_loading(&self) -> Result<Option<CodeSource>, LoadError> {
        let last = self.components.finish_loading().await?;
        Ok(last.map(|component| component.source.clone()))
    }

    /// Returns the component for the pooling allocator, unless this is the first run or it does not
    /// fit there.
    pub(crate) fn select_instance<'a>(
        &self,
        prepared: &'a SharedComponent,
    ) -> &'a PreparedComponent {
        // Many processes run one program only, for which creating the pool takes longer than it
        // saves.
        if !self.is_used.swap(true, Ordering::Relaxed) || prepared.is_pooled {
            return prepared;
        }
        prepared
            .pooled
            .get_or_init(|| self.to_pooled(prepared))
            .as_deref()
            .unwrap_or(prepared)
    }

    /// Returns the same component for the on-demand allocator.
    pub(crate) fn on_demand_instance(
        &self,
        prepared: &SharedComponent,
    ) -> Result<SharedComponent, LoadError> {
        if !prepared.is_pooled {
            // It is already the on-demand one.
            return Ok(Arc::clone(prepared));
        }
        if let Some(on_demand) = prepared.on_demand.get() {
            return Ok(Arc::clone(on_demand));
        }
        // Two runs may do this at the same time. Only the first result is kept.
        let on_demand = self.to_on_demand(prepared)?;
        Ok(Arc::clone(prepared.on_demand.get_or_init(|| on_demand)))
    }

    /// Waits for an instance slot.
    pub(crate) async fn acquire_slot(&self) -> Result<SemaphorePermit<'_>, SandboxError> {
        self.instance_slots.acquire().await.map_err(|error| {
            SandboxError::setup("waiting for an instance slot", std::io::Error::other(error))
        })
    }

    /// Advances the epoch while the returned guard lives; only needed if epochs are used.
    pub(crate) fn start_ticking(&self) -> TickGuard {
        self.ticker.start_ticking()
    }

    pub(crate) fn profile(&self) -> WasmProfile {
        self.profile
    }

    fn pooled(&self) -> Option<&EngineLinkers> {
        self.pooled.get_or_init(|| self.link_pooled()).as_ref()
    }

    /// Creates the pooling engine. If address space is limited, pooling is unavailable and programs
    /// start more slowly.
    fn link_pooled(&self) -> Option<EngineLinkers> {
        let linked = EngineLinkers::new(self.profile, Allocation::Pooled).ok()?;
        self.ticker.register_engine(&linked.engine);
        Some(linked)
    }
}

fn setup_error(step: &'static str, error: &wasmtime::Error) -> SandboxError {
    SandboxError::setup(step, std::io::Error::other(format!("{error:#}")))
}
