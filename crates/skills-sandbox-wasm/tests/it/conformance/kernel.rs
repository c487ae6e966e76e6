//! procfs and cgroups: cases 26 to 31, and named memory: case 93.

use std::fs;

use skills_sandbox_conformance::{AttemptResult, Observations};

use super::denied::check_denied;
use super::layout::{asked_for, create_layout, everywhere};
use crate::cases::fixture::Generation;

/// Paths to read, by case.
const READ: &[(u8, &[&str])] = &[
    (
        26,
        &[
            "/proc/1/environ",
            "/proc/1/cmdline",
            "/proc/self/environ",
            "/proc/self/mem",
            "/proc/self/maps",
        ],
    ),
    (
        27,
        &[
            "/proc/self/root/etc/passwd",
            "/proc/1/root/etc/passwd",
            "/proc/self/cwd/Cargo.toml",
            "/proc/self/fd/0",
            "/dev/fd/1",
        ],
    ),
];
/// Paths that are opened for writing, although nothing is written.
const WRITE: &[(u8, &[&str])] = &[
    (
        28,
        &[
            "/proc/sys/kernel/hostname",
            "/proc/sys/kernel/core_pattern",
            "/proc/sysrq-trigger",
        ],
    ),
    (
        30,
        &[
            "/sys/fs/cgroup/cgroup.procs",
            "/sys/fs/cgroup/release_agent",
            "/sys/fs/cgroup/memory/release_agent",
        ],
    ),
    (
        31,
        &[
            "/proc/self/uid_map",
            "/proc/self/setgroups",
            "/proc/self/oom_score_adj",
        ],
    ),
];

pub(crate) async fn observe(observations: &mut Observations) {
    for &generation in Generation::ALL {
        let fixture = create_layout(generation).writable();
        for (case, paths) in READ {
            check_denied(
                observations,
                *case,
                &fixture,
                &[everywhere(&["raw-read"], paths), asked_for(paths)].concat(),
            )
            .await;
        }
        let host = [
            format!("/proc/{}/environ", std::process::id()),
            format!("/proc/{}/mem", std::process::id()),
        ];
        check_denied(
            observations,
            26,
            &fixture,
            &everywhere(&["raw-read", "truncate"], &host),
        )
        .await;
        for (case, paths) in WRITE {
            check_denied(
                observations,
                *case,
                &fixture,
                &everywhere(&["truncate", "create"], paths),
            )
            .await;
        }
        check_denied(
            observations,
            29,
            &fixture,
            &everywhere(&["list"], &["/proc", "/proc/self/task"]),
        )
        .await;
        // Memory that the host shares with other programs; without such a directory there is
        // nothing to find.
        let shared = tempfile::NamedTempFile::new_in("/dev/shm").ok();
        let path = shared
            .as_ref()
            .map_or("/dev/shm/nothing".into(), |file| file.path().to_owned());
        let _ = fs::write(&path, "host");
        check_denied(
            observations,
            93,
            &fixture,
            &everywhere(&["raw-read", "write"], &[&path]),
        )
        .await;
        observations.check(
            93,
            "seen from outside",
            AttemptResult::Denied,
            shared.is_none_or(|file| fs::read(file.path()).unwrap() == b"host"),
        );
    }
}
