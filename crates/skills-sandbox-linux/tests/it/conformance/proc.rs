//! Files in `/proc` and `/sys`: cases 26 to 31.

use std::fs;

use skills_sandbox_conformance::AttemptResult;
use skills_sandbox_conformance::attempts::{KERNEL_FILES, PROCESS_FILES, attempts_of};

use super::attempts::{node, python, shell};
use super::observations::Observations;
use super::scene::{Victim, create_scene, has_node, python_paths};

pub(crate) async fn run(observations: &mut Observations) {
    others(observations).await;
    settings(observations).await;
    observations.finish_group("proc");
}

async fn others(observations: &mut Observations) {
    let (skill, mut victim) = (create_scene(observations.mode), Victim::start());
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
    attempts.extend(
        attempts_of(PROCESS_FILES)
            .into_iter()
            .map(|(case, code)| (case, code.to_owned())),
    );
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
    let attempts = attempts_of(KERNEL_FILES);
    let (tried, _) = python(&skill, "", &attempts).await;
    observations.check_denied(&tried);
    observations.check(
        28,
        "the host's settings",
        AttemptResult::Denied,
        before == (host(), fs::read_to_string("/proc/self/cgroup").unwrap()),
    );
}
