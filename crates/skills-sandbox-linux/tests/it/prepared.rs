//! Runs with a child that was prepared for them, in a host process of their own, since all tests of
//! a process share the child.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;
use std::time::Duration;

use skills_sandbox::Sandbox;
use skills_sandbox_linux::IsolationMode;
use skills_test_support::host_process::{self, marked_lines, print_marked};
use tokio::time::timeout;

use crate::lifetime_pipe::TEST_TIMEOUT;
use crate::skill::{Skill, supported_modes};

/// Prints what a run sees of its namespaces.
const SCRIPT: &str = "cut -d' ' -f5- /proc/self/mountinfo\nls /proc | grep -v '^[0-9]'\nls -a / /dev\nid\ncat /proc/self/status /proc/self/net/dev | grep -E 'Cap|NSpid|Seccomp|lo:'\n";

/// Returns the child processes of this process.
fn children() -> Vec<String> {
    let threads = fs::read_dir("/proc/self/task").unwrap();
    let mut children = String::new();
    for thread in threads {
        // A thread may have ended meanwhile.
        children +=
            &fs::read_to_string(thread.unwrap().path().join("children")).unwrap_or_default();
    }
    children.split_whitespace().map(str::to_owned).collect()
}

/// Waits until this process has as many children.
async fn wait_for_children(count: usize) -> Vec<String> {
    let waiting = async {
        loop {
            let children = children();
            if children.len() == count {
                return children;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(TEST_TIMEOUT, waiting).await.unwrap()
}

/// Returns the network namespace of a process, once it is another one than that of this process.
async fn network_namespace(pid: &str) -> String {
    let own = fs::read_link("/proc/self/ns/net").unwrap();
    let waiting = async {
        loop {
            let namespace = fs::read_link(format!("/proc/{pid}/ns/net")).unwrap();
            if namespace != own {
                return namespace.display().to_string();
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(TEST_TIMEOUT, waiting).await.unwrap()
}

const TEST: &str = "prepared::a_host_process_with_a_prepared_child";

/// The host process of the next tests. Does nothing unless those started it.
#[tokio::test]
async fn a_host_process_with_a_prepared_child() {
    match host_process::task().as_deref() {
        Some("compare") => compare_runs().await,
        Some("run") => run_once().await,
        _ => return,
    }
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
}

async fn run_once() {
    let skill = Skill::new(IsolationMode::Namespaces);
    let sandbox = skill.sandbox().prepare_next_run(true);
    let output = sandbox.run(skill.job("main.sh", "")).await.unwrap();
    print_marked(output.termination.is_success());
}

async fn compare_runs() {
    let skill = Skill::new(IsolationMode::Namespaces).tool("Bash");
    let job = skill.job("main.sh", SCRIPT);
    let sandbox = skill.sandbox();
    let namespace = skill.job("net.sh", "readlink /proc/self/ns/net");
    let unprepared = sandbox.run(job.clone()).await.unwrap().stdout.text();
    assert!(unprepared.contains("lo:"), "{unprepared}");
    wait_for_children(0).await;
    let sandbox = sandbox.prepare_next_run(true);
    let _ = sandbox.run(job.clone()).await.unwrap();
    let mut prepared = Vec::new();
    for _ in 0..2 {
        let child = wait_for_children(1).await.remove(0);
        let expected = network_namespace(&child).await;
        let output = sandbox.run(namespace.clone()).await.unwrap();
        assert_eq!(output.stdout.text().trim(), expected);
        let output = sandbox.run(job.clone()).await.unwrap();
        assert_eq!(output.stdout.text(), unprepared);
        prepared = wait_for_children(1).await;
        assert_ne!(prepared, [child]);
    }
    prepared.iter().for_each(print_marked);
}

#[tokio::test]
async fn a_prepared_child_does_not_change_runs_and_ends_with_the_host() {
    if !supported_modes().contains(&IsolationMode::Namespaces) {
        return;
    }
    let mut host = host_process::command(TEST, "compare")
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let output = BufReader::new(host.stdout.take().unwrap());
    let child = output
        .lines()
        .find_map(|line| marked_lines(&line.unwrap()).pop())
        .expect("the host process fails");
    assert!(is_running(&child));
    host.kill().unwrap();
    host.wait().unwrap();
    let ended = timeout(TEST_TIMEOUT, async {
        while is_running(&child) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
    assert!(ended.await.is_ok(), "the prepared child survives");
}

/// The host may be killed while the child is created, before the kernel would signal its death.
#[tokio::test]
async fn a_host_that_is_killed_after_a_run_leaves_no_child() {
    if !supported_modes().contains(&IsolationMode::Namespaces) {
        return;
    }
    for _ in 0..20 {
        let mut host = host_process::command(TEST, "run")
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let mut output = BufReader::new(host.stdout.take().unwrap());
        let mut lines = String::new();
        while !lines.contains("> true") {
            assert_ne!(output.read_line(&mut lines).unwrap(), 0, "{lines}");
        }
        host.kill().unwrap();
        host.wait().unwrap();
        // A child would keep the pipe open.
        let rest = tokio::task::spawn_blocking(move || output.read_to_end(&mut Vec::new()));
        let ended = timeout(Duration::from_secs(20), rest).await;
        assert!(ended.is_ok(), "the prepared child survives");
    }
}

/// Returns true if a process has not ended. It may not be reaped yet.
fn is_running(pid: &str) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}
