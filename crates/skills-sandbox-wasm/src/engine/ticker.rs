//! Advances the epochs of engines while something runs.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use wasmtime::{Engine, EngineWeak};

/// How often the epoch advances, and so how late a loop may be stopped.
pub(crate) const TICK: Duration = Duration::from_millis(1);
/// For how many ticks the thread stays awake when nothing runs, so that sequential runs do not wake
/// it each time.
const IDLE_TICKS: u32 = 20;

/// A thread that parks while nothing runs, and ends with its owner.
pub(crate) struct Ticker(Arc<TickerState>);

#[derive(Default)]
struct TickerState {
    active_runs: AtomicUsize,
    state: Mutex<State>,
    wake: Condvar,
}

#[derive(Default)]
struct State {
    engines: Vec<EngineWeak>,
    is_parked: bool,
    is_stopped: bool,
}

/// Keeps the epoch advancing while it lives.
pub(crate) struct TickGuard(Arc<TickerState>);

impl Ticker {
    pub(crate) fn start() -> io::Result<Self> {
        let shared = Arc::new(TickerState::default());
        let state_of_thread = Arc::clone(&shared);
        skills_threads::spawn("skills-ticker", move || advance(&state_of_thread))?;
        Ok(Self(shared))
    }

    /// Adds an engine.
    pub(crate) fn register_engine(&self, engine: &Engine) {
        self.0
            .state
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .engines
            // Weak: the thread must not keep an engine alive.
            .push(engine.weak());
    }

    pub(crate) fn start_ticking(&self) -> TickGuard {
        // If another run is active the thread is awake, and the lock is not needed.
        if self.0.active_runs.fetch_add(1, Ordering::SeqCst) == 0 {
            let mut state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
            if state.is_parked {
                state.is_parked = false;
                self.0.wake.notify_one();
            }
        }
        TickGuard(Arc::clone(&self.0))
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.0
            .state
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .is_stopped = true;
        self.0.wake.notify_one();
    }
}

impl Drop for TickGuard {
    fn drop(&mut self) {
        self.0.active_runs.fetch_sub(1, Ordering::SeqCst);
    }
}

fn advance(shared: &TickerState) {
    let mut idle = 0;
    loop {
        idle = if shared.active_runs.load(Ordering::SeqCst) == 0 {
            idle + 1
        } else {
            0
        };
        if idle > IDLE_TICKS {
            park(shared);
            idle = 0;
        }
        std::thread::sleep(TICK);
        let state = shared.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.is_stopped {
            return;
        }
        state
            .engines
            .iter()
            .filter_map(EngineWeak::upgrade)
            .for_each(|engine| engine.increment_epoch());
    }
}

/// Waits until something runs. A starting run checks `is_parked` under the same lock, so no wake-up
/// is lost.
fn park(shared: &TickerState) {
    let mut state = shared.state.lock().unwrap_or_else(PoisonError::into_inner);
    // A run may have started since the check without the lock.
    if shared.active_runs.load(Ordering::SeqCst) > 0 {
        return;
    }
    state.is_parked = true;
    let state = shared
        .wake
        .wait_while(state, |state| state.is_parked && !state.is_stopped);
    drop(state);
}
