//! The engine, shared by all runs of a process.

mod compile;
mod components;
mod config;
mod ticker;

use std::sync::{Arc, OnceLock};

use skills_sandbox::SandboxError;
use tokio::sync::{Semaphore, SemaphorePermit};
use wasmtime::Engine;
use wasmtime::component::Linker;

use crate::artifacts::ArtifactCache;
use crate::context::Context;
use crate::prepared::Kept;
use crate::{LoadError, Profile, files};

use components::Components;
use config::{Allocation, SLOTS, config};
pub(crate) use ticker::Ticking;

/// The engine with everything that is made once: linker, ticker, compiled components, places for runs.
pub(crate) struct SharedEngine {
    /// The one that is used, with places that are kept ready where there is the address space for them.
    main: Linked,
    /// Another for what does not fit into these places; made when it is first needed.
    roomy: OnceLock<Linked>,
    profile: Profile,
    ticker: ticker::Ticker,
    places: Semaphore,
    components: Components,
    cache: Option<ArtifactCache>,
}

/// An engine and the interfaces that it offers.
pub(crate) struct Linked {
    engine: Engine,
    linker: Linker<Context>,
}

impl Linked {
    fn new(profile: Profile, allocation: Allocation) -> wasmtime::Result<Self> {
        let engine = Engine::new(&config(profile, allocation))?;
        let mut linker = Linker::new(&engine);
        // The interfaces of files come twice: ours take the place of those that were there.
        linker.allow_shadowing(true);
        wasmtime_wasi::p2::add_to_linker_async(&mut linker)?;
        #[cfg(feature = "wasi-p3")]
        wasmtime_wasi::p3::add_to_linker(&mut linker)?;
        files::add_to_linker(&mut linker)?;
        linker.allow_shadowing(false);
        #[cfg(feature = "http")]
        crate::http::add_to_linker(&mut linker)?;
        Ok(Self { engine, linker })
    }
}

impl SharedEngine {
    pub(crate) fn new(profile: Profile, cache: Option<ArtifactCache>) -> Result<Self, SandboxError> {
        // Where address space is limited, places cannot be kept ready, and programs run a little slower.
        let main = Linked::new(profile, Allocation::Pooled).or_else(|_| Linked::new(profile, Allocation::OnDemand));
        let main = main.map_err(|error| failed("starting the WebAssembly engine", error))?;
        let ticker = ticker::Ticker::start(&main.engine).map_err(|error| SandboxError::setup("starting the ticker thread", error))?;
        let places = Semaphore::new(SLOTS as usize);
        Ok(Self { main, roomy: OnceLock::new(), profile, ticker, places, components: Components::default(), cache })
    }

    /// Compiles a component, or takes it from an earlier time; callers that want the same one at the same time share the work.
    pub(crate) async fn prepare(self: &Arc<Self>, bytes: &Arc<[u8]>) -> Result<Kept, LoadError> {
        self.components.get(bytes, || Arc::clone(self)).await
    }

    /// Waits for a place to run in.
    pub(crate) async fn place(&self) -> Result<SemaphorePermit<'_>, SandboxError> {
        self.places.acquire().await.map_err(|error| SandboxError::setup("waiting for a place", std::io::Error::other(error)))
    }

    /// Lets the epoch advance as long as the result lives; only needed where epochs count.
    pub(crate) fn tick(&self) -> Ticking {
        self.ticker.tick()
    }

    pub(crate) fn profile(&self) -> Profile {
        self.profile
    }

    fn roomy(&self) -> wasmtime::Result<&Linked> {
        if let Some(linked) = self.roomy.get() {
            return Ok(linked);
        }
        let linked = Linked::new(self.profile, Allocation::OnDemand)?;
        Ok(self.roomy.get_or_init(|| linked))
    }
}

fn failed(step: &'static str, error: wasmtime::Error) -> SandboxError {
    SandboxError::setup(step, std::io::Error::other(format!("{error:#}")))
}
