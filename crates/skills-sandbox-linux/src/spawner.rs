//! The one thread that makes children.
//!
//! A child asks to die with the *thread* that made it. Threads of a pool come and go, so this one never ends.

use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, PoisonError};

use skills_sandbox::SandboxError;
use tokio::sync::oneshot;

use crate::prepared::{Ours, Prepared};
use crate::spawn::{self, Spawned};

type Answer = Result<Spawned, SandboxError>;
type Order = (Prepared, Ours, oneshot::Sender<Answer>);

/// Has the child made, and waits until it executes its program.
pub(crate) async fn spawn(prepared: Prepared, ours: Ours) -> Answer {
    let (sender, answer) = oneshot::channel();
    let order = (prepared, ours, sender);
    let gone = || SandboxError::setup("spawner thread", std::io::Error::other("it has ended"));
    orders()?.send(order).map_err(|_| gone())?;
    answer.await.map_err(|_| gone())?
}

fn orders() -> Result<Sender<Order>, SandboxError> {
    static ORDERS: Mutex<Option<(u32, Sender<Order>)>> = Mutex::new(None);
    let mut orders = ORDERS.lock().unwrap_or_else(PoisonError::into_inner);
    // A host that forked has a copy of the sender and no thread behind it.
    let process = std::process::id();
    if let Some((_, sender)) = orders.as_ref().filter(|(owner, _)| *owner == process) {
        return Ok(sender.clone());
    }
    let (sender, receiver) = channel::<Order>();
    let work = move || {
        for (prepared, ours, answer) in receiver {
            // Whoever asked may be gone; then the child comes back and is killed as it is dropped.
            drop(answer.send(spawn::spawn(prepared, ours)));
        }
    };
    let thread = std::thread::Builder::new().name("skills-spawner".into()).spawn(work);
    thread.map_err(|error| SandboxError::setup("spawner thread", error))?;
    Ok(orders.insert((process, sender)).1.clone())
}
