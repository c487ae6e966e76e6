//! Finds where control groups can be made: never in a group that is not the host's own to divide.
#![expect(
    clippy::disallowed_methods,
    reason = "control groups are described in files of the kernel"
)]

use std::fs;
use std::path::{Path, PathBuf};

use nix::unistd::{AccessFlags, access};

/// A directory in which groups can be made, and what they would count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CgroupParent {
    pub(super) directory: PathBuf,
    pub(super) version: Version,
    pub(super) memory: bool,
    pub(super) processes: bool,
}

/// The version of the kernel's interface, which decides the names of the memory controller's files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Version {
    V1,
    V2,
}

/// Looks at the process that `process` (a directory of `/proc`) describes.
pub(super) fn discover(process: &Path) -> Vec<CgroupParent> {
    let read = |name: &str| fs::read_to_string(process.join(name)).unwrap_or_default();
    let (groups, mounts) = (read("cgroup"), read("mountinfo"));
    let mut found: Vec<CgroupParent> = Vec::new();
    for candidate in candidates(&groups, &mounts) {
        let is_new =
            |wanted: fn(&CgroupParent) -> bool| wanted(&candidate) && !found.iter().any(wanted);
        let (memory, processes) = (
            is_new(|place| place.memory),
            is_new(|place| place.processes),
        );
        if (memory || processes) && is_writable(&candidate.directory) {
            found.push(CgroupParent {
                memory,
                processes,
                ..candidate
            });
        }
    }
    found
}

fn is_writable(directory: &Path) -> bool {
    let all = AccessFlags::W_OK | AccessFlags::X_OK;
    access(directory, all).is_ok()
        && access(&directory.join("cgroup.procs"), AccessFlags::W_OK).is_ok()
}

/// Lists directories with the controllers that groups made in them would have, those of version 2
/// first.
fn candidates(groups: &str, mounts: &str) -> Vec<CgroupParent> {
    let mut found = Vec::new();
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(path)) = (parts.next(), parts.next(), parts.next())
        else {
            continue;
        };
        let path = Path::new(path);
        if !path.is_absolute() {
            continue;
        }
        if controllers.is_empty() {
            let Some(mount) = mount_point(mounts, "cgroup2", None) else {
                continue;
            };
            // A group with processes of its own, as the host's is, gives its children no
            // controllers; the one above it may.
            for above in path.ancestors().take(2) {
                let directory = path_below_mount(&mount, above);
                let enabled = fs::read_to_string(directory.join("cgroup.subtree_control"))
                    .unwrap_or_default();
                let has = |name: &str| enabled.split_whitespace().any(|known| known == name);
                found.insert(
                    0,
                    CgroupParent {
                        directory,
                        version: Version::V2,
                        memory: has("memory"),
                        processes: has("pids"),
                    },
                );
            }
            continue;
        }
        // Several controllers of version 1 may share one hierarchy.
        let has = |name: &str| controllers.split(',').any(|controller| controller == name);
        let (memory, processes) = (has("memory"), has("pids"));
        let controller = if memory { "memory" } else { "pids" };
        if let Some(mount) =
            mount_point(mounts, "cgroup", Some(controller)).filter(|_| memory || processes)
        {
            found.push(CgroupParent {
                directory: path_below_mount(&mount, path),
                version: Version::V1,
                memory,
                processes,
            });
        }
    }
    found
}

fn path_below_mount(mount: &Path, path: &Path) -> PathBuf {
    mount.join(path.strip_prefix("/").unwrap_or(path))
}

/// Finds where a hierarchy is mounted whole.
fn mount_point(mounts: &str, kind: &str, controller: Option<&str>) -> Option<PathBuf> {
    mounts.lines().find_map(|line| {
        let (mount, filesystem) = line.split_once(" - ")?;
        let mut mount = mount.split(' ').skip(3);
        let (root, place) = (mount.next()?, mount.next()?);
        let mut filesystem = filesystem.split(' ');
        let is_kind = filesystem.next()? == kind;
        let has = |name: &str| {
            filesystem
                .nth(1)
                .is_some_and(|options| options.split(',').any(|option| option == name))
        };
        (is_kind && root == "/" && controller.is_none_or(has)).then(|| PathBuf::from(place))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "30 25 0:26 / /sys/fs/cgroup/unified rw,nosuid shared:9 - cgroup2 cgroup rw\n\
                          31 25 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
                          32 25 0:28 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n";

    #[test]
    fn finds_both_kinds_and_nothing_that_is_not_mounted() {
        let found = |groups: &str, mounts: &str| -> Vec<String> {
            candidates(groups, mounts)
                .iter()
                .map(|place| {
                    format!(
                        "{} {:?} {} {}",
                        place.directory.display(),
                        place.version,
                        place.memory,
                        place.processes
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
