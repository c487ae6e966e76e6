//! Jobs that do not run, and are not retried.

use std::fs;
use std::path::Path;

use insta::assert_snapshot;
use skills_policy::{Authorization, Capability, Policy, Request, RuleSource};
use skills_sandbox::{Job, Program, Sandbox, SandboxErrorKind, ScriptType, Termination};

use super::{EXECUTE, Fixture};
use crate::SeatbeltSandbox;

#[tokio::test]
async fn a_nested_sandbox_is_detected() {
    let fixture = Fixture::new(
        "echo ran",
        "echo 'sandbox-exec: sandbox_apply: Operation not permitted' >&2; exit 71",
    );
    let error = fixture.run().await.unwrap_err();
    assert_eq!(error.kind(), SandboxErrorKind::Unavailable);
    assert_snapshot!(error, @"cannot run in a sandbox: seatbelt is unavailable: already inside a seatbelt sandbox");
    fixture.assert_clean(1);
}

#[tokio::test]
async fn a_profile_that_the_system_rejects_is_an_error() {
    let fixture = Fixture::new(
        "echo ran",
        "echo 'sandbox-exec: profile:3:1: unbound variable: file-reed' >&2; exit 65",
    );
    let error = fixture.run().await.unwrap_err();
    assert_eq!(error.kind(), SandboxErrorKind::Setup);
    assert_snapshot!(std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default(), @"profile:3:1: unbound variable: file-reed");
    fixture.assert_clean(1);
}

#[tokio::test]
async fn a_script_with_the_same_exit_code_has_run() {
    let fixture = Fixture::new("echo mine >&2; exit 71", EXECUTE);
    assert_eq!(
        fixture.run().await.unwrap().termination,
        Termination::Exited { code: 71 }
    );
    let fixture = Fixture::new(
        "echo out; echo 'sandbox-exec: sandbox_apply: Operation not permitted' >&2; exit 71",
        EXECUTE,
    );
    assert_eq!(
        fixture.run().await.unwrap().termination,
        Termination::Exited { code: 71 }
    );
    let fixture = Fixture::new(
        "echo 'sandbox-exec: sandbox_apply: Operation not permitted' >&2",
        EXECUTE,
    );
    assert_eq!(
        fixture.run().await.unwrap().termination,
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
        let fixture = Fixture::new(
            "echo ran",
            &format!("printf '%s\\n' \"{said}\" >&2; exit 65"),
        );
        assert!(fixture.run().await.is_err(), "{said}");
        fixture.assert_clean(1);
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
        let fixture = Fixture::new(&format!("printf '%s\\n' \"{said}\" >&2; exit 65"), EXECUTE);
        assert_eq!(
            fixture.run().await.unwrap().termination,
            Termination::Exited { code: 65 },
            "{said}"
        );
    }
}

#[tokio::test]
async fn a_launcher_that_cannot_start_leaves_no_files() {
    let fixture = Fixture::new("echo ran", EXECUTE);
    let sandbox = |program: &Path| {
        SeatbeltSandbox::with_stub_launcher(
            program,
            fixture.path("profiles"),
            fixture.path("scratch"),
        )
    };
    fs::write(fixture.path("not-executable"), "").unwrap();
    let job = || fixture.job(std::time::Duration::from_secs(60));
    assert_eq!(
        sandbox(&fixture.path("not-executable"))
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
    fixture.assert_clean(0);
}

#[tokio::test]
async fn a_job_that_cannot_be_enforced_does_not_start() {
    let fixture = Fixture::new("echo ran", EXECUTE);
    let granted = |tool: &str, pattern: Option<&str>| match Policy::default()
        .allow(RuleSource::Invocation, Capability::Spawn)
        .authorize(&Request::new(fixture.path("skill")).allowed_tool(tool, pattern))
    {
        Authorization::Granted(grants) => grants,
        Authorization::Denied(denial) => panic!("{denial}"),
    };
    let outside = Job::new(
        granted("Bash", None),
        Program::script(ScriptType::Shell, fixture.path("elsewhere/run.sh")),
    );
    assert_eq!(
        fixture.sandbox().run(outside).await.unwrap_err().kind(),
        SandboxErrorKind::Rejected
    );
    fixture.assert_clean(0);
}

#[tokio::test]
async fn the_probe_reports_the_restrictions() {
    let fixture = Fixture::new("", EXECUTE);
    let report = fixture.sandbox().probe().unwrap();
    let names: Vec<&str> = report
        .restrictions()
        .iter()
        .map(skills_sandbox::Restriction::name)
        .collect();
    assert_snapshot!(names.join(" "), @"files temporary network processes memory disk python shell node deno ruby perl");
    fixture.assert_clean(0);
}

#[cfg(not(target_os = "macos"))]
#[tokio::test]
async fn other_systems_are_rejected() {
    let fixture = Fixture::new("echo ran", EXECUTE);
    let sandbox = SeatbeltSandbox::new(fixture.path("scratch"));
    let error = sandbox
        .run(fixture.job(std::time::Duration::from_secs(60)))
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
    fixture.assert_clean(0);
}
