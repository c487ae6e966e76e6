//! The spawner thread, which creates all children.
//!
//! A child is killed when the *thread* that created it ends (`PR_SET_PDEATHSIG`). Threads of a pool
//! end at any time, so this thread never does.

use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use skills_sandbox::SandboxError;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use crate::child_setup::{ChildSetup, ParentEnds};
use crate::setup_slot::{EarlySetup, SetupSlot};
use crate::spawn::{self, SpawnError, SpawnedChild};

type SpawnResult = Result<SpawnedChild, SpawnError>;
type SpawnRequest = (Arc<SetupSlot>, Box<dyn FnOnce(SpawnResult) + Send>);

/// Maximum children in setup at once. Each holds dozens of descriptors until it executes its
/// program, and the usual limit of a process is about a thousand.
const MAX_CONCURRENT_SPAWNS: usize = 8;

/// A handle to a spawner thread.
#[derive(Clone)]
pub(crate) struct Spawner {
    process: u32,
    requests: Sender<SpawnRequest>,
    permits: Arc<Semaphore>,
}

/// A child of a spawner thread that still needs its setup. If it is dropped, the child exits.
pub(crate) struct PendingChild {
    slot: Arc<SetupSlot>,
    /// The result, if the thread already creates the child.
    result: Option<oneshot::Receiver<SpawnResult>>,
}

impl Spawner {
    /// Returns the spawner of this process, and starts its thread if necessary.
    pub(crate) fn shared() -> Result<Self, SandboxError> {
        static SHARED: Mutex<Option<Spawner>> = Mutex::new(None);
        let mut shared = lock(&SHARED);
        // After a `fork` of the host, the child process has a copy of the sender but no spawner
        // thread, and permits that are never returned.
        let process = std::process::id();
        if let Some(known) = shared.as_ref().filter(|known| known.process == process) {
            return Ok(known.clone());
        }
        Ok(shared.insert(Self::start()?).clone())
    }

    fn start() -> Result<Self, SandboxError> {
        let (requests, receiver) = channel::<SpawnRequest>();
        let serve = move || {
            for (slot, on_result) in receiver {
                on_result(spawn::spawn(&slot));
            }
        };
        skills_threads::spawn("skills-spawner", serve)
            .map_err(|error| SandboxError::setup("creating the spawner thread", error.into()))?;
        Ok(Self {
            process: std::process::id(),
            requests,
            permits: Arc::new(Semaphore::new(MAX_CONCURRENT_SPAWNS)),
        })
    }

    /// Waits for a permit to set up a child, which is returned when it is dropped.
    pub(crate) async fn permit(&self) -> Result<OwnedSemaphorePermit, SandboxError> {
        let permits = Arc::clone(&self.permits);
        permits.acquire_owned().await.map_err(|_| thread_gone())
    }

    /// Creates a child in its namespaces, while the run is planned. Without namespaces the child is
    /// created when it gets its setup, since there is nothing to do before.
    pub(crate) fn begin(&self, early: EarlySetup) -> Result<PendingChild, SandboxError> {
        let is_early = early.namespaces.is_some();
        let slot = Arc::new(SetupSlot::new(early)?);
        let result = is_early.then(|| self.request_child(&slot)).transpose()?;
        Ok(PendingChild { slot, result })
    }

    /// Creates a child and waits until it executes its program. Blocks the calling thread.
    pub(crate) fn spawn_blocking(
        &self,
        early: EarlySetup,
        setup: ChildSetup,
        parent_ends: ParentEnds,
    ) -> Result<SpawnResult, SandboxError> {
        let slot = Arc::new(SetupSlot::new(early)?);
        slot.give(setup, parent_ends);
        let (sender, receiver) = channel();
        self.request(&slot, move |result| drop(sender.send(result)))?;
        receiver.recv().map_err(|_| thread_gone())
    }

    fn request_child(
        &self,
        slot: &Arc<SetupSlot>,
    ) -> Result<oneshot::Receiver<SpawnResult>, SandboxError> {
        let (sender, receiver) = oneshot::channel();
        // If the run was cancelled, `send` returns the child, which is killed when it is dropped.
        self.request(slot, move |result| drop(sender.send(result)))?;
        Ok(receiver)
    }

    fn request(
        &self,
        slot: &Arc<SetupSlot>,
        on_result: impl FnOnce(SpawnResult) + Send + 'static,
    ) -> Result<(), SandboxError> {
        self.requests
            .send((Arc::clone(slot), Box::new(on_result)))
            .map_err(|_| thread_gone())
    }
}

impl PendingChild {
    /// Gives the child its setup, and waits until it executes its program. If the future is
    /// dropped, the child is killed.
    pub(crate) async fn spawn(
        mut self,
        spawner: &Spawner,
        setup: ChildSetup,
        parent_ends: ParentEnds,
    ) -> Result<SpawnedChild, SandboxError> {
        self.slot.give(setup, parent_ends);
        if let Some(result) = self.result.take() {
            match result.await.map_err(|_| thread_gone())? {
                // It did not wait long enough.
                Err(SpawnError::Unused) => self.slot.reuse(),
                result => return Ok(result?),
            }
        }
        let result = spawner.request_child(&self.slot)?;
        Ok(result.await.map_err(|_| thread_gone())??)
    }
}

impl Drop for PendingChild {
    fn drop(&mut self) {
        self.slot.close();
    }
}

fn thread_gone() -> SandboxError {
    SandboxError::setup(
        "using the spawner thread",
        std::io::Error::other("the thread has ended"),
    )
}

/// Locks a value that is replaced as a whole, so a poisoned lock is harmless.
fn lock<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::child_setup::ChildOptions;
    use crate::host_support::probe_context;
    use crate::isolation::IsolationLevel;
    use crate::landlock_abi::LandlockAbi;
    use crate::plan::Plan;
    use crate::run_network::RunNetwork;

    fn plan(isolation: IsolationLevel) -> Plan {
        Plan::probe(&probe_context(isolation), RunNetwork::None)
    }

    fn early(plan: &Plan) -> EarlySetup {
        EarlySetup::of_plan(plan).unwrap()
    }

    fn setup(plan: &Plan) -> (ChildSetup, ParentEnds) {
        let options = ChildOptions {
            landlock: LandlockAbi::detect().ok(),
            ..ChildOptions::default()
        };
        ChildSetup::new(plan, options).unwrap()
    }

    /// Returns a spawner, the level and the plan of a probe, for each level of this host. The child of
    /// a probe exits when all restrictions are in effect.
    fn supported_levels() -> Vec<(Spawner, IsolationLevel, Plan)> {
        let mut supported = Vec::new();
        for isolation in [IsolationLevel::Namespaces, IsolationLevel::Landlock] {
            let spawner = Spawner::start().unwrap();
            let plan = plan(isolation);
            let (setup, ends) = setup(&plan);
            match spawner.spawn_blocking(early(&plan), setup, ends).unwrap() {
                Ok(_ended) => supported.push((spawner, isolation, plan)),
                Err(error) => skills_test_support::skip_part(
                    format!("{isolation:?}"),
                    format!("this host has no such level: {}", SandboxError::from(error)),
                ),
            }
        }
        supported
    }

    async fn run(spawner: &Spawner, plan: &Plan, child: PendingChild) {
        let (setup, ends) = setup(plan);
        child.spawn(spawner, setup, ends).await.unwrap();
    }

    #[tokio::test]
    async fn a_child_gets_its_setup_at_once_or_much_later() {
        for (spawner, _, plan) in supported_levels() {
            // Longer than a child waits.
            for delay in [Duration::ZERO, Duration::from_millis(400)] {
                let child = spawner.begin(early(&plan)).unwrap();
                tokio::time::sleep(delay).await;
                run(&spawner, &plan, child).await;
            }
        }
    }

    #[tokio::test]
    async fn a_child_without_a_setup_ends() {
        let spawner = Spawner::start().unwrap();
        let plan = plan(IsolationLevel::Namespaces);
        for is_closed_before in [true, false] {
            let slot = Arc::new(SetupSlot::new(early(&plan)).unwrap());
            if is_closed_before {
                slot.close();
            }
            let result = spawner.request_child(&slot).unwrap();
            slot.close();
            match result.await.unwrap() {
                Err(SpawnError::Unused) => {}
                // This host has no namespaces.
                Err(error) if !is_closed_before => drop(error),
                _ => panic!("a child without a setup"),
            }
        }
    }

    #[tokio::test]
    async fn a_child_that_waited_too_long_is_not_used() {
        let spawner = Spawner::start().unwrap();
        let plan = plan(IsolationLevel::Landlock);
        let slot = Arc::new(SetupSlot::new(early(&plan)).unwrap());
        let result = spawner.request_child(&slot).unwrap();
        assert!(matches!(result.await.unwrap(), Err(SpawnError::Unused)));
        assert!(slot.is_abandoned());
        let (setup, ends) = setup(&plan);
        slot.give(setup, ends);
        assert!(slot.is_abandoned() && !slot.is_closed());
        slot.reuse();
        assert!(slot.is_closed() && slot.take().is_some());
    }
}
