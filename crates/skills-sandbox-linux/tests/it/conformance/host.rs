//! Hosts of their own: this very program, started once more to do one thing, so that it can have
//! another environment, be killed, be counted or be confined itself.
#![expect(
    clippy::disallowed_methods,
    reason = "a host of its own is told by its environment what to do"
)]

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use skills_policy::{Authorization, Capability, Policy, Request, RuleSource};
use skills_sandbox::{Job, Program, Sandbox, ScriptType};
use skills_sandbox_linux::{IsolationMode, LinuxSandbox};

use super::scene::{has_node, planted};
use crate::skill::Skill;

/// What stands before a line that a host says.
const MARK: &str = "> ";

/// Prepares the start of a host that does `task`.
pub(crate) fn command(task: &str, tier: IsolationMode) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([
        "--exact",
        "conformance::host::a_host_of_its_own",
        "--nocapture",
        "--test-threads=1",
    ]);
    command
        .env("SKILLS_TEST_TASK", task)
        .env("SKILLS_TEST_TIER", format!("{tier:?}"))
        .stdout(Stdio::piped());
    command
}

/// Returns what a host said, without what the test harness says.
pub(crate) fn said(text: &str) -> Vec<String> {
    text.lines()
        .filter_map(|line| line.split_once(MARK))
        .map(|(_, line)| line.to_owned())
        .collect()
}

fn say(line: impl std::fmt::Display) {
    println!("\n{MARK}{line}");
}

/// Does nothing unless [`command`] started it.
#[tokio::test(flavor = "multi_thread", worker_threads = 8)]
async fn a_host_of_its_own() {
    let Ok(task) = std::env::var("SKILLS_TEST_TASK") else {
        return;
    };
    let tier = match std::env::var("SKILLS_TEST_TIER").unwrap().as_str() {
        "Isolated" => IsolationMode::Namespaces,
        "Landlock" => IsolationMode::LandlockOnly,
        _ => IsolationMode::BestAvailable,
    };
    match task.as_str() {
        "environment" => environment(tier).await,
        "killed" => killed(tier).await,
        "many" => many(tier).await,
        "nested" => nested(tier).await,
        other => panic!("unknown task {other}"),
    }
}

async fn environment(tier: IsolationMode) {
    let skill = planted(tier);
    let mut scripts = vec![
        (
            "main.py",
            "import os\nfor name in os.environ: print(name + '=' + os.environ[name])",
        ),
        ("main.sh", "export -p"),
    ];
    if has_node() {
        scripts.push((
            "main.js",
            "for (const name in process.env) console.log(`${name}=${process.env[name]}`)",
        ));
    }
    for (name, script) in scripts {
        let outcome = skill.run(skill.job(name, script)).await;
        assert!(
            outcome.termination.is_success(),
            "{}",
            outcome.stderr.text()
        );
        outcome.stdout.text().lines().for_each(say);
    }
}

/// Runs a script that holds the pipe `script`, and a daemon that holds `alive`, until the test
/// kills this host.
async fn killed(tier: IsolationMode) {
    let root = std::env::var("SKILLS_TEST_ROOT").unwrap();
    let root = Path::new(&root);
    let rules = Capability::ALL
        .into_iter()
        .fold(Policy::default(), |rules, capability| {
            rules.allow(RuleSource::Invocation, capability)
        });
    let request = Request::new(root.join("skill"))
        .workspace(root.join("workspace"))
        .allowed_tool("Bash", None)
        .allowed_tool("Write", None);
    let Authorization::Granted(grants) = rules.authorize(&request) else {
        panic!("granted")
    };
    let path = root.join("skill/main.py");
    let script = "import os, signal\nname = '../workspace/alive' if os.fork() == 0 else '../workspace/script'\n\
                  os.write(os.open(name, os.O_WRONLY), b'beat')\nwhile True: signal.pause()";
    fs::write(&path, script).unwrap();
    let sandbox = LinuxSandbox::new(root.join("scratch")).isolation_mode(tier);
    let _ = sandbox
        .run(Job::new(grants, Program::script(ScriptType::Python, path)))
        .await;
}

/// A thousand runs, 64 at a time, of a host that has a good deal of memory; then it counts what is
/// left.
async fn many(tier: IsolationMode) {
    const RUNS: usize = 1_000;
    const AT_ONCE: usize = 64;
    // What the table wants is a gigabyte; a quarter of it tells as much, as nothing here grows with
    // it.
    let memory = vec![1_u8; 256 << 20];
    let skill = Arc::new(Skill::new(tier));
    let job = skill.job(
        "main.sh",
        "read -r line; echo \"$line$line\"; echo \"$line\" >&2",
    );
    // What is made once per process is not left behind by a run.
    skill
        .run(job.clone().stdin(b"0\n".to_vec()))
        .await
        .termination
        .is_success()
        .then_some(())
        .unwrap();
    let before = left(&skill);
    let places = Arc::new(tokio::sync::Semaphore::new(AT_ONCE));
    let mut runs = tokio::task::JoinSet::new();
    for number in 0..RUNS {
        let (skill, job, place) = (
            Arc::clone(&skill),
            job.clone(),
            Arc::clone(&places).acquire_owned().await.unwrap(),
        );
        runs.spawn(async move {
            let outcome = skill
                .run(job.stdin(format!("{number}\n").into_bytes()))
                .await;
            drop(place);
            (number, outcome.stdout.text(), outcome.stderr.text())
        });
    }
    let mut mixed = 0;
    while let Some(run) = runs.join_next().await {
        let (number, out, err) = run.unwrap();
        mixed += usize::from(out != format!("{number}{number}\n") || err != format!("{number}\n"));
    }
    say(format!("mixed {mixed}"));
    // A thread that collects may need a moment.
    let mut after = left(&skill);
    for _ in 0..50 {
        if after == before {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        after = left(&skill);
    }
    say(if before == after {
        "nothing left".to_owned()
    } else {
        format!("left {before:?} -> {after:?}")
    });
    say(format!(
        "memory {}",
        memory.iter().step_by(4096).all(|byte| *byte == 1)
    ));
}

/// Descriptors, children, mounts, control groups and temporary files of this process.
fn left(skill: &Skill) -> [usize; 5] {
    let count = |path: &str| fs::read_dir(path).unwrap().count();
    let own = std::process::id();
    let is_child = |stat: &str| {
        stat.rsplit_once(") ")
            .is_some_and(|(_, rest)| rest.split(' ').nth(1) == Some(&own.to_string()))
    };
    let processes = fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| fs::read_to_string(entry.ok()?.path().join("stat")).ok());
    let children = processes.filter(|stat| is_child(stat)).count();
    let mounts = fs::read_to_string("/proc/self/mountinfo")
        .unwrap()
        .lines()
        .count();
    [
        count("/proc/self/fd"),
        children,
        mounts,
        groups(Path::new("/sys/fs/cgroup"), &format!("skills-{own}-"), 4),
        skill.leftovers(),
    ]
}

fn groups(directory: &Path, start: &str, depth: u8) -> usize {
    let entries = fs::read_dir(directory)
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    entries
        .map(|entry| {
            let is_ours = entry.file_name().to_string_lossy().starts_with(start);
            usize::from(is_ours)
                + if depth > 0 {
                    groups(&entry.path(), start, depth - 1)
                } else {
                    0
                }
        })
        .sum()
}

/// Inside a sandbox: what it finds there, and what comes of a run.
async fn nested(tier: IsolationMode) {
    let sandbox = LinuxSandbox::new(std::env::temp_dir()).isolation_mode(tier);
    match sandbox.probe() {
        Ok(report) => say(format!("probe {report:?}")),
        Err(error) => say(format!(
            "no wall: {} | {error} | {}",
            error.kind().code(),
            error.hint().unwrap_or_default()
        )),
    }
    let directory = Path::new("/proc/self/cwd")
        .canonicalize()
        .unwrap_or_else(|_| std::env::current_dir().unwrap());
    let Authorization::Granted(grants) = Policy::default().authorize(&Request::new(&directory))
    else {
        panic!("granted")
    };
    let job = Job::new(
        grants,
        Program::script(ScriptType::Shell, directory.join("inner.sh")),
    );
    match sandbox.run(job).await {
        Ok(outcome) => say(format!(
            "ran {} {:?}",
            outcome.stdout.text().trim(),
            outcome.enforcement
        )),
        Err(error) => say(format!("refused: {error}")),
    }
}
