//! Tests of the contract: jobs, errors, reports.

use std::path::Path;

use insta::assert_snapshot;
use skills_policy::{Authorization, Grants, Policy, Request, VariableSource};
use skills_sandbox::{
    EnforcementReport, EnforcementStatus, Job, Program, SandboxError, SandboxErrorKind, ScriptType,
    Termination,
};

#[test]
fn the_last_value_of_a_variable_wins() {
    let job = Job::new(
        Grants::none(),
        Program::script(ScriptType::Shell, "/s/a.sh"),
    );
    let job = job.env("A", "1").env("B", "2").env("A", "3");
    let variables: Vec<(&str, &str)> = job.envs().collect();
    assert_eq!(variables, [("B", "2"), ("A", "3")]);
}

#[test]
fn variables_that_change_execution_are_filtered() {
    let job = Job::new(
        Grants::none(),
        Program::script(ScriptType::Shell, "/s/a.sh"),
    );
    let names = [
        "A",
        "PATH",
        "SKILL_ID",
        "ld_preload",
        "NODE_OPTIONS",
        "TIMEOUT_MS",
        "HTTPS_PROXY",
        "LC_ALL",
        "BASH_ENV",
    ];
    let job = names.iter().fold(job, |job, name| job.env(*name, "1"));
    assert_eq!(job.envs().count(), names.len());
    let safe: Vec<&str> = job.filtered_envs().map(|(name, _)| name).collect();
    assert_eq!(safe, ["A", "SKILL_ID", "TIMEOUT_MS", "LC_ALL"]);
}

#[test]
fn kinds_have_the_names_they_are_serialized_with() {
    let written = ScriptType::ALL.map(|kind| serde_json::to_value(kind).unwrap());
    assert_eq!(
        written,
        ScriptType::ALL.map(|kind| serde_json::Value::from(kind.as_str()))
    );
}

#[test]
fn secrets_need_a_grant_and_are_not_shown() {
    let program = || Program::script(ScriptType::Shell, "/s/a.sh");
    let refused = Job::new(Grants::none(), program())
        .secret_env("API_KEY", "hunter22")
        .unwrap_err();
    assert_snapshot!(refused, @"variable `API_KEY` is not granted");
    let request = Request::new("/s").variable("API_KEY", VariableSource::Caller);
    let Authorization::Granted(grants) = Policy::default().authorize(&request) else {
        panic!("unavailable")
    };
    let job = Job::new(grants, program())
        .env("A", "1")
        .secret_env("API_KEY", "hunter22")
        .unwrap();
    assert_eq!(
        job.envs().collect::<Vec<_>>(),
        [("A", "1"), ("API_KEY", "hunter22")]
    );
    let shown = format!("{job:?}");
    assert!(
        shown.contains("API_KEY=\"…\"") && !shown.contains("hunter22"),
        "{shown}"
    );
}

#[test]
fn languages_come_from_file_extensions_only() {
    let kind = |path: &str| ScriptType::from_path(Path::new(path));
    assert_eq!(
        (kind("a.py"), kind("x/b.sh")),
        (Some(ScriptType::Python), Some(ScriptType::Shell))
    );
    for (ending, expected) in [
        ("bash", "Shell"),
        ("js", "Node"),
        ("mjs", "Node"),
        ("cjs", "Node"),
        ("ts", "Deno"),
        ("rb", "Ruby"),
        ("pl", "Perl"),
    ] {
        assert_eq!(
            format!("{:?}", kind(&format!("x/a.b.{ending}")).unwrap()),
            expected
        );
    }
    for none in ["a.d.ts", "a.tsx", "a.pm", "a", "a.PY", "a.pyc", ".sh", "sh"] {
        assert_eq!(kind(none), None, "{none}");
    }
}

#[test]
fn terminations_and_errors_are_described() {
    assert!(
        Termination::Exited { code: 0 }.is_success()
            && !Termination::Signaled { signal: 9 }.is_success()
    );
    assert_snapshot!(Termination::TimedOut { limit_ms: 100 }, @"timed out after 100 ms");
    let error = SandboxError::unavailable("Landlock", "the kernel is old", "use a newer one");
    assert_eq!(
        (error.kind(), error.hint()),
        (SandboxErrorKind::Unavailable, Some("use a newer one"))
    );
    assert_snapshot!(error, @"cannot run in a sandbox: Landlock is unavailable: the kernel is old");
    let error = SandboxError::unsupported_platform("windows");
    assert_eq!(
        (error.kind(), error.kind().code()),
        (
            SandboxErrorKind::UnsupportedPlatform,
            "unsupported-platform"
        )
    );
    assert_snapshot!(error, @"native scripts are not supported on windows");
    assert_snapshot!(error.hint().unwrap(), @"ship a WebAssembly module (wasm/skill.wasm) with the skill, or use Linux, macOS or WSL2");
    let layer = EnforcementReport::new("test")
        .restriction("files", EnforcementStatus::Partial, "names are visible")
        .restrictions()[0]
        .to_string();
    assert_snapshot!(layer, @"files partial: names are visible");
}
