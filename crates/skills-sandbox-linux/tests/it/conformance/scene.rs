//! What lies and lives around a skill: files that are none of its business, a process, listeners.

use std::fs;
use std::io::ErrorKind;
use std::net::{TcpListener, UdpSocket};
use std::os::unix::fs::{MetadataExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Child, Command};

use skills_sandbox_linux::IsolationMode;
use skills_test_support::{host, skip_part};

use crate::skill::Skill;

/// A skill with a neighbour, and files outside that anybody may read.
pub(crate) fn planted(tier: IsolationMode) -> Skill {
    let skill = Skill::new(tier);
    for directory in ["outside/home/.ssh", "sibling", "workspace/.git/hooks"] {
        fs::create_dir_all(skill.path(directory)).unwrap();
    }
    for (path, text) in [
        ("outside/public.txt", "outside"),
        ("outside/victim.txt", "victim"),
        ("outside/home/.ssh/id_rsa", "key"),
        ("sibling/SKILL.md", "sibling"),
        ("skill/SKILL.md", "skill"),
        ("workspace/known.txt", "known"),
        ("workspace/.git/config", "config"),
        ("workspace/.git/hooks/pre-commit", "hook"),
    ] {
        fs::write(skill.path(path), text).unwrap();
    }
    symlink("../outside/public.txt", skill.path("skill/link")).unwrap();
    symlink("/etc/shadow", skill.path("skill/shadow")).unwrap();
    symlink("../outside", skill.path("skill/directory")).unwrap();
    skill
}

/// Where the skill's surroundings are, for Python attempts.
pub(crate) fn places(skill: &Skill) -> String {
    let root = skill.path("").display().to_string();
    let root = root.trim_end_matches('/');
    format!("root = '{root}'\noutside = root + '/outside'\nworkspace = root + '/workspace'\n")
}

/// Everything about a tree that a script could change.
pub(crate) fn fingerprint(path: &Path) -> String {
    let Ok(found) = fs::symlink_metadata(path) else {
        return format!("{} is missing\n", path.display());
    };
    let what = format!(
        "{} {:o} {} {} {}.{}",
        path.display(),
        found.mode(),
        found.uid(),
        found.nlink(),
        found.mtime(),
        found.mtime_nsec()
    );
    if found.is_dir() {
        let mut entries: Vec<_> = fs::read_dir(path)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        entries.sort();
        return format!(
            "{what}\n{}",
            entries
                .iter()
                .map(|entry| fingerprint(entry))
                .collect::<String>()
        );
    }
    let content = if found.is_file() {
        fs::read(path).unwrap()
    } else {
        Vec::new()
    };
    format!("{what} {content:?}\n")
}

/// Returns `false` and records a skip where this host has no Node.
#[track_caller]
pub(crate) fn has_node() -> bool {
    host::program("node")
        .inspect_err(|reason| skip_part("attempts by Node", reason))
        .is_ok()
}

/// A process of the host's.
pub(crate) struct Victim(Child);

impl Victim {
    pub(crate) fn new() -> Self {
        Self(
            Command::new("sleep")
                .arg("600")
                .env("CANARY_OF_VICTIM", "canary")
                .spawn()
                .unwrap(),
        )
    }

    pub(crate) fn pid(&self) -> u32 {
        self.0.id()
    }

    pub(crate) fn is_alive(&mut self) -> bool {
        self.0.try_wait().unwrap().is_none()
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Counts who came to a listener of the host.
pub(crate) trait Visits {
    fn visits(&self) -> usize;
}

impl Visits for TcpListener {
    fn visits(&self) -> usize {
        self.set_nonblocking(true).unwrap();
        std::iter::from_fn(|| came(self.accept())).count()
    }
}

impl Visits for UnixListener {
    fn visits(&self) -> usize {
        self.set_nonblocking(true).unwrap();
        std::iter::from_fn(|| came(self.accept())).count()
    }
}

impl Visits for UdpSocket {
    fn visits(&self) -> usize {
        self.set_nonblocking(true).unwrap();
        std::iter::from_fn(|| came(self.recv_from(&mut [0; 64]))).count()
    }
}

fn came<T>(result: std::io::Result<T>) -> Option<T> {
    match result {
        Ok(visit) => Some(visit),
        Err(error) if error.kind() == ErrorKind::WouldBlock => None,
        Err(error) => panic!("{error}"),
    }
}

/// The report of a run of a skill like this one.
pub(crate) async fn report(skill: &Skill) -> skills_sandbox::EnforcementReport {
    planted(skill.isolation)
        .tool("Write")
        .tool("Bash")
        .run_shell(":")
        .await
        .enforcement
}

/// Ends what a host that was killed left of a skill's processes.
pub(crate) fn end_all_of(skill: &Skill) {
    for pid in alive(skill) {
        let _ = Command::new("kill").args(["-9", &pid.to_string()]).status();
    }
}

/// Numbers of the processes that name the skill's directory among their arguments, as its scripts
/// do.
pub(crate) fn alive(skill: &Skill) -> Vec<u32> {
    let own = skill.path("skill").display().to_string();
    let numbers = fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let is_own = |pid: &u32| {
        fs::read(format!("/proc/{pid}/cmdline"))
            .is_ok_and(|line| String::from_utf8_lossy(&line).contains(&own))
    };
    numbers.filter(is_own).collect()
}
