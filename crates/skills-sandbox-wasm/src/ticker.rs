//! Advances the engine's epoch while something runs.

use std::io;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use wasmtime::{Engine, EngineWeak};

/// How often the epoch advances, and so how late a loop may be stopped.
pub(crate) const TICK: Duration = Duration::from_millis(1);

/// One thread that sleeps until a run begins and ends with the engine: an idle host spends nothing on it.
pub(crate) struct Ticker(Arc<Shared>);

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    wake: Condvar,
}

#[derive(Default)]
struct State {
    active: usize,
    stopped: bool,
}

/// Keeps the epoch advancing as long as it lives.
pub(crate) struct Ticking(Arc<Shared>);

impl Ticker {
    pub(crate) fn start(engine: &Engine) -> io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let (weak, seen) = (engine.weak(), Arc::clone(&shared));
        std::thread::Builder::new().name("skills-ticker".into()).spawn(move || advance(&weak, &seen))?;
        Ok(Self(shared))
    }

    pub(crate) fn tick(&self) -> Ticking {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner).active += 1;
        self.0.wake.notify_one();
        Ticking(Arc::clone(&self.0))
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner).stopped = true;
        self.0.wake.notify_one();
    }
}

impl Drop for Ticking {
    fn drop(&mut self) {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner).active -= 1;
    }
}

fn advance(engine: &EngineWeak, shared: &Shared) {
    loop {
        let state = shared.state.lock().unwrap_or_else(PoisonError::into_inner);
        let idle = |state: &mut State| state.active == 0 && !state.stopped;
        let state = shared.wake.wait_while(state, idle).unwrap_or_else(PoisonError::into_inner);
        if state.stopped {
            return;
        }
        drop(state);
        std::thread::sleep(TICK);
        match engine.upgrade() {
            Some(engine) => engine.increment_epoch(),
            None => return,
        }
    }
}
