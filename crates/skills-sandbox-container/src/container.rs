//! A container from its creation to its removal.

use std::io;
use std::path::Path;
use std::time::Duration;

use bollard::Docker;
use bollard::errors::Error;
use bollard::models::ContainerInspectResponse;
use bollard::query_parameters::{
    CreateContainerOptionsBuilder, KillContainerOptionsBuilder, RemoveContainerOptionsBuilder,
    TopOptionsBuilder,
};
use skills_sandbox::SandboxError;
use tokio::runtime::RuntimeFlavor;
use tokio::time::timeout;

use crate::connect::setup_error;
use crate::engine::Product;
use crate::namespace::{self, FirstProcess};
use crate::request::ContainerRequest;

/// How long the removal of a container may take.
const REMOVE_TIMEOUT: Duration = Duration::from_secs(15);
/// Number of random bytes in a name.
const NAME_BYTES: usize = 12;

/// A container of one run or session. Dropping it kills and removes the container, and waits for that
/// on this thread, at most [`REMOVE_TIMEOUT`]; [`remove`](Self::remove) waits without blocking.
pub(crate) struct Container {
    client: Docker,
    name: String,
    /// The identifier that the engine gave; empty before it is created.
    id: String,
    is_removed: bool,
}

/// A running container. Its first process, and with it all others, is also killed directly if it is
/// visible: an engine that does not answer cannot do that.
pub(crate) struct RunningContainer {
    pub(crate) container: Container,
    /// The first process, as the engine numbers it.
    pub(crate) reported_pid: Option<i32>,
    /// The same, once it is known that it is a process of this host.
    pub(crate) first_process: Option<FirstProcess>,
}

impl Container {
    /// Creates a container, which runs nothing yet, with the directory of its input.
    pub(crate) async fn create(
        client: &Docker,
        request: &ContainerRequest,
        input: &Path,
    ) -> Result<Self, SandboxError> {
        let name = random_name()?;
        // Before the request: the engine may create the container although the answer is lost.
        let mut container = Self {
            client: client.clone(),
            name,
            id: String::new(),
            is_removed: false,
        };
        let options = CreateContainerOptionsBuilder::default()
            .name(&container.name)
            .build();
        let created = client
            .create_container(Some(options), request.body(input))
            .await
            .map_err(|error| setup_error("creating the container", error))?;
        container.id = created.id;
        Ok(container)
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// Returns true if its first process runs.
    pub(crate) async fn is_running(&self) -> bool {
        let state = self.inspect().await.ok().and_then(|found| found.state);
        state.is_some_and(|state| state.running == Some(true))
    }

    pub(crate) fn client(&self) -> &Docker {
        &self.client
    }

    /// Starts its first process, which waits.
    pub(crate) async fn start(self) -> Result<RunningContainer, SandboxError> {
        self.client
            .start_container(&self.name, None)
            .await
            .map_err(|error| setup_error("starting the container", error))?;
        let state = self.inspect().await?.state.unwrap_or_default();
        if state.running != Some(true) {
            let reason = state.error.unwrap_or_default();
            return Err(SandboxError::setup(
                "starting the container",
                io::Error::other(format!("it ended at once {reason}")),
            ));
        }
        let pid = state.pid.and_then(|pid| i32::try_from(pid).ok());
        Ok(RunningContainer {
            container: self,
            reported_pid: pid.filter(|pid| *pid > 0),
            first_process: None,
        })
    }

    async fn inspect(&self) -> Result<ContainerInspectResponse, SandboxError> {
        self.client
            .inspect_container(&self.name, None)
            .await
            .map_err(|error| setup_error("inspecting the container", error))
    }

    /// Returns whether the engine noticed that a process was killed because memory ran out.
    pub(crate) async fn ran_out_of_memory(&self) -> bool {
        let state = self.inspect().await.ok().and_then(|found| found.state);
        state.is_some_and(|state| state.oom_killed == Some(true))
    }

    /// Returns the number of its processes; `None` if the engine does not return it.
    pub(crate) async fn process_count(&self, product: Product) -> Option<usize> {
        // By default Podman starts a program of the image.
        let options = (product == Product::Podman)
            .then(|| TopOptionsBuilder::default().ps_args("pid").build());
        let found = self.client.top_processes(&self.name, options).await.ok()?;
        found.processes.map(|processes| processes.len())
    }

    /// Kills its processes and removes it.
    async fn remove(mut self) -> io::Result<()> {
        self.is_removed = true;
        remove(&self.client, &self.name).await
    }
}

impl RunningContainer {
    /// Counts processes that were killed because memory ran out.
    pub(crate) async fn memory_kills(&self) -> u64 {
        match self.pid().and_then(namespace::memory_kills) {
            Some(count) => count,
            None => u64::from(self.container.ran_out_of_memory().await),
        }
    }

    /// Returns the number of the first process on this host; `None` if it is on another one.
    pub(crate) fn pid(&self) -> Option<i32> {
        self.first_process.as_ref().map(FirstProcess::pid)
    }

    /// Kills all processes.
    pub(crate) async fn kill(&self) {
        self.kill_directly();
        let _ = timeout(
            REMOVE_TIMEOUT,
            kill(&self.container.client, &self.container.name),
        )
        .await;
    }

    fn kill_directly(&self) {
        if let Some(process) = &self.first_process {
            process.kill();
        }
    }

    /// Kills all processes and removes the container.
    pub(crate) async fn remove(self) -> io::Result<()> {
        self.kill_directly();
        self.container.remove().await
    }
}

impl Drop for Container {
    #[expect(
        clippy::disallowed_methods,
        reason = "the pool has a thread, so it does not panic"
    )]
    fn drop(&mut self) {
        if self.is_removed {
            return;
        }
        // A task of this runtime could be dropped before it has sent anything, if the runtime ends.
        let (client, name) = (self.client.clone(), std::mem::take(&mut self.name));
        let removal = skills_threads::spawn("skills-remove", move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()?;
            runtime.block_on(remove(&client, &name))
        });
        // Without a thread the container stays, until it is removed as one of an ended process.
        let Ok(removal) = removal else { return };
        let wait = || drop(removal.join());
        let runtime = tokio::runtime::Handle::try_current();
        match runtime.map(|runtime| runtime.runtime_flavor()) {
            // The other tasks of this thread continue on one of the blocking pool.
            Ok(RuntimeFlavor::MultiThread) if skills_threads::require_blocking_thread().is_ok() => {
                tokio::task::block_in_place(wait);
            }
            _ => wait(),
        }
    }
}

async fn kill(client: &Docker, name: &str) {
    let options = KillContainerOptionsBuilder::default()
        .signal("SIGKILL")
        .build();
    // It may have ended by itself.
    let _ = client.kill_container(name, Some(options)).await;
}

/// Kills the processes of a container and removes it. Killed first, since engines wait some seconds
/// for a process that they ask to end.
pub(crate) async fn remove(client: &Docker, name: &str) -> io::Result<()> {
    timeout(REMOVE_TIMEOUT, kill_and_remove(client, name))
        .await
        .unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}

async fn kill_and_remove(client: &Docker, name: &str) -> io::Result<()> {
    kill(client, name).await;
    let options = RemoveContainerOptionsBuilder::default()
        .force(true)
        .v(true)
        .build();
    match client.remove_container(name, Some(options)).await {
        Ok(()) => Ok(()),
        // Removed already, or being removed.
        Err(Error::DockerResponseServerError {
            status_code: 404 | 409,
            ..
        }) => Ok(()),
        Err(error) => Err(io::Error::other(error)),
    }
}

/// Returns a name that no other container has.
fn random_name() -> Result<String, SandboxError> {
    let mut bytes = [0; NAME_BYTES];
    getrandom::fill(&mut bytes)
        .map_err(|error| SandboxError::setup("naming the container", io::Error::other(error)))?;
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(format!("skills-{digits}"))
}
