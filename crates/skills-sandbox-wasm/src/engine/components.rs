//! The components of a process, each compiled once.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use super::SharedEngine;
use super::compile::{Caller, CompileDemand, LoadFailure};
use crate::LoadError;
use crate::compiler::{AbandonCause, AbandonSignal};
use crate::prepared_component::{CacheDiagnostics, SharedComponent};

/// The maximum number of components in memory.
const MAX_COMPONENTS: usize = 64;
/// The maximum size of all components in memory together, in bytes of WebAssembly and of compiled
/// code: a few bytes can become 64 MiB.
const MAX_TOTAL_BYTES: usize = 256 << 20;
/// How many components are compiled concurrently in this process; each takes at most four seconds
/// of processor time.
const MAX_COMPILING: usize = 2;
/// How many child processes compile concurrently for all callers; each may use its memory limit.
const MAX_CHILDREN: usize = 2;
/// How often a thread that waits for a permit checks whether its result is still needed.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// The components of a process. Equal bytes are the same component; they are compared, which is
/// faster than hashing.
pub(super) struct ComponentCache {
    entries: Mutex<Vec<Entry>>,
    compiling: CompileSemaphore,
    children: CompileSemaphore,
}

struct Entry {
    bytes: Arc<[u8]>,
    slot: Arc<Slot>,
}

/// The slot of a compiled component; runs that need the same one wait for the first.
#[derive(Default)]
struct Slot {
    result: OnceLock<Result<SharedComponent, LoadFailure>>,
    filled: Notify,
    /// Modified only while [`ComponentCache::lock_entries`] is locked.
    waiters: AtomicUsize,
    abandon_signal: Arc<AbandonSignal>,
}

/// A run that waits for a slot. When the last one is dropped before there is a result, the work is
/// abandoned: work that has not begun is dropped, and a compilation is killed unless the run ended
/// at its deadline.
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
    /// Returns the component, and whether it was loaded for this caller. Long work runs on a thread
    /// of its own. After the deadline of the last caller that waits, a compilation continues up to
    /// its own limits, and its result is kept; after a cancellation a compiling child is killed.
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
                let task = LoadTask {
                    slot: Arc::clone(&waiter.slot),
                    bytes: Arc::clone(bytes),
                    engine: Arc::clone(engine),
                    caller: caller.clone(),
                    deadline,
                };
                task.start();
            }
            match waiter.slot.result().await {
                Ok(kept) => return Ok((kept, is_new)),
                Err(LoadFailure::Load(error)) => return Err(error),
                // This caller arrived after the last one was dropped, and starts again.
                Err(LoadFailure::Abandoned) => {}
            }
        }
    }

    /// Waits until all components that are loaded now are loaded or rejected, and returns the last
    /// one; `None` if there was nothing to wait for. Dropping the future abandons them, like a
    /// cancelled run.
    ///
    /// # Errors
    /// Returns the first error of a component.
    pub(super) async fn finish_loading(&self) -> Result<Option<SharedComponent>, LoadError> {
        let mut last = None;
        for waiter in self.join_unfinished() {
            match waiter.slot.result().await {
                Ok(loaded) => last = Some(loaded),
                Err(LoadFailure::Load(error)) => return Err(error),
                Err(LoadFailure::Abandoned) => {}
            }
        }
        Ok(last)
    }

    /// Returns true if a component is being loaded.
    pub(super) fn is_loading(&self) -> bool {
        self.lock_entries().iter().any(Entry::is_unfinished)
    }

    fn join_unfinished(&self) -> Vec<Waiter<'_>> {
        let entries = self.lock_entries();
        let unfinished = entries.iter().filter(|entry| entry.is_unfinished());
        unfinished
            .map(|entry| self.join(&entry.slot, None))
            .collect()
    }

    /// Waits for a permit to compile in this process; returns `None` if the result is no longer
    /// needed.
    pub(super) fn permit(&self, demand: &CompileDemand<'_>) -> Option<CompilePermit<'_>> {
        self.compiling.acquire(demand)
    }

    /// Waits for a permit to compile in a child; returns `None` if the result is no longer needed.
    pub(super) fn permit_for_child(&self, demand: &CompileDemand<'_>) -> Option<CompilePermit<'_>> {
        self.children.acquire(demand)
    }

    /// Finds or creates the slot of these bytes, and waits for it. The most recently used is at the
    /// end.
    fn join_slot(&self, bytes: &Arc<[u8]>, deadline: Option<Instant>) -> (Waiter<'_>, bool) {
        let mut kept = self.lock_entries();
        let is_same = |entry: &Entry| Arc::ptr_eq(&entry.bytes, bytes) || entry.bytes == *bytes;
        let at = kept.iter().rposition(is_same);
        if let Some(at) = at {
            kept[at..].rotate_left(1);
        } else {
            // Before it is added, so that it cannot be evicted itself.
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
        (self.join(&slot, deadline), at.is_none())
    }

    /// Adds a waiter to a slot. Must be called while [`Self::lock_entries`] is locked.
    fn join(&self, slot: &Arc<Slot>, deadline: Option<Instant>) -> Waiter<'_> {
        slot.waiters.fetch_add(1, Ordering::Relaxed);
        slot.abandon_signal.resume();
        Waiter {
            components: self,
            slot: Arc::clone(slot),
            deadline,
        }
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
        // A run that joins now is either counted before the last one leaves, or finds the slot
        // abandoned.
        let _kept = self.components.lock_entries();
        if self.slot.waiters.fetch_sub(1, Ordering::Relaxed) == 1
            && self.slot.result.get().is_none()
        {
            // A later run can use what was begun before a deadline; a cancellation says stop.
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

/// The work that fills a slot.
struct LoadTask {
    slot: Arc<Slot>,
    bytes: Arc<[u8]>,
    engine: Arc<SharedEngine>,
    caller: Caller,
    deadline: Option<Instant>,
}

impl LoadTask {
    /// Fills the slot now if that is quick, otherwise on a thread of its own.
    fn start(self) {
        // A panic must not leave the slot empty: other runs wait for it.
        match catch_unwind(AssertUnwindSafe(|| self.engine.load_if_small(&self.bytes))) {
            Ok(Ok(prepared)) => self.fill(Ok(Arc::new(prepared))),
            Ok(Err(troubles)) => self.spawn(troubles),
            Err(_) => self.fill(Err(compiler_failure("panicked".to_owned()))),
        }
    }

    fn spawn(self, troubles: CacheDiagnostics) {
        let (slot, engine) = (Arc::clone(&self.slot), Arc::clone(&self.engine));
        // Not on a thread of the executor, which would be occupied for seconds.
        if let Err(error) = skills_threads::spawn("skills-compile", move || self.load(troubles)) {
            slot.fill(&engine.components, Err(compiler_failure(error.to_string())));
        }
    }

    fn load(&self, troubles: CacheDiagnostics) {
        let demand = CompileDemand {
            abandon_signal: &self.slot.abandon_signal,
            caller: &self.caller,
            deadline: self.deadline,
        };
        let load = || self.engine.load(&self.bytes, troubles, &demand);
        let result = catch_unwind(AssertUnwindSafe(load))
            .unwrap_or_else(|_| Err(compiler_failure("panicked".to_owned())));
        self.fill(result.map(Arc::new));
    }

    fn fill(&self, result: Result<SharedComponent, LoadFailure>) {
        self.slot.fill(&self.engine.components, result);
    }
}

fn compiler_failure(reason: String) -> LoadFailure {
    LoadError::CompilerFailed { reason }.into()
}

/// Evicts least recently used entries; running instances keep their `Arc`.
fn evict(kept: &mut Vec<Entry>, bytes: usize) {
    let mut total = bytes + kept.iter().map(Entry::size).sum::<usize>();
    while kept.len() >= MAX_COMPONENTS || (total > MAX_TOTAL_BYTES && !kept.is_empty()) {
        total = total.saturating_sub(kept.remove(0).size());
    }
}

impl Entry {
    fn is_unfinished(&self) -> bool {
        self.slot.result.get().is_none()
    }

    /// Returns its current size in bytes.
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
            // Created before the check, so that a result that arrives in between wakes it.
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
            // A failed compilation may succeed later, for example when disk or memory is available
            // again.
            components.remove(self);
        }
        // Only the task that created the slot fills it.
        let _ = self.result.set(result);
        self.filled.notify_waiters();
    }
}

/// Limits concurrent work: a total, and one item per caller.
///
/// Work that no run waits for, after a deadline, keeps its permit only until another caller needs
/// it.
struct CompileSemaphore {
    holders: Mutex<Vec<Holder>>,
    released: Condvar,
    max_permits: usize,
}

struct Holder {
    caller: Caller,
    abandon_signal: Arc<AbandonSignal>,
}

pub(super) struct CompilePermit<'a> {
    semaphore: &'a CompileSemaphore,
    caller: Caller,
}

impl CompileSemaphore {
    fn new(max_permits: usize) -> Self {
        Self {
            holders: Mutex::default(),
            released: Condvar::new(),
            max_permits,
        }
    }

    fn acquire(&self, demand: &CompileDemand<'_>) -> Option<CompilePermit<'_>> {
        let mut holders = self.lock_holders();
        while demand.abandon_signal.cause().is_none() {
            // One for each caller, so that a client with many large modules does not block the
            // others.
            let is_own = |holder: &&Holder| holder.caller == *demand.caller;
            let is_busy = holders.iter().any(|holder| is_own(&holder));
            if holders.len() < self.max_permits && !is_busy {
                holders.push(Holder {
                    caller: demand.caller.clone(),
                    abandon_signal: Arc::clone(demand.abandon_signal),
                });
                return Some(CompilePermit {
                    semaphore: self,
                    caller: demand.caller.clone(),
                });
            }
            // A run that waits has priority over work of the same caller that nothing waits for.
            evict_unneeded(holders.iter().filter(|holder| !is_busy || is_own(holder)));
            // An abandoned demand does not notify this condition, so it is polled.
            holders = self
                .released
                .wait_timeout(holders, POLL_INTERVAL)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
        None
    }

    fn lock_holders(&self) -> MutexGuard<'_, Vec<Holder>> {
        self.holders.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Stops the oldest work that no run waits for, unless other work is being stopped already.
fn evict_unneeded<'a>(holders: impl Iterator<Item = &'a Holder> + Clone) {
    let is_ending = |holder: &Holder| {
        let cause = holder.abandon_signal.cause();
        matches!(cause, Some(AbandonCause::Cancelled | AbandonCause::Evicted))
    };
    if holders.clone().any(is_ending) {
        return;
    }
    let is_late = |holder: &&Holder| holder.abandon_signal.cause() == Some(AbandonCause::Deadline);
    if let Some(oldest) = holders.into_iter().find(is_late) {
        oldest.abandon_signal.evict();
    }
}

impl Drop for CompilePermit<'_> {
    fn drop(&mut self) {
        self.semaphore
            .lock_holders()
            // A caller never holds more than one.
            .retain(|holder| holder.caller != self.caller);
        self.semaphore.released.notify_all();
    }
}
