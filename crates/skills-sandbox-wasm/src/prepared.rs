//! A program that can be started.

use std::sync::Arc;
use std::time::Duration;

use wasmtime::component::InstancePre;
use wasmtime::{Engine, Store};
use wasmtime_wasi::p2;
#[cfg(feature = "wasi-p3")]
use wasmtime_wasi::p3;

use crate::context::Context;
use crate::surface::Generation;

/// A compiled component whose imports are all resolved.
pub(crate) struct Prepared {
    pub(crate) engine: Engine,
    pub(crate) sends_requests: bool,
    pub(crate) origin: Origin,
    command: Command,
}

/// Where the compiled code came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Origin {
    Compiled {
        took: Duration,
        /// Why what lay in the cache was not used, or why nothing could be put there.
        note: Option<String>,
    },
    Cached,
}

enum Command {
    Preview2(p2::bindings::CommandPre<Context>),
    #[cfg(feature = "wasi-p3")]
    Preview3(p3::bindings::CommandPre<Context>),
}

impl Prepared {
    pub(crate) fn preview2(instance: InstancePre<Context>, sends_requests: bool, origin: Origin) -> wasmtime::Result<Self> {
        let engine = instance.engine().clone();
        Ok(Self { engine, sends_requests, origin, command: Command::Preview2(p2::bindings::CommandPre::new(instance)?) })
    }

    #[cfg(feature = "wasi-p3")]
    pub(crate) fn preview3(instance: InstancePre<Context>, sends_requests: bool, origin: Origin) -> wasmtime::Result<Self> {
        let engine = instance.engine().clone();
        Ok(Self { engine, sends_requests, origin, command: Command::Preview3(p3::bindings::CommandPre::new(instance)?) })
    }

    /// Starts it and waits for its end.
    pub(crate) async fn call(&self, store: &mut Store<Context>) -> wasmtime::Result<Result<(), ()>> {
        match &self.command {
            Command::Preview2(command) => {
                let command = command.instantiate_async(&mut *store).await?;
                command.wasi_cli_run().call_run(store).await
            }
            #[cfg(feature = "wasi-p3")]
            Command::Preview3(command) => {
                let command = command.instantiate_async(&mut *store).await?;
                store.run_concurrent(async |store| command.wasi_cli_run().call_run(store).await).await?
            }
        }
    }

    pub(crate) fn generation(&self) -> Generation {
        match &self.command {
            Command::Preview2(_) => Generation::Preview2,
            #[cfg(feature = "wasi-p3")]
            Command::Preview3(_) => Generation::Preview3,
        }
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
