//! The spawner thread, which creates all children.
//!
//! A child is killed when the *thread* that created it ends (`PR_SET_PDEATHSIG`). Threads of a pool
//! end at any time, so this thread never does.

use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

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

/// A handle to the spawner thread of a process.
#[derive(Clone)]
struct Spawner {
    process: u32,
    requests: Sender<SpawnRequest>,
    permits: Arc<Semaphore>,
}

/// Waits for a permit to set up a child, which is returned when it is dropped.
pub(crate) async fn spawn_permit() -> Result<OwnedSemaphorePermit, SandboxError> {
    spawner()?
        .permits
        .acquire_owned()
        .await
        .map_err(|_| thread_gone())
}

/// A child of the spawner thread that still needs its setup. If it is dropped, the child exits.
pub(crate) struct PendingChild {
    slot: Arc<SetupSlot>,
    /// The result, if the spawner thread already creates the child.
    result: Option<oneshot::Receiver<SpawnResult>>,
}

impl PendingChild {
    /// Creates a child in its namespaces, while the run is planned. Without namespaces the child is
    /// created when it gets its setup, since there is nothing to do before.
    pub(crate) fn begin(early: EarlySetup) -> Result<Self, SandboxError> {
        let is_early = early.namespaces.is_some();
        let slot = Arc::new(SetupSlot::new(early));
        let result = is_early.then(|| request_child(&slot)).transpose()?;
        Ok(Self { slot, result })
    }

    /// Gives the child its setup, and waits until it executes its program. If the future is
    /// dropped, the child is killed.
    pub(crate) async fn spawn(
        mut self,
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
        let result = request_child(&self.slot)?;
        Ok(result.await.map_err(|_| thread_gone())??)
    }
}

impl Drop for PendingChild {
    fn drop(&mut self) {
        self.slot.close();
    }
}

fn request_child(slot: &Arc<SetupSlot>) -> Result<oneshot::Receiver<SpawnResult>, SandboxError> {
    let (sender, receiver) = oneshot::channel();
    // If the run was cancelled, `send` returns the child, which is killed when it is dropped.
    send_request(slot, move |result| drop(sender.send(result)))?;
    Ok(receiver)
}

/// Creates a child and waits until it executes its program. Blocks the calling thread.
pub(crate) fn spawn_blocking(
    early: EarlySetup,
    setup: ChildSetup,
    parent_ends: ParentEnds,
) -> Result<SpawnResult, SandboxError> {
    let slot = Arc::new(SetupSlot::new(early));
    slot.give(setup, parent_ends);
    let (sender, receiver) = channel();
    send_request(&slot, move |result| drop(sender.send(result)))?;
    receiver.recv().map_err(|_| thread_gone())
}

fn thread_gone() -> SandboxError {
    SandboxError::setup(
        "using the spawner thread",
        std::io::Error::other("the thread has ended"),
    )
}

fn send_request(
    slot: &Arc<SetupSlot>,
    on_result: impl FnOnce(SpawnResult) + Send + 'static,
) -> Result<(), SandboxError> {
    spawner()?
        .requests
        .send((Arc::clone(slot), Box::new(on_result)))
        .map_err(|_| thread_gone())
}

fn spawner() -> Result<Spawner, SandboxError> {
    static SPAWNER: Mutex<Option<Spawner>> = Mutex::new(None);
    // A poisoned lock is harmless, since the value is replaced as a whole.
    let mut spawner = SPAWNER.lock().unwrap_or_else(PoisonError::into_inner);
    // After a `fork` of the host, the child process has a copy of the sender but no spawner thread,
    // and permits that are never returned.
    let process = std::process::id();
    if let Some(known) = spawner.as_ref().filter(|known| known.process == process) {
        return Ok(known.clone());
    }
    let (requests, receiver) = channel::<SpawnRequest>();
    std::thread::Builder::new()
        .name("skills-spawner".into())
        .spawn(move || {
            for (slot, on_result) in receiver {
                on_result(spawn::spawn(&slot));
            }
        })
        .map_err(|error| SandboxError::setup("creating the spawner thread", error))?;
    Ok(spawner
        .insert(Spawner {
            process,
            requests,
            permits: Arc::new(Semaphore::new(MAX_CONCURRENT_SPAWNS)),
        })
        .clone())
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

    fn setup(plan: &Plan) -> (ChildSetup, ParentEnds) {
        let options = ChildOptions {
            landlock: LandlockAbi::detect().ok(),
            ..ChildOptions::default()
        };
        ChildSetup::new(plan, options).unwrap()
    }

    /// The child of a probe exits when all restrictions are in effect.
    #[tokio::test]
    async fn a_child_gets_its_setup_at_once_or_much_later() {
        for isolation in [IsolationLevel::Namespaces, IsolationLevel::Landlock] {
            let plan = plan(isolation);
            let early = EarlySetup::of_plan(&plan).unwrap();
            let (setup_at_once, ends) = setup(&plan);
            if let Err(error) = spawn_blocking(early, setup_at_once, ends).unwrap() {
                skills_test_support::skip_part(
                    format!("{isolation:?}"),
                    format!("this host has no such level: {}", SandboxError::from(error)),
                );
                continue;
            }
            // Longer than a child waits.
            for delay in [Duration::ZERO, Duration::from_millis(400)] {
                let early = EarlySetup::of_plan(&plan).unwrap();
                let child = PendingChild::begin(early).unwrap();
                tokio::time::sleep(delay).await;
                let (setup, ends) = setup(&plan);
                let spawned = child.spawn(setup, ends).await;
                assert!(spawned.is_ok(), "{isolation:?} after {delay:?}");
            }
        }
    }

    #[tokio::test]
    async fn a_child_without_a_setup_ends() {
        let plan = plan(IsolationLevel::Namespaces);
        for is_closed_before in [true, false] {
            let slot = Arc::new(SetupSlot::new(EarlySetup::of_plan(&plan).unwrap()));
            if is_closed_before {
                slot.close();
            }
            let result = request_child(&slot).unwrap();
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
        let plan = plan(IsolationLevel::Landlock);
        let slot = Arc::new(SetupSlot::new(EarlySetup::of_plan(&plan).unwrap()));
        let result = request_child(&slot).unwrap();
        assert!(matches!(result.await.unwrap(), Err(SpawnError::Unused)));
        assert!(slot.is_abandoned());
        let (setup, ends) = setup(&plan);
        slot.give(setup, ends);
        assert!(slot.is_abandoned() && !slot.is_closed());
        slot.reuse();
        assert!(slot.is_closed() && slot.take().is_some());
    }
}
