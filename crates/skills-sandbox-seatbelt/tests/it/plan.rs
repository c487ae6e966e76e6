//! Tests of plans.

use std::path::Path;

use insta::{assert_debug_snapshot, assert_snapshot};
use skills_policy::{Authorization, Policy, Request, VariableSource};
use skills_sandbox::{Job, Program, SandboxErrorKind, ScriptType};
use skills_sandbox_seatbelt::{Executable, ExecutableSet, Plan, PlanContext, ProxyAccess};

use crate::{PROJECT, SCRATCH, SKILL, grants};

const FILE: &str = "/tmp/openskills-seatbelt-12345-0.sb";

fn plan(job: &Job) -> Result<Plan, skills_sandbox::SandboxError> {
    Plan::new(
        job,
        &ExecutableSet::new("/usr/bin/python3"),
        &ground(ProxyAccess::None),
    )
}

fn ground(network: ProxyAccess) -> PlanContext {
    PlanContext {
        scratch: SCRATCH.into(),
        profile_path: FILE.into(),
        network,
        keys: Vec::new(),
    }
}

fn job() -> Job {
    let request = Request::new(SKILL).variable("API_KEY", VariableSource::Caller);
    let Authorization::Granted(grants) = Policy::default().authorize(&request) else {
        panic!("unavailable")
    };
    let program = Program::script(
        ScriptType::Python,
        Path::new(SKILL).join("scripts/extract_form_field_info.py"),
    );
    let job = Job::new(grants, program)
        .arg("--")
        .arg("a b")
        .env("SKILL_ID", "pdf")
        .env("TIMEOUT_MS", "10000");
    job.secret_env("API_KEY", "hunter22").unwrap()
}

#[test]
fn a_plan_is_data() {
    assert_debug_snapshot!(plan(&job()).unwrap());
}

#[test]
fn backend_variables_take_precedence() {
    let names = [
        "PATH",
        "HOME",
        "PYTHONPATH",
        "PYTHONSTARTUP",
        "PYTHONHOME",
        "DYLD_INSERT_LIBRARIES",
        "LD_PRELOAD",
        "BASH_ENV",
        "ENV",
        "TMPDIR",
        "NODE_OPTIONS",
        "PERL5OPT",
        "RUBYOPT",
        "GIT_SSH_COMMAND",
        "node_options",
    ];
    let job = names
        .iter()
        .fold(job(), |job, name| job.env(*name, "/evil"));
    let plan = plan(&job).unwrap();
    assert!(
        plan.env().iter().all(|(_, value)| value != "/evil"),
        "{plan:?}"
    );
    let names: Vec<&str> = plan.env().iter().map(|(name, _)| name.as_str()).collect();
    assert_snapshot!(names.join(" "), @"SKILL_ID TIMEOUT_MS API_KEY HOME PATH PYTHONDONTWRITEBYTECODE PYTHONNOUSERSITE TMPDIR LANG DEBIAN_FRONTEND GIT_PAGER GIT_TERMINAL_PROMPT LOGNAME PAGER PIP_DISABLE_PIP_VERSION_CHECK PIP_NO_INPUT PYTHONUNBUFFERED SHELL TERM USER");
}

#[test]
fn an_interpreter_is_called_with_its_argv0() {
    let node = Executable::new("/opt/node/bin/node")
        .with_argv0("/Users/me/bin/node")
        .arg("--one")
        .arg("--two");
    let executables =
        ExecutableSet::new(node.env("CONDA_PREFIX", "/opt/node").readable("/opt/node"))
            .search_path(["/a", "/b"]);
    let plan = Plan::new(
        &job().env("CONDA_PREFIX", "/evil"),
        &executables,
        &ground(ProxyAccess::None),
    )
    .unwrap();
    let end = plan
        .args()
        .iter()
        .skip_while(|argument| *argument != "--")
        .take(5)
        .map(String::as_str)
        .collect::<Vec<_>>();
    assert_eq!(end[1..4], ["/Users/me/bin/node", "--one", "--two"]);
    assert!(
        plan.args()
            .contains(&"INTERPRETER=/opt/node/bin/node".to_owned())
    );
    let value = |name: &str| {
        plan.env()
            .iter()
            .filter(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        (value("CONDA_PREFIX"), value("PATH")),
        (vec!["/opt/node"], vec!["/a:/b"])
    );
}

#[test]
fn proxy_variables_cannot_be_overridden() {
    let hosts = grants(Path::new(SKILL), PROJECT, &[("WebFetch", None)]);
    let job = Job::new(
        hosts,
        Program::script(ScriptType::Python, Path::new(SKILL).join("run.py")),
    );
    let job = job
        .env("https_proxy", "http://evil.test:1")
        .env("NO_PROXY", "*");
    let plan = Plan::new(
        &job,
        &ExecutableSet::new("/usr/bin/python3"),
        &ground(ProxyAccess::LocalPort(3_128)),
    )
    .unwrap();
    let is_proxys = |(name, _): &&(String, String)| name.to_lowercase().contains("proxy");
    let lines: Vec<String> = plan
        .env()
        .iter()
        .filter(is_proxys)
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    assert_snapshot!(lines.join("\n"), @"
    HTTP_PROXY=http://127.0.0.1:3128
    http_proxy=http://127.0.0.1:3128
    HTTPS_PROXY=http://127.0.0.1:3128
    https_proxy=http://127.0.0.1:3128
    ALL_PROXY=http://127.0.0.1:3128
    all_proxy=http://127.0.0.1:3128
    NO_PROXY=
    no_proxy=
    NODE_USE_ENV_PROXY=1
    ");
    assert_eq!(plan.network(), ProxyAccess::LocalPort(3_128));
}

#[test]
fn unsupported_jobs_are_rejected() {
    let hosts = grants(Path::new(SKILL), PROJECT, &[("WebFetch", None)]);
    let error = plan(&Job::new(
        hosts,
        Program::script(ScriptType::Python, Path::new(SKILL).join("run.py")),
    ))
    .unwrap_err();
    assert_eq!(error.kind(), SandboxErrorKind::Rejected);
    assert_snapshot!(error, @"cannot run the job in the seatbelt sandbox: cannot restrict the network to named hosts in a seatbelt profile");
    let wasm = plan(&Job::new(
        grants(Path::new(SKILL), PROJECT, &[]),
        Program::Wasm([].into()),
    ))
    .unwrap_err();
    assert_eq!(wasm.kind(), SandboxErrorKind::InvalidProgram);
    let outside = Job::new(
        grants(Path::new(SKILL), PROJECT, &[]),
        Program::script(ScriptType::Python, "/etc/evil.py"),
    );
    assert_eq!(
        plan(&outside).unwrap_err().kind(),
        SandboxErrorKind::Rejected
    );
}
