//! A program that is ready to start.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use wasmtime::component::InstancePre;
use wasmtime::{Engine, Store};
use wasmtime_wasi::p2;
#[cfg(feature = "wasi-p3")]
use wasmtime_wasi::p3;

use crate::component_info::{ComponentInfo, WasiVersion};
use crate::store_state::StoreState;

/// A compiled component with resolved imports.
pub(crate) struct PreparedComponent {
    pub(crate) engine: Engine,
    pub(crate) info: ComponentInfo,
    pub(crate) source: CodeSource,
    /// Whether it runs in pooled instance slots.
    pub(crate) is_pooled: bool,
    /// The same component for the pooling engine, once it was needed; `None` if it does not fit
    /// there.
    pub(crate) pooled: OnceLock<Option<SharedComponent>>,
    /// The same component for the on-demand engine, once it was needed.
    pub(crate) on_demand: OnceLock<SharedComponent>,
    entry_point: EntryPoint,
}

/// Where the compiled code came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CodeSource {
    /// It was compiled now.
    Compiled {
        elapsed: Duration,
        diagnostics: CacheDiagnostics,
    },
    /// It was loaded from the cache on disk.
    Cached,
    /// An earlier run of this process loaded it.
    Memory,
}

/// Problems of the cache on disk.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct CacheDiagnostics {
    /// Why an entry was deleted.
    pub(crate) rejected: Option<String>,
    /// Why the cache was not used, or nothing was stored.
    pub(crate) skipped: Option<String>,
}

enum EntryPoint {
    P2(p2::bindings::CommandPre<StoreState>),
    #[cfg(feature = "wasi-p3")]
    P3(p3::bindings::CommandPre<StoreState>),
}

impl PreparedComponent {
    /// Creates it from a component with resolved imports.
    ///
    /// # Errors
    /// Fails if it has no `run` export of its WASI version.
    pub(crate) fn new(
        instance: InstancePre<StoreState>,
        surface: ComponentInfo,
        origin: CodeSource,
    ) -> wasmtime::Result<Self> {
        let engine = instance.engine().clone();
        let command = match surface.wasi_version {
            WasiVersion::P2 => EntryPoint::P2(p2::bindings::CommandPre::new(instance)?),
            #[cfg(feature = "wasi-p3")]
            WasiVersion::P3 => EntryPoint::P3(p3::bindings::CommandPre::new(instance)?),
            #[cfg(not(feature = "wasi-p3"))]
            WasiVersion::P3 => return Err(wasmtime::Error::msg("built without WASI 0.3")),
        };
        Ok(Self {
            engine,
            info: surface,
            source: origin,
            is_pooled: false,
            pooled: OnceLock::new(),
            on_demand: OnceLock::new(),
            entry_point: command,
        })
    }

    /// Starts it and waits until it ends.
    pub(crate) async fn call(
        &self,
        store: &mut Store<StoreState>,
    ) -> wasmtime::Result<Result<(), ()>> {
        match &self.entry_point {
            EntryPoint::P2(command) => {
                let command = command.instantiate_async(&mut *store).await?;
                command.wasi_cli_run().call_run(store).await
            }
            #[cfg(feature = "wasi-p3")]
            EntryPoint::P3(command) => {
                let command = command.instantiate_async(&mut *store).await?;
                store
                    .run_concurrent(async |store| command.wasi_cli_run().call_run(store).await)
                    .await?
            }
        }
    }

    /// Returns how many bytes of compiled code it has, for all engines.
    pub(crate) fn code_bytes(&self) -> usize {
        let code = self.instance_pre().component().image_range();
        // Each engine has its own copy of the code.
        let others = self
            .pooled
            .get()
            .into_iter()
            .flatten()
            .chain(self.on_demand.get());
        others.fold(code.end.addr() - code.start.addr(), |size, other| {
            size + other.code_bytes()
        })
    }

    /// Returns the component, for another engine.
    pub(crate) fn instance_pre(&self) -> &InstancePre<StoreState> {
        match &self.entry_point {
            EntryPoint::P2(command) => command.instance_pre(),
            #[cfg(feature = "wasi-p3")]
            EntryPoint::P3(command) => command.instance_pre(),
        }
    }
}

/// A component shared by runs and the cache.
pub(crate) type SharedComponent = Arc<PreparedComponent>;
