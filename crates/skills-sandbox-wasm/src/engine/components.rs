//! The components of a process, each compiled once.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use super::SharedEngine;
use super::compile::{Caller, CompileDemand};
use crate::LoadError;
use crate::compiler::{AbandonCause, AbandonSignal};
use crate::prepared_component::{CacheDiagnostics, SharedComponent};

/// How many components are kept.
const MAX_COMPONENTS: usize = 64;
/// How long all kept components may be together, in bytes of WebAssembly and of compiled code: a
/// few bytes can become 64 MiB of it.
const MAX_TOTAL_BYTES: usize = 256 << 20;
/// How many are compiled at once in this process, which takes four seconds of processor time at
/// most.
const MAX_COMPILING: usize = 2;
/// How many children compile at once for all callers; each may take the memory of its limit.
const MAX_CHILDREN: usize = 2;
/// How often a thread that waits for its turn looks whether its result is still wanted.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// The components of a process. The same bytes are the same component; they are compared, which is
/// faster than hashing them.
pub(super) struct ComponentCache {
    entries: Mutex<Vec<Entry>>,
    compiling: CompileSemaphore,
    children: CompileSemaphore,
}

struct Entry {
    bytes: Arc<[u8]>,
    slot: Arc<Slot>,
}

/// Where a compiled component goes; runs that want the same one wait for the first.
#[derive(Default)]
struct Slot {
    result: OnceLock<Result<SharedComponent, LoadFailure>>,
    filled: Notify,
    /// Changed only while [`ComponentCache::lock_entries`] is locked.
    waiters: AtomicUsize,
    abandon_signal: AbandonSignal,
}

/// Why there is no component.
#[derive(Clone)]
pub(super) enum LoadFailure {
    Load(LoadError),
    /// The last run that waited for it was gone.
    Abandoned,
}

/// A run that waits for a slot. The last one that leaves before there is a result ends the work on
/// it.
struct Waiter<'a> {
    components: &'a ComponentCache,
    slot: Arc<Slot>,
    deadline: Option<Instant>,
}

impl Default for ComponentCache {
    fn default() -> Self {
        Self {
            entries: Mutex::default(),
            compiling: CompileSemaphore::new(MAX_COMPILING),
            children: CompileSemaphore::new(MAX_CHILDREN),
        }
    }
}

impl ComponentCache {
    /// Returns the component, and whether it was loaded for this caller. What takes long is done on
    /// a thread of its own. When no caller waits any more, a child that compiles is killed; what is
    /// compiled in this process is kept for the next caller.
    pub(super) async fn get(
        &self,
        bytes: &Arc<[u8]>,
        engine: &Arc<SharedEngine>,
        caller: &Caller,
        deadline: Option<Instant>,
    ) -> Result<(SharedComponent, bool), LoadError> {
        loop {
            let (waiter, is_new) = self.join_slot(bytes, deadline);
            if is_new {
                load_or_spawn(&waiter.slot, bytes, engine, caller, deadline);
            }
            match waiter.slot.result().await {
                Ok(kept) => return Ok((kept, is_new)),
                Err(LoadFailure::Load(error)) => return Err(error),
                // This caller came after the last one had left, and begins anew.
                Err(LoadFailure::Abandoned) => {}
            }
        }
    }

    /// Waits for a permit to compile in this process; returns none when the result is not wanted
    /// any more.
    pub(super) fn permit(&self, wanted: &CompileDemand<'_>) -> Option<CompilePermit<'_>> {
        self.compiling.acquire(wanted)
    }

    /// Waits for a permit to compile in a child; returns none when the result is not wanted any
    /// more.
    pub(super) fn permit_for_child(&self, wanted: &CompileDemand<'_>) -> Option<CompilePermit<'_>> {
        self.children.acquire(wanted)
    }

    /// Finds the slot of these bytes, or makes it, and waits for it. What was used last is at the
    /// end.
    fn join_slot(&self, bytes: &Arc<[u8]>, deadline: Option<Instant>) -> (Waiter<'_>, bool) {
        let mut kept = self.lock_entries();
        let is_same = |entry: &Entry| Arc::ptr_eq(&entry.bytes, bytes) || entry.bytes == *bytes;
        let at = kept.iter().rposition(is_same);
        if let Some(at) = at {
            kept[at..].rotate_left(1);
        } else {
            evict(&mut kept, bytes.len());
            kept.push(Entry {
                bytes: Arc::clone(bytes),
                slot: Arc::default(),
            });
        }
        let slot = kept
            .last()
            .map(|entry| Arc::clone(&entry.slot))
            .unwrap_or_default();
        slot.waiters.fetch_add(1, Ordering::Relaxed);
        (
            Waiter {
                components: self,
                slot,
                deadline,
            },
            at.is_none(),
        )
    }

    fn remove(&self, slot: &Arc<Slot>) {
        self.lock_entries()
            .retain(|entry| !Arc::ptr_eq(&entry.slot, slot));
    }

    fn lock_entries(&self) -> MutexGuard<'_, Vec<Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        let _kept = self.components.lock_entries();
        if self.slot.waiters.fetch_sub(1, Ordering::Relaxed) == 1
            && self.slot.result.get().is_none()
        {
            let is_late = self
                .deadline
                .is_some_and(|deadline| Instant::now() >= deadline);
            self.slot.abandon_signal.set(if is_late {
                AbandonCause::Deadline
            } else {
                AbandonCause::Cancelled
            });
        }
    }
}

fn load_or_spawn(
    slot: &Arc<Slot>,
    bytes: &Arc<[u8]>,
    engine: &Arc<SharedEngine>,
    caller: &Caller,
    deadline: Option<Instant>,
) {
    match catch_unwind(AssertUnwindSafe(|| engine.load_if_small(bytes))) {
        Ok(Ok(prepared)) => slot.fill(&engine.components, Ok(Arc::new(prepared))),
        Ok(Err(troubles)) => spawn_load(
            slot,
            bytes,
            Arc::clone(engine),
            troubles,
            caller.clone(),
            deadline,
        ),
        Err(_) => slot.fill(&engine.components, Err(panic_failure())),
    }
}

fn spawn_load(
    slot: &Arc<Slot>,
    bytes: &Arc<[u8]>,
    engine: Arc<SharedEngine>,
    troubles: CacheDiagnostics,
    caller: Caller,
    deadline: Option<Instant>,
) {
    let (filled, bytes, shared) = (Arc::clone(slot), Arc::clone(bytes), Arc::clone(&engine));
    let work = move || {
        let wanted = CompileDemand {
            abandon_signal: &filled.abandon_signal,
            caller: &caller,
            deadline,
        };
        let result = catch_unwind(AssertUnwindSafe(|| engine.load(&bytes, troubles, &wanted)));
        filled.fill(
            &engine.components,
            result
                .unwrap_or_else(|_| Err(panic_failure()))
                .map(Arc::new),
        );
    };
    if let Err(error) = std::thread::Builder::new()
        .name("skills-compile".into())
        .spawn(work)
    {
        slot.fill(
            &shared.components,
            Err(LoadError::CompilerFailed {
                reason: error.to_string(),
            }
            .into()),
        );
    }
}

fn panic_failure() -> LoadFailure {
    LoadError::CompilerFailed {
        reason: "it panicked".to_owned(),
    }
    .into()
}

impl From<LoadError> for LoadFailure {
    fn from(error: LoadError) -> Self {
        Self::Load(error)
    }
}

/// Forgets what was used longest ago. Whoever runs it goes on with what it has.
fn evict(kept: &mut Vec<Entry>, bytes: usize) {
    let mut total = bytes + kept.iter().map(Entry::size).sum::<usize>();
    while kept.len() >= MAX_COMPONENTS || (total > MAX_TOTAL_BYTES && !kept.is_empty()) {
        total = total.saturating_sub(kept.remove(0).size());
    }
}

impl Entry {
    /// Returns how many bytes it takes now.
    fn size(&self) -> usize {
        let compiled = self
            .slot
            .result
            .get()
            .and_then(|result| result.as_ref().ok())
            .map_or(0, |kept| kept.code_bytes());
        self.bytes.len() + compiled
    }
}

impl Slot {
    async fn result(&self) -> Result<SharedComponent, LoadFailure> {
        loop {
            let there = self.filled.notified();
            if let Some(result) = self.result.get() {
                return result.clone();
            }
            there.await;
        }
    }

    fn fill(
        self: &Arc<Self>,
        components: &ComponentCache,
        result: Result<SharedComponent, LoadFailure>,
    ) {
        if result.is_err() {
            // What failed may work another time, since disks and memory are not always full.
            components.remove(self);
        }
        // Only whoever began it fills it.
        let _ = self.result.set(result);
        self.filled.notify_waiters();
    }
}

/// Limits how much is done at once: so much in all, and one thing for each caller.
struct CompileSemaphore {
    holders: Mutex<Vec<Caller>>,
    released: Condvar,
    max_permits: usize,
}

pub(super) struct CompilePermit<'a> {
    semaphore: &'a CompileSemaphore,
    caller: Caller,
}

impl CompileSemaphore {
    fn new(most: usize) -> Self {
        Self {
            holders: Mutex::default(),
            released: Condvar::new(),
            max_permits: most,
        }
    }

    fn acquire(&self, wanted: &CompileDemand<'_>) -> Option<CompilePermit<'_>> {
        let mut taken = self.lock_holders();
        while wanted.abandon_signal.cause().is_none() {
            if taken.len() < self.max_permits && !taken.contains(wanted.caller) {
                taken.push(wanted.caller.clone());
                return Some(CompilePermit {
                    semaphore: self,
                    caller: wanted.caller.clone(),
                });
            }
            taken = self
                .released
                .wait_timeout(taken, POLL_INTERVAL)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
        None
    }

    fn lock_holders(&self) -> MutexGuard<'_, Vec<Caller>> {
        self.holders.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for CompilePermit<'_> {
    fn drop(&mut self) {
        self.semaphore
            .lock_holders()
            .retain(|caller| *caller != self.caller);
        self.semaphore.released.notify_all();
    }
}
