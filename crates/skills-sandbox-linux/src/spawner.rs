//! The spawner thread, which creates all children.
//!
//! A child is killed when the *thread* that created it ends (`PR_SET_PDEATHSIG`). Threads of a pool
//! end at any time, so this thread never does.

use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

use skills_sandbox::SandboxError;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use crate::child_setup::{ChildSetup, ParentEnds};
use crate::spawn::{self, SpawnError, SpawnedChild};

type SpawnResult = Result<SpawnedChild, SpawnError>;
type SpawnRequest = (ChildSetup, ParentEnds, Box<dyn FnOnce(SpawnResult) + Send>);

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

/// Creates the child on the spawner thread, and waits until it executes its program. If the future
/// is dropped, the child is killed.
pub(crate) async fn spawn(
    setup: ChildSetup,
    parent_ends: ParentEnds,
) -> Result<SpawnedChild, SandboxError> {
    let (sender, receiver) = oneshot::channel();
    // If the run was cancelled, `send` returns the child, which is killed when it is dropped.
    send_request(setup, parent_ends, move |result| drop(sender.send(result)))?;
    Ok(receiver.await.map_err(|_| thread_gone())??)
}

/// Does the same as [`spawn`], but blocks the calling thread.
pub(crate) fn spawn_blocking(
    setup: ChildSetup,
    parent_ends: ParentEnds,
) -> Result<SpawnResult, SandboxError> {
    let (sender, receiver) = channel();
    send_request(setup, parent_ends, move |result| drop(sender.send(result)))?;
    receiver.recv().map_err(|_| thread_gone())
}

fn thread_gone() -> SandboxError {
    SandboxError::setup(
        "using the spawner thread",
        std::io::Error::other("the thread has ended"),
    )
}

fn send_request(
    setup: ChildSetup,
    parent_ends: ParentEnds,
    on_result: impl FnOnce(SpawnResult) + Send + 'static,
) -> Result<(), SandboxError> {
    spawner()?
        .requests
        .send((setup, parent_ends, Box::new(on_result)))
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
            for (setup, parent_ends, on_result) in receiver {
                on_result(spawn::spawn(setup, parent_ends));
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
