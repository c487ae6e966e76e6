//! From bytes to something that can be started, by way of the cache on disk.
#![expect(
    unsafe_code,
    reason = "compiled code is loaded after its seal was verified"
)]

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use wasmtime::component::Component;

use super::components::Failure;
use super::config::Allocation;
use super::cost::is_small;
use super::{Linked, SharedEngine};
use crate::LoadError;
use crate::artifacts::{ArtifactCache, Key, Loaded};
use crate::compiler::{self, Abandoned, Cause, CompileCommand};
use crate::prepared::{Kept, Origin, Prepared, Troubles};
use crate::surface::{Surface, component, is_component};

/// Up to which length of WebAssembly compiled code is taken from the cache without a thread: that
/// takes less than a millisecond.
const SMALL_BYTES: usize = 512 << 10;
/// How long another process that compiles the same component is awaited; longer than that it is
/// compiled twice.
const PATIENCE: Duration = Duration::from_secs(120);
/// The version of this crate. That of the engine is in its compatibility hash, and that of the
/// adapter in the content, since it is adapted before.
const VERSION: &[u8] = env!("CARGO_PKG_VERSION").as_bytes();

/// The caller of a [job](skills_sandbox::Job::caller); jobs that name none share one.
pub(crate) type Caller = Option<Arc<str>>;

/// How long a result is wanted, and by which caller.
pub(super) struct Wanted<'a> {
    pub(super) abandoned: &'a Abandoned,
    /// The caller that wanted it first.
    pub(super) caller: &'a Caller,
    /// The deadline of the run that wanted it first.
    pub(super) deadline: Option<Instant>,
}

impl SharedEngine {
    /// Takes a component from the cache, when it is there and so small that it is not worth a
    /// thread; else says what was wrong with the cache.
    pub(super) fn load_at_once(&self, bytes: &[u8]) -> Result<Prepared, Troubles> {
        let Some(cache) = self
            .cache
            .as_ref()
            .filter(|_| bytes.len() <= SMALL_BYTES && is_component(bytes))
        else {
            return Err(Troubles::default());
        };
        let (component, surface) = component(bytes).map_err(|_| Troubles::default())?;
        self.cached(cache, &self.key(&component), surface)
    }

    /// Loads a component: checks it, takes its compiled code from the cache or compiles it, and
    /// resolves its imports. Blocks.
    pub(super) fn load(
        &self,
        bytes: &[u8],
        mut troubles: Troubles,
        wanted: &Wanted<'_>,
    ) -> Result<Prepared, Failure> {
        let (component, surface) = component(bytes)?;
        let key = self.key(&component);
        let Some(cache) = &self.cache else {
            let (compiled, took) = self.compile(&component, &key, wanted)?;
            return Ok(self.link(&compiled, surface, Origin::Compiled { took, troubles })?);
        };
        match self.cached(cache, &key, surface) {
            Ok(prepared) => return Ok(prepared),
            Err(more) => troubles = troubles.and(more),
        }
        // Without a lock it is compiled all the same, perhaps by others too.
        let lock = cache.lock(&key, PATIENCE, &|| wanted.abandoned.cause().is_some());
        if matches!(lock, Ok(Some(_)))
            && let Ok(prepared) = self.cached(cache, &key, surface)
        {
            return Ok(prepared);
        }
        let (compiled, took) = self.compile(&component, &key, wanted)?;
        if let Err(error) = cache.store(&key, &compiled) {
            troubles.unused.get_or_insert_with(|| chain(&error));
        }
        Ok(self.link(&compiled, surface, Origin::Compiled { took, troubles })?)
    }

    fn key(&self, component: &[u8]) -> Key {
        use std::hash::{DefaultHasher, Hash, Hasher};
        let mut hasher = DefaultHasher::new();
        self.roomy
            .engine
            .precompile_compatibility_hash()
            .hash(&mut hasher);
        Key::new(
            &Key::content_hash(component),
            &[&hasher.finish().to_le_bytes(), VERSION],
        )
    }

    /// Takes compiled code from the cache, or says what was wrong with what was there.
    fn cached(
        &self,
        cache: &ArtifactCache,
        key: &Key,
        surface: Surface,
    ) -> Result<Prepared, Troubles> {
        let rejected = |reason: String| Troubles {
            rejected: Some(reason),
            unused: None,
        };
        match cache.load(key) {
            Ok(Loaded::Hit(compiled)) => self
                .link(&compiled, surface, Origin::Cached)
                .map_err(|error| rejected(error.to_string())),
            Ok(Loaded::Miss) => Err(Troubles::default()),
            Ok(Loaded::Rejected(rejection)) => Err(rejected(rejection.to_string())),
            Err(error) => Err(Troubles {
                rejected: None,
                unused: Some(chain(&error)),
            }),
        }
    }

    /// Compiles a component: a small one in this process, any other in a child.
    fn compile(
        &self,
        component: &[u8],
        key: &Key,
        wanted: &Wanted<'_>,
    ) -> Result<(Vec<u8>, Duration), Failure> {
        if is_small(component) {
            let _permit = self.components.permit(wanted).ok_or(Failure::Abandoned)?;
            let started = Instant::now();
            let compiled = self.roomy.engine.precompile_component(component);
            let compiled = compiled.map_err(|error| LoadError::Invalid {
                reason: error.root_cause().to_string(),
            })?;
            return Ok((compiled, started.elapsed()));
        }
        let Some(command) = &self.command else {
            return Err(LoadError::NeedsCompileCommand {
                bytes: component.len(),
            }
            .into());
        };
        self.refusals.check(key, wanted.deadline)?;
        self.compile_in_child(command, component, key, wanted)
    }

    fn compile_in_child(
        &self,
        command: &CompileCommand,
        component: &[u8],
        key: &Key,
        wanted: &Wanted<'_>,
    ) -> Result<(Vec<u8>, Duration), Failure> {
        let _permit = self
            .components
            .permit_for_child(wanted)
            .ok_or(Failure::Abandoned)?;
        let started = Instant::now();
        compiler::compile(command, component, self.profile, wanted.abandoned)
            .map(|compiled| (compiled, started.elapsed()))
            .map_err(|failure| match failure {
                compiler::Failure::Load(error) => {
                    if matches!(
                        error,
                        LoadError::CompileMemory { .. } | LoadError::CompileTime { .. }
                    ) {
                        self.refusals.add(*key, error.clone());
                    }
                    Failure::Load(error)
                }
                compiler::Failure::Abandoned { cause, ran } => {
                    if cause == Cause::Deadline {
                        self.refusals
                            .add(*key, LoadError::CompileTime { limit: ran });
                    }
                    Failure::Abandoned
                }
            })
    }

    /// Loads compiled code: for ready places if something has run already and it fits there, else
    /// for the engine with room for everything.
    fn link(
        &self,
        compiled: &[u8],
        surface: Surface,
        origin: Origin,
    ) -> Result<Prepared, LoadError> {
        let ready = if self.is_used.load(Ordering::Relaxed) {
            self.ready()
        } else {
            None
        };
        if let Some(prepared) =
            ready.and_then(|ready| link(ready, compiled, surface, origin.clone()).ok())
        {
            return Ok(prepared);
        }
        let prepared = link(&self.roomy, compiled, surface, origin)?;
        if ready.is_some() {
            // It was tried, and does not fit.
            let _ = prepared.ready.set(None);
        }
        Ok(prepared)
    }

    /// Makes the same program for ready places; nothing when it does not fit there. Blocks for some
    /// milliseconds.
    pub(super) fn for_ready_places(&self, prepared: &Prepared) -> Option<Kept> {
        let compiled = prepared.instance().component().serialize().ok()?;
        link(
            self.ready()?,
            &compiled,
            prepared.surface,
            prepared.origin.clone(),
        )
        .ok()
        .map(Arc::new)
    }

    /// Makes the same program for the engine with room for everything. Blocks for some
    /// milliseconds.
    pub(super) fn for_roomy(&self, prepared: &Prepared) -> Result<Kept, LoadError> {
        let failed = |error: wasmtime::Error| LoadError::Compiler {
            reason: format!("{error:#}"),
        };
        let compiled = prepared
            .instance()
            .component()
            .serialize()
            .map_err(failed)?;
        link(
            &self.roomy,
            &compiled,
            prepared.surface,
            prepared.origin.clone(),
        )
        .map(Arc::new)
    }
}

fn link(
    linked: &Linked,
    compiled: &[u8],
    surface: Surface,
    origin: Origin,
) -> Result<Prepared, LoadError> {
    let failed = |error: wasmtime::Error| LoadError::Compiler {
        reason: format!("{error:#}"),
    };
    // SAFETY: the bytes are what the compiler of this version made, for a component that it found
    // valid: in this process; in a child of it, which is a program that the host named, runs only
    // `compile_child`, and authenticated them with a key that no other process was given; or, as
    // their verified seal says, in another process of this user that got them in one of these ways.
    // Their version, settings and processor are compared by `deserialize`.
    let component = unsafe { Component::deserialize(&linked.engine, compiled) }.map_err(failed)?;
    // The outermost message names the import.
    let unsupported = |error: wasmtime::Error| LoadError::Unsupported {
        reason: error.to_string(),
    };
    let instance = linked
        .linker(&surface)
        .map_err(failed)?
        .instantiate_pre(&component)
        .map_err(unsupported)?;
    let mut prepared = Prepared::new(instance, surface, origin).map_err(|_| LoadError::NoRun)?;
    prepared.is_ready = linked.allocation == Allocation::Pooled;
    Ok(prepared)
}

impl Troubles {
    /// What came first stays.
    fn and(self, later: Self) -> Self {
        Self {
            rejected: self.rejected.or(later.rejected),
            unused: self.unused.or(later.unused),
        }
    }
}

fn chain(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}
