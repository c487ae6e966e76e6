//! Finds cgroups in which child groups may be created; only groups delegated to this process.
#![expect(
    clippy::disallowed_methods,
    reason = "the kernel describes cgroups in files"
)]

use std::fs;
use std::path::{Path, PathBuf};

use nix::unistd::{AccessFlags, access};

/// A directory in which cgroups can be created, and what these would count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CgroupParent {
    pub(super) directory: PathBuf,
    pub(super) version: Version,
    pub(super) memory: bool,
    pub(super) processes: bool,
}

/// The version of the kernel's interface, which determines the file names of the memory controller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Version {
    V1,
    V2,
}

/// Returns the parents for cgroups of a process, given its directory in `/proc`. Each controller is
/// used in one hierarchy only.
pub(super) fn discover(process: &Path) -> Vec<CgroupParent> {
    let read = |name: &str| fs::read_to_string(process.join(name)).unwrap_or_default();
    let mut parents: Vec<CgroupParent> = Vec::new();
    for candidate in candidates(&read("cgroup"), &read("mountinfo")) {
        let memory = candidate.memory && !parents.iter().any(|parent| parent.memory);
        let processes = candidate.processes && !parents.iter().any(|parent| parent.processes);
        if (memory || processes) && is_writable(&candidate.directory) {
            parents.push(CgroupParent {
                memory,
                processes,
                ..candidate
            });
        }
    }
    parents
}

/// Returns true if the process may create groups in a directory and move processes there.
fn is_writable(directory: &Path) -> bool {
    let all = AccessFlags::W_OK | AccessFlags::X_OK;
    access(directory, all).is_ok()
        && access(&directory.join("cgroup.procs"), AccessFlags::W_OK).is_ok()
}

/// Returns directories with the controllers that cgroups created in them would have, those of
/// version 2 first.
fn candidates(groups: &str, mounts: &str) -> Vec<CgroupParent> {
    let mut unified = Vec::new();
    let mut legacy = Vec::new();
    for line in groups.lines() {
        // Lines are `ID:CONTROLLERS:PATH`; version 2 has no controllers here.
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else {
            continue;
        };
        let path = Path::new(path);
        if !path.is_absolute() {
            continue;
        }
        if controllers.is_empty() {
            unified.extend(unified_candidates(path, mounts));
        } else {
            legacy.extend(legacy_candidate(controllers, path, mounts));
        }
    }
    unified.extend(legacy);
    unified
}

/// Returns the cgroup of the process and the one above it, the outer one first: a cgroup with
/// processes, as that of the host process, enables no controllers for its children.
fn unified_candidates(path: &Path, mounts: &str) -> Vec<CgroupParent> {
    let Some(mount) = mount_point(mounts, "cgroup2", None) else {
        return Vec::new();
    };
    let mut candidates: Vec<_> = path
        .ancestors()
        .take(2)
        .map(|path| {
            let directory = path_below_mount(&mount, path);
            let enabled =
                fs::read_to_string(directory.join("cgroup.subtree_control")).unwrap_or_default();
            let has = |name: &str| enabled.split_whitespace().any(|known| known == name);
            CgroupParent {
                version: Version::V2,
                memory: has("memory"),
                processes: has("pids"),
                directory,
            }
        })
        .collect();
    candidates.reverse();
    candidates
}

/// Returns the cgroup of the process in a hierarchy of version 1, which several controllers may
/// share.
fn legacy_candidate(controllers: &str, path: &Path, mounts: &str) -> Option<CgroupParent> {
    let has = |name: &str| controllers.split(',').any(|controller| controller == name);
    let memory = has("memory");
    let processes = has("pids");
    if !memory && !processes {
        return None;
    }
    let controller = if memory { "memory" } else { "pids" };
    let mount = mount_point(mounts, "cgroup", Some(controller))?;
    Some(CgroupParent {
        directory: path_below_mount(&mount, path),
        version: Version::V1,
        memory,
        processes,
    })
}

fn path_below_mount(mount: &Path, path: &Path) -> PathBuf {
    mount.join(path.strip_prefix("/").unwrap_or(path))
}

/// Returns where a whole hierarchy is mounted. A mount of a part of it is ignored, since its paths
/// are not those of `/proc/PID/cgroup`.
fn mount_point(mounts: &str, kind: &str, controller: Option<&str>) -> Option<PathBuf> {
    mounts.lines().find_map(|line| {
        let (mount, filesystem) = line.split_once(" - ")?;
        let mut mount = mount.split(' ').skip(3);
        let root = mount.next()?;
        let directory = mount.next()?;
        let mut filesystem = filesystem.split(' ');
        let is_kind = filesystem.next()? == kind;
        let has = |name: &str| {
            filesystem
                .nth(1)
                .is_some_and(|options| options.split(',').any(|option| option == name))
        };
        (is_kind && root == "/" && controller.is_none_or(has)).then(|| PathBuf::from(directory))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "30 25 0:26 / /sys/fs/cgroup/unified rw,nosuid shared:9 - cgroup2 cgroup rw\n\
                          31 25 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
                          32 25 0:28 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n";

    #[test]
    fn mounted_cgroups_of_both_versions_are_found() {
        let found = |groups: &str, mounts: &str| -> Vec<String> {
            candidates(groups, mounts)
                .iter()
                .map(|parent| {
                    format!(
                        "{} {:?} {} {}",
                        parent.directory.display(),
                        parent.version,
                        parent.memory,
                        parent.processes
                    )
                })
                .collect()
        };
        assert_eq!(
            found("8:pids:/\n4:memory:/a/b\n3:cpu:/\n", MOUNTS),
            [
                "/sys/fs/cgroup/pids/ V1 false true",
                "/sys/fs/cgroup/memory/a/b V1 true false"
            ]
        );
        let shared = "30 25 0:26 / /sys/fs/cgroup/both rw - cgroup cgroup rw,memory,pids\n";
        assert_eq!(
            found("4:memory,pids:/a\n", shared),
            ["/sys/fs/cgroup/both/a V1 true true"]
        );
        assert_eq!(
            found("0::/no/such\n", MOUNTS),
            [
                "/sys/fs/cgroup/unified/no V2 false false",
                "/sys/fs/cgroup/unified/no/such V2 false false"
            ]
        );
        assert_eq!(
            found("8:pids:/\n0::/\n", "1 2 0:1 / /proc rw - proc proc rw\n"),
            Vec::<String>::new()
        );
        assert_eq!(found("garbage\n:::\n", MOUNTS), Vec::<String>::new());
    }
}
