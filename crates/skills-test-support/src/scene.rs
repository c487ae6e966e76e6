//! The surroundings of a sandboxed program: files that it must not access, a process, listeners.

use std::fs;
use std::io::ErrorKind;
use std::net::{TcpListener, UdpSocket};
use std::os::unix::fs::{MetadataExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Child, Command};

/// Adds to a directory with `skill` and `workspace` files in both, a sibling of the skill, and files
/// outside that all users may read.
pub fn populate(root: &Path) {
    for directory in ["outside/home/.ssh", "sibling", "workspace/.git/hooks"] {
        fs::create_dir_all(root.join(directory)).unwrap();
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
        fs::write(root.join(path), text).unwrap();
    }
    symlink("../outside/public.txt", root.join("skill/link")).unwrap();
    symlink("/etc/shadow", root.join("skill/shadow")).unwrap();
    symlink("../outside", root.join("skill/directory")).unwrap();
}

/// Creates files that may hold keys in a workspace, with a hard link and a symlink to one of them.
pub fn create_keys(workspace: &Path) {
    fs::create_dir_all(workspace.join("keys/.aws")).unwrap();
    fs::write(workspace.join(".env"), "KEY=1").unwrap();
    fs::write(workspace.join("keys/.aws/credentials"), "KEY=2").unwrap();
    fs::hard_link(workspace.join(".env"), workspace.join("keys/hard.txt")).unwrap();
    symlink("../.env", workspace.join("keys/symbolic.txt")).unwrap();
}

/// Describes all metadata and contents of a tree that a script could change.
#[must_use]
pub fn metadata_of_tree(path: &Path) -> String {
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

/// A process of the host outside of any sandbox.
pub struct Victim(Child);

impl Victim {
    /// Starts the process.
    #[must_use]
    pub fn start() -> Self {
        Self(
            Command::new("sleep")
                .arg("600")
                .env("CANARY_OF_VICTIM", "canary")
                .spawn()
                .unwrap(),
        )
    }

    /// Returns its number.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.0.id()
    }

    /// Returns whether it runs.
    pub fn is_alive(&mut self) -> bool {
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
pub trait ConnectionCount {
    /// Returns the number since the last call.
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

/// Returns the PIDs of processes of the host with a text in their arguments.
#[cfg(target_os = "linux")]
#[must_use]
pub fn processes_with_argument(text: &str) -> Vec<u32> {
    let numbers = fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let has_text = |pid: &u32| {
        fs::read(format!("/proc/{pid}/cmdline"))
            .is_ok_and(|line| String::from_utf8_lossy(&line).contains(text))
    };
    numbers.filter(has_text).collect()
}

/// Returns a Python function with the numbers of system calls on this architecture: `number('bpf')`.
#[cfg(target_os = "linux")]
#[must_use]
pub fn syscall_numbers() -> String {
    macro_rules! table {
        ($($name:ident)*) => { [$((stringify!($name), libc::$name)),*] };
    }
    let table = table!(
        SYS_tgkill SYS_tkill SYS_ptrace SYS_process_vm_readv SYS_process_vm_writev SYS_kcmp SYS_keyctl SYS_add_key SYS_request_key SYS_unshare SYS_setns
        SYS_clone SYS_clone3 SYS_mount SYS_umount2 SYS_pivot_root SYS_open_tree SYS_move_mount SYS_mount_setattr SYS_fsopen SYS_fsconfig SYS_fsmount SYS_fspick
        SYS_io_uring_setup SYS_io_uring_enter SYS_io_uring_register SYS_bpf SYS_perf_event_open SYS_userfaultfd SYS_kexec_load SYS_init_module
        SYS_finit_module SYS_delete_module SYS_reboot SYS_swapon SYS_swapoff SYS_acct SYS_quotactl SYS_syslog SYS_settimeofday SYS_clock_settime SYS_adjtimex
        SYS_open_by_handle_at SYS_name_to_handle_at SYS_fanotify_init SYS_personality SYS_shmget SYS_shmat SYS_semget SYS_msgget SYS_mq_open SYS_vmsplice SYS_vhangup
        SYS_io_setup SYS_inotify_init1 SYS_timer_create
    );
    let entries: Vec<String> = table
        .iter()
        .map(|(name, number)| format!("'{}': {number}", &name[4..]))
        .collect();
    format!(
        "def number(name): return {{{}}}[name]\n",
        entries.join(", ")
    )
}
