use insta::assert_snapshot;
use serde_json::json;
use skills_runtime::{ExecutionOptions, RunTarget, SandboxChoice, detect_execution_mode};

use crate::fixture::Fixture;
use crate::fixture::OptionsExt as _;

/// Creates a skill with these files and returns the detected mode.
fn mode(files: &[&str], options: &ExecutionOptions) -> String {
    mode_of("", files, options)
}

fn mode_of(frontmatter: &str, files: &[&str], options: &ExecutionOptions) -> String {
    let fixture = Fixture::new();
    fixture.skill("s", frontmatter);
    for file in files {
        fixture.file(&format!("s/{file}"), "");
    }
    let runtime = fixture.builder().build();
    let catalog = runtime.library().catalog();
    let opened = catalog.entries()[0].open().unwrap();
    match detect_execution_mode("s", &opened, opened.document().unwrap().manifest(), options) {
        Ok(mode) => serde_json::to_string(&mode).unwrap(),
        Err(error) => format!("{error}; {:?}", error.suggestions()),
    }
}

#[test]
fn modules_take_precedence_over_scripts() {
    let any = ExecutionOptions::default();
    let all = [
        "wasm/skill.wasm",
        "skill.wasm",
        "module.wasm",
        "wasm/a.wasm",
        "b.wasm",
        "scripts/run.py",
    ];
    let mut chosen = String::new();
    for skip in 0..all.len() {
        chosen.push_str(&format!("{}\n", mode(&all[skip..], &any)));
    }
    assert_snapshot!(chosen, @r#"
    {"kind":"wasm","wasm_module":"wasm/skill.wasm"}
    {"kind":"wasm","wasm_module":"skill.wasm"}
    {"kind":"wasm","wasm_module":"module.wasm"}
    {"kind":"wasm","wasm_module":"b.wasm"}
    {"kind":"wasm","wasm_module":"b.wasm"}
    {"kind":"native","script_path":"scripts/run.py","script_type":"python"}
    "#);
    assert_snapshot!(mode(&["README.md", "guest/target/x.wasm", "scripts/lib.jsx", "scripts/types.d.ts"], &any), @r#"cannot run skill `s`: no `.wasm` in its directory or `wasm/`, and no script in `scripts/`; []"#);
    assert_snapshot!(mode(&["scripts/sub/a.py"], &any), @r#"cannot run skill `s`: no `.wasm` in its directory or `wasm/`, and no script in `scripts/`; ["sub/a.py"]"#);
}

#[test]
fn options_take_precedence_and_stay_inside_the_skill() {
    let mut options = ExecutionOptions {
        target: RunTarget::Module("extra/other.wasm".to_owned()),
        ..ExecutionOptions::default()
    };
    assert_snapshot!(mode(&["wasm/skill.wasm", "extra/other.wasm"], &options), @r#"{"kind":"wasm","wasm_module":"extra/other.wasm"}"#);
    for outside in [
        "../s/wasm/skill.wasm",
        "/etc/passwd",
        "extra/none.wasm",
        "SKILL.md",
    ] {
        options.target = RunTarget::Module(outside.to_owned());
        assert!(
            mode(&["wasm/skill.wasm"], &options).contains("has no script"),
            "{outside}"
        );
    }
    let script = |name: &str| {
        mode(
            &["wasm/skill.wasm", "scripts/a.py", "scripts/b.sh"],
            &ExecutionOptions::default().script(name),
        )
    };
    assert_snapshot!(script("a.py"), @r#"{"kind":"native","script_path":"scripts/a.py","script_type":"python"}"#);
    assert_snapshot!(script("scripts/b.sh"), @r#"{"kind":"native","script_path":"scripts/b.sh","script_type":"shell"}"#);
    assert_snapshot!(script("b"), @r#"{"kind":"native","script_path":"scripts/b.sh","script_type":"shell"}"#);
    assert_snapshot!(script("aa.py"), @r#"skill `s` has no script `aa.py`; ["a.py", "b.sh"]"#);
    assert!(script("../../etc/passwd").contains("has no script"));
    assert!(script("SKILL.md").contains("has no script"));
}

#[test]
fn scripts_in_subdirectories_are_listed_and_package_markers_are_not() {
    let files = [
        "scripts/__init__.py",
        "scripts/main.py",
        "scripts/other.py",
        "scripts/pdf/__init__.py",
        "scripts/pdf/fill.py",
        "scripts/node_modules/x/a.js",
    ];
    let script = |name: &str| mode(&files, &ExecutionOptions::default().script(name));
    assert_snapshot!(script("absent"), @r#"skill `s` has no script `absent`; ["main.py", "other.py", "pdf/fill.py"]"#);
    assert_snapshot!(script("pdf/fill.py"), @r#"{"kind":"native","script_path":"scripts/pdf/fill.py","script_type":"python"}"#);
    let two = ["scripts/__init__.py", "scripts/only.py"];
    assert_snapshot!(mode(&two, &ExecutionOptions::default()), @r#"{"kind":"native","script_path":"scripts/only.py","script_type":"python"}"#);
    let several = ["scripts/__init__.py", "scripts/a.py", "scripts/b.py"];
    assert_snapshot!(mode(&several, &ExecutionOptions::default()), @r#"cannot select a program of skill `s`: it has several scripts; ["a.py", "b.py"]"#);
}

#[test]
fn a_script_is_never_guessed() {
    let action = |action: &str| ExecutionOptions::default().input(json!({"action": action}));
    let files = ["scripts/fill_form.py", "scripts/extract.py"];
    assert_snapshot!(mode(&files, &ExecutionOptions::default()), @r#"cannot select a program of skill `s`: it has several scripts; ["extract.py", "fill_form.py"]"#);
    assert_snapshot!(mode(&files, &action("fill-form")), @r#"{"kind":"native","script_path":"scripts/fill_form.py","script_type":"python"}"#);
    assert!(mode(&files, &action("extract_text")).contains("several scripts"));
    let twins = ["scripts/main.py", "scripts/main.sh", "scripts/other.py"];
    assert_snapshot!(mode(&twins, &ExecutionOptions::default()), @r#"cannot select a program of skill `s`: it has several scripts; ["main.py", "main.sh"]"#);
    assert_snapshot!(mode(&twins, &action("main")), @r#"cannot select a program of skill `s`: it has several scripts; ["main.py", "main.sh"]"#);
    assert_snapshot!(mode(&twins, &ExecutionOptions::default().script("main")), @r#"cannot select a program of skill `s`: it has several scripts; ["main.py", "main.sh"]"#);
    assert_snapshot!(mode(&["scripts/main.py", "scripts/other.py"], &ExecutionOptions::default()), @r#"{"kind":"native","script_path":"scripts/main.py","script_type":"python"}"#);
    assert_snapshot!(mode(&["scripts/only.sh"], &ExecutionOptions::default()), @r#"{"kind":"native","script_path":"scripts/only.sh","script_type":"shell"}"#);
}

#[test]
fn other_script_types_do_not_change_the_openskills_result() {
    let (any, action) = (
        ExecutionOptions::default(),
        ExecutionOptions::default().input(json!({"action": "build"})),
    );
    assert_snapshot!(mode(&["scripts/only.mjs"], &any), @r#"{"kind":"native","script_path":"scripts/only.mjs","script_type":"node"}"#);
    assert_snapshot!(mode(&["scripts/run.py", "scripts/helper.js"], &any), @r#"{"kind":"native","script_path":"scripts/run.py","script_type":"python"}"#);
    let twins = [
        "scripts/main.rb",
        "scripts/main.sh",
        "scripts/a.py",
        "scripts/build.ts",
    ];
    assert_snapshot!(mode(&twins, &any), @r#"{"kind":"native","script_path":"scripts/main.sh","script_type":"shell"}"#);
    assert_snapshot!(mode(&twins, &action), @r#"{"kind":"native","script_path":"scripts/build.ts","script_type":"deno"}"#);
    let named = ExecutionOptions::default().script("main");
    assert_snapshot!(mode(&twins, &named), @r#"{"kind":"native","script_path":"scripts/main.sh","script_type":"shell"}"#);
    assert_snapshot!(mode(&twins, &ExecutionOptions::default().script("main.rb")), @r#"{"kind":"native","script_path":"scripts/main.rb","script_type":"ruby"}"#);
    assert_snapshot!(mode(&["scripts/a.pl", "scripts/b.pl"], &any), @r#"cannot select a program of skill `s`: it has several scripts; ["a.pl", "b.pl"]"#);
}

#[test]
fn the_scripts_block_takes_precedence_over_the_action() {
    let files = [
        "scripts/a.py",
        "scripts/b.py",
        "scripts/helper.py",
        "scripts/main.py",
    ];
    let chosen = |block: &str, action: &str| {
        let options = ExecutionOptions::default().input(json!({"action": action}));
        mode_of(&format!("scripts: {block}\n"), &files, &options)
            .replace(r#"","script_type":"python"}"#, "")
            .replace(r#"{"kind":"native","script_path":""#, "")
    };
    assert_eq!(chosen("{a: The only one}", "b"), "scripts/b.py");
    assert_eq!(chosen("{a: The only one}", "none"), "scripts/a.py");
    assert_eq!(chosen("{a: One, b.py: Two}", "b"), "scripts/b.py");
    assert_eq!(chosen("{a: One, b: Two}", "helper"), "scripts/helper.py");
    assert_eq!(chosen("{a: One, main: Two}", "none"), "scripts/main.py");
    assert_eq!(chosen("{gone: Not there}", "none"), "scripts/main.py");
    assert_snapshot!(chosen("{a: One, b: Two}", "none"), @r#"cannot select a program of skill `s`: it has several scripts; ["a.py", "b.py"]"#);
}

/// What is missing depends on the image, which there is not.
#[tokio::test]
async fn a_missing_container_backend_is_named_before_missing_programs() {
    let fixture = Fixture::new();
    fixture
        .skill("needy", "requires: {bins: [no-such-program]}\n")
        .file("needy/scripts/run.sh", "");
    let options = ExecutionOptions {
        sandbox: SandboxChoice::Container,
        ..ExecutionOptions::default()
    };
    let runtime = fixture.recording().build();
    let error = runtime
        .execute_skill("needy", options.clone())
        .await
        .unwrap_err();
    let text = error.message_with_sources();
    assert!(text.contains("the container backend"), "{text}");
    let preview = runtime.executor().preview("needy", &options).unwrap();
    assert_eq!(preview.missing_requirements, [""; 0]);
}
