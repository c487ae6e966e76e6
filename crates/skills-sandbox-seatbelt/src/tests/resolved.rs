//! Resolved interpreters in the input of `sandbox-exec`.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::time::Duration;

use skills_process::ProgramFinder;
use skills_sandbox::{Sandbox, SandboxErrorKind, ScriptType};

use super::{EXECUTE, Fixture};

/// Returns the arguments after the options, and the parameters of one kind.
fn given(fixture: &Fixture, kind: &str) -> (Vec<String>, Vec<String>) {
    let arguments = fixture
        .record("arguments")
        .replace(&fixture.path("").display().to_string(), "[top]/");
    let (options, command) = arguments.split_once("\n--\n").unwrap();
    let parameters = options
        .lines()
        .filter_map(|line| line.strip_prefix(kind)?.split_once('='))
        .map(|(_, path)| path.to_owned());
    (
        command.lines().map(str::to_owned).collect(),
        parameters.collect(),
    )
}

/// Creates an interpreter. A script is not accepted as one, so it is a copy of the host's shell.
fn interpreter(fixture: &Fixture, path: &str) {
    let path = fixture.path(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::copy("/bin/sh", &path).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[tokio::test]
async fn a_virtual_environment_is_called_by_its_own_name() {
    let fixture = Fixture::new("echo ran", EXECUTE);
    interpreter(&fixture, "python/bin/python3.11");
    for directory in ["python/lib/python3.11", "venv/bin", "venv/lib"] {
        fs::create_dir_all(fixture.path(directory)).unwrap();
    }
    fs::write(fixture.path("python/lib/python3.11/os.py"), "").unwrap();
    fs::write(
        fixture.path("venv/pyvenv.cfg"),
        format!("home = {}\n", fixture.path("python/bin").display()),
    )
    .unwrap();
    symlink(
        fixture.path("python/bin/python3.11"),
        fixture.path("venv/bin/python3"),
    )
    .unwrap();
    let interpreters = ProgramFinder::default()
        .override_interpreter(ScriptType::Shell, fixture.path("venv/bin/python3"));
    let outcome = fixture
        .sandbox()
        .program_finder(interpreters)
        .run(fixture.job(Duration::from_secs(60)))
        .await
        .unwrap();
    assert_eq!(
        (
            outcome.stdout.text().as_str(),
            outcome.stderr.text().as_str()
        ),
        ("ran\n", "")
    );
    let (command, canonical) = given(&fixture, "INTERPRETER");
    assert_eq!(
        command,
        ["[top]/venv/bin/python3", "[top]/skill/scripts/run.sh"]
    );
    assert_eq!(canonical, ["[top]/python/bin/python3.11"]);
    assert_eq!(
        given(&fixture, "LIBRARIES_").1,
        ["[top]/python", "[top]/venv"]
    );
    fixture.assert_clean(1);
}

#[tokio::test]
async fn arguments_and_the_limit_of_the_heap_come_before_the_script() {
    let fixture = Fixture::new("", "exit 0");
    interpreter(&fixture, "node/bin/node");
    fs::write(fixture.path("skill/scripts/run.js"), "").unwrap();
    let job = fixture.job(Duration::from_secs(60));
    let job = skills_sandbox::Job::new(
        job.grants().clone(),
        skills_sandbox::Program::script(ScriptType::Node, fixture.path("skill/scripts/run.js")),
    );
    let sandbox = fixture
        .sandbox()
        .program_finder(ProgramFinder::with_search_path([
            fixture.path("node/bin"),
            "/usr/bin".into(),
            "/bin".into(),
        ]));
    let _ = sandbox.run(job.arg("last")).await.unwrap();
    let (command, _) = given(&fixture, "INTERPRETER");
    assert_eq!(
        command,
        [
            "[top]/node/bin/node",
            "--max-old-space-size=2048",
            "[top]/skill/scripts/run.js",
            "last"
        ]
    );
    assert!(
        fixture.record("environment").lines().any(
            |line| line == format!("PATH={}:/usr/bin:/bin", fixture.path("node/bin").display())
        )
    );
}

#[tokio::test]
async fn a_missing_interpreter_is_an_error() {
    let fixture = Fixture::new("echo ran", EXECUTE);
    let sandbox = fixture
        .sandbox()
        .program_finder(ProgramFinder::with_search_path(["/nowhere"]));
    let error = sandbox
        .run(fixture.job(Duration::from_secs(60)))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), SandboxErrorKind::Unavailable);
    assert!(
        error.to_string().contains("no `bash` or `sh` in /nowhere"),
        "{error}"
    );
    fixture.assert_clean(0);
}
