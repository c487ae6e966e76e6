//! Files in `/proc` and `/sys`: cases 26 to 31.

use std::fs;

use skills_sandbox::conformance::AttemptResult;

use super::attempts::{node, python, shell, with_case};
use super::observations::Observations;
use super::scene::{Victim, create_scene, has_node, python_paths};

pub(crate) async fn run(observations: &mut Observations) {
    others(observations).await;
    settings(observations).await;
    observations.finish_group("proc");
}

async fn others(observations: &mut Observations) {
    let (skill, mut victim) = (create_scene(observations.mode), Victim::new());
    let numbers = [victim.pid(), std::process::id()];
    let files = [
        "environ",
        "cmdline",
        "maps",
        "mem",
        "status",
        "root/etc/hostname",
        "cwd/Cargo.toml",
        "stat",
    ];
    let mut attempts: Vec<(u8, String)> = Vec::new();
    for number in numbers {
        attempts.extend(
            files
                .iter()
                .map(|file| (26, format!("open('/proc/{number}/{file}', 'rb').read(1)"))),
        );
        attempts.extend(
            ["fd", "task", "root"]
                .iter()
                .map(|file| (26, format!("os.listdir('/proc/{number}/{file}')"))),
        );
        attempts.push((26, format!("os.readlink('/proc/{number}/exe')")));
    }
    attempts.push((26, "mine(open('/proc/1/environ', 'rb').read())".to_owned()));
    // The first process in a sandbox, and otherwise a process of the host.
    for code in [
        "os.open('/proc/1/mem', os.O_RDONLY)",
        "os.open('/proc/1/mem', os.O_RDWR)",
        "os.open('/proc/1/fd/0', os.O_WRONLY)",
        "os.readlink('/proc/1/fd/0')",
        "os.readlink('/proc/1/exe')",
        "open('/proc/1/maps').read(1) or open('/none')",
    ] {
        attempts.push((26, code.to_owned()));
    }
    for code in [
        "open('/proc/self/root/etc/shadow').read()",
        "open('/proc/self/root' + outside + '/public.txt').read()",
        "open('/proc/self/root/../../' + outside + '/public.txt').read()",
        "open('/proc/1/root' + outside + '/public.txt').read()",
        "open('/proc/self/task/1/root' + outside + '/public.txt').read()",
        "open('/proc/self/cwd/../outside/public.txt').read()",
        "os.open('/proc/self/fd/%d' % os.open('SKILL.md', os.O_RDONLY), os.O_RDWR)",
        "os.open('/dev/fd/%d' % os.open('SKILL.md', os.O_RDONLY), os.O_WRONLY | os.O_TRUNC)",
        "os.open('/proc/self/exe', os.O_WRONLY)",
        "os.open('/proc/self/mem', os.O_RDWR)",
    ] {
        attempts.push((27, code.to_owned()));
    }
    let prelude = format!(
        "{}def mine(environment):\n    if b'CANARY_OF_VICTIM' in environment or b'SHLVL' in environment: return environment\n    raise OSError(errno.ENOENT, '')",
        python_paths(&skill)
    );
    let (tried, _) = python(&skill, &prelude, &attempts).await;
    // Writing to its own memory does not let a process escape. Some kernels allow it.
    let tried: Vec<_> = tried
        .into_iter()
        .filter(|tried| !tried.code.contains("self/mem"))
        .collect();
    observations.check_denied(&tried);
    let path = |file: &str| format!("/proc/{}/{file}", numbers[1]);
    observations.check_denied(
        &shell(
            &skill,
            &[
                (26, format!("read -r line < {}", path("status"))),
                (26, format!("cd {}", path("root"))),
            ],
        )
        .await,
    );
    if has_node() {
        let file = path("environ");
        observations.check_denied(
            &node(
                &skill,
                &[
                    (26, format!("fs.readFileSync('{file}')")),
                    (27, "fs.readFileSync('/proc/self/root/etc/shadow')".into()),
                ],
            )
            .await,
        );
    }
    let (tried, _) = python(
        &skill,
        "",
        &[(
            29,
            "sorted(name for name in os.listdir('/proc') if name.isdigit())",
        )],
    )
    .await;
    match &tried[0].result {
        Ok(listed) => {
            observations.check(29, listed, AttemptResult::Contained, listed == "['1', '2']")
        }
        Err(error) => observations.observe(29, error, AttemptResult::Denied),
    }
    observations.check(
        26,
        "the other process",
        AttemptResult::Denied,
        victim.is_alive(),
    );
}

/// Writes the current values, or nothing: a missing restriction must not harm the host that detects
/// it.
async fn settings(observations: &mut Observations) {
    let skill = create_scene(observations.mode).tool("Write").tool("Bash");
    let host = || {
        ["core_pattern", "hostname", "sysrq"]
            .map(|name| fs::read_to_string(format!("/proc/sys/kernel/{name}")).ok())
    };
    let before = (host(), fs::read_to_string("/proc/self/cgroup").unwrap());
    let attempts: Vec<(u8, &str)> = [
        (
            28,
            &[
                "write('/proc/sys/kernel/core_pattern', 'core')",
                "write('/proc/sys/kernel/hostname', os.uname().nodename)",
                "write('/proc/sysrq-trigger', 'h')",
                "write('/proc/sys/vm/drop_caches', '1')",
                "open('/proc/sys/kernel/core_pattern').read()",
                "socket.sethostname(os.uname().nodename)",
                "write('/proc/self/root/proc/sys/kernel/hostname', os.uname().nodename)",
            ][..],
        ),
        (
            30,
            &[
                "write('/sys/fs/cgroup/cgroup.procs', '0')",
                "write('/sys/fs/cgroup/unified/cgroup.procs', '0')",
                "write('/sys/fs/cgroup/pids/tasks', '0')",
                "write('/sys/fs/cgroup/memory/release_agent', '')",
                "write('/sys/fs/cgroup/systemd/release_agent', '')",
                "os.mkdir('/sys/fs/cgroup/evil')",
                "os.listdir('/sys')",
            ],
        ),
        (
            31,
            &[
                "write('/proc/self/uid_map', '0 0 1')",
                "write('/proc/self/gid_map', '0 0 1')",
                "write('/proc/self/setgroups', 'allow')",
                "write('/proc/self/oom_score_adj', '-1000')",
                "write('/proc/self/loginuid', '0')",
                "write('/proc/self/attr/current', 'unconfined')",
                "write('/proc/self/coredump_filter', '0xff')",
            ],
        ),
    ]
    .iter()
    .flat_map(|(case, codes)| with_case(*case, codes))
    .collect();
    let (tried, _) = python(&skill, "", &attempts).await;
    observations.check_denied(&tried);
    observations.check(
        28,
        "the host's settings",
        AttemptResult::Denied,
        before == (host(), fs::read_to_string("/proc/self/cgroup").unwrap()),
    );
}
