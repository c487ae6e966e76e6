//! Tests of the two workflows of OpenSkills, step by step.

#[cfg(target_os = "linux")]
use crate::fixture::{Fixture, OptionsExt as _};
use serde_json::{Value, json};
use skills_runtime::policy::PermissionDecision;
use skills_runtime::{
    ErrorKind, ExecutionMode, ExecutionOptions, Root, Scope, ScriptType, SessionEnd, SkillRuntime,
};
use skills_test_support::source_tree;

/// Workflow 1: a WebAssembly skill is discovered, matched, activated and run.
#[tokio::test]
async fn code_review_in_webassembly() {
    let scratch = tempfile::tempdir().unwrap();
    let root = Root::new(source_tree().join("examples/skills"), Scope::Custom);
    let runtime = SkillRuntime::builder()
        .root(root)
        .scratch_directory(scratch.path())
        .build();

    // 1. Discovery returns descriptors: metadata without instructions.
    let descriptor = runtime
        .discover_skills()
        .into_iter()
        .find(|skill| skill.id == "code-review")
        .unwrap();
    assert_eq!(
        (descriptor.location, descriptor.user_invocable),
        ("custom", true)
    );
    assert!(descriptor.description.starts_with("Reviews source code"));
    assert!(
        !serde_json::to_string(&descriptor)
            .unwrap()
            .contains("# Code review")
    );

    // 2. The model does the matching; mentions of a user are resolved here.
    let index = runtime.prompt().mention_index();
    let found = index.find(
        &[skills_runtime::prompt::UserInput::Text(
            "Use $code-review on this",
        )],
        &Default::default(),
    );
    assert_eq!(found.selected[0].name().as_str(), "code-review");

    // 3. Activation returns the instructions.
    let skill = runtime.get_skill("code-review").unwrap();
    assert!(skill.instructions.starts_with("# Code review\n"));
    let tools: Vec<String> = skill
        .manifest
        .allowed_tools()
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(tools, ["Read", "Grep", "Glob", "LS"]);

    // 4. Execution: low risk, so without approval; WebAssembly, because `wasm/skill.wasm` exists;
    //    JSON output.
    let mut session = runtime.start_session("code-review", None).unwrap();
    assert_eq!(
        (session.is_forked(), session.agent()),
        (true, Some("Explore"))
    );
    let options = ExecutionOptions::default()
        .input(json!({"code": "let x = y.unwrap();", "file": "src/main.rs"}))
        .timeout_ms(30_000);
    let artifacts = session.execute(options).await.unwrap();
    assert_eq!(
        artifacts.mode,
        ExecutionMode::Wasm {
            wasm_module: "wasm/skill.wasm".to_owned()
        }
    );
    assert!(
        artifacts.exit_status.is_success(),
        "{:?}",
        artifacts.exit_status
    );
    assert!(artifacts.output["review"].is_string() && artifacts.output["issues"].is_array());
    assert_eq!(
        serde_json::from_slice::<Value>(artifacts.stdout.head()).unwrap(),
        artifacts.output
    );
    assert_eq!(artifacts.stderr.text(), "");
    assert_eq!(artifacts.permissions_used, ["Read", "Grep", "Glob", "LS"]);
    let report = artifacts.enforcement.unwrap();
    assert_eq!(report.backend(), "wasm");
    for restriction in ["files", "network", "processes", "time"] {
        assert!(
            report
                .restrictions()
                .iter()
                .any(|layer| layer.name() == restriction),
            "{restriction}"
        );
    }

    // 5. The session is forked: its events are dropped, and a summary is returned.
    let SessionEnd::Finished(summary) = session.finish(json!("one finding")).await.unwrap() else {
        panic!("no hook objects")
    };
    assert_eq!(
        (summary.summary, summary.events.len(), summary.tool_calls),
        (json!("one finding"), 0, 1)
    );
    // The run leaves no files.
    assert_eq!(std::fs::read_dir(scratch.path()).unwrap().count(), 0);
}

const EXTRACT: &str = "import json, os, socket, subprocess, sys\n\
    given = json.loads(os.environ['SKILL_INPUT'])\n\
    assert given == json.load(sys.stdin)\n\
    def attempt(what):\n\
    \x20   try:\n\
    \x20       what()\n\
    \x20       return 'done'\n\
    \x20   except OSError:\n\
    \x20       return 'denied'\n\
    print(json.dumps({\n\
    \x20   'text': open(given['file']).read(),\n\
    \x20   'forms': open('forms.md').read(),\n\
    \x20   'environment': [os.environ[name] for name in ['SKILL_ID', 'SKILL_NAME', 'TIMEOUT_MS', 'PYTHONNOUSERSITE']],\n\
    \x20   'write the skill': attempt(lambda: open('forms.md', 'w')),\n\
    \x20   'read elsewhere': attempt(lambda: open('/etc/shadow')),\n\
    \x20   'network': attempt(lambda: socket.create_connection(('192.0.2.1', 80), 2)),\n\
    \x20   'process': attempt(lambda: subprocess.run(['/bin/true'])),\n\
    }))\n";

fn pdf() -> Fixture {
    let fixture = Fixture::new();
    let frontmatter = "---\nname: pdf\ndescription: Comprehensive PDF manipulation toolkit.\nlicense: Proprietary. LICENSE.txt has complete terms\n---\n";
    fixture.file(
        "skills/pdf/SKILL.md",
        format!("{frontmatter}# PDF Processing Guide\n\nSee [forms](forms.md).\n"),
    );
    fixture
        .file("skills/pdf/forms.md", "how to fill forms")
        .file("documents/document.pdf", "Extracted text content...");
    fixture.file("skills/pdf/scripts/extract_text.py", EXTRACT);
    for script in [
        "convert_pdf_to_images",
        "extract_form_field_info",
        "fill_fillable_fields",
    ] {
        fixture.file(
            &format!("skills/pdf/scripts/{script}.py"),
            "raise SystemExit(9)",
        );
    }
    fixture
}

/// Workflow 2: a script is discovered, activated, selected by its action and run in the native
/// sandbox.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn pdf_in_the_native_sandbox() {
    if skills_test_support::skip_without_sandbox() {
        return;
    }
    let fixture = pdf();
    let runtime = SkillRuntime::builder()
        .root(Root::new(fixture.path("skills"), Scope::Custom))
        .build();

    // 1. to 3.: as above; scripts are listed, not read.
    assert_eq!(runtime.discover_skills()[0].id, "pdf");
    let skill = runtime.get_skill("pdf").unwrap();
    assert!(skill.manifest.allowed_tools().is_empty());
    assert!(
        skill
            .resources
            .resources
            .iter()
            .any(|file| file.path == "scripts/extract_text.py")
    );

    // 4. No `allowed-tools`: only the default grants. The caller adds the document.
    let document = fixture.path("documents/document.pdf");
    let mut options = ExecutionOptions::default()
        .input(json!({"action": "extract_text", "file": document}))
        .timeout_ms(10_000);
    options.readable_paths = vec![document];
    let artifacts = runtime.execute_skill("pdf", options).await.unwrap();
    let script_path = "scripts/extract_text.py".to_owned();
    assert_eq!(
        artifacts.mode,
        ExecutionMode::Native {
            script_path,
            script_type: ScriptType::Python
        }
    );
    assert!(
        artifacts.exit_status.is_success(),
        "{:?} {}",
        artifacts.exit_status,
        artifacts.stderr.text()
    );
    assert_eq!(
        artifacts.output,
        json!({
            "text": "Extracted text content...", "forms": "how to fill forms", "environment": ["pdf", "pdf", "10000", "1"],
            "write the skill": "denied", "read elsewhere": "denied", "network": "denied", "process": "denied",
        })
    );
    assert_eq!(artifacts.permissions_used, Vec::<String>::new());
    let verdicts: Vec<String> = artifacts
        .decisions
        .iter()
        .map(PermissionDecision::to_string)
        .collect();
    let expected = format!(
        "granted by rule `allow read (built-in)`: read `{}` (requested by the caller)",
        fixture.path("documents/document.pdf").display()
    );
    assert_eq!(verdicts, [expected]);
}

/// OpenSkills selects a script by the meaning of the action. Here only the name counts; otherwise
/// the error lists the scripts.
#[tokio::test]
async fn an_unknown_action_is_an_error() {
    let fixture = pdf();
    let runtime = SkillRuntime::builder()
        .root(Root::new(fixture.path("skills"), Scope::Custom))
        .build();
    let options = ExecutionOptions::default().input(json!({"action": "extract_the_text"}));
    let error = runtime.execute_skill("pdf", options).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AmbiguousScript);
    assert_eq!(
        error.suggestions(),
        [
            "convert_pdf_to_images.py",
            "extract_form_field_info.py",
            "extract_text.py",
            "fill_fillable_fields.py"
        ]
    );
}
