//! A host that is killed: case 55. It is this test binary, started again.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use skills_policy::{Authorization, Capability, Policy, Request, RuleSource};
use skills_sandbox::{Job, Program, Sandbox};
use skills_sandbox_conformance::{AttemptResult, Observations};
use skills_sandbox_wasm::WasmSandbox;

use super::layout::create_layout;
use crate::cases::fixture::Generation;

/// Passes the path of the skill to that host.
const ROOT: &str = "SKILLS_TEST_ROOT";

/// Kills the host if a test fails.
struct Host(Child);

impl Drop for Host {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Does nothing unless the case started it: a run that extends a file forever.
#[tokio::test]
async fn a_host_process_to_kill() {
    let Some(root) = std::env::var_os(ROOT).map(PathBuf::from) else {
        return;
    };
    let request = Request::new(root.join("skill"))
        .workspace(root.join("workspace"))
        .allowed_tool("Write", None);
    let Authorization::Granted(grants) = Policy::default()
        .allow(RuleSource::User, Capability::Write)
        .authorize(&request)
    else {
        panic!("granted")
    };
    let job = Job::new(grants, Program::Wasm(Generation::P2.guest()))
        .arg("beat")
        .arg("/workspace/heart");
    let outcome = WasmSandbox::new(root.join("scratch")).run(job).await;
    panic!("it ended: {outcome:?}");
}

pub(crate) async fn observe(observations: &mut Observations) {
    let fixture = create_layout(Generation::P2);
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args([
            "--exact",
            "conformance::killed_host::a_host_process_to_kill",
            "--test-threads=1",
        ])
        .env(ROOT, fixture.path(""));
    let mut host = Host(
        command
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap(),
    );
    let beats = || fs::metadata(fixture.path("workspace/heart")).map_or(0, |heart| heart.len());
    let started = Instant::now();
    while beats() < 3 {
        assert!(
            host.0.try_wait().unwrap().is_none() && started.elapsed() < Duration::from_secs(120),
            "the host's run does not start"
        );
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    host.0.kill().unwrap();
    host.0.wait().unwrap();
    let last = beats();
    // Thirty times the interval between two writes.
    tokio::time::sleep(Duration::from_millis(300)).await;
    observations.check(55, "its heart", AttemptResult::Contained, beats() == last);
}
