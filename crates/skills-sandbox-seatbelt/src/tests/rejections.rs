//! Jobs that do not run, and are not retried.

use std::fs;
use std::path::Path;

use insta::assert_snapshot;
use skills_policy::{Authorization, Capability, Policy, Request, RuleSource};
use skills_sandbox::{Job, Program, Sandbox, SandboxErrorKind, ScriptType, Termination};

use super::{Bench, EXECUTE};
use crate::SeatbeltSandbox;

#[tokio::test]
async fn a_nested_sandbox_is_detected() {
    let bench = Bench::new(
        "echo ran",
        "echo 'sandbox-exec: sandbox_apply: Operation not permitted' >&2; exit 71",
    );
    let error = bench.run().await.unwrap_err();
    assert_eq!(error.kind(), SandboxErrorKind::Unavailable);
    assert_snapshot!(error, @"cannot run in a sandbox: seatbelt is unavailable: already inside a seatbelt sandbox");
    bench.assert_clean(1);
}

#[tokio::test]
async fn a_profile_that_the_system_rejects_is_an_error() {
    let bench = Bench::new(
        "echo ran",
        "echo 'sandbox-exec: profile:3:1: unbound variable: file-reed' >&2; exit 65",
    );
    let error = bench.run().await.unwrap_err();
    assert_eq!(error.kind(), SandboxErrorKind::Setup);
    assert_snapshot!(std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default(), @"profile:3:1: unbound variable: file-reed");
    bench.assert_clean(1);
}

#[tokio::test]
async fn a_script_with_the_same_exit_code_has_run() {
    let bench = Bench::new("echo mine >&2; exit 71", EXECUTE);
    assert_eq!(
        bench.run().await.unwrap().termination,
        Termination::Exited { code: 71 }
    );
    let bench = Bench::new(
        "echo out; echo 'sandbox-exec: sandbox_apply: Operation not permitted' >&2; exit 71",
        EXECUTE,
    );
    assert_eq!(
        bench.run().await.unwrap().termination,
        Termination::Exited { code: 71 }
    );
    let bench = Bench::new(
        "echo 'sandbox-exec: sandbox_apply: Operation not permitted' >&2",
        EXECUTE,
    );
    assert_eq!(
        bench.run().await.unwrap().termination,
        Termination::Exited { code: 0 }
    );
}

#[tokio::test]
async fn all_messages_of_the_launcher_are_errors() {
    for said in [
        "sandbox-exec: sandbox_apply: Operation not permitted",
        "sandbox-exec: execvp() of 'python3' failed: Permission denied",
        "sandbox-exec: <input string>:1:0:\n\tunbound variable: file-reed",
        "sandbox-exec: /tmp/openskills-seatbelt-1-0.sb:3:1: unbound: x",
    ] {
        let bench = Bench::new(
            "echo ran",
            &format!("printf '%s\\n' \"{said}\" >&2; exit 65"),
        );
        assert!(bench.run().await.is_err(), "{said}");
        bench.assert_clean(1);
    }
}

#[tokio::test]
async fn a_script_with_similar_messages_has_run() {
    for said in [
        "sandbox-exec: x",
        "sandbox-exec: profile",
        "sandbox-exec: profile:3: x",
        "sandbox-exec: execvp() failed",
        "sandbox-exec: sandbox_apply: Operation not permitted\nmine",
        "sandbox-exec: profile:3:1: unbound variable: file-reed\nmine",
        "mine\nsandbox-exec: sandbox_apply: Operation not permitted",
    ] {
        let bench = Bench::new(&format!("printf '%s\\n' \"{said}\" >&2; exit 65"), EXECUTE);
        assert_eq!(
            bench.run().await.unwrap().termination,
            Termination::Exited { code: 65 },
            "{said}"
        );
    }
}

#[tokio::test]
async fn a_launcher_that_cannot_start_leaves_no_files() {
    let bench = Bench::new("echo ran", EXECUTE);
    let sandbox = |program: &Path| {
        SeatbeltSandbox::with_stub_launcher(program, bench.path("profiles"), bench.path("scratch"))
    };
    fs::write(bench.path("not-executable"), "").unwrap();
    let job = || bench.job(std::time::Duration::from_secs(60));
    assert_eq!(
        sandbox(&bench.path("not-executable"))
            .run(job())
            .await
            .unwrap_err()
            .kind(),
        SandboxErrorKind::Setup
    );
    let missing = sandbox(Path::new("/nowhere/sandbox-exec"));
    assert_eq!(
        missing.run(job()).await.unwrap_err().kind(),
        SandboxErrorKind::Unavailable
    );
    assert_eq!(
        missing.probe().unwrap_err().kind(),
        SandboxErrorKind::Unavailable
    );
    bench.assert_clean(0);
}

#[tokio::test]
async fn a_job_that_cannot_be_enforced_does_not_start() {
    let bench = Bench::new("echo ran", EXECUTE);
    let program = || Program::script(ScriptType::Shell, bench.path("skill/scripts/run.sh"));
    let granted = |tool: &str, pattern: Option<&str>| match Policy::default()
        .allow(RuleSource::Invocation, Capability::Spawn)
        .authorize(&Request::new(bench.path("skill")).allowed_tool(tool, pattern))
    {
        Authorization::Granted(grants) => grants,
        Authorization::Denied(denial) => panic!("{denial}"),
    };
    let missing = granted("Bash", Some("no-such-program-here:*"));
    assert_eq!(
        bench
            .sandbox()
            .run(Job::new(missing, program()))
            .await
            .unwrap_err()
            .kind(),
        SandboxErrorKind::Rejected
    );
    let outside = Job::new(
        granted("Bash", None),
        Program::script(ScriptType::Shell, bench.path("elsewhere/run.sh")),
    );
    assert_eq!(
        bench.sandbox().run(outside).await.unwrap_err().kind(),
        SandboxErrorKind::Rejected
    );
    bench.assert_clean(0);
}

#[tokio::test]
async fn the_probe_reports_the_restrictions() {
    let bench = Bench::new("", EXECUTE);
    let report = bench.sandbox().probe().unwrap();
    let names: Vec<&str> = report
        .restrictions()
        .iter()
        .map(skills_sandbox::Restriction::name)
        .collect();
    assert_snapshot!(names.join(" "), @"files temporary network processes memory disk python shell node deno ruby perl");
    bench.assert_clean(0);
}

#[cfg(not(target_os = "macos"))]
#[tokio::test]
async fn other_systems_are_rejected() {
    let bench = Bench::new("echo ran", EXECUTE);
    let sandbox = SeatbeltSandbox::new(bench.path("scratch"));
    let error = sandbox
        .run(bench.job(std::time::Duration::from_secs(60)))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), SandboxErrorKind::UnsupportedPlatform);
    assert_eq!(sandbox.probe().unwrap_err().to_string(), error.to_string());
    assert!(
        error.to_string().contains(std::env::consts::OS)
            && error
                .hint()
                .is_some_and(|hint| hint.contains("WebAssembly"))
    );
    bench.assert_clean(0);
}
