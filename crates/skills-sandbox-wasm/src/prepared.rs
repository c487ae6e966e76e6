//! A program that can be started.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use wasmtime::component::InstancePre;
use wasmtime::{Engine, Store};
use wasmtime_wasi::p2;
#[cfg(feature = "wasi-p3")]
use wasmtime_wasi::p3;

use crate::context::Context;
use crate::surface::{Generation, Surface};

/// A compiled component whose imports are all resolved.
pub(crate) struct Prepared {
    pub(crate) engine: Engine,
    pub(crate) surface: Surface,
    pub(crate) origin: Origin,
    /// Whether it runs in places that are kept ready.
    pub(crate) is_ready: bool,
    /// The same for ready places, once it was wanted; nothing when it does not fit there.
    pub(crate) ready: OnceLock<Option<Kept>>,
    /// The same for the engine with room for everything, once it was wanted.
    pub(crate) roomy: OnceLock<Kept>,
    command: Command,
}

/// Where the compiled code came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Origin {
    /// It was compiled now.
    Compiled { took: Duration, troubles: Troubles },
    /// It lay in the cache on disk.
    Cached,
    /// An earlier run of this process had it.
    Memory,
}

/// What was wrong with the cache on disk.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Troubles {
    /// Why what lay there was deleted.
    pub(crate) rejected: Option<String>,
    /// Why the cache was not used, or nothing was put there.
    pub(crate) unused: Option<String>,
}

enum Command {
    Preview2(p2::bindings::CommandPre<Context>),
    #[cfg(feature = "wasi-p3")]
    Preview3(p3::bindings::CommandPre<Context>),
}

impl Prepared {
    /// Takes a component whose imports are resolved.
    ///
    /// # Errors
    /// When it has no `run` of its generation.
    pub(crate) fn new(
        instance: InstancePre<Context>,
        surface: Surface,
        origin: Origin,
    ) -> wasmtime::Result<Self> {
        let engine = instance.engine().clone();
        let command = match surface.generation {
            Generation::Preview2 => Command::Preview2(p2::bindings::CommandPre::new(instance)?),
            #[cfg(feature = "wasi-p3")]
            Generation::Preview3 => Command::Preview3(p3::bindings::CommandPre::new(instance)?),
            #[cfg(not(feature = "wasi-p3"))]
            Generation::Preview3 => return Err(wasmtime::Error::msg("built without WASI 0.3")),
        };
        Ok(Self {
            engine,
            surface,
            origin,
            is_ready: false,
            ready: OnceLock::new(),
            roomy: OnceLock::new(),
            command,
        })
    }

    /// Starts it and waits for its end.
    pub(crate) async fn call(
        &self,
        store: &mut Store<Context>,
    ) -> wasmtime::Result<Result<(), ()>> {
        match &self.command {
            Command::Preview2(command) => {
                let command = command.instantiate_async(&mut *store).await?;
                command.wasi_cli_run().call_run(store).await
            }
            #[cfg(feature = "wasi-p3")]
            Command::Preview3(command) => {
                let command = command.instantiate_async(&mut *store).await?;
                store
                    .run_concurrent(async |store| command.wasi_cli_run().call_run(store).await)
                    .await?
            }
        }
    }

    /// Returns how many bytes of compiled code it has, for all engines.
    pub(crate) fn size(&self) -> usize {
        let code = self.instance().component().image_range();
        let others = self
            .ready
            .get()
            .into_iter()
            .flatten()
            .chain(self.roomy.get());
        others.fold(code.end.addr() - code.start.addr(), |size, other| {
            size + other.size()
        })
    }

    /// The component, for another engine.
    pub(crate) fn instance(&self) -> &InstancePre<Context> {
        match &self.command {
            Command::Preview2(command) => command.instance_pre(),
            #[cfg(feature = "wasi-p3")]
            Command::Preview3(command) => command.instance_pre(),
        }
    }
}

/// What a program is kept as.
pub(crate) type Kept = Arc<Prepared>;
