//! Compiles components, with the code cache on disk.
#![expect(
    unsafe_code,
    reason = "compiled code is loaded after its MAC was verified"
)]

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use wasmtime::component::Component;

use super::config::Allocation;
use super::{EngineLinkers, SharedEngine};
use crate::LoadError;
use crate::code_cache::{CacheKey, CodeCache, Lookup};
use crate::compiler::{self, AbandonSignal, CompileCommand};
use crate::component_info::{
    ComponentInfo, Encoding, INFO_OF_ADAPTED, adapter, component_info, detect_encoding,
    to_component,
};
use crate::prepared_component::{CacheDiagnostics, CodeSource, PreparedComponent, SharedComponent};

/// The maximum length of WebAssembly whose compiled code is loaded from the cache on the async
/// thread: that takes less than a millisecond.
const MAX_SMALL_BYTES: usize = 512 << 10;
/// The maximum length of WebAssembly that is compiled in this process, where nothing limits the time
/// and the memory of the compiler.
const MAX_BYTES_IN_PROCESS: usize = 256 << 10;
/// How long to wait for another process compiling the same component before compiling it here too.
const LOCK_TIMEOUT: Duration = Duration::from_secs(120);
/// The version of this crate. That of the engine is in its compatibility hash.
const VERSION: &[u8] = env!("CARGO_PKG_VERSION").as_bytes();

/// The caller of a [job](skills_sandbox::Job::caller); jobs without a caller share one.
pub(crate) type Caller = Option<Arc<str>>;

/// Why there is no component.
#[derive(Clone)]
pub(super) enum LoadFailure {
    Load(LoadError),
    /// No run waits for it any more.
    Abandoned,
}

impl From<LoadError> for LoadFailure {
    fn from(error: LoadError) -> Self {
        Self::Load(error)
    }
}

/// Until when a result is needed, and by which caller.
pub(super) struct CompileDemand<'a> {
    pub(super) abandon_signal: &'a Arc<AbandonSignal>,
    /// The caller that requested it first.
    pub(super) caller: &'a Caller,
    /// The deadline of the run that requested it first.
    pub(super) deadline: Option<Instant>,
}

impl SharedEngine {
    /// Loads a component from the cache if it exists there and is small enough to load on this
    /// thread; otherwise returns the problems of the cache.
    pub(super) fn load_if_small(
        &self,
        bytes: &[u8],
    ) -> Result<PreparedComponent, CacheDiagnostics> {
        let Some(cache) = self
            .code_cache
            .as_ref()
            .filter(|_| bytes.len() <= MAX_SMALL_BYTES)
        else {
            return Err(CacheDiagnostics::default());
        };
        // The error is not lost: `load` finds it again.
        let (key, surface) = self
            .cache_key(bytes)
            .map_err(|_| CacheDiagnostics::default())?;
        self.load_cached(cache, &key, surface)
    }

    /// Loads a component: validates it, gets its compiled code from the cache or compiles it, and
    /// resolves its imports. Blocks.
    pub(super) fn load(
        &self,
        bytes: &[u8],
        mut troubles: CacheDiagnostics,
        wanted: &CompileDemand<'_>,
    ) -> Result<PreparedComponent, LoadFailure> {
        let (key, surface) = self.cache_key(bytes)?;
        if let Some(cache) = &self.code_cache {
            match self.load_cached(cache, &key, surface) {
                Ok(prepared) => return Ok(prepared),
                Err(more) => troubles = troubles.merge(more),
            }
        }
        // Converting a module takes longer than loading what it was compiled to.
        let (component, surface) = to_component(bytes)?;
        let Some(cache) = &self.code_cache else {
            let (compiled, took) = self.compile(&component, &key, wanted)?;
            return Ok(self.link(
                &compiled,
                surface,
                CodeSource::Compiled {
                    elapsed: took,
                    diagnostics: troubles,
                },
            )?);
        };
        // Without a lock it is compiled nevertheless, possibly by other processes too.
        let lock = cache.lock(&key, LOCK_TIMEOUT, &|| {
            wanted.abandon_signal.cause().is_some()
        });
        // Another process may have stored it while this one was waiting.
        if matches!(lock, Ok(Some(_)))
            && let Ok(prepared) = self.load_cached(cache, &key, surface)
        {
            return Ok(prepared);
        }
        let (compiled, took) = self.compile(&component, &key, wanted)?;
        // The run does not depend on it, so it is only reported.
        if let Err(error) = cache.store(&key, &compiled) {
            troubles.skipped.get_or_insert_with(|| error_chain(&error));
        }
        Ok(self.link(
            &compiled,
            surface,
            CodeSource::Compiled {
                elapsed: took,
                diagnostics: troubles,
            },
        )?)
    }

    /// Returns the key of the compiled code of WebAssembly, and the imports and exports of the
    /// component that it is, or that a module is converted to.
    fn cache_key(&self, bytes: &[u8]) -> Result<(CacheKey, ComponentInfo), LoadError> {
        use std::hash::{DefaultHasher, Hash, Hasher};
        // One key for both engines, since the allocator does not affect compiled code.
        let mut hasher = DefaultHasher::new();
        self.on_demand
            .engine
            .precompile_compatibility_hash()
            .hash(&mut hasher);
        let engine = hasher.finish().to_le_bytes();
        let content = CacheKey::content_hash(bytes);
        Ok(match detect_encoding(bytes)? {
            Encoding::Component => (
                CacheKey::new(&content, &[&engine, VERSION]),
                component_info(bytes)?,
            ),
            Encoding::CoreModule => {
                let [adapter, encoder] = adapter();
                let key = CacheKey::new(&content, &[&engine, VERSION, adapter, encoder]);
                (key, INFO_OF_ADAPTED)
            }
        })
    }

    /// Loads compiled code from the cache, or returns what was wrong with the entry.
    fn load_cached(
        &self,
        cache: &CodeCache,
        key: &CacheKey,
        surface: ComponentInfo,
    ) -> Result<PreparedComponent, CacheDiagnostics> {
        let rejected = |reason: String| CacheDiagnostics {
            rejected: Some(reason),
            skipped: None,
        };
        match cache.load(key) {
            Ok(Lookup::Hit(compiled)) => self
                .link(&compiled, surface, CodeSource::Cached)
                .map_err(|error| rejected(error.to_string())),
            Ok(Lookup::Miss) => Err(CacheDiagnostics::default()),
            Ok(Lookup::Rejected(rejection)) => Err(rejected(rejection.to_string())),
            Err(error) => Err(CacheDiagnostics {
                rejected: None,
                skipped: Some(error_chain(&error)),
            }),
        }
    }

    /// Compiles a component in a child process if there is a command for it, which has limits.
    fn compile(
        &self,
        component: &[u8],
        key: &CacheKey,
        wanted: &CompileDemand<'_>,
    ) -> Result<(Vec<u8>, Duration), LoadFailure> {
        let Some(command) = &self.compile_command else {
            return self.compile_here(component, wanted);
        };
        // Before waiting for a permit, which another component could use.
        self.rejections.check(key, wanted.deadline)?;
        self.compile_in_child(command, component, key, wanted)
    }

    /// Compiles a component on this thread, which has no memory limit and cannot be interrupted.
    fn compile_here(
        &self,
        component: &[u8],
        wanted: &CompileDemand<'_>,
    ) -> Result<(Vec<u8>, Duration), LoadFailure> {
        if component.len() > MAX_BYTES_IN_PROCESS {
            return Err(LoadError::NeedsCompileCommand {
                bytes: component.len(),
            }
            .into());
        }
        let _permit = self
            .components
            .permit(wanted)
            .ok_or(LoadFailure::Abandoned)?;
        let started = Instant::now();
        let compiled = self.on_demand.engine.precompile_component(component);
        let compiled = compiled.map_err(|error| LoadError::Invalid {
            reason: error.root_cause().to_string(),
        })?;
        Ok((compiled, started.elapsed()))
    }

    fn compile_in_child(
        &self,
        command: &CompileCommand,
        component: &[u8],
        key: &CacheKey,
        wanted: &CompileDemand<'_>,
    ) -> Result<(Vec<u8>, Duration), LoadFailure> {
        let _permit = self
            .components
            .permit_for_child(wanted)
            .ok_or(LoadFailure::Abandoned)?;
        let started = Instant::now();
        compiler::compile_in_child(command, component, self.profile, wanted.abandon_signal)
            .map(|compiled| (compiled, started.elapsed()))
            .map_err(|failure| match failure {
                compiler::CompileFailure::Load(error) => {
                    // Other failures may have causes that go away.
                    if matches!(
                        error,
                        LoadError::CompileMemoryLimit { .. } | LoadError::CompileTimeout { .. }
                    ) {
                        self.rejections.add(*key, error.clone());
                    }
                    LoadFailure::Load(error)
                }
                // This says nothing about the component.
                compiler::CompileFailure::Abandoned => LoadFailure::Abandoned,
            })
    }

    /// Loads compiled code: into the pooling engine if a program has run before and it fits there,
    /// otherwise into the on-demand engine.
    fn link(
        &self,
        compiled: &[u8],
        surface: ComponentInfo,
        origin: CodeSource,
    ) -> Result<PreparedComponent, LoadError> {
        let ready = if self.is_used.load(Ordering::Relaxed) {
            self.pooled()
        } else {
            None
        };
        // Not fitting into the pool is not an error of the component.
        if let Some(prepared) =
            ready.and_then(|ready| link_component(ready, compiled, surface, origin.clone()).ok())
        {
            return Ok(prepared);
        }
        let prepared = link_component(&self.on_demand, compiled, surface, origin)?;
        if ready.is_some() {
            // It was tried, and does not fit.
            let _ = prepared.pooled.set(None);
        }
        Ok(prepared)
    }

    /// Creates the same component for the pooling engine; `None` if it does not fit there. Blocks
    /// for some milliseconds.
    pub(super) fn to_pooled(&self, prepared: &PreparedComponent) -> Option<SharedComponent> {
        // Code belongs to one engine, so it is loaded again from its bytes; nothing is compiled.
        let compiled = prepared.instance_pre().component().serialize().ok()?;
        link_component(
            self.pooled()?,
            &compiled,
            prepared.info,
            prepared.source.clone(),
        )
        .ok()
        .map(Arc::new)
    }

    /// Creates the same component for the on-demand engine. Blocks for some milliseconds.
    pub(super) fn to_on_demand(
        &self,
        prepared: &PreparedComponent,
    ) -> Result<SharedComponent, LoadError> {
        let failed = |error: wasmtime::Error| LoadError::CompilerFailed {
            reason: format!("{error:#}"),
        };
        let compiled = prepared
            .instance_pre()
            .component()
            .serialize()
            .map_err(failed)?;
        link_component(
            &self.on_demand,
            &compiled,
            prepared.info,
            prepared.source.clone(),
        )
        .map(Arc::new)
    }
}

fn link_component(
    linked: &EngineLinkers,
    compiled: &[u8],
    surface: ComponentInfo,
    origin: CodeSource,
) -> Result<PreparedComponent, LoadError> {
    let failed = |error: wasmtime::Error| LoadError::CompilerFailed {
        reason: format!("{error:#}"),
    };
    // SAFETY: the bytes were created by the compiler of this version, for a component that it
    // validated: in this process; in a child of it, which is a program that the host application
    // configured, runs only `compile_child`, and authenticated them with a key that no other
    // process was given; or, as their verified MAC shows, in another process of this user that got
    // them in one of these ways. `deserialize` compares their version, settings and processor.
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
    let mut prepared =
        PreparedComponent::new(instance, surface, origin).map_err(|_| LoadError::NoEntryPoint)?;
    prepared.is_pooled = linked.allocation == Allocation::Pooled;
    Ok(prepared)
}

impl CacheDiagnostics {
    /// Keeps the first problem of each kind.
    fn merge(self, later: Self) -> Self {
        Self {
            rejected: self.rejected.or(later.rejected),
            skipped: self.skipped.or(later.skipped),
        }
    }
}

fn error_chain(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}
