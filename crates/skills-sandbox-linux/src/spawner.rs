//! The one thread that makes children.
//!
//! A child asks to die with the *thread* that made it. Threads of a pool come and go, so this one
//! never ends.

use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

use skills_sandbox::SandboxError;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use crate::child_setup::{ChildSetup, ParentEnds};
use crate::spawn::{self, SpawnError, SpawnedChild};

type SpawnResult = Result<SpawnedChild, SpawnError>;
type SpawnRequest = (ChildSetup, ParentEnds, Box<dyn FnOnce(SpawnResult) + Send>);

/// How many children are prepared at a time. Each has dozens of files open until it runs, and a
/// host may often have no more than a thousand.
const MAX_CONCURRENT_SPAWNS: usize = 8;

/// The thread, and who may order next.
#[derive(Clone)]
struct Spawner {
    process: u32,
    requests: Sender<SpawnRequest>,
    permits: Arc<Semaphore>,
}

/// Waits until a child may be prepared; the turn is over when what this returns is dropped.
pub(crate) async fn spawn_permit() -> Result<OwnedSemaphorePermit, SandboxError> {
    spawner()?
        .permits
        .acquire_owned()
        .await
        .map_err(|_| thread_gone())
}

/// Has the child made, and waits until it executes its program.
pub(crate) async fn spawn(
    prepared: ChildSetup,
    ours: ParentEnds,
) -> Result<SpawnedChild, SandboxError> {
    let (sender, answer) = oneshot::channel();
    // Whoever asked may be gone; then the child comes back and is killed as it is dropped.
    send_request(prepared, ours, move |made| drop(sender.send(made)))?;
    Ok(answer.await.map_err(|_| thread_gone())??)
}

/// As [`spawn`], for callers that are not asynchronous.
pub(crate) fn spawn_blocking(
    prepared: ChildSetup,
    ours: ParentEnds,
) -> Result<SpawnResult, SandboxError> {
    let (sender, answer) = channel();
    send_request(prepared, ours, move |made| drop(sender.send(made)))?;
    answer.recv().map_err(|_| thread_gone())
}

fn thread_gone() -> SandboxError {
    SandboxError::setup("spawner thread", std::io::Error::other("it has ended"))
}

fn send_request(
    prepared: ChildSetup,
    ours: ParentEnds,
    answer: impl FnOnce(SpawnResult) + Send + 'static,
) -> Result<(), SandboxError> {
    spawner()?
        .requests
        .send((prepared, ours, Box::new(answer)))
        .map_err(|_| thread_gone())
}

fn spawner() -> Result<Spawner, SandboxError> {
    static SPAWNER: Mutex<Option<Spawner>> = Mutex::new(None);
    let mut spawner = SPAWNER.lock().unwrap_or_else(PoisonError::into_inner);
    // A host that forked has a copy of the sender and no thread behind it, and turns that nobody
    // ends.
    let process = std::process::id();
    if let Some(known) = spawner.as_ref().filter(|known| known.process == process) {
        return Ok(known.clone());
    }
    let (orders, receiver) = channel::<SpawnRequest>();
    let work = move || {
        receiver
            .into_iter()
            .for_each(|(prepared, ours, answer)| answer(spawn::spawn(prepared, ours)))
    };
    let thread = std::thread::Builder::new()
        .name("skills-spawner".into())
        .spawn(work);
    thread.map_err(|error| SandboxError::setup("spawner thread", error))?;
    Ok(spawner
        .insert(Spawner {
            process,
            requests: orders,
            permits: Arc::new(Semaphore::new(MAX_CONCURRENT_SPAWNS)),
        })
        .clone())
}
