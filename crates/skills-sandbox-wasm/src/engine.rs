//! The engine, shared by all runs of a process.

mod compile;
mod components;
mod config;
mod cost;
mod linked;
mod refusals;
mod ticker;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use skills_sandbox::SandboxError;
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::artifacts::ArtifactCache;
use crate::compiler::CompileCommand;
use crate::prepared::{Kept, Origin, Prepared};
use crate::{LoadError, Profile};

pub(crate) use compile::Caller;
use components::Components;
use config::SLOTS;
pub(crate) use config::{Allocation, config};
use linked::Linked;
use refusals::Refusals;
pub(crate) use ticker::Ticking;

/// The engine with everything that is made once: linkers, ticker, compiled components, places for
/// runs.
pub(crate) struct SharedEngine {
    /// Takes memory from the operating system for each run: quickly there, and with room for
    /// everything.
    roomy: Linked,
    /// Has places that are kept ready; made for the second run, since a process may have only one.
    /// Nothing where there is no address space for them.
    ready: OnceLock<Option<Linked>>,
    /// Whether something has run.
    is_used: AtomicBool,
    profile: Profile,
    ticker: ticker::Ticker,
    places: Semaphore,
    components: Components,
    cache: Option<ArtifactCache>,
    command: Option<CompileCommand>,
    refusals: Refusals,
}

impl SharedEngine {
    pub(crate) fn new(
        profile: Profile,
        cache: Option<ArtifactCache>,
        command: Option<CompileCommand>,
    ) -> Result<Self, SandboxError> {
        let roomy = Linked::new(profile, Allocation::OnDemand)
            .map_err(|error| failed("starting the WebAssembly engine", &error))?;
        let ticker = ticker::Ticker::start()
            .map_err(|error| SandboxError::setup("starting the ticker thread", error))?;
        ticker.advances(&roomy.engine);
        let places = Semaphore::new(SLOTS as usize);
        Ok(Self {
            roomy,
            ready: OnceLock::new(),
            is_used: AtomicBool::new(false),
            profile,
            ticker,
            places,
            components: Components::default(),
            cache,
            command,
            refusals: Refusals::default(),
        })
    }

    /// Compiles a component, or takes it from an earlier time; callers that want the same one at
    /// the same time share the work. The deadline decides whether it is worth trying; a caller that
    /// does not wait until then drops the future. Components of one caller are compiled one after
    /// the other; what is kept or in the cache does not wait for them.
    pub(crate) async fn prepare(
        self: &Arc<Self>,
        bytes: &Arc<[u8]>,
        caller: &Caller,
        deadline: Option<Instant>,
    ) -> Result<(Kept, Origin), LoadError> {
        let (kept, is_new) = self.components.get(bytes, self, caller, deadline).await?;
        let origin = if is_new {
            kept.origin.clone()
        } else {
            Origin::Memory
        };
        Ok((kept, origin))
    }

    /// Returns what is to be run: the same program for ready places, unless nothing has run yet or
    /// it does not fit there.
    pub(crate) fn placed<'a>(&self, prepared: &'a Kept) -> &'a Prepared {
        if !self.is_used.swap(true, Ordering::Relaxed) || prepared.is_ready {
            return prepared;
        }
        prepared
            .ready
            .get_or_init(|| self.for_ready_places(prepared))
            .as_deref()
            .unwrap_or(prepared)
    }

    /// Returns the same program for the engine with room for everything.
    pub(crate) fn with_room(&self, prepared: &Kept) -> Result<Kept, LoadError> {
        if !prepared.is_ready {
            // It came from there.
            return Ok(Arc::clone(prepared));
        }
        if let Some(roomy) = prepared.roomy.get() {
            return Ok(Arc::clone(roomy));
        }
        let roomy = self.for_roomy(prepared)?;
        Ok(Arc::clone(prepared.roomy.get_or_init(|| roomy)))
    }

    /// Waits for a place to run in.
    pub(crate) async fn place(&self) -> Result<SemaphorePermit<'_>, SandboxError> {
        self.places.acquire().await.map_err(|error| {
            SandboxError::setup("waiting for a place", std::io::Error::other(error))
        })
    }

    /// Lets the epoch advance as long as the result lives; only needed where epochs count.
    pub(crate) fn tick(&self) -> Ticking {
        self.ticker.tick()
    }

    pub(crate) fn profile(&self) -> Profile {
        self.profile
    }

    fn ready(&self) -> Option<&Linked> {
        let make = || {
            // Where address space is limited, places cannot be kept ready, and programs run a
            // little slower.
            let linked = Linked::new(self.profile, Allocation::Pooled).ok()?;
            self.ticker.advances(&linked.engine);
            Some(linked)
        };
        self.ready.get_or_init(make).as_ref()
    }
}

fn failed(step: &'static str, error: &wasmtime::Error) -> SandboxError {
    SandboxError::setup(step, std::io::Error::other(format!("{error:#}")))
}
