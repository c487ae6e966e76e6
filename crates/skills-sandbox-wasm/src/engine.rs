//! The engine, shared by all runs of a process.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use sha2::{Digest, Sha256};
use skills_sandbox::SandboxError;
use tokio::sync::OnceCell;
use wasmtime::component::Linker;
use wasmtime::{Config, Engine};

use crate::context::Context;
use crate::load::{Prepared, load};
use crate::ticker::Ticker;

/// SHA-256 of a component.
type Hash = [u8; 32];
/// Where the compiled component goes; whoever comes second waits for the first.
type Slot = Arc<OnceCell<Arc<Prepared>>>;

/// How many compiled components are kept; when there are more, all that nobody is loading are dropped.
const MAX_KEPT: usize = 64;

/// The engine with everything that is made once: linker, ticker, compiled components by content.
pub(crate) struct SharedEngine {
    pub(crate) engine: Engine,
    pub(crate) ticker: Ticker,
    linker: Linker<Context>,
    kept: Mutex<HashMap<Hash, Slot>>,
}

impl SharedEngine {
    pub(crate) fn new() -> Result<Self, SandboxError> {
        let failed =
            |error: wasmtime::Error| SandboxError::setup("starting the WebAssembly engine", std::io::Error::other(error.to_string()));
        let mut config = Config::new();
        config.epoch_interruption(true);
        let engine = Engine::new(&config).map_err(failed)?;
        let mut linker = Linker::new(&engine);
        wasmtime_wasi::p2::add_to_linker_async(&mut linker).map_err(failed)?;
        let ticker = Ticker::start(&engine).map_err(|error| SandboxError::setup("starting the ticker thread", error))?;
        Ok(Self { engine, ticker, linker, kept: Mutex::default() })
    }

    /// Compiles a component, or takes it from an earlier time; callers that want the same one at the same time share the work.
    pub(crate) async fn prepare(self: &Arc<Self>, bytes: Arc<[u8]>) -> Result<Arc<Prepared>, SandboxError> {
        let cell = self.cell(Sha256::digest(&bytes).into());
        let shared = Arc::clone(self);
        // Compiling takes long, so it must not hold up the executor.
        let compile = || async move {
            let compiled = tokio::task::spawn_blocking(move || load(&shared.engine, &shared.linker, &bytes)).await;
            compiled.map_err(|_| SandboxError::load("the compiler failed on it"))?.map(Arc::new)
        };
        cell.get_or_try_init(compile).await.cloned()
    }

    fn cell(&self, key: Hash) -> Slot {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= MAX_KEPT && !kept.contains_key(&key) {
            kept.retain(|_, cell| Arc::strong_count(cell) > 1);
        }
        Arc::clone(kept.entry(key).or_default())
    }
}
