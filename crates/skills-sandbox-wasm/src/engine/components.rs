//! The components of a process, each compiled once.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};

use tokio::sync::Notify;

use super::SharedEngine;
use crate::LoadError;
use crate::prepared::{Kept, Troubles};

/// How many components are kept.
const MAX_KEPT: usize = 64;
/// How long all kept components may be together, in bytes of WebAssembly.
const MAX_KEPT_BYTES: usize = 256 << 20;
/// How many are compiled at once; each takes all cores and, for a large one, hundreds of megabytes.
const MAX_COMPILING: usize = 2;

/// The components of a process. The same bytes are the same component; they are compared, which is faster than hashing them.
#[derive(Default)]
pub(super) struct Components {
    kept: Mutex<Vec<Entry>>,
    compiling: Turns,
}

struct Entry {
    bytes: Arc<[u8]>,
    slot: Arc<Slot>,
}

/// Where a compiled component goes; whoever comes second waits for the first.
#[derive(Default)]
struct Slot {
    result: OnceLock<Result<Kept, LoadError>>,
    is_there: Notify,
}

impl Components {
    /// Returns the component, and whether it was loaded for this caller. What takes long is done on a thread of its own, which goes on although nobody
    /// waits for it any more; the next one has it.
    pub(super) async fn get(&self, bytes: &Arc<[u8]>, engine: &Arc<SharedEngine>) -> Result<(Kept, bool), LoadError> {
        let (slot, is_new) = self.slot(bytes);
        if is_new {
            begin(&slot, bytes, engine);
        }
        loop {
            let there = slot.is_there.notified();
            if let Some(result) = slot.result.get() {
                return result.clone().map(|kept| (kept, is_new));
            }
            there.await;
        }
    }

    /// Waits for one's turn to compile.
    pub(super) fn turn(&self) -> Turn<'_> {
        self.compiling.take()
    }

    /// Finds the slot of these bytes, or makes it. What was used last is at the end.
    fn slot(&self, bytes: &Arc<[u8]>) -> (Arc<Slot>, bool) {
        let mut kept = self.kept();
        let is_same = |entry: &Entry| Arc::ptr_eq(&entry.bytes, bytes) || entry.bytes == *bytes;
        if let Some(at) = kept.iter().rposition(is_same) {
            kept[at..].rotate_left(1);
            let slot = kept.last().map(|entry| Arc::clone(&entry.slot));
            return (slot.unwrap_or_default(), false);
        }
        make_room(&mut kept, bytes.len());
        let slot = Arc::<Slot>::default();
        kept.push(Entry { bytes: Arc::clone(bytes), slot: Arc::clone(&slot) });
        (slot, true)
    }

    fn forget(&self, slot: &Arc<Slot>) {
        self.kept().retain(|entry| !Arc::ptr_eq(&entry.slot, slot));
    }

    fn kept(&self) -> MutexGuard<'_, Vec<Entry>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn begin(slot: &Arc<Slot>, bytes: &Arc<[u8]>, engine: &Arc<SharedEngine>) {
    match catch_unwind(AssertUnwindSafe(|| engine.load_at_once(bytes))) {
        Ok(Ok(prepared)) => slot.fill(&engine.components, Ok(Arc::new(prepared))),
        Ok(Err(troubles)) => start(slot, bytes, Arc::clone(engine), troubles),
        Err(_) => slot.fill(&engine.components, Err(panicked())),
    }
}

fn start(slot: &Arc<Slot>, bytes: &Arc<[u8]>, engine: Arc<SharedEngine>, troubles: Troubles) {
    let (filled, bytes, shared) = (Arc::clone(slot), Arc::clone(bytes), Arc::clone(&engine));
    let work = move || {
        let result = catch_unwind(AssertUnwindSafe(|| engine.load(&bytes, troubles)));
        filled.fill(&engine.components, result.unwrap_or_else(|_| Err(panicked())).map(Arc::new));
    };
    if let Err(error) = std::thread::Builder::new().name("skills-compile".into()).spawn(work) {
        slot.fill(&shared.components, Err(LoadError::Compiler { reason: error.to_string() }));
    }
}

fn panicked() -> LoadError {
    LoadError::Compiler { reason: "it panicked".to_owned() }
}

/// Forgets what was used longest ago. Whoever runs it goes on with what it has.
fn make_room(kept: &mut Vec<Entry>, bytes: usize) {
    let mut total = bytes + kept.iter().map(|entry| entry.bytes.len()).sum::<usize>();
    while kept.len() >= MAX_KEPT || (total > MAX_KEPT_BYTES && !kept.is_empty()) {
        total -= kept.remove(0).bytes.len();
    }
}

impl Slot {
    fn fill(self: &Arc<Self>, components: &Components, result: Result<Kept, LoadError>) {
        if result.is_err() {
            // What failed may work another time, since disks and memory are not always full.
            components.forget(self);
        }
        // Only whoever began it fills it.
        let _ = self.result.set(result);
        self.is_there.notify_waiters();
    }
}

/// Lets so many in at once.
#[derive(Default)]
struct Turns {
    taken: Mutex<usize>,
    free: Condvar,
}

pub(super) struct Turn<'a>(&'a Turns);

impl Turns {
    fn take(&self) -> Turn<'_> {
        let taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let mut taken = self.free.wait_while(taken, |taken| *taken >= MAX_COMPILING).unwrap_or_else(PoisonError::into_inner);
        *taken += 1;
        Turn(self)
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        *self.0.taken.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        self.0.free.notify_one();
    }
}
