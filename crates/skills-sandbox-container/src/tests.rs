//! Plans of runs, as they are printed.

use std::path::Path;

use skills_policy::{ApprovalMode, Authorization, Effect, Policy, Request, Rule, RuleSource};
use skills_process::{KeyFiles, ProtectedEntries};
use skills_sandbox::{Job, Program, SandboxError, ScriptType};

use crate::engine::{EngineFacts, ImageFacts, Product};
use crate::mounts::Unreadable;
use crate::plan::{PlanContext, RunPlan};

fn engine(product: Product, is_rootless: bool) -> EngineFacts {
    EngineFacts::for_tests(product, is_rootless)
}

fn image() -> ImageFacts {
    ImageFacts {
        id: "sha256:1234".to_owned(),
        architecture: "amd64".to_owned(),
        search_path: vec!["/usr/local/bin".to_owned(), "/usr/bin".to_owned()],
        volumes: vec!["/data".to_owned(), "relative".to_owned()],
    }
}

fn job(workspace: &Path, rules: &[&str]) -> Job {
    let request = Request::new("/skills/pdf")
        .workspace(workspace)
        .allowed_tool("Write", None);
    let rules = rules
        .iter()
        .map(|rule| Rule::parse(Effect::Allow, RuleSource::User, rule).unwrap());
    let policy = Policy::default()
        .with_mode(ApprovalMode::Trusted)
        .with_rules(rules);
    let Authorization::Granted(grants) = policy.authorize(&request) else {
        panic!("granted")
    };
    let script = Program::script(ScriptType::Shell, "/skills/pdf/scripts/run.sh");
    Job::new(grants, script)
}

fn plan(job: &Job, engine: &EngineFacts) -> Result<RunPlan, SandboxError> {
    plan_with(
        job,
        engine,
        ProtectedEntries::default(),
        KeyFiles::default(),
    )
}

fn plan_with(
    job: &Job,
    engine: &EngineFacts,
    protected: ProtectedEntries,
    keys: KeyFiles,
) -> Result<RunPlan, SandboxError> {
    let context = PlanContext {
        engine,
        image: &image(),
        runtime: None,
        ids: (1000, 1000),
        socket: Path::new("/run/podman/podman.sock"),
        empty: Path::new("/state/empty"),
        unreadable: &Unreadable {
            file: "/state/unreadable-file".into(),
            directory: "/state/unreadable-directory".into(),
        },
        launcher: Path::new("/state/launcher"),
        labels: [("skills.owner".to_owned(), "1".to_owned())].into(),
        keep_seconds: 0,
    };
    RunPlan::new(job, protected, keys, &context)
}

#[test]
fn the_request_has_every_restriction() {
    let directory = tempfile::tempdir().unwrap();
    let workspace = directory.path().canonicalize().unwrap().join("work");
    std::fs::create_dir_all(workspace.join(".git/hooks")).unwrap();
    let job = job(&workspace, &["network:a.example"])
        .arg("/workspace/in.pdf")
        .path_alias("/workspace", &workspace)
        .path_alias("/skills", "/skills/pdf");
    let protected = ProtectedEntries::find(job.grants()).unwrap();
    std::fs::create_dir(workspace.join(".env")).unwrap();
    let keys = KeyFiles::find(job.grants()).unwrap();
    let plan = plan_with(&job, &engine(Product::Podman, true), protected, keys).unwrap();
    let body = serde_json::to_value(plan.container.body(Path::new("/state/input"))).unwrap();
    let shown = serde_json::to_string_pretty(&without_nulls(body)).unwrap();
    let shown = shown.replace(workspace.to_str().unwrap(), "WORKSPACE");
    insta::assert_snapshot!(shown);
    let exec = plan.exec(&job, &image(), "/usr/bin/bash");
    insta::assert_debug_snapshot!(exec.args, @r#"
    [
        "/.sandbox/launch",
        "/usr/bin/bash",
        "--noprofile",
        "--norc",
        "/skills/pdf/scripts/run.sh",
        "/workspace/in.pdf",
    ]
    "#);
    insta::assert_debug_snapshot!(exec.env, @r#"
    [
        (
            "HOME",
            "/tmp",
        ),
        (
            "LANG",
            "C.UTF-8",
        ),
        (
            "PATH",
            "/usr/local/bin:/usr/bin",
        ),
        (
            "PYTHONDONTWRITEBYTECODE",
            "1",
        ),
        (
            "PYTHONNOUSERSITE",
            "1",
        ),
        (
            "TMPDIR",
            "/tmp",
        ),
        (
            "HTTP_PROXY",
            "http://127.0.0.1:3128",
        ),
        (
            "http_proxy",
            "http://127.0.0.1:3128",
        ),
        (
            "HTTPS_PROXY",
            "http://127.0.0.1:3128",
        ),
        (
            "https_proxy",
            "http://127.0.0.1:3128",
        ),
        (
            "ALL_PROXY",
            "http://127.0.0.1:3128",
        ),
        (
            "all_proxy",
            "http://127.0.0.1:3128",
        ),
        (
            "NO_PROXY",
            "localhost,127.0.0.1,::1",
        ),
        (
            "no_proxy",
            "localhost,127.0.0.1,::1",
        ),
        (
            "NODE_USE_ENV_PROXY",
            "1",
        ),
        (
            "DEBIAN_FRONTEND",
            "noninteractive",
        ),
        (
            "GIT_PAGER",
            "cat",
        ),
        (
            "GIT_TERMINAL_PROMPT",
            "0",
        ),
        (
            "LOGNAME",
            "skill",
        ),
        (
            "PAGER",
            "cat",
        ),
        (
            "PIP_DISABLE_PIP_VERSION_CHECK",
            "1",
        ),
        (
            "PIP_NO_INPUT",
            "1",
        ),
        (
            "PYTHONUNBUFFERED",
            "1",
        ),
        (
            "SHELL",
            "/bin/sh",
        ),
        (
            "TERM",
            "dumb",
        ),
        (
            "USER",
            "skill",
        ),
        (
            "OMP_NUM_THREADS",
            "1",
        ),
        (
            "OPENBLAS_NUM_THREADS",
            "1",
        ),
    ]
    "#);
}

fn without_nulls(value: serde_json::Value) -> serde_json::Value {
    match value {
        serde_json::Value::Object(fields) => {
            let mut fields: Vec<_> = fields.into_iter().collect();
            fields.sort_by(|left, right| left.0.cmp(&right.0));
            fields
                .into_iter()
                .filter(|(_, value)| !value.is_null())
                .map(|(name, value)| (name, without_nulls(value)))
                .collect()
        }
        serde_json::Value::Array(items) => items.into_iter().map(without_nulls).collect(),
        other => other,
    }
}

#[test]
fn the_user_outside_is_always_that_of_the_host_process() {
    for (product, is_rootless, expected) in [
        (Product::Docker, false, ("1000:1000", None)),
        (Product::Podman, false, ("1000:1000", None)),
        (Product::Podman, true, ("1000:1000", Some("keep-id"))),
        (Product::Docker, true, ("0:0", None)),
    ] {
        let job = job(Path::new("/nowhere"), &[]);
        let body = plan(&job, &engine(product, is_rootless))
            .unwrap()
            .container
            .body(Path::new("/state/input"));
        let mode = body.host_config.unwrap().userns_mode;
        assert_eq!((body.user.as_deref().unwrap(), mode.as_deref()), expected);
    }
}

#[test]
fn paths_that_lead_to_the_host_are_rejected() {
    for path in [
        "/",
        "/etc",
        "/proc/1",
        "/dev/shm",
        "/usr",
        "/run",
        "/run/podman",
    ] {
        let job = job(Path::new(path), &[]);
        let error = plan(&job, &engine(Product::Docker, false)).unwrap_err();
        assert!(
            error.to_string().contains("grant a narrower directory"),
            "{path}: {error}"
        );
    }
    // A socket that is configured through a symlink.
    let directory = tempfile::tempdir().unwrap();
    let real = directory.path().canonicalize().unwrap().join("real");
    std::fs::create_dir(&real).unwrap();
    let _listener = std::os::unix::net::UnixListener::bind(real.join("engine.sock")).unwrap();
    std::os::unix::fs::symlink(&real, directory.path().join("link")).unwrap();
    let socket = directory.path().join("link/engine.sock");
    let grants = job(&real, &[]).grants().clone();
    assert!(crate::mounts::check_mounts(&grants, &socket).is_err());
    let tool = job(Path::new("/work"), &[]).tool("/usr/bin/uv");
    assert!(plan(&tool, &engine(Product::Docker, false)).is_err());
}
