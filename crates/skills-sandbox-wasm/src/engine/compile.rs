//! From bytes to something that can be started, by way of the cache on disk.
#![expect(unsafe_code, reason = "compiled code is loaded after its seal was verified")]

use std::time::{Duration, Instant};

use wasmtime::component::Component;

use super::{Linked, SharedEngine};
use crate::LoadError;
use crate::artifacts::{ArtifactCache, Key, Loaded};
use crate::prepared::{Origin, Prepared};
use crate::surface::{Generation, Surface, component};

/// How long another process that compiles the same component is awaited; longer than that it is compiled twice.
const PATIENCE: Duration = Duration::from_secs(120);
/// The engine and the adapter that compiled code is for, besides what the engine says of itself.
const VERSIONS: &[u8] = b"wasmtime 48.0.8, preview-1 adapter 48.0.8";

impl SharedEngine {
    /// Loads a component: checks it, takes its compiled code from the cache or compiles it, and resolves its imports. Blocks.
    pub(super) fn load(&self, bytes: &[u8]) -> Result<Prepared, LoadError> {
        let (component, surface) = component(bytes)?;
        let Some(cache) = &self.cache else {
            let (compiled, took) = self.compile(&component)?;
            return self.link(&compiled, &surface, Origin::Compiled { took, note: None });
        };
        let key = self.key(&component);
        let mut note = match self.cached(cache, &key, &surface) {
            Ok(prepared) => return Ok(prepared),
            Err(note) => note,
        };
        // Without a lock it is compiled all the same, perhaps by others too.
        let lock = cache.lock(&key, PATIENCE);
        if matches!(lock, Ok(Some(_)))
            && let Ok(prepared) = self.cached(cache, &key, &surface)
        {
            return Ok(prepared);
        }
        let (compiled, took) = self.compile(&component)?;
        if let Err(error) = cache.store(&key, &compiled) {
            note.get_or_insert_with(|| chain(&error));
        }
        self.link(&compiled, &surface, Origin::Compiled { took, note })
    }

    fn key(&self, component: &[u8]) -> Key {
        use std::hash::{DefaultHasher, Hash, Hasher};
        let mut hasher = DefaultHasher::new();
        self.main.engine.precompile_compatibility_hash().hash(&mut hasher);
        Key::new(&Key::content_hash(component), &[&hasher.finish().to_le_bytes(), VERSIONS])
    }

    /// Takes compiled code from the cache, or says what was wrong with what was there.
    fn cached(&self, cache: &ArtifactCache, key: &Key, surface: &Surface) -> Result<Prepared, Option<String>> {
        match cache.load(key) {
            Ok(Loaded::Hit(compiled)) => self.link(&compiled, surface, Origin::Cached).map_err(|error| Some(error.to_string())),
            Ok(Loaded::Miss) => Err(None),
            Ok(Loaded::Rejected(rejection)) => Err(Some(format!("what lay in the cache was deleted: {rejection}"))),
            Err(error) => Err(Some(chain(&error))),
        }
    }

    fn compile(&self, component: &[u8]) -> Result<(Vec<u8>, Duration), LoadError> {
        let started = Instant::now();
        let compiled = self.main.engine.precompile_component(component);
        let compiled = compiled.map_err(|error| LoadError::Invalid { reason: error.root_cause().to_string() })?;
        Ok((compiled, started.elapsed()))
    }

    /// Loads compiled code: into the engine with ready places if it fits there, else into the other.
    fn link(&self, compiled: &[u8], surface: &Surface, origin: Origin) -> Result<Prepared, LoadError> {
        let failed = |error: wasmtime::Error| LoadError::Compiler { reason: format!("{error:#}") };
        match deserialize(&self.main, compiled) {
            Ok(component) => prepare(&self.main, &component, surface, origin),
            Err(first) => {
                let roomy = self.roomy().map_err(failed)?;
                let component = deserialize(roomy, compiled).map_err(|_| failed(first))?;
                prepare(roomy, &component, surface, origin)
            }
        }
    }

    /// Makes the same program for the engine that has room for everything. Blocks for some milliseconds.
    pub(crate) fn with_room(&self, prepared: &Prepared) -> Result<Prepared, LoadError> {
        let failed = |error: wasmtime::Error| LoadError::Compiler { reason: format!("{error:#}") };
        let roomy = self.roomy().map_err(failed)?;
        let compiled = prepared.instance().component().serialize().map_err(failed)?;
        let component = deserialize(roomy, &compiled).map_err(failed)?;
        let surface = Surface { generation: prepared.generation(), sends_requests: prepared.sends_requests };
        prepare(roomy, &component, &surface, prepared.origin.clone())
    }
}

fn deserialize(linked: &Linked, compiled: &[u8]) -> wasmtime::Result<Component> {
    // SAFETY: the bytes are what this engine's compiler made, in this process or, as their verified seal says, in another one of this user.
    unsafe { Component::deserialize(&linked.engine, compiled) }
}

fn prepare(linked: &Linked, component: &Component, surface: &Surface, origin: Origin) -> Result<Prepared, LoadError> {
    // The outermost message names the import.
    let unsupported = |error: wasmtime::Error| LoadError::Unsupported { reason: error.to_string() };
    let instance = linked.linker.instantiate_pre(component).map_err(unsupported)?;
    let prepared = match surface.generation {
        Generation::Preview2 => Prepared::preview2(instance, surface.sends_requests, origin),
        #[cfg(feature = "wasi-p3")]
        Generation::Preview3 => Prepared::preview3(instance, surface.sends_requests, origin),
        #[cfg(not(feature = "wasi-p3"))]
        Generation::Preview3 => return Err(LoadError::WithoutPreview3),
    };
    prepared.map_err(|_| LoadError::NoRun)
}

fn chain(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}
