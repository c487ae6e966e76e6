//! Detects cgroups by creating one and joining it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// The limits that cgroups of this host can enforce.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct ControlGroups {
    /// The memory of all processes in a group together.
    pub(crate) memory: bool,
    /// The number of processes in a group.
    pub(crate) processes: bool,
}

/// Returns the limits that a cgroup created below or next to that of this process would have.
/// Detected once per process.
pub(crate) fn control_groups() -> ControlGroups {
    static DETECTED: OnceLock<ControlGroups> = OnceLock::new();
    *DETECTED.get_or_init(|| {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let parents = parents(&read("/proc/self/cgroup"), &read("/proc/mounts"));
        parents
            .iter()
            .map(|parent| limits(parent))
            .fold(ControlGroups::default(), |one, other| ControlGroups {
                memory: one.memory || other.memory,
                processes: one.processes || other.processes,
            })
    })
}

/// Returns the cgroups of this process. In version 2 also the one above it, since a cgroup with
/// processes gives its children no limits.
fn parents(groups: &str, mounts: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for mount in mounts.lines() {
        let mut words = mount.split(' ').skip(1);
        let (Some(directory), Some(kind), Some(options)) =
            (words.next(), words.next(), words.next())
        else {
            continue;
        };
        for group in groups.lines() {
            let mut parts = group.splitn(3, ':').skip(1);
            let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else {
                continue;
            };
            let own = Path::new(directory).join(path.trim_start_matches('/'));
            let is_listed = |name: &str| options.split(',').any(|option| option == name);
            if kind == "cgroup2" && controllers.is_empty() {
                found.extend(
                    (own.as_path() != Path::new(directory))
                        .then(|| own.parent().map(Path::to_owned))
                        .flatten(),
                );
                found.push(own);
            } else if kind == "cgroup"
                && !controllers.is_empty()
                && controllers.split(',').all(is_listed)
            {
                found.push(own);
            }
        }
    }
    found
}

/// Creates a cgroup, sets its limits and lets a process join it.
fn limits(parent: &Path) -> ControlGroups {
    let directory = parent.join(format!("test-support-{}", std::process::id()));
    if fs::create_dir(&directory).is_err() {
        return ControlGroups::default();
    }
    let set = |names: &[&str], value: &str| {
        names
            .iter()
            .any(|name| fs::write(directory.join(name), value).is_ok())
    };
    let memory = set(&["memory.max", "memory.limit_in_bytes"], "1073741824");
    let processes = set(&["pids.max"], "100");
    let can_join = Command::new("/bin/sh")
        .args(["-c", "echo 0 > \"$0/cgroup.procs\""])
        .arg(&directory)
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    let _ = fs::remove_dir(&directory);
    ControlGroups {
        memory: memory && can_join,
        processes: processes && can_join,
    }
}

#[test]
fn groups_of_both_versions_are_found() {
    let mounts = "cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\ncgroup /sys/fs/cgroup/memory cgroup rw,memory 0 0\n\
                  cgroup /sys/fs/cgroup/cpu cgroup rw,cpu,cpuacct 0 0\nproc /proc proc rw 0 0\n";
    let found = parents("4:memory:/a/b\n2:cpu,cpuacct:/\n0::/c/d\n", mounts);
    let names: Vec<_> = found
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    let expected = [
        "/sys/fs/cgroup/unified/c",
        "/sys/fs/cgroup/unified/c/d",
        "/sys/fs/cgroup/memory/a/b",
        "/sys/fs/cgroup/cpu/",
    ];
    assert_eq!(names, expected);
    assert_eq!(
        parents("0::/\n", mounts),
        [Path::new("/sys/fs/cgroup/unified/")]
    );
}

#[test]
fn a_directory_that_is_not_a_cgroup_limits_nothing() {
    assert_eq!(limits(Path::new("/proc")), ControlGroups::default());
}
