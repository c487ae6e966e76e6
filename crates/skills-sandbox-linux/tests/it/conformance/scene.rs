//! The surroundings of a skill: files that it must not access, a process, listeners.

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

/// Creates a skill with a sibling, and files outside that all users may read.
pub(crate) fn create_scene(mode: IsolationMode) -> Skill {
    let skill = Skill::new(mode);
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

/// Returns Python assignments with the paths around the skill.
pub(crate) fn python_paths(skill: &Skill) -> String {
    let root = skill.path("").display().to_string();
    let root = root.trim_end_matches('/');
    format!("root = '{root}'\noutside = root + '/outside'\nworkspace = root + '/workspace'\n")
}

/// Describes all metadata and contents of a tree that a script could change.
pub(crate) fn metadata_of_tree(path: &Path) -> String {
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
                .map(|entry| metadata_of_tree(entry))
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

/// Returns `false` and records a skip if this host has no Node.
#[track_caller]
pub(crate) fn has_node() -> bool {
    host::program("node")
        .inspect_err(|reason| skip_part("attempts by Node", reason))
        .is_ok()
}

/// A process of the host outside of any sandbox.
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

/// Counts the connections or packets that a listener of the host received.
pub(crate) trait ConnectionCount {
    fn connection_count(&self) -> usize;
}

impl ConnectionCount for TcpListener {
    fn connection_count(&self) -> usize {
        self.set_nonblocking(true).unwrap();
        std::iter::from_fn(|| accepted(self.accept())).count()
    }
}

impl ConnectionCount for UnixListener {
    fn connection_count(&self) -> usize {
        self.set_nonblocking(true).unwrap();
        std::iter::from_fn(|| accepted(self.accept())).count()
    }
}

impl ConnectionCount for UdpSocket {
    fn connection_count(&self) -> usize {
        self.set_nonblocking(true).unwrap();
        std::iter::from_fn(|| accepted(self.recv_from(&mut [0; 64]))).count()
    }
}

fn accepted<T>(result: std::io::Result<T>) -> Option<T> {
    match result {
        Ok(connection) => Some(connection),
        Err(error) if error.kind() == ErrorKind::WouldBlock => None,
        Err(error) => panic!("{error}"),
    }
}

/// Returns the report of a run of a skill like this one.
pub(crate) async fn report(skill: &Skill) -> skills_sandbox::EnforcementReport {
    create_scene(skill.isolation)
        .tool("Write")
        .tool("Bash")
        .run_shell(":")
        .await
        .enforcement
}

/// Kills the remaining processes of a skill after its host process was killed.
pub(crate) fn kill_all(skill: &Skill) {
    for pid in alive(skill) {
        let _ = Command::new("kill").args(["-9", &pid.to_string()]).status();
    }
}

/// Returns the PIDs of processes with the directory of the skill in their arguments, as scripts
/// have it.
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
