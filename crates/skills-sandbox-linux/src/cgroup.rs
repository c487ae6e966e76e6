//! A cgroup for one run, where the host process may create one. It counts memory and processes of
//! all processes of the run together.
#![expect(
    clippy::disallowed_methods,
    reason = "cgroups are directories and files of the kernel"
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

/// The cgroups of one run: one in each hierarchy that is used. Dropping kills the processes in them
/// and removes them, or leaves that to the next run if processes are still exiting.
#[derive(Debug)]
pub(crate) struct Cgroup {
    directories: Vec<PathBuf>,
    procs_files: Vec<OwnedFd>,
    /// The file in which the kernel counts processes that it killed for lack of memory.
    memory_events: Option<PathBuf>,
    pub(crate) counts_memory: bool,
    pub(crate) counts_processes: bool,
}

/// The age at which an empty cgroup is removed if its host process seems to be gone.
const MIN_STALE_AGE: Duration = Duration::from_secs(60);
/// Total time to wait for killed processes to exit.
const REMOVE_TIMEOUT: Duration = Duration::from_millis(500);

/// Opens the file to which a process writes `0` to join. In version 1 `tasks` moves a single
/// thread, which is much faster than moving a process; the child has only one.
fn open_procs_file(directory: &Path) -> io::Result<OwnedFd> {
    let mut options = fs::OpenOptions::new();
    options.write(true);
    options
        .open(directory.join("tasks"))
        .or_else(|_| options.open(directory.join("cgroup.procs")))
        .map(OwnedFd::from)
}

/// Returns where cgroups can be created, found once per process.
fn cgroup_parents() -> &'static [CgroupParent] {
    static PARENTS: OnceLock<Vec<CgroupParent>> = OnceLock::new();
    PARENTS.get_or_init(|| {
        let parents = discover(Path::new("/proc/self"));
        for parent in &parents {
            remove_stale(&parent.directory);
        }
        parents
    })
}

/// Returns true if memory and processes of a run would be counted, by creating a cgroup.
pub(crate) fn available_controllers() -> (bool, bool) {
    Cgroup::new(&ResourceLimits::default()).map_or((false, false), |group| {
        (group.counts_memory, group.counts_processes)
    })
}

/// Returns a name for the cgroups of a run, with the PID of the host process for [`remove_stale`].
fn unique_name() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    // Host processes in several containers can share a parent directory and have the same PID.
    static RANDOM: OnceLock<u64> = OnceLock::new();
    let random = RANDOM.get_or_init(|| RandomState::new().build_hasher().finish());
    format!(
        "skills-{}-{random:016x}-{}",
        std::process::id(),
        NEXT.fetch_add(1, Ordering::Relaxed)
    )
}

impl Cgroup {
    /// Creates the cgroups of a run. Returns `None` if the host process may not create any, or if
    /// the kernel rejects a limit; the report then says what is not counted.
    pub(crate) fn new(limits: &ResourceLimits) -> Option<Self> {
        pending_removal()
            .retain(|directory| fs::remove_dir(directory).is_err() && directory.exists());
        let name = unique_name();
        let mut cgroup = Self {
            directories: Vec::new(),
            procs_files: Vec::new(),
            memory_events: None,
            counts_memory: false,
            counts_processes: false,
        };
        for parent in cgroup_parents() {
            // On an error the drop removes the cgroups that were created so far.
            cgroup.add(parent, &name, limits).ok()?;
        }
        (!cgroup.directories.is_empty()).then_some(cgroup)
    }

    fn add(
        &mut self,
        parent: &CgroupParent,
        name: &str,
        limits: &ResourceLimits,
    ) -> io::Result<()> {
        let directory = parent.directory.join(name);
        fs::create_dir(&directory)?;
        self.directories.push(directory.clone());
        let set = |file: &str, value: u64| fs::write(directory.join(file), value.to_string());
        if parent.processes {
            set("pids.max", limits.processes)?;
            self.counts_processes = true;
        }
        if parent.memory {
            // Errors are ignored for files that do not exist everywhere: the limits of swap without
            // swap accounting, and `memory.oom.group` in old kernels.
            let events = match parent.version {
                Version::V2 => {
                    set("memory.max", limits.memory_bytes)?;
                    let _ = set("memory.swap.max", 0);
                    let _ = set("memory.oom.group", 1);
                    "memory.events"
                }
                Version::V1 => {
                    set("memory.limit_in_bytes", limits.memory_bytes)?;
                    // Memory and swap together. It is never lower than the limit of memory alone,
                    // so that one has to be set first.
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

    /// Returns the files to which a process writes `0` to join.
    pub(crate) fn procs_files(&self) -> &[OwnedFd] {
        &self.procs_files
    }

    /// Returns true if the kernel killed a process because the limit was reached.
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

    /// Kills the remaining processes and removes the cgroups.
    ///
    /// # Errors
    /// Fails if processes have not exited after half a second.
    pub(crate) async fn remove(mut self) -> io::Result<()> {
        self.procs_files.clear();
        let mut waited = Duration::ZERO;
        let mut pause = Duration::from_millis(1);
        while let Some(directory) = self.directories.last() {
            match fs::remove_dir(directory) {
                Ok(()) => drop(self.directories.pop()),
                Err(_) if waited < REMOVE_TIMEOUT => {
                    // Killed again each time: before `cgroup.kill` existed, a process could fork
                    // between reading the list and killing its members.
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
    /// Removes the cgroups of a cancelled run without waiting. What cannot be removed yet is
    /// removed when the next cgroup is created.
    fn drop(&mut self) {
        for directory in &self.directories {
            kill_all(directory);
            if fs::remove_dir(directory).is_err() {
                pending_removal().push(directory.clone());
            }
        }
    }
}

/// Returns the cgroups that could not be removed yet, since their processes were still exiting.
fn pending_removal() -> MutexGuard<'static, Vec<PathBuf>> {
    static PENDING: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
    PENDING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Kills all processes in a cgroup. Without `cgroup.kill` (before Linux 5.14) their PIDs are read
/// anew for each attempt, so that a reused PID is not killed.
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

/// Removes cgroups of host processes that were killed. One with processes in it cannot be removed.
fn remove_stale(parent: &Path) {
    let Ok(entries) = fs::read_dir(parent) else {
        return;
    };
    for entry in entries.flatten() {
        let Some(host) = entry.file_name().to_str().and_then(parse_host) else {
            continue;
        };
        let is_gone = kill(Pid::from_raw(host), None) == Err(nix::errno::Errno::ESRCH);
        // A host process in another container has no PID here, but its cgroups are not empty for
        // long, so only old ones are removed.
        if is_gone && is_stale(&entry) {
            let _ = fs::remove_dir(entry.path());
        }
    }
}

/// Returns the PID in a name that [`unique_name`] created.
fn parse_host(name: &str) -> Option<i32> {
    let (host, _) = name.strip_prefix("skills-")?.split_once('-')?;
    host.parse().ok()
}

fn is_stale(entry: &fs::DirEntry) -> bool {
    entry
        .metadata()
        .and_then(|metadata| metadata.modified())
        .is_ok_and(|modified| modified.elapsed().is_ok_and(|age| age > MIN_STALE_AGE))
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
    fn kills_for_lack_of_memory_are_read_from_the_events() {
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
