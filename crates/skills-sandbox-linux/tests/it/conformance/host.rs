//! Host processes for one task: this test program, started again with another environment, or to be
//! killed, counted or sandboxed itself.
#![expect(
    clippy::disallowed_methods,
    reason = "the environment of a host process selects its task"
)]

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use skills_policy::{Authorization, Capability, Policy, Request, RuleSource};
use skills_sandbox::{Job, Program, Sandbox, ScriptType};
use skills_sandbox_linux::{IsolationMode, LinuxSandbox};
use skills_test_support::host_process::{self, print_marked};

use super::scene::{create_scene, has_node};
use crate::skill::Skill;

/// Returns a command that starts a host process for `task`.
pub(crate) fn command(task: &str, mode: IsolationMode) -> Command {
    let test = "conformance::host::a_host_process_for_one_task";
    let mut command = host_process::command(test, task);
    command.env("SKILLS_TEST_ISOLATION", format!("{mode:?}"));
    command
}

/// Does nothing unless [`command`] started this process.
#[tokio::test(flavor = "multi_thread", worker_threads = 8)]
async fn a_host_process_for_one_task() {
    let Some(task) = host_process::task() else {
        return;
    };
    let mode = match std::env::var("SKILLS_TEST_ISOLATION").unwrap().as_str() {
        "Namespaces" => IsolationMode::Namespaces,
        "LandlockOnly" => IsolationMode::LandlockOnly,
        _ => IsolationMode::BestAvailable,
    };
    match task.as_str() {
        "environment" => environment(mode).await,
        "killed" => killed(mode).await,
        "many" => many(mode).await,
        "nested" => nested(mode).await,
        other => panic!("unknown task {other}"),
    }
}

async fn environment(mode: IsolationMode) {
    let skill = create_scene(mode);
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
        let output = skill.run(skill.job(name, script)).await;
        assert!(output.termination.is_success(), "{}", output.stderr.text());
        output.stdout.text().lines().for_each(print_marked);
    }
}

/// Runs a script that holds the pipe `script` open, and a daemon that holds `alive` open, until the
/// test kills this host process.
async fn killed(mode: IsolationMode) {
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
    let sandbox = LinuxSandbox::new(root.join("scratch")).isolation_mode(mode);
    let _ = sandbox
        .run(Job::new(grants, Program::script(ScriptType::Python, path)))
        .await;
}

/// Runs a thousand jobs, 64 at a time, in a host process with much memory, and then counts what is
/// left of them.
async fn many(mode: IsolationMode) {
    const RUNS: usize = 1_000;
    const AT_ONCE: usize = 64;
    // The table says one gigabyte. A quarter of it is as good, since nothing here grows with it.
    let memory = vec![1_u8; 256 << 20];
    let skill = Arc::new(Skill::new(mode));
    let job = skill.job(
        "main.sh",
        "read -r line; echo \"$line$line\"; echo \"$line\" >&2",
    );
    // What is created once per process must not count as left by a run.
    skill
        .run(job.clone().stdin(b"0\n".to_vec()))
        .await
        .termination
        .is_success()
        .then_some(())
        .unwrap();
    let before = count_resources(&skill);
    let permits = Arc::new(tokio::sync::Semaphore::new(AT_ONCE));
    let mut runs = tokio::task::JoinSet::new();
    for number in 0..RUNS {
        let (skill, job, permit) = (
            Arc::clone(&skill),
            job.clone(),
            Arc::clone(&permits).acquire_owned().await.unwrap(),
        );
        runs.spawn(async move {
            let output = skill
                .run(job.stdin(format!("{number}\n").into_bytes()))
                .await;
            drop(permit);
            (number, output.stdout.text(), output.stderr.text())
        });
    }
    let mut mixed = 0;
    while let Some(run) = runs.join_next().await {
        let (number, out, err) = run.unwrap();
        mixed += usize::from(out != format!("{number}{number}\n") || err != format!("{number}\n"));
    }
    print_marked(format!("mixed {mixed}"));
    // Threads that reap or measure may need a moment. One of the first run may still have had
    // descriptors open when they were counted, so only additional resources are left by a run.
    let mut after = count_resources(&skill);
    for _ in 0..50 {
        if !has_more(&after, &before) {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        after = count_resources(&skill);
    }
    print_marked(if has_more(&after, &before) {
        format!("left {before:?} -> {after:?}")
    } else {
        "nothing left".to_owned()
    });
    print_marked(format!(
        "memory {}",
        memory.iter().step_by(4096).all(|byte| *byte == 1)
    ));
}

/// Counts descriptors, children, mounts, cgroups and temporary files of this process.
fn count_resources(skill: &Skill) -> [usize; 5] {
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
        count_cgroups(Path::new("/sys/fs/cgroup"), &format!("skills-{own}-"), 4),
        skill.leftovers(),
    ]
}

fn has_more(after: &[usize; 5], before: &[usize; 5]) -> bool {
    after
        .iter()
        .zip(before)
        .any(|(after, before)| after > before)
}

fn count_cgroups(directory: &Path, start: &str, depth: u8) -> usize {
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
                    count_cgroups(&entry.path(), start, depth - 1)
                } else {
                    0
                }
        })
        .sum()
}

/// Prints what a probe in a sandbox finds, and the result of a run.
async fn nested(mode: IsolationMode) {
    let sandbox = LinuxSandbox::new(std::env::temp_dir()).isolation_mode(mode);
    match sandbox.probe() {
        Ok(report) => print_marked(format!("probe {report:?}")),
        Err(error) => print_marked(format!(
            "unavailable: {} | {error} | {}",
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
        Ok(output) => print_marked(format!(
            "ran {} {:?}",
            output.stdout.text().trim(),
            output.enforcement
        )),
        Err(error) => print_marked(format!("rejected: {error}")),
    }
}
