//! Host processes for one task: this test program, started again with another environment, or to be
//! killed, counted or sandboxed itself.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use bollard::Docker;
use bollard::query_parameters::ListContainersOptionsBuilder;
use skills_policy::{ApprovalMode, Authorization, Policy, Request};
use skills_sandbox::{Job, Program, Sandbox, ScriptType};
use skills_sandbox_container::ContainerSandbox;
use skills_test_support::host;
use skills_test_support::host_process::{self, print_marked};

use super::attempts::{create_scene, sandbox, script};
use super::environment::PRINT_VARIABLES;
use crate::skill::Skill;

/// Returns a command that starts a host process for `task`.
pub(crate) fn command(task: &str) -> Command {
    host_process::command("conformance::host::a_host_process_for_one_task", task)
}

/// Does nothing unless [`command`] started this process.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_host_process_for_one_task() {
    let Some(task) = host_process::task() else {
        return;
    };
    match task.as_str() {
        "environment" => environment().await,
        "killed" => killed().await,
        "many" => many().await,
        "nested" => nested().await,
        other => panic!("unknown task {other}"),
    }
}

async fn environment() {
    let output = script(&create_scene(), PRINT_VARIABLES).await;
    assert!(output.termination.is_success(), "{}", output.stderr.text());
    output.stdout.text().lines().for_each(print_marked);
}

fn granted(request: &Request) -> skills_policy::Grants {
    let policy = Policy::default().with_mode(ApprovalMode::Trusted);
    match policy.authorize(request) {
        Authorization::Granted(grants) => grants,
        Authorization::Denied(denial) => panic!("{denial}"),
    }
}

/// Runs a script that holds the pipe `script` open, and a daemon that holds `alive` open, until the
/// test kills this host process.
async fn killed() {
    let root = std::env::var("SKILLS_TEST_ROOT").unwrap();
    let root = Path::new(root.trim_end_matches('/'));
    let request = Request::new(root.join("skill"))
        .workspace(root.join("workspace"))
        .allowed_tool("Write", None);
    let path = root.join("skill/main.py");
    let text = "import os, signal\nname = '../workspace/alive' if os.fork() == 0 else '../workspace/script'\n\
                os.write(os.open(name, os.O_WRONLY), b'beat')\nwhile True: signal.pause()";
    fs::write(&path, text).unwrap();
    let program = Program::script(ScriptType::Python, path);
    let sandbox = crate::skill::sandbox(&root.join("scratch")).unwrap();
    let _ = sandbox.run(Job::new(granted(&request), program)).await;
}

/// Runs jobs, several at a time, in a host process with much memory, and counts what is left of them.
async fn many() {
    const RUNS: usize = 16;
    const AT_ONCE: usize = 8;
    let memory = vec![1_u8; 64 << 20];
    let skill = Arc::new(Skill::new());
    let sandbox = sandbox(&skill);
    let text = "read -r line; echo \"$line$line\"; echo \"$line\" >&2";
    let job = skill.job("main.sh", text);
    // What is created once per process must not count as left by a run.
    let first = sandbox.run(job.clone().stdin(b"0\n".to_vec())).await;
    assert!(first.unwrap().termination.is_success());
    let before = count_resources(&skill).await;
    let permits = Arc::new(tokio::sync::Semaphore::new(AT_ONCE));
    let mut runs = tokio::task::JoinSet::new();
    for number in 0..RUNS {
        let permit = Arc::clone(&permits).acquire_owned().await.unwrap();
        let job = job.clone().stdin(format!("{number}\n").into_bytes());
        let sandbox = sandbox.clone();
        runs.spawn(async move {
            let output = sandbox.run(job).await.unwrap();
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
    // Connections of the client may be kept open.
    let after = count_resources(&skill).await;
    let has_more = after
        .iter()
        .zip(&before)
        .any(|(after, before)| after > before);
    print_marked(if has_more {
        format!("left {before:?} -> {after:?}")
    } else {
        "nothing left".to_owned()
    });
    let is_intact = memory.iter().step_by(4096).all(|byte| *byte == 1);
    print_marked(format!("memory {is_intact}"));
}

/// Counts children, mounts and temporary files of this process, and its containers.
async fn count_resources(skill: &Skill) -> [usize; 4] {
    let own = std::process::id();
    let is_child = |stat: &str| {
        stat.rsplit_once(") ")
            .is_some_and(|(_, rest)| rest.split(' ').nth(1) == Some(&own.to_string()))
    };
    let processes = fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| fs::read_to_string(entry.ok()?.path().join("stat")).ok());
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    [
        processes.filter(|stat| is_child(stat)).count(),
        mounts
            .lines()
            .filter(|line| line.contains("skills-run-"))
            .count(),
        fs::read_dir(skill.path("scratch")).unwrap().count(),
        containers_of_this_process().await,
    ]
}

/// Returns the number of containers with the label of this process.
async fn containers_of_this_process() -> usize {
    const LABEL: &str = "skills.owner";
    let (socket, _) = host::container_engine().unwrap();
    let client = Docker::connect_with_unix(
        &socket.display().to_string(),
        60,
        bollard::API_DEFAULT_VERSION,
    )
    .unwrap();
    let client = client.negotiate_version().await.unwrap();
    let options = ListContainersOptionsBuilder::default()
        .all(true)
        .filters(&HashMap::from([("label", vec![LABEL])]))
        .build();
    let found = client.list_containers(Some(options)).await.unwrap();
    let own = format!("/{}/", std::process::id());
    let is_own = |labels: &HashMap<String, String>| {
        labels.get(LABEL).is_some_and(|label| label.contains(&own))
    };
    found
        .iter()
        .filter(|container| container.labels.as_ref().is_some_and(is_own))
        .count()
}

/// Prints what a probe in a container finds, and the result of a run.
async fn nested() {
    let socket = std::env::var("SKILLS_TEST_CONTAINER_SOCKET").unwrap();
    let image = std::env::var("SKILLS_TEST_CONTAINER_IMAGE").unwrap();
    let sandbox = ContainerSandbox::new(socket, image.parse().unwrap(), std::env::temp_dir());
    match sandbox.probe() {
        Ok(report) => print_marked(format!("probe {report:?}")),
        Err(error) => print_marked(format!("unavailable: {} | {error}", error.kind().code())),
    }
    let directory = std::env::current_dir().unwrap();
    let grants = granted(&Request::new(&directory));
    let program = Program::script(ScriptType::Shell, directory.join("inner.sh"));
    match sandbox.run(Job::new(grants, program)).await {
        Ok(output) => print_marked(format!("ran {}", output.stdout.text().trim())),
        Err(error) => print_marked(format!("rejected: {error}")),
    }
}
