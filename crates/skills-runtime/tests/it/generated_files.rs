//! Generated files: they change no approval, and no run of approved content uses them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use skills_runtime::policy::{AnswerFuture, Question};
use skills_runtime::{
    Answer, Approver, ExecutionArtifacts, ExecutionOptions, RunTarget, RuntimeError, Sandbox,
    SkillRuntime,
};
use skills_sandbox_linux::{IsolationMode, LinuxSandbox};
use skills_test_support::skip_part;

use crate::fixture::{Fixture, OptionsExt};

/// Approves for the session and counts its requests.
#[derive(Default)]
struct CountingApprover(AtomicUsize);

impl Approver for CountingApprover {
    fn ask<'a>(&'a self, _: &'a Question) -> AnswerFuture<'a> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Box::pin(std::future::ready(Ok(Some(Answer::AllowSession))))
    }
}

/// A skill whose script starts Python itself, without the variables of the run, on a script that
/// imports `helper` from the directory of the first argument.
const MAIN: &str = "\
import os, subprocess, sys
here = os.path.dirname(os.path.abspath(__file__))
inner = os.path.join(here, 'inner.py')
directory = sys.argv[1] if len(sys.argv) > 1 else here
done = subprocess.run([sys.executable, inner, directory], env={}, capture_output=True, text=True)
print(done.stdout + done.stderr, end='')
";
const INNER: &str = "\
import sys
sys.path.insert(0, sys.argv[1])
import helper
print(helper.TEXT)
";
/// Prints the interpreter, and writes byte code that is never compared with its source.
const POISON: &str = "\
import importlib.util, os, py_compile, sys
target = os.environ['SKILL_WORKSPACE']
source = os.path.join(target, 'evil.py')
open(source, 'w').write(\"TEXT = 'poisoned'\\n\")
name = os.path.basename(importlib.util.cache_from_source('helper.py'))
py_compile.compile(source, cfile=os.path.join(target, name), invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
os.remove(source)
print(sys.executable)
";

struct Scene {
    fixture: Fixture,
    approver: Arc<CountingApprover>,
}

impl Scene {
    fn new() -> Self {
        let fixture = Fixture::new();
        fixture
            .skill("deploy", "allowed-tools: Bash Read\n")
            .file("deploy/scripts/main.py", MAIN)
            .file("deploy/scripts/inner.py", INNER)
            .file("deploy/scripts/helper.py", "TEXT = 'good'\n");
        Self {
            fixture,
            approver: Arc::default(),
        }
    }

    fn scripts(&self) -> PathBuf {
        self.fixture.path("deploy/scripts")
    }

    fn runtime(&self, mode: IsolationMode) -> SkillRuntime {
        let sandbox = LinuxSandbox::new(std::env::temp_dir()).isolation_mode(mode);
        self.fixture
            .builder()
            .native_sandbox(Arc::new(sandbox))
            .approver(self.approver.clone())
            .build()
    }

    /// Places byte code in `__pycache__`, and shows that Python would execute it.
    async fn poison(&self) {
        let made = Fixture::new();
        made.skill("make", "").file("make/scripts/main.py", POISON);
        let options =
            ExecutionOptions::default().workspace(skills_runtime::Workspace::Private(Vec::new()));
        let runtime = made.builder().build();
        let artifacts = runtime.execute_skill("make", options).await.unwrap();
        let python = artifacts.stdout.text().trim().to_owned();
        let files = &artifacts.output_files.files;
        assert_eq!(files.len(), 1, "{} {}", python, artifacts.stderr.text());
        let cache = self.scripts().join("__pycache__");
        fs::create_dir(&cache).unwrap();
        fs::write(
            cache.join(&files[0].path),
            files[0].content.as_ref().unwrap(),
        )
        .unwrap();
        let unconfined = Command::new(&python)
            .arg(self.scripts().join("main.py"))
            .output()
            .unwrap();
        assert_eq!(String::from_utf8_lossy(&unconfined.stdout), "poisoned\n");
    }

    fn approvals(&self) -> usize {
        self.approver.0.load(Ordering::SeqCst)
    }
}

async fn deploy(
    runtime: &SkillRuntime,
    options: ExecutionOptions,
) -> Result<ExecutionArtifacts, RuntimeError> {
    let target = RunTarget::Script("main.py".to_owned());
    let options = ExecutionOptions { target, ..options };
    runtime.execute_skill("deploy", options).await
}

/// Returns the isolation levels that the host has.
fn modes() -> Vec<IsolationMode> {
    let all = [IsolationMode::Namespaces, IsolationMode::LandlockOnly];
    let is_available = |mode: &IsolationMode| {
        let sandbox = LinuxSandbox::new(std::env::temp_dir()).isolation_mode(*mode);
        match sandbox.probe() {
            Ok(_) => true,
            Err(error) => {
                skip_part(format!("{mode:?}"), error);
                false
            }
        }
    };
    all.into_iter().filter(is_available).collect()
}

#[tokio::test]
async fn byte_code_that_appears_after_the_approval_is_not_executed() {
    for mode in modes() {
        let scene = Scene::new();
        let runtime = scene.runtime(mode);
        let run = async || {
            let artifacts = deploy(&runtime, ExecutionOptions::default()).await.unwrap();
            format!("{}{}", artifacts.stdout.text(), artifacts.stderr.text())
        };
        assert_eq!(run().await, "good\n", "{mode:?}");
        scene.poison().await;
        assert_eq!(run().await, "good\n", "{mode:?}");
        assert_eq!(scene.approvals(), 1, "{mode:?}");
        // Outside of `__pycache__` byte code runs without a source, so it is content.
        fs::remove_file(scene.scripts().join("helper.py")).unwrap();
        fs::write(scene.scripts().join("helper.pyc"), "").unwrap();
        assert!(run().await.contains("Error"), "{mode:?}");
        assert_eq!(scene.approvals(), 2, "{mode:?}");
    }
}

/// A grant for a directory around the skill leads to the skill directory itself.
#[tokio::test]
async fn byte_code_is_not_executed_through_another_grant() {
    for mode in modes() {
        let scene = Scene::new();
        let runtime = scene.runtime(mode);
        let run = async || {
            let options = ExecutionOptions {
                readable_paths: vec![scene.fixture.path("")],
                args: vec![scene.scripts().display().to_string()],
                ..ExecutionOptions::default()
            };
            deploy(&runtime, options)
                .await
                .map(|artifacts| artifacts.stdout.text())
        };
        assert_eq!(run().await.unwrap(), "good\n", "{mode:?}");
        scene.poison().await;
        match (mode, run().await) {
            (IsolationMode::Namespaces, Ok(text)) => assert_eq!(text, "good\n"),
            // Landlock cannot exclude a directory of a granted one.
            (IsolationMode::LandlockOnly, Err(error)) => {
                let error = error.to_string();
                assert!(error.contains("contains the hidden path"), "{error}");
                assert!(error.contains("__pycache__"), "{error}");
            }
            (mode, other) => panic!("{mode:?}: {other:?}"),
        }
        assert_eq!(scene.approvals(), 1, "{mode:?}");
    }
}

#[tokio::test]
async fn a_run_gets_no_generated_file_and_hides_the_directories() {
    let scene = Scene::new();
    let fixture = &scene.fixture;
    let runtime = fixture.recording().approver(scene.approver.clone()).build();
    let _ = deploy(&runtime, ExecutionOptions::default()).await.unwrap();
    fixture
        .file("deploy/.DS_Store", "x")
        .file("deploy/__pycache__/x.py", "x")
        .file("deploy/node_modules/.cache/tool/x.js", "x")
        .file("deploy/node_modules/tool/index.js", "x");
    let _ = deploy(&runtime, ExecutionOptions::default()).await.unwrap();
    assert_eq!(scene.approvals(), 2, "a package is content");
    fixture
        .file("deploy/scripts/__pycache__/x.pyc", "x")
        .file("deploy/node_modules/.cache/tool/x.js", "y");
    let _ = deploy(&runtime, ExecutionOptions::default()).await.unwrap();
    assert_eq!(scene.approvals(), 2);
    let jobs = fixture.sandbox.jobs();
    let copy = jobs[2].grants().files()[0].location();
    for (path, is_copied) in [
        ("node_modules/tool/index.js", true),
        (".DS_Store", false),
        ("__pycache__", false),
        ("node_modules/.cache", false),
        ("scripts/__pycache__", false),
    ] {
        assert_eq!(copy.join(path).exists(), is_copied, "{path}");
    }
    let hidden = |path: &str| {
        let path: &Path = &fixture.path("deploy").join(path);
        jobs[2].grants().hidden().contains(path)
    };
    for path in ["__pycache__", "node_modules/.cache", "scripts/__pycache__"] {
        assert!(hidden(path), "{path}");
    }
    assert!(!hidden("scripts") && !hidden(".DS_Store"));
}

#[tokio::test]
async fn a_script_in_a_generated_directory_is_not_part_of_the_skill() {
    let scene = Scene::new();
    scene
        .fixture
        .file("deploy/scripts/__pycache__/evil.py", "print(1)");
    let runtime = scene.fixture.recording().build();
    let options = ExecutionOptions::default().script("scripts/__pycache__/evil.py");
    let error = runtime.execute_skill("deploy", options).await.unwrap_err();
    assert!(error.to_string().contains("evil.py"), "{error}");
    assert!(scene.fixture.sandbox.jobs().is_empty());
}
