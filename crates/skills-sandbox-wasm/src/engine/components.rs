//! The components of a process, each compiled once.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use super::SharedEngine;
use super::compile::{Caller, Wanted};
use crate::LoadError;
use crate::compiler::{Abandoned, Cause};
use crate::prepared::{Kept, Troubles};

/// How many components are kept.
const MAX_KEPT: usize = 64;
/// How long all kept components may be together, in bytes of WebAssembly and of compiled code: a
/// few bytes can become 64 MiB of it.
const MAX_KEPT_BYTES: usize = 256 << 20;
/// How many are compiled at once in this process, which takes four seconds of processor time at
/// most.
const MAX_COMPILING: usize = 2;
/// How many children compile at once for all callers; each may take the memory of its limit.
const MAX_CHILDREN: usize = 2;
/// How often a thread that waits for its turn looks whether its result is still wanted.
const LOOK: Duration = Duration::from_millis(10);

/// The components of a process. The same bytes are the same component; they are compared, which is
/// faster than hashing them.
pub(super) struct Components {
    kept: Mutex<Vec<Entry>>,
    compiling: Permits,
    children: Permits,
}

struct Entry {
    bytes: Arc<[u8]>,
    slot: Arc<Slot>,
}

/// Where a compiled component goes; runs that want the same one wait for the first.
#[derive(Default)]
struct Slot {
    result: OnceLock<Result<Kept, Failure>>,
    is_there: Notify,
    /// Changed only while [`Components::kept`] is locked.
    waiting: AtomicUsize,
    abandoned: Abandoned,
}

/// Why there is no component.
#[derive(Clone)]
pub(super) enum Failure {
    Load(LoadError),
    /// The last run that waited for it was gone.
    Abandoned,
}

/// A run that waits for a slot. The last one that leaves before there is a result ends the work on
/// it.
struct Waiter<'a> {
    components: &'a Components,
    slot: Arc<Slot>,
    deadline: Option<Instant>,
}

impl Default for Components {
    fn default() -> Self {
        Self {
            kept: Mutex::default(),
            compiling: Permits::new(MAX_COMPILING),
            children: Permits::new(MAX_CHILDREN),
        }
    }
}

impl Components {
    /// Returns the component, and whether it was loaded for this caller. What takes long is done on
    /// a thread of its own. When no caller waits any more, a child that compiles is killed; what is
    /// compiled in this process is kept for the next caller.
    pub(super) async fn get(
        &self,
        bytes: &Arc<[u8]>,
        engine: &Arc<SharedEngine>,
        caller: &Caller,
        deadline: Option<Instant>,
    ) -> Result<(Kept, bool), LoadError> {
        loop {
            let (waiter, is_new) = self.join(bytes, deadline);
            if is_new {
                begin(&waiter.slot, bytes, engine, caller, deadline);
            }
            match waiter.slot.result().await {
                Ok(kept) => return Ok((kept, is_new)),
                Err(Failure::Load(error)) => return Err(error),
                // This caller came after the last one had left, and begins anew.
                Err(Failure::Abandoned) => {}
            }
        }
    }

    /// Waits for a permit to compile in this process; returns none when the result is not wanted
    /// any more.
    pub(super) fn permit(&self, wanted: &Wanted<'_>) -> Option<Permit<'_>> {
        self.compiling.take(wanted)
    }

    /// Waits for a permit to compile in a child; returns none when the result is not wanted any
    /// more.
    pub(super) fn permit_for_child(&self, wanted: &Wanted<'_>) -> Option<Permit<'_>> {
        self.children.take(wanted)
    }

    /// Finds the slot of these bytes, or makes it, and waits for it. What was used last is at the
    /// end.
    fn join(&self, bytes: &Arc<[u8]>, deadline: Option<Instant>) -> (Waiter<'_>, bool) {
        let mut kept = self.kept();
        let is_same = |entry: &Entry| Arc::ptr_eq(&entry.bytes, bytes) || entry.bytes == *bytes;
        let at = kept.iter().rposition(is_same);
        if let Some(at) = at {
            kept[at..].rotate_left(1);
        } else {
            make_room(&mut kept, bytes.len());
            kept.push(Entry {
                bytes: Arc::clone(bytes),
                slot: Arc::default(),
            });
        }
        let slot = kept
            .last()
            .map(|entry| Arc::clone(&entry.slot))
            .unwrap_or_default();
        slot.waiting.fetch_add(1, Ordering::Relaxed);
        (
            Waiter {
                components: self,
                slot,
                deadline,
            },
            at.is_none(),
        )
    }

    fn forget(&self, slot: &Arc<Slot>) {
        self.kept().retain(|entry| !Arc::ptr_eq(&entry.slot, slot));
    }

    fn kept(&self) -> MutexGuard<'_, Vec<Entry>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        let _kept = self.components.kept();
        if self.slot.waiting.fetch_sub(1, Ordering::Relaxed) == 1
            && self.slot.result.get().is_none()
        {
            let is_late = self
                .deadline
                .is_some_and(|deadline| Instant::now() >= deadline);
            self.slot.abandoned.set(if is_late {
                Cause::Deadline
            } else {
                Cause::Cancelled
            });
        }
    }
}

fn begin(
    slot: &Arc<Slot>,
    bytes: &Arc<[u8]>,
    engine: &Arc<SharedEngine>,
    caller: &Caller,
    deadline: Option<Instant>,
) {
    match catch_unwind(AssertUnwindSafe(|| engine.load_at_once(bytes))) {
        Ok(Ok(prepared)) => slot.fill(&engine.components, Ok(Arc::new(prepared))),
        Ok(Err(troubles)) => start(
            slot,
            bytes,
            Arc::clone(engine),
            troubles,
            caller.clone(),
            deadline,
        ),
        Err(_) => slot.fill(&engine.components, Err(panicked())),
    }
}

fn start(
    slot: &Arc<Slot>,
    bytes: &Arc<[u8]>,
    engine: Arc<SharedEngine>,
    troubles: Troubles,
    caller: Caller,
    deadline: Option<Instant>,
) {
    let (filled, bytes, shared) = (Arc::clone(slot), Arc::clone(bytes), Arc::clone(&engine));
    let work = move || {
        let wanted = Wanted {
            abandoned: &filled.abandoned,
            caller: &caller,
            deadline,
        };
        let result = catch_unwind(AssertUnwindSafe(|| engine.load(&bytes, troubles, &wanted)));
        filled.fill(
            &engine.components,
            result.unwrap_or_else(|_| Err(panicked())).map(Arc::new),
        );
    };
    if let Err(error) = std::thread::Builder::new()
        .name("skills-compile".into())
        .spawn(work)
    {
        slot.fill(
            &shared.components,
            Err(LoadError::Compiler {
                reason: error.to_string(),
            }
            .into()),
        );
    }
}

fn panicked() -> Failure {
    LoadError::Compiler {
        reason: "it panicked".to_owned(),
    }
    .into()
}

impl From<LoadError> for Failure {
    fn from(error: LoadError) -> Self {
        Self::Load(error)
    }
}

/// Forgets what was used longest ago. Whoever runs it goes on with what it has.
fn make_room(kept: &mut Vec<Entry>, bytes: usize) {
    let mut total = bytes + kept.iter().map(Entry::size).sum::<usize>();
    while kept.len() >= MAX_KEPT || (total > MAX_KEPT_BYTES && !kept.is_empty()) {
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
            .map_or(0, |kept| kept.size());
        self.bytes.len() + compiled
    }
}

impl Slot {
    async fn result(&self) -> Result<Kept, Failure> {
        loop {
            let there = self.is_there.notified();
            if let Some(result) = self.result.get() {
                return result.clone();
            }
            there.await;
        }
    }

    fn fill(self: &Arc<Self>, components: &Components, result: Result<Kept, Failure>) {
        if result.is_err() {
            // What failed may work another time, since disks and memory are not always full.
            components.forget(self);
        }
        // Only whoever began it fills it.
        let _ = self.result.set(result);
        self.is_there.notify_waiters();
    }
}

/// Limits how much is done at once: so much in all, and one thing for each caller.
struct Permits {
    taken: Mutex<Vec<Caller>>,
    free: Condvar,
    most: usize,
}

pub(super) struct Permit<'a> {
    permits: &'a Permits,
    caller: Caller,
}

impl Permits {
    fn new(most: usize) -> Self {
        Self {
            taken: Mutex::default(),
            free: Condvar::new(),
            most,
        }
    }

    fn take(&self, wanted: &Wanted<'_>) -> Option<Permit<'_>> {
        let mut taken = self.taken();
        while wanted.abandoned.cause().is_none() {
            if taken.len() < self.most && !taken.contains(wanted.caller) {
                taken.push(wanted.caller.clone());
                return Some(Permit {
                    permits: self,
                    caller: wanted.caller.clone(),
                });
            }
            taken = self
                .free
                .wait_timeout(taken, LOOK)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
        None
    }

    fn taken(&self) -> MutexGuard<'_, Vec<Caller>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        self.permits.taken().retain(|caller| *caller != self.caller);
        self.permits.free.notify_all();
    }
}
