//! A control group for one run, where the host may make one: it counts memory and processes of the
//! whole tree.
#![expect(
    clippy::disallowed_methods,
    reason = "control groups are directories and files of the kernel"
)]

mod discover;

use std::fs;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use skills_policy::ResourceLimits;

use discover::{CgroupParent, Version, discover};

/// Control groups of one run; removed when dropped, if nothing is in them any more.
#[derive(Debug)]
pub(crate) struct Cgroup {
    directories: Vec<PathBuf>,
    procs_files: Vec<OwnedFd>,
    /// Where the kernel says how often it killed for lack of memory.
    memory_events: Option<PathBuf>,
    pub(crate) counts_memory: bool,
    pub(crate) counts_processes: bool,
}

/// How old an empty group of a host that seems gone must be to be removed.
const MIN_STALE_AGE: Duration = Duration::from_secs(60);
/// How long is waited for killed processes to leave, in total.
const REMOVE_TIMEOUT: Duration = Duration::from_millis(500);

/// Opens what a process writes `0` to in order to join. In version 1 a single thread joins far
/// faster, and the child is one.
fn open_procs_file(directory: &Path) -> io::Result<OwnedFd> {
    let open = |name: &str| {
        fs::OpenOptions::new()
            .write(true)
            .open(directory.join(name))
    };
    open("tasks")
        .or_else(|_| open("cgroup.procs"))
        .map(OwnedFd::from)
}

/// Where groups can be made, found out once per process.
fn cgroup_parents() -> &'static [CgroupParent] {
    static PLACES: OnceLock<Vec<CgroupParent>> = OnceLock::new();
    PLACES.get_or_init(|| {
        let places = discover(Path::new("/proc/self"));
        places.iter().for_each(|place| sweep(&place.directory));
        places
    })
}

/// Says whether memory and processes of a run would be counted here, by making a group.
pub(crate) fn available_controllers() -> (bool, bool) {
    Cgroup::new(&ResourceLimits::default()).map_or((false, false), |group| {
        (group.counts_memory, group.counts_processes)
    })
}

impl Cgroup {
    /// Makes the groups, or none where the host may make none. A limit that the kernel does not
    /// take means no group.
    pub(crate) fn new(limits: &ResourceLimits) -> Option<Self> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        // Hosts in several containers may share the place and have the same numbers.
        static CHANCE: OnceLock<u64> = OnceLock::new();
        let chance = CHANCE.get_or_init(|| RandomState::new().build_hasher().finish());
        let name = format!(
            "skills-{}-{chance:016x}-{}",
            std::process::id(),
            NUMBER.fetch_add(1, Ordering::Relaxed)
        );
        pending_removal()
            .retain(|directory| fs::remove_dir(directory).is_err() && directory.exists());
        let mut group = Self {
            directories: Vec::new(),
            procs_files: Vec::new(),
            memory_events: None,
            counts_memory: false,
            counts_processes: false,
        };
        for place in cgroup_parents() {
            // Partly made, it is removed as it is dropped.
            group.add(place, &name, limits).ok()?;
        }
        (!group.directories.is_empty()).then_some(group)
    }

    fn add(&mut self, place: &CgroupParent, name: &str, limits: &ResourceLimits) -> io::Result<()> {
        let directory = place.directory.join(name);
        fs::create_dir(&directory)?;
        self.directories.push(directory.clone());
        let set = |file: &str, value: u64| fs::write(directory.join(file), value.to_string());
        if place.processes {
            set("pids.max", limits.processes)?;
            self.counts_processes = true;
        }
        if place.memory {
            // What limits swap is missing where swap is not accounted, and `memory.oom.group` in
            // old kernels.
            let events = match place.version {
                Version::V2 => {
                    set("memory.max", limits.memory_bytes)?;
                    let _ = set("memory.swap.max", 0);
                    let _ = set("memory.oom.group", 1);
                    "memory.events"
                }
                Version::V1 => {
                    set("memory.limit_in_bytes", limits.memory_bytes)?;
                    // Memory and swap together; it cannot be set before the limit of memory alone,
                    // which is never above it.
                    let _ = set("memory.memsw.limit_in_bytes", limits.memory_bytes);
                    "memory.oom_control"
                }
            };
            self.memory_events = Some(directory.join(events));
            self.counts_memory = true;
        }
        self.procs_files.push(open_procs_file(&directory)?);
        Ok(())
    }

    /// Returns what a process writes `0` to in order to join.
    pub(crate) fn procs_files(&self) -> &[OwnedFd] {
        &self.procs_files
    }

    /// Says whether the kernel killed something for lack of memory.
    pub(crate) fn ran_out_of_memory(&self) -> bool {
        let Some(text) = self
            .memory_events
            .as_ref()
            .and_then(|path| fs::read_to_string(path).ok())
        else {
            return false;
        };
        text.lines()
            .filter_map(|line| line.strip_prefix("oom_kill "))
            .any(|count| count.trim() != "0")
    }

    /// Kills whatever is still inside and removes the groups.
    ///
    /// # Errors
    /// When something does not die.
    pub(crate) async fn remove(mut self) -> io::Result<()> {
        self.procs_files.clear();
        let mut waited = Duration::ZERO;
        let mut pause = Duration::from_millis(1);
        while let Some(directory) = self.directories.last() {
            match fs::remove_dir(directory) {
                Ok(()) => drop(self.directories.pop()),
                Err(_) if waited < REMOVE_TIMEOUT => {
                    kill_all(directory);
                    tokio::time::sleep(pause).await;
                    waited += pause;
                    pause *= 2;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

impl Drop for Cgroup {
    /// A run that was cancelled: its processes are being killed, and what cannot be removed yet is
    /// when the next is made.
    fn drop(&mut self) {
        for directory in &self.directories {
            kill_all(directory);
            if fs::remove_dir(directory).is_err() {
                pending_removal().push(directory.clone());
            }
        }
    }
}

/// Groups that could not be removed yet, since what was in them was still dying.
fn pending_removal() -> MutexGuard<'static, Vec<PathBuf>> {
    static LEFT_BEHIND: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
    LEFT_BEHIND.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Kills what is in a group; its numbers are read anew each time, so that they are those of its
/// members.
fn kill_all(directory: &Path) {
    if fs::write(directory.join("cgroup.kill"), "1").is_ok() {
        return;
    }
    let members = fs::read_to_string(directory.join("cgroup.procs")).unwrap_or_default();
    for member in members
        .lines()
        .filter_map(|line| line.parse().ok())
        .filter(|member| *member > 1)
    {
        let _ = kill(Pid::from_raw(member), Signal::SIGKILL);
    }
}

/// Removes groups that hosts left behind which are gone; one with processes in it cannot be
/// removed.
fn sweep(place: &Path) {
    let Ok(entries) = fs::read_dir(place) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let host = name.to_str().and_then(|name| {
            name.strip_prefix("skills-")?
                .split_once('-')?
                .0
                .parse::<i32>()
                .ok()
        });
        let is_gone = host
            .is_some_and(|host| kill(Pid::from_raw(host), None) == Err(nix::errno::Errno::ESRCH));
        // A host in another container has no number here, but its groups are not empty for long.
        let is_old = || {
            entry
                .metadata()
                .and_then(|group| group.modified())
                .is_ok_and(|made| made.elapsed().is_ok_and(|age| age > MIN_STALE_AGE))
        };
        if is_gone && is_old() {
            let _ = fs::remove_dir(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_process_joins_groups_of_both_versions() {
        let directory = tempfile::tempdir().unwrap();
        let joined = |name: &str| fs::read_to_string(directory.path().join(name)).unwrap();
        assert!(open_procs_file(directory.path()).is_err());
        fs::write(directory.path().join("cgroup.procs"), "").unwrap();
        fs::File::from(open_procs_file(directory.path()).unwrap())
            .write_all(b"0")
            .unwrap();
        assert_eq!(joined("cgroup.procs"), "0");
        fs::write(directory.path().join("tasks"), "").unwrap();
        fs::File::from(open_procs_file(directory.path()).unwrap())
            .write_all(b"0")
            .unwrap();
        assert_eq!(
            (joined("tasks"), joined("cgroup.procs")),
            ("0".to_owned(), "0".to_owned())
        );
    }

    #[test]
    fn running_out_of_memory_is_read_from_the_groups_events() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("memory.events");
        let group = |text: &str| {
            fs::write(&path, text).unwrap();
            let kills = Some(path.clone());
            Cgroup {
                directories: Vec::new(),
                procs_files: Vec::new(),
                memory_events: kills,
                counts_memory: true,
                counts_processes: false,
            }
            .ran_out_of_memory()
        };
        assert!(group("low 0\nhigh 0\nmax 3\noom 1\noom_kill 1\n"));
        assert!(!group("low 0\nhigh 0\nmax 0\noom 0\noom_kill 0\n") && !group(""));
        // Version 1.
        assert!(
            group("oom_kill_disable 0\nunder_oom 0\noom_kill 2\n")
                && !group("oom_kill_disable 1\nunder_oom 0\noom_kill 0\n")
        );
    }
}
