//! Containers that are kept between runs, and removal of those that other processes left.
#![expect(
    clippy::disallowed_methods,
    reason = "files of the kernel about processes, not of a skill"
)]

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bollard::Docker;
use bollard::query_parameters::ListContainersOptionsBuilder;
use skills_store::PrivateDir;
use tokio::time::Instant;

use crate::container::{RunningContainer, remove};
use crate::namespace::{MountCheck, MountSources};
use crate::request::ContainerRequest;

/// The label with the process that a container belongs to.
const OWNER_LABEL: &str = "skills.owner";
/// The most containers that a process keeps.
const MAX_KEPT: usize = 16;

/// A container that waits for the next run of its caller.
pub(crate) struct KeptContainer {
    pub(crate) running: RunningContainer,
    pub(crate) mounts: MountCheck,
    /// What was mounted when it was created.
    pub(crate) sources: MountSources,
    /// The directory with the input, which the launcher opens.
    pub(crate) input: PrivateDir,
    /// When its first process ends.
    pub(crate) ends_at: Instant,
}

/// The containers that are kept: at most one for each caller and request, which a run takes out.
#[derive(Default, Clone)]
pub(crate) struct KeptContainers(Arc<Mutex<Vec<Kept>>>);

struct Kept {
    caller: String,
    /// Only equal requests share a container.
    request: ContainerRequest,
    /// Counted for each time that a container is kept.
    number: u64,
    container: KeptContainer,
}

impl KeptContainers {
    /// Takes the container of a caller that was created by an equal request and lasts for
    /// `wall_time`.
    pub(crate) fn take(
        &self,
        caller: &str,
        request: &ContainerRequest,
        wall_time: Duration,
    ) -> Option<KeptContainer> {
        let is_same = |kept: &Kept| kept.caller == caller && kept.request == *request;
        let container = self.remove(is_same)?;
        // Dropping one that ends too soon removes it.
        (container.ends_at >= Instant::now() + wall_time).then_some(container)
    }

    /// Keeps a container for `duration`; if too many are kept, in place of the oldest one.
    pub(crate) fn keep(
        &self,
        caller: &str,
        request: &ContainerRequest,
        container: KeptContainer,
        duration: Duration,
    ) {
        let mut all = self.lock();
        let number = all.last().map_or(0, |last| last.number + 1);
        let oldest = (all.len() >= MAX_KEPT).then(|| all.remove(0));
        all.push(Kept {
            caller: caller.to_owned(),
            request: request.clone(),
            number,
            container,
        });
        drop(all);
        drop(oldest);
        // Not held until then: the containers are removed with the backend.
        let containers = Arc::downgrade(&self.0);
        tokio::spawn(async move {
            tokio::time::sleep(duration).await;
            if let Some(containers) = containers.upgrade() {
                // If no run has taken it since.
                drop(Self(containers).remove(|kept| kept.number == number));
            }
        });
    }

    fn remove(&self, is_wanted: impl Fn(&Kept) -> bool) -> Option<KeptContainer> {
        // Dropping a container takes a while, so it is returned, and the lock released.
        let mut all = self.lock();
        let index = all.iter().position(is_wanted)?;
        Some(all.remove(index).container)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Kept>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the labels of a container of this process.
pub(crate) fn owner_labels() -> BTreeMap<String, String> {
    BTreeMap::from([(OWNER_LABEL.to_owned(), owner::current())])
}

/// Removes containers whose process has died on this machine. Failures are ignored: such containers
/// end by themselves.
pub(crate) async fn remove_abandoned(client: &Docker) {
    let filters = HashMap::from([("label", vec![OWNER_LABEL])]);
    let options = ListContainersOptionsBuilder::default()
        .all(true)
        .filters(&filters)
        .build();
    let found = client.list_containers(Some(options)).await;
    for container in found.unwrap_or_default() {
        let label = container
            .labels
            .as_ref()
            .and_then(|labels| labels.get(OWNER_LABEL));
        if let (Some(id), Some(label)) = (container.id, label)
            && owner::has_died(label)
        {
            let _ = remove(client, &id).await;
        }
    }
}

/// Identifies processes: the boot and the process namespace, the number and the start time.
mod owner {
    use std::fs;

    pub(super) fn current() -> String {
        let pid = std::process::id();
        format!("{}/{pid}/{}", scope(), start_time(pid).unwrap_or_default())
    }

    /// Returns true for a process of this scope that does not exist any more.
    pub(super) fn has_died(label: &str) -> bool {
        let Some((of, pid, start)) = parse(label) else {
            return false;
        };
        of == scope() && start_time(pid).as_deref() != Some(start)
    }

    fn parse(label: &str) -> Option<(&str, u32, &str)> {
        let (rest, start) = label.rsplit_once('/')?;
        let (scope, pid) = rest.rsplit_once('/')?;
        Some((scope, pid.parse().ok()?, start))
    }

    /// Processes of another boot or namespace have numbers of their own.
    fn scope() -> String {
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let namespace = fs::read_link("/proc/self/ns/pid").unwrap_or_default();
        // Processes of other users can be hidden.
        let user = nix::unistd::geteuid();
        format!("{}/{}/{user}", boot.trim(), namespace.display())
    }

    /// Returns the start time of a process, in ticks since the boot.
    fn start_time(pid: u32) -> Option<String> {
        /// Its number after the name of the program, which ends with the last parenthesis.
        const START_TIME_FIELD: usize = 19;
        let status = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let (_, fields) = status.rsplit_once(") ")?;
        fields.split(' ').nth(START_TIME_FIELD).map(str::to_owned)
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn only_dead_processes_of_this_boot_count() {
            let own = current();
            assert!(!has_died(&own));
            let (rest, start) = own.rsplit_once('/').unwrap();
            assert!(has_died(&format!("{rest}/{start}0")));
            assert!(!has_died(&format!("other/{}/{start}0", std::process::id())));
            assert!(!has_died("nonsense"));
        }
    }
}
