//! Containers that are kept between runs, and removal of those that other processes left.
#![expect(
    clippy::disallowed_methods,
    reason = "files of the kernel about processes, not of a skill"
)]

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bollard::Docker;
use bollard::query_parameters::ListContainersOptionsBuilder;
use skills_process::ScratchDir;
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
    /// The directory with the input, if the launcher opens it.
    pub(crate) input: Option<ScratchDir>,
    /// When its first process ends.
    pub(crate) ends_at: Instant,
}

/// The containers that are kept: at most one for each caller and request, which a run takes out.
#[derive(Default, Clone)]
pub(crate) struct KeptContainers(Arc<Mutex<HashMap<Key, (u64, KeptContainer)>>>);

#[derive(Clone, PartialEq, Eq, Hash)]
struct Key {
    caller: String,
    /// The request as text. Only equal grants may share a container.
    request: String,
}

impl Key {
    fn new(caller: &str, request: &ContainerRequest) -> Self {
        Self {
            caller: caller.to_owned(),
            request: format!("{request:?}"),
        }
    }
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
        let (_, kept) = self.lock().remove(&Key::new(caller, request))?;
        // Dropping one that ends too soon removes it.
        (kept.ends_at >= Instant::now() + wall_time).then_some(kept)
    }

    /// Keeps a container for `duration`, in place of an older one.
    pub(crate) fn keep(
        &self,
        caller: &str,
        request: &ContainerRequest,
        kept: KeptContainer,
        duration: Duration,
    ) {
        let key = Key::new(caller, request);
        let mut all = self.lock();
        if all.len() >= MAX_KEPT && !all.contains_key(&key) {
            return;
        }
        let number = all
            .values()
            .map(|(number, _)| number + 1)
            .max()
            .unwrap_or(0);
        all.insert(key.clone(), (number, kept));
        drop(all);
        // Not held until then: the containers are removed with the backend.
        let containers = Arc::downgrade(&self.0);
        tokio::spawn(async move {
            tokio::time::sleep(duration).await;
            if let Some(containers) = containers.upgrade() {
                Self(containers).expire(&key, number);
            }
        });
    }

    /// Removes a container if no run has taken it since.
    fn expire(&self, key: &Key, number: u64) {
        let mut all = self.lock();
        let is_same = all.get(key).is_some_and(|(kept, _)| *kept == number);
        let expired = is_same.then(|| all.remove(key));
        // Removing it takes a while, so not while others wait.
        drop(all);
        drop(expired);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<Key, (u64, KeptContainer)>> {
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
#[cfg(target_os = "linux")]
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

/// Elsewhere containers are only removed by the process that created them.
#[cfg(not(target_os = "linux"))]
mod owner {
    pub(super) fn current() -> String {
        std::process::id().to_string()
    }

    pub(super) fn has_died(_label: &str) -> bool {
        false
    }
}
