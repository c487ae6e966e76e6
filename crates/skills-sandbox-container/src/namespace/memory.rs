//! Counts processes that the kernel killed because memory ran out, in the cgroup of a container.
#![expect(
    clippy::disallowed_methods,
    reason = "files of the kernel about processes, not of a skill"
)]

use std::fs;
use std::path::{Path, PathBuf};

const CGROUPS: &str = "/sys/fs/cgroup";

/// Returns how many processes of the container were killed because memory ran out; `None` if its cgroup is
/// not visible on this host. Engines report it for the first process only.
pub(crate) fn memory_kills(pid: i32) -> Option<u64> {
    let groups = fs::read_to_string(format!("/proc/{pid}/cgroup")).ok()?;
    let file = counter_files(&groups).find_map(|file| fs::read_to_string(file).ok())?;
    parse_kills(&file)
}

/// Returns the files that can have the counter: that of the memory controller, or of the unified
/// hierarchy.
fn counter_files(groups: &str) -> impl Iterator<Item = PathBuf> {
    groups.lines().filter_map(|line| {
        let mut parts = line.splitn(3, ':');
        let (_, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
        let path = path.trim_start_matches('/');
        if controllers.split(',').any(|name| name == "memory") {
            Some(
                Path::new(CGROUPS)
                    .join("memory")
                    .join(path)
                    .join("memory.oom_control"),
            )
        } else if controllers.is_empty() {
            Some(Path::new(CGROUPS).join(path).join("memory.events"))
        } else {
            None
        }
    })
}

fn parse_kills(text: &str) -> Option<u64> {
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("oom_kill "))?;
    line.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_versions_of_cgroups_are_read() {
        let files = |groups: &str| -> Vec<String> {
            counter_files(groups)
                .map(|file| file.display().to_string())
                .collect()
        };
        assert_eq!(
            files("8:pids:/a\n4:memory:/a/b\n0::/u\n"),
            [
                "/sys/fs/cgroup/memory/a/b/memory.oom_control",
                "/sys/fs/cgroup/u/memory.events"
            ]
        );
        assert_eq!(files("0::/a/b\n"), ["/sys/fs/cgroup/a/b/memory.events"]);
        assert_eq!(parse_kills("low 0\noom 3\noom_kill 2\n"), Some(2));
        assert_eq!(
            parse_kills("oom_kill_disable 0\nunder_oom 0\noom_kill 1\n"),
            Some(1)
        );
        assert_eq!(parse_kills("low 0\n"), None);
    }
}
