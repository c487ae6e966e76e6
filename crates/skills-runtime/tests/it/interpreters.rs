//! Tests of configured interpreters.

use skills_runtime::{ExecutionOptions, ProgramFinder, SandboxErrorKind, ScriptType};
use skills_test_support::skip_without_sandbox;

use crate::fixture::Fixture;

#[tokio::test]
async fn the_backend_uses_the_configured_program_finder() {
    if skip_without_sandbox() {
        return;
    }
    let fixture = Fixture::new();
    fixture
        .skill("one", "")
        .file("one/scripts/main.py", "import sys; print(sys.prefix)");
    fixture
        .file("venv/pyvenv.cfg", "home = /usr/bin\n")
        .file("venv/bin/empty", "");
    std::os::unix::fs::symlink("/usr/bin/python3", fixture.path("venv/bin/python3")).unwrap();
    let run = async |interpreters: ProgramFinder| {
        fixture
            .builder()
            .program_finder(interpreters)
            .build()
            .execute_skill("one", ExecutionOptions::default())
            .await
    };
    let named = run(ProgramFinder::default()
        .override_interpreter(ScriptType::Python, fixture.path("venv/bin/python3")))
    .await
    .unwrap();
    assert_eq!(
        (named.stdout.text(), named.stderr.text()),
        (
            format!("{}\n", fixture.path("venv").display()),
            String::new()
        )
    );
    let error = run(ProgramFinder::with_search_path(["/nowhere"]))
        .await
        .unwrap_err();
    assert_eq!(
        error.sandbox().map(skills_runtime::SandboxError::kind),
        Some(SandboxErrorKind::Unavailable)
    );
    assert!(
        error.to_string().contains("no `python3` in /nowhere"),
        "{error}"
    );
}
