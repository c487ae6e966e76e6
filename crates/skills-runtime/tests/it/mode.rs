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
    let files: Vec<(&str, &str)> = files.iter().map(|file| (*file, "")).collect();
    mode_with(frontmatter, &files, options)
}

/// Creates a skill with these files and their content, and returns the detected mode.
fn mode_with(frontmatter: &str, files: &[(&str, &str)], options: &ExecutionOptions) -> String {
    let fixture = Fixture::new();
    fixture.skill("s", frontmatter);
    for (file, text) in files {
        fixture.file(&format!("s/{file}"), text);
    }
    mode_in(&fixture, options)
}

/// Returns the detected mode of the only skill of a fixture.
fn mode_in(fixture: &Fixture, options: &ExecutionOptions) -> String {
    let runtime = fixture.builder().build();
    let catalog = runtime.library().catalog();
    let opened = catalog.entries()[0].open().unwrap();
    match detect_execution_mode("s", &opened, opened.document().unwrap().manifest(), options) {
        Ok(mode) => serde_json::to_string(&mode).unwrap(),
        Err(error) => {
            let mut lines = vec![format!("{error}; {:?}", error.suggestions())];
            lines.extend(error.unusable_scripts().iter().cloned());
            lines.join("\n")
        }
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
    assert_snapshot!(mode(&["README.md", "guest/target/x.wasm", "scripts/lib.jsx", "scripts/types.d.ts"], &any), @r#"
    cannot run skill `s`: no `.wasm` in its directory or `wasm/`, and no script in its directory or `scripts/`; []
    `scripts/lib.jsx` has neither a known extension nor a first line that names a program
    `scripts/types.d.ts` has neither a known extension nor a first line that names a program
    "#);
    assert_snapshot!(mode(&["scripts/sub/a.py"], &any), @r#"cannot run skill `s`: no `.wasm` in its directory or `wasm/`, and no script in its directory or `scripts/`; ["sub/a.py"]"#);
}

/// Returns the modes of a script with each of these names and first lines.
fn modes_of_scripts(scripts: &[(&str, &str)]) -> String {
    let any = ExecutionOptions::default();
    let modes = scripts
        .iter()
        .map(|(name, text)| mode_with("", &[(name, text)], &any));
    modes.collect::<Vec<_>>().join("\n")
}

#[test]
fn the_first_line_of_a_script_decides_before_its_extension() {
    assert_snapshot!(modes_of_scripts(&[
        ("scripts/query", "#!/usr/bin/env bash\n"),
        ("scripts/query", "#!/usr/bin/env -S LC_ALL=C 'X=a b' python3 -u\n"),
        ("scripts/query.py", "#!/usr/bin/env -S uv run --script\n"),
        ("scripts/query.py", "#!/bin/sh\n"),
        ("scripts/query.R", "#!/usr/bin/env Rscript\n"),
        ("query", "\u{feff}#!/bin/sh\r\n"),
        ("query.rb", ""),
    ]), @r#"
    {"kind":"native","script_path":"scripts/query","script_type":"shell"}
    {"kind":"native","script_path":"scripts/query","script_type":"python"}
    {"kind":"native","script_path":"scripts/query.py","script_type":"python"}
    {"kind":"native","script_path":"scripts/query.py","script_type":"shell"}
    {"kind":"command","program":"Rscript"}
    {"kind":"native","script_path":"query","script_type":"shell"}
    {"kind":"native","script_path":"query.rb","script_type":"ruby"}
    "#);
}

#[test]
fn files_for_tools_of_the_author_are_not_selected() {
    let none = mode(
        &["setup.py", "conftest.py", "vite.config.js", "x.py/a", "lib"],
        &ExecutionOptions::default(),
    );
    assert!(none.contains("cannot run skill"), "{none}");
    let named = ExecutionOptions::default().script("setup.py");
    assert_snapshot!(mode(&["setup.py"], &named), @r#"{"kind":"native","script_path":"setup.py","script_type":"python"}"#);
    let both = ["scripts/a.py", "b.py"];
    assert_snapshot!(mode(&both, &ExecutionOptions::default()), @r#"{"kind":"native","script_path":"scripts/a.py","script_type":"python"}"#);
}

#[cfg(unix)]
#[test]
fn files_that_cannot_run_are_named_with_the_reason() {
    use std::os::unix::fs::symlink;
    let fixture = Fixture::new();
    fixture
        .skill("s", "")
        .file("lib/go.py", "print(1)")
        .file("s/tools/in.py", "print(1)")
        .file("s/scripts/query", "echo")
        .file("s/scripts/empty", "")
        .file("s/scripts/b/data.xml", "<x/>");
    for (target, link) in [
        ("../../lib/go.py", "go.py"),
        ("../tools/in.py", "in.py"),
        ("../tools/none.py", "broken.py"),
        ("/etc/\u{202e}`\u{1b}[2K", "forged.py"),
    ] {
        symlink(target, fixture.path(&format!("s/scripts/{link}"))).unwrap();
    }
    let named = |name: &str| mode_in(&fixture, &ExecutionOptions::default().script(name));
    assert_snapshot!(mode_in(&fixture, &ExecutionOptions::default()), @r"
    cannot run skill `s`: no `.wasm` in its directory or `wasm/`, and no script in its directory or `scripts/`; []
    `scripts/broken.py` is a symlink to `../tools/none.py`, which is not a file of the skill
    `scripts/forged.py` is a symlink that leads out of the skill, to `/etc/\u{202e}\u{60}\u{1b}[2K`
    `scripts/go.py` is a symlink that leads out of the skill, to `../../lib/go.py`
    `scripts/in.py` is a symlink to `../tools/in.py`; name that file
    `scripts/empty` has neither a known extension nor a first line that names a program
    `scripts/query` has neither a known extension nor a first line that names a program
    ");
    assert_snapshot!(named("go"), @r"
    skill `s` has no script `go`; []
    `scripts/go.py` is a symlink that leads out of the skill, to `../../lib/go.py`
    ");
    assert_snapshot!(named("scripts/query"), @r"
    skill `s` has no script `scripts/query`; []
    `scripts/query` has neither a known extension nor a first line that names a program
    ");
    assert!(!named("absent").contains("`scripts/query`"));
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
