use std::time::{Duration, Instant};

#[cfg(target_os = "linux")]
use crate::fixture::Fixture;
#[cfg(target_os = "linux")]
use crate::skills::{EXAMPLES, examples, skills, skills_with};
use insta::assert_snapshot;
use serde_json::json;

const TAX: [&str; 4] = ["run", "tax_calculator", "--script", "calculate_duty.py"];

/// Creates a skill with one script and runs it.
fn script(frontmatter: &str, name: &str, text: &str, arguments: &[&str]) -> crate::skills::Done {
    let directory = tempfile::tempdir().unwrap();
    let skill = directory.path().join("one");
    std::fs::create_dir_all(skill.join("scripts")).unwrap();
    std::fs::write(
        skill.join("SKILL.md"),
        format!("---\nname: one\ndescription: d\n{frontmatter}---\n"),
    )
    .unwrap();
    std::fs::write(skill.join("scripts").join(name), text).unwrap();
    let root = directory.path().display().to_string();
    let done = skills(&[&["run", "one", "--root", &root], arguments].concat());
    crate::skills::Done {
        stderr: done.stderr.replace(&root, "ROOT"),
        ..done
    }
}

#[cfg(target_os = "linux")]
#[test]
fn input_comes_from_the_argument_a_file_or_standard_input() {
    if skills_test_support::skip_without_sandbox() {
        return;
    }
    let input = "{\"cif_price\":10000,\"hs_code\":\"85423100\"}";
    let expected = "{\"duty\": 0, \"vat\": 1300, \"total\": 1300}\n";
    let by_argument = examples(&[&TAX[..], &["--input", input]].concat());
    assert_eq!(
        (
            by_argument.code,
            by_argument.stdout.as_str(),
            by_argument.stderr.as_str()
        ),
        (0, expected, "")
    );
    let by_pipe = skills_with(&[&TAX[..], &["--input", "-"], &EXAMPLES].concat(), input);
    assert_eq!((by_pipe.code, by_pipe.stdout.as_str()), (0, expected));
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), input).unwrap();
    let by_file = examples(
        &[
            &TAX[..],
            &["--input", &format!("@{}", file.path().display())],
        ]
        .concat(),
    );
    assert_eq!((by_file.code, by_file.stdout.as_str()), (0, expected));
    let forecast = [
        "run",
        "weather",
        "--script",
        "get_forecast",
        "--",
        "--city",
        "Nairobi",
        "--days",
        "1",
    ];
    let by_arguments = skills(&[&EXAMPLES, &forecast[..]].concat());
    assert_eq!(by_arguments.code, 0, "{}", by_arguments.stderr);
    assert!(
        by_arguments
            .stdout
            .starts_with("{\"city\": \"Nairobi\", \"forecast\": [{\"day\": 1,")
    );
}

#[test]
fn invalid_json_input_is_invalid_usage() {
    assert_snapshot!(examples(&[&TAX[..], &["--input", "{nope"]].concat()).page(), @"
    exit 125
    -- stderr
    error: cannot parse --input as JSON: key must be a string at line 1 column 2
    help: pass text with `--stdin -` or a file with `--stdin FILE`
    ");
    assert_snapshot!(examples(&[&TAX[..], &["--input", "@/nowhere/x.json", "--json"]].concat()).page(), @r#"
    exit 125
    -- stdout
    {
      "error": {
        "code": "input",
        "message": "cannot open the input file `/nowhere/x.json`: No such file or directory (os error 2)",
        "candidates": [],
        "hint": null
      },
      "exit": {
        "code": 125,
        "from": "skills",
        "reason": "failed"
      }
    }
    "#);
}

#[cfg(target_os = "linux")]
#[test]
fn a_broken_script_is_a_result() {
    if skills_test_support::skip_without_sandbox() {
        return;
    }
    let done = examples(&["run", "tax_calculator", "--script", "broken.py"]);
    assert_eq!(done.code, 1);
    assert!(done.stderr.contains("ZeroDivisionError: division by zero"));
    assert!(
        done.stderr
            .trim_end()
            .ends_with("error: `tax_calculator` failed: exit code 1")
    );
    let document = examples(&["run", "tax_calculator", "--script", "broken.py", "--json"]);
    assert_eq!(
        (document.code, document.json()["status"].clone()),
        (
            1,
            json!({"kind": "failed", "termination": {"kind": "exited", "code": 1}})
        )
    );
}

#[test]
fn scripts_are_suggested_and_never_guessed() {
    assert_snapshot!(examples(&["run", "tax_calculator"]).page(), @"
    exit 125
    -- stderr
    error: cannot select a program of skill `tax_calculator`: it has several scripts
    help: select one with `--script NAME`, or with `action` in the input: broken.py, calculate_duty.py
    ");
    assert_snapshot!(examples(&["run", "tax_calculator", "--script", "calculate"]).page(), @"
    exit 127
    -- stderr
    error: skill `tax_calculator` has no script `calculate`
    help: available: broken.py, calculate_duty.py
    ");
    assert_snapshot!(examples(&["run", "tax_calculator", "--script", "../../../etc/passwd"]).page(), @"
    exit 127
    -- stderr
    error: skill `tax_calculator` has no script `../../../etc/passwd`
    help: available: broken.py, calculate_duty.py
    ");
}

#[test]
fn a_denied_run_is_exit_code_125() {
    let secrets = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(secrets.path(), "OTHER=x\n").unwrap();
    let secrets = secrets.path().display().to_string();
    let denied = script(
        "allowed-tools: Bash(git:*), Write\nrequires: {env: [OTHER]}\n",
        "main.sh",
        "echo hi\n",
        &["--env-file", &secrets],
    );
    assert_snapshot!(denied.page(), @"
    exit 125
    -- stderr
    error: cannot run `one`: permission denied: read variable `OTHER` (requested by its requirements): no rule allows it and no approver is available
    help: allow it for this run with `--allow env:OTHER`
    help: approve this content permanently with `skills trust one --root ROOT` and the same options
    help: run without it with `--without env`
    ");
    let document = script(
        "allowed-tools: WebFetch\nrequires: {env: [OTHER]}\n",
        "main.sh",
        "echo hi\n",
        &["--json", "--env-file", &secrets],
    );
    assert_eq!(document.code, 125);
    let decisions = &document.json()["status"]["denial"]["decisions"];
    assert_eq!(decisions[0]["decision"], "omit");
    assert_eq!(decisions[1]["permission"], json!({"variable": "OTHER"}));
}

#[cfg(target_os = "linux")]
#[test]
fn a_denied_capability_can_be_allowed_or_dropped() {
    if skills_test_support::skip_without_sandbox() {
        return;
    }
    let text = "if x=$(echo spawned); then echo $x; else echo alone; fi\n";
    let allowed = script(
        "allowed-tools: Bash\n",
        "main.sh",
        text,
        &["--allow", "spawn"],
    );
    assert_eq!(
        (allowed.code, allowed.stdout.as_str()),
        (0, "spawned\n"),
        "{}",
        allowed.stderr
    );
    let without = script(
        "allowed-tools: Bash\n",
        "main.sh",
        text,
        &["--without", "spawn"],
    );
    assert!(!without.stdout.contains("spawned"), "{}", without.stdout);
}

#[cfg(target_os = "linux")]
#[test]
fn a_workspace_is_writable_if_requested_and_allowed() {
    if skills_test_support::skip_without_sandbox() {
        return;
    }
    let workspace = tempfile::tempdir().unwrap();
    let directory = workspace.path().display().to_string();
    let text = format!("open('{directory}/out.txt', 'w').write('result')\n");
    let run = |arguments: &[&str]| {
        script(
            "allowed-tools: Write\n",
            "main.py",
            &text,
            &[arguments, &["--workspace", &directory]].concat(),
        )
        .code
    };
    assert_eq!(run(&["--without", "write"]), 1);
    assert_eq!(run(&[]), 0);
    assert_eq!(
        std::fs::read_to_string(workspace.path().join("out.txt")).unwrap(),
        "result"
    );
    assert_eq!(
        script("", "main.py", "pass", &["--workspace", "/nowhere"]).code,
        125
    );
}

/// A skill that declares nothing works on the user's files as its instructions say: relative to the
/// workspace.
#[cfg(target_os = "linux")]
#[test]
fn a_script_works_in_the_workspace() {
    if skills_test_support::skip_without_sandbox() {
        return;
    }
    let workspace = tempfile::tempdir().unwrap();
    std::fs::write(workspace.path().join("in.txt"), "data").unwrap();
    let directory = workspace.path().canonicalize().unwrap();
    let directory = directory.to_str().unwrap();
    let text = "open('out.txt', 'w').write(open('in.txt').read())\n";
    let run = |arguments: &[&str]| {
        let arguments = [arguments, &["--workspace", directory]].concat();
        script("", "main.py", text, &arguments)
    };
    assert_eq!(run(&[]).code, 0);
    let written = std::fs::read_to_string(workspace.path().join("out.txt")).unwrap();
    assert_eq!(written, "data");
    // The directory of the skill is the working directory only on request.
    assert_eq!(run(&["--cwd", "skill"]).code, 1);
    let without = script("", "main.py", text, &["--cwd", "workspace"]);
    assert_eq!(without.code, 125);
}

/// What rules add to a request is restricted like what the request names.
#[cfg(target_os = "linux")]
#[test]
fn a_rule_opens_neither_skills_nor_the_state_directory() {
    if skills_test_support::skip_without_sandbox() {
        return;
    }
    let fixture = Fixture::new();
    let top = fixture.path();
    let script = "import os, sys
for path, mode in [('ws/skills/other/x', 'w'), ('ws/foo/x', 'w'), ('ws/plain', 'w'), ('state/skills/x', 'r')]:
    try:
        open(os.path.join(sys.argv[1], path), mode)
        print('opened', path)
    except OSError as error:
        print(path, error.strerror)
";
    fixture
        .skill("ws/skills/other", "other")
        .skill("ws/foo", "foo")
        .skill("own/work", "work")
        .file("own/work/scripts/main.py", script)
        .file("state/skills/x", "secret");
    std::os::unix::fs::symlink(top.join("ws/foo"), top.join("own/foo")).unwrap();
    let top = top.to_str().unwrap();
    let [write, read] = [format!("write:{top}/ws"), format!("read:{top}")];
    let rules = ["--allow", &write, "--allow", &read];
    let roots = ["--root", "own", "--root", "ws/skills"];
    let arguments = [&["run", "work"], &roots[..], &rules, &["--", top]].concat();
    let done = fixture.run_with_state("", &arguments, &fixture.path().join("state"));
    assert_snapshot!(done.stdout, @r"
    ws/skills/other/x Read-only file system
    ws/foo/x Read-only file system
    opened ws/plain
    state/skills/x No such file or directory
    ");
}

#[cfg(target_os = "linux")]
#[test]
fn a_refused_program_names_the_option_that_allows_it() {
    if skills_test_support::skip_without_sandbox() {
        return;
    }
    let text = "import subprocess\nprint(subprocess.run(['od', '/dev/null']).returncode)\n";
    let refused = script("", "main.py", text, &[]);
    assert_eq!(refused.code, 1);
    assert!(
        refused
            .stderr
            .ends_with("refused: spawn another program\nhelp: allow it with `--allow spawn`\n"),
        "{}",
        refused.stderr
    );
    assert_eq!(
        script("", "main.py", text, &["--allow", "spawn:od"]).code,
        0
    );
    let unused = script("", "main.py", "pass", &["--allow", "env:NO_SUCH_VARIABLE"]);
    let note = "note: `env:NO_SUCH_VARIABLE` had no effect on this run";
    assert!(unused.stderr.contains(note), "{}", unused.stderr);
}

#[cfg(target_os = "linux")]
#[test]
fn a_timeout_is_exit_code_124_and_keeps_the_output() {
    if skills_test_support::skip_without_sandbox() {
        return;
    }
    let started = Instant::now();
    let done = script(
        "",
        "main.py",
        "import time\nprint('begun', flush=True)\ntime.sleep(3600)\n",
        &["--timeout", "4"],
    );
    assert_snapshot!(done.page(), @"
    exit 124
    -- stdout
    begun
    -- stderr
    error: `one` timed out after 4 s
    help: give it more time with `--timeout 16`
    ");
    assert!(
        started.elapsed() < Duration::from_secs(60),
        "it did not wait for the script"
    );
}

#[cfg(target_os = "linux")]
#[test]
fn exceeding_the_output_limit_is_reported() {
    if skills_test_support::skip_without_sandbox() {
        return;
    }
    let done = script(
        "",
        "main.py",
        "while True: print('x' * 1000)\n",
        &["--json"],
    );
    let document = done.json();
    assert_eq!(
        (done.code, &document["status"]["termination"]["kind"]),
        (125, &json!("output-limit"))
    );
    let text = document["stdout"]["text"].as_str().unwrap();
    let (head, rest) = text.split_once("\n[... ").unwrap();
    assert_eq!(
        (&document["stdout"]["truncated"], head.len()),
        (&json!(true), 3 << 21)
    );
    assert_eq!(
        rest.split_once(" bytes omitted ...]\n")
            .map(|(_, tail)| tail.len()),
        Some(1 << 21)
    );
}

#[cfg(target_os = "linux")]
#[test]
fn verbose_prints_the_enforced_restrictions() {
    if skills_test_support::skip_without_sandbox() {
        return;
    }
    let done = script("", "main.sh", "echo hi\n", &["--verbose"]);
    assert!(
        done.stderr
            .contains("note: sandbox linux\nnote:   isolation "),
        "{}",
        done.stderr
    );
    assert!(
        done.stderr.contains("\nnote:   files enforced: "),
        "{}",
        done.stderr
    );
    let document = script("", "main.sh", "echo hi\n", &["--json"]).json();
    assert!(
        document["sandbox"]["restrictions"]
            .as_array()
            .is_some_and(|restrictions| restrictions.len() >= 10),
        "{document}"
    );
    assert!(
        document["sandbox"]["fields"]
            .as_array()
            .is_some_and(|fields| fields[0]["name"] == "isolation"),
        "{document}"
    );
}

#[test]
fn wasm_reviews_a_file() {
    let input = json!({"code": "fn main() { a.unwrap() }", "file": "a.rs"}).to_string();
    let done = examples(&["run", "code-review", "--input", &input, "--json"]);
    let document = done.json();
    assert_eq!(
        (done.code, &document["mode"]["wasm_module"]),
        (0, &json!("wasm/skill.wasm"))
    );
    assert_eq!(
        document["output"]["issues"],
        json!([{"line": 1, "severity": "warning", "rule": "unwrap", "message": "panics when there is no value; return an error instead"}])
    );
    assert_eq!(
        document["permissions_used"],
        json!(["Read", "Grep", "Glob", "LS"])
    );
}

#[test]
fn an_invalid_module_fails_with_a_reason() {
    let directory = tempfile::tempdir().unwrap();
    let skill = directory.path().join("one");
    std::fs::create_dir_all(&skill).unwrap();
    std::fs::write(
        skill.join("SKILL.md"),
        "---\nname: one\ndescription: d\n---\n",
    )
    .unwrap();
    std::fs::write(skill.join("skill.wasm"), "(module)").unwrap();
    assert_snapshot!(skills(&["run", "one", "--root", &directory.path().display().to_string()]).page(), @"
    exit 126
    -- stderr
    error: cannot load the program: text, not WebAssembly
    ");
}

/// A pattern of a skill cannot grant writes to files that an agent, an editor or git executes
/// later. The error shows the rule that would allow it.
#[cfg(target_os = "linux")]
#[test]
fn patterns_of_a_skill_do_not_lift_protection() {
    if skills_test_support::skip_without_sandbox() {
        return;
    }
    let workspace = tempfile::tempdir().unwrap();
    let root = workspace.path().canonicalize().unwrap();
    let directory = root.display().to_string();
    for name in [
        ".git/hooks",
        ".claude",
        ".vscode",
        ".ssh",
        ".kiro",
        ".github/workflows",
        "nested/.git",
    ] {
        std::fs::create_dir_all(root.join(name)).unwrap();
        std::fs::write(root.join(name).join("old"), "as it was").unwrap();
        let text =
            format!("open('{directory}/{name}/old', 'w').write('changed')\nprint('written')\n");
        let frontmatter = format!("allowed-tools: Write({name}/**) Write\n");
        let run = |arguments: &[&str]| {
            script(
                &frontmatter,
                "main.py",
                &text,
                &[arguments, &["--workspace", &directory]].concat(),
            )
        };
        for wide in [
            &["--write", &directory][..],
            &["--allow", "write"],
            &["--yes"],
            &["--allow", &format!("write:{directory}")],
        ] {
            let denied = run(wide);
            assert_ne!(
                denied.code, 0,
                "{name} {wide:?}: {} {}",
                denied.stdout, denied.stderr
            );
            assert!(denied.stdout.is_empty(), "{name}: {}", denied.page());
            let text = std::fs::read_to_string(root.join(name).join("old")).unwrap();
            assert_eq!(text, "as it was", "{name} {wide:?}");
            // Only `--yes` is an approver.
            let is_asked = denied.stderr.contains("PROTECTED");
            assert_eq!(is_asked, wide == ["--yes"], "{name}: {}", denied.page());
        }
        let note = "note: the skill asks for more than this run had: write; approve the skill with `skills trust one --root ";
        assert!(
            run(&["--write", &directory]).stderr.contains(note),
            "{name}"
        );
        // Without the pattern the workspace is writable, but the protected path is not.
        let wide = script(
            "allowed-tools: Write\n",
            "main.py",
            &text,
            &["--workspace", &directory, "--write", &directory],
        );
        // Keys cannot be opened at all.
        let reason = match name {
            ".ssh" => "Permission denied",
            _ => "Read-only file system",
        };
        assert!(
            wide.code == 1 && wide.stderr.contains(reason),
            "{name}: {} {}",
            wide.stdout,
            wide.stderr
        );
        assert!(name != ".ssh" || !wide.stderr.contains("--allow"));
        assert_eq!(
            std::fs::read_to_string(root.join(name).join("old")).unwrap(),
            "as it was",
            "{name}"
        );
    }
    // A rule for that very path allows it.
    let text = format!("open('{directory}/.vscode/old', 'w').write('changed')\n");
    let rule = format!("write:{directory}/.vscode");
    let allowed = script(
        "allowed-tools: Write(.vscode/**)\n",
        "main.py",
        &text,
        &["--workspace", &directory, "--allow", &rule],
    );
    assert_eq!(allowed.code, 0, "{}", allowed.stderr);
    assert_eq!(
        std::fs::read_to_string(root.join(".vscode/old")).unwrap(),
        "changed"
    );
}

#[cfg(target_os = "linux")]
#[test]
fn new_protected_paths_are_reported_after_the_run() {
    if skills_test_support::skip_without_sandbox() {
        return;
    }
    let workspace = tempfile::tempdir().unwrap();
    let directory = workspace
        .path()
        .canonicalize()
        .unwrap()
        .display()
        .to_string();
    let text = format!(
        "import os\nos.makedirs('{directory}/sub')\nopen('{directory}/sub/.envrc', 'w').write('x')\n"
    );
    let done = script(
        "allowed-tools: Write\n",
        "main.py",
        &text,
        &["--workspace", &directory, "--write", &directory],
    );
    assert_eq!(done.code, 0, "{}", done.stderr);
    assert!(
        done.stderr.contains(&format!(
            "note: the protected path \"{directory}/sub/.envrc\" was created during the run"
        )),
        "{}",
        done.stderr
    );
}

/// Writing them is everyday work, so they are listed and not refused.
#[cfg(target_os = "linux")]
#[test]
fn files_that_other_programs_execute_are_listed_after_the_run() {
    if skills_test_support::skip_without_sandbox() {
        return;
    }
    let workspace = tempfile::tempdir().unwrap();
    let root = workspace.path().canonicalize().unwrap();
    std::fs::write(root.join("package.json"), "{}").unwrap();
    std::fs::create_dir(root.join(".vscode")).unwrap();
    let directory = root.display().to_string();
    let text = format!(
        "import os\nos.makedirs('{directory}/sub')\nfor name in ['Makefile', 'package.json', 'sub/conftest.py', 'README.md', '.vscode/tasks.json']:\n    open('{directory}/' + name, 'w').write('x')\n"
    );
    let rule = format!("write:{directory}/.vscode");
    let arguments = [
        "--workspace",
        &directory,
        "--write",
        &directory,
        "--allow",
        &rule,
    ];
    let done = script("allowed-tools: Write\n", "main.py", &text, &arguments);
    assert_eq!(done.code, 0, "{}", done.stderr);
    let expected = "note: files that other programs execute were created or changed during the run: `package.json` (npm and pnpm), `Makefile` (make), `.vscode/tasks.json` (VS Code), `sub/conftest.py` (Python build and test tools)\n";
    assert!(done.stderr.contains(expected), "{}", done.stderr);
    let again = [&arguments[..], &["--json"]].concat();
    let text = text.replace("os.makedirs", "print");
    let done = script("allowed-tools: Write\n", "main.py", &text, &again);
    assert!(done.stdout.contains("`Makefile` (make)"), "{}", done.stdout);
}

/// Python would execute it in place of the source, and a person executes the others by name.
#[cfg(target_os = "linux")]
#[test]
fn byte_code_and_programs_are_listed_after_the_run_and_an_import_leaves_none() {
    if skills_test_support::skip_without_sandbox() {
        return;
    }
    let workspace = tempfile::tempdir().unwrap();
    let root = workspace.path().canonicalize().unwrap();
    std::fs::write(root.join("helper.py"), "def go(): pass\n").unwrap();
    let directory = root.display().to_string();
    let run = |text: &str| {
        let arguments = ["--workspace", &directory, "--write", &directory];
        let done = script("allowed-tools: Write\n", "main.py", text, &arguments);
        assert_eq!(done.code, 0, "{}", done.stderr);
        done.stderr
    };
    let import = format!("import sys\nsys.path.insert(0, '{directory}')\nimport helper\n");
    let stderr = run(&import);
    assert!(!stderr.contains("other programs execute"), "{stderr}");
    assert!(!root.join("__pycache__").exists());
    let stderr = run(&format!(
        "import os\nos.chdir('{directory}')\nfor name in ['__pycache__/helper.cpython-311.pyc', 'node_modules/a/index.js', 'tool']:\n    os.makedirs(os.path.dirname('./' + name), exist_ok=True)\n    open(name, 'w').write('x')\nos.chmod('tool', 0o755)\n"
    ));
    let expected = "note: files that other programs execute were created or changed during the run: `tool` (executable files), `__pycache__/helper.cpython-311.pyc` (Python), `node_modules/a/index.js` (installed packages of JavaScript)\n";
    assert!(stderr.contains(expected), "{stderr}");
}

#[cfg(target_os = "linux")]
#[test]
fn files_that_the_configuration_of_git_names_are_read_only() {
    if skills_test_support::skip_without_sandbox() {
        return;
    }
    let workspace = tempfile::tempdir().unwrap();
    let root = workspace.path().canonicalize().unwrap();
    let config = "[core]\n\thooksPath = tools/hooks\n\tfsmonitor = ./watch.sh\n[include]\n\tpath = ../shared.inc\n";
    for (path, text) in [
        (".git/config", config),
        ("tools/hooks/pre-commit", "as it was"),
        ("watch.sh", "as it was"),
        ("shared.inc", "[alias]\nx = !sh lint.sh\n"),
        ("lint.sh", "as it was"),
        ("src/main.rs", "as it was"),
    ] {
        std::fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
        std::fs::write(root.join(path), text).unwrap();
    }
    let directory = root.display().to_string();
    let text = format!(
        "import os\nfor name in ['tools/hooks/pre-commit', 'tools/hooks/post-commit', 'watch.sh', 'shared.inc', 'lint.sh', 'src/main.rs']:\n    try:\n        open('{directory}/' + name, 'w').write('changed')\n        print('wrote', name)\n    except OSError as error:\n        pass\n"
    );
    let arguments = ["--workspace", &directory, "--write", &directory];
    let done = script("allowed-tools: Write\n", "main.py", &text, &arguments);
    assert_eq!(done.stdout, "wrote src/main.rs\n", "{}", done.stderr);
}

/// A skill cannot change another skill whose root is in a writable workspace.
#[cfg(target_os = "linux")]
#[test]
fn skill_roots_in_a_writable_workspace_are_read_only() {
    if skills_test_support::skip_without_sandbox() {
        return;
    }
    let workspace = tempfile::tempdir().unwrap();
    let directory = workspace.path().canonicalize().unwrap();
    for name in ["one", "two"] {
        std::fs::create_dir_all(directory.join("library").join(name).join("scripts")).unwrap();
        let text = format!("---\nname: {name}\ndescription: d\nallowed-tools: Write\n---\n");
        std::fs::write(directory.join("library").join(name).join("SKILL.md"), text).unwrap();
    }
    let text = format!(
        "open('{}/library/two/SKILL.md', 'a').write('x')\n",
        directory.display()
    );
    std::fs::write(directory.join("library/one/scripts/main.py"), text).unwrap();
    let directory = directory.display().to_string();
    let root = format!("{directory}/library");
    let done = skills(&[
        "run",
        "one",
        "--root",
        &root,
        "--workspace",
        &directory,
        "--write",
        &directory,
    ]);
    assert!(done.code != 0, "{} {}", done.stdout, done.stderr);
    assert!(
        !std::fs::read_to_string(workspace.path().join("library/two/SKILL.md"))
            .unwrap()
            .ends_with('x')
    );
}

/// State and policy are hidden from a program, even inside a readable directory.
#[cfg(target_os = "linux")]
#[test]
fn state_and_policy_are_hidden_inside_a_readable_directory() {
    if skills_test_support::skip_without_sandbox() {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let home = home.path().canonicalize().unwrap();
    for (name, text) in [
        (".local/state/skills/mcp-token", "token"),
        (".config/skills/policy.toml", ""),
        ("plain.txt", "plain"),
    ] {
        std::fs::create_dir_all(home.join(name).parent().unwrap()).unwrap();
        std::fs::write(home.join(name), text).unwrap();
    }
    let skill = home.join("library/one");
    std::fs::create_dir_all(skill.join("scripts")).unwrap();
    std::fs::write(
        skill.join("SKILL.md"),
        "---\nname: one\ndescription: d\nallowed-tools: Read\n---\n",
    )
    .unwrap();
    let text = "import os, sys\nhome = sys.argv[1]\nprint(open(home + '/plain.txt').read(), sorted(os.listdir(home + '/.local/state/skills')),\n      os.listdir(home + '/.config/skills'))\n";
    std::fs::write(skill.join("scripts/main.py"), text).unwrap();
    let workspace = home.display().to_string();
    let root = home.join("library").display().to_string();
    let arguments = [
        "run",
        "one",
        "--root",
        &root,
        "--workspace",
        &workspace,
        "--",
        &workspace,
    ];
    let scratch = tempfile::tempdir().unwrap();
    let mut command =
        crate::skills::command_with_state(&arguments, scratch.path(), &home.join(".local/state"));
    let done = command.env("HOME", &home).output().unwrap();
    assert_eq!(
        String::from_utf8_lossy(&done.stdout),
        "plain [] []\n",
        "{}",
        String::from_utf8_lossy(&done.stderr)
    );
}

#[cfg(target_os = "linux")]
#[test]
fn output_files_with_protected_names_are_not_saved() {
    if skills_test_support::skip_without_sandbox() {
        return;
    }
    let out = tempfile::tempdir().unwrap();
    let text = "import os\nfor name in ['.bash_profile', '.ssh/authorized_keys', '.claude/settings.json', 'sub/.GIT/hooks/x', '.github/workflows/x.yml', '.skills/policy.toml', '.mcp.json', '.envrc', 'id_rsa', 'good/result.txt']:\n    path = os.path.join(os.environ['SKILL_WORKSPACE'], name)\n    os.makedirs(os.path.dirname(path), exist_ok=True)\n    open(path, 'w').write('planted')\n";
    let done = script(
        "",
        "main.py",
        text,
        &["--output", &out.path().display().to_string()],
    );
    assert_eq!(done.code, 125, "{}", done.stderr);
    assert_eq!(
        done.stderr.matches("cannot save `").count(),
        9,
        "{}",
        done.stderr
    );
    let names: Vec<_> = std::fs::read_dir(out.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(names, ["good"]);
}

/// Starts a script with these bytes on standard input, with the options after its name.
#[cfg(unix)]
fn piped(source: &str, options: &[&str], input: &[u8]) -> std::process::Output {
    use std::io::Write;
    use std::process::Stdio;
    let fixture = Fixture::new();
    fixture
        .skill("skills/one", "one")
        .file("skills/one/scripts/main.py", source);
    let scratch = tempfile::tempdir().unwrap();
    let mut child = crate::skills::command(
        &[&["run", "one", "--root", "skills"], options].concat(),
        scratch.path(),
    )
    .current_dir(fixture.path())
    .stdin(Stdio::piped())
    .stdout(Stdio::piped())
    .stderr(Stdio::piped())
    .spawn()
    .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    // A program need not read its input.
    let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    output
}

#[cfg(target_os = "linux")]
#[test]
fn a_pipe_gets_all_bytes_of_both_streams() {
    if skills_test_support::skip_without_sandbox() {
        return;
    }
    let source = "import sys\nblock = bytes(range(256)) * 4096\nfor _ in range(5):\n    sys.stdout.buffer.write(block)\n    sys.stderr.buffer.write(block)\n";
    let output = piped(source, &[], b"");
    let expected = (0..=255_u8).cycle().take(5 << 20);
    assert_eq!(output.status.code(), Some(0));
    assert!(output.stdout.iter().copied().eq(expected.clone()));
    let end = b"\n--- end of program output ---\n".iter().copied();
    assert!(output.stderr.iter().copied().eq(expected.chain(end)));
}

#[cfg(target_os = "linux")]
#[test]
fn a_json_document_that_is_cut_is_a_failure() {
    if skills_test_support::skip_without_sandbox() {
        return;
    }
    let done = script("", "main.py", "print('x' * (9 << 20))\n", &["--json"]);
    assert_eq!(done.code, 125);
    assert_eq!(done.json()["stdout"]["truncated"], true);
    assert_snapshot!(done.stderr, @"
    error: standard output is cut in the JSON document: 8388608 of 9437185 bytes
    help: run without `--json` to get all bytes, or raise `output-kib` in the policy
    error: exit code 125 is from `skills`; the program ended with 0
    ");
    let whole = script("", "main.py", "print('x' * (2 << 20))\n", &["--json"]);
    assert_eq!((whole.code, whole.stderr.as_str()), (0, ""));
    assert_eq!(whole.json()["stdout"]["truncated"], false);
}

#[cfg(target_os = "linux")]
#[test]
fn standard_input_is_that_of_the_command() {
    if skills_test_support::skip_without_sandbox() {
        return;
    }
    let cat = "import os, sys\nsys.stdout.buffer.write(sys.stdin.buffer.read())\nprint(sys.argv[1:], os.environ['SKILL_INPUT'], end='')\n";
    let bytes: Vec<u8> = (0..=255).cycle().take(3 << 20).collect();
    let output = piped(cat, &["--", "a"], &bytes);
    assert_eq!(output.status.code(), Some(0));
    assert!(output.stdout == [&bytes[..], b"['a'] {}"].concat());
    assert_eq!(piped(cat, &[], b"text").stdout, b"text[] {}");
    assert_eq!(piped(cat, &[], b"").stdout, b"[] {}");
    let json = piped(cat, &["--input", "{\"a\": 1}"], b"text").stdout;
    assert_eq!(json, b"{\"a\":1}[] {\"a\":1}");
    // The program has a pipe of the command, not the descriptor of its caller.
    let kind = "import os, stat\nprint(stat.S_ISFIFO(os.fstat(0).st_mode))\n";
    let script = script("", "main.py", kind, &[]);
    assert_eq!(script.stdout, "True\n");
}

#[cfg(target_os = "linux")]
#[test]
fn a_secret_between_two_chunks_is_redacted_in_a_pipe() {
    if skills_test_support::skip_without_sandbox() {
        return;
    }
    let source = "import os, sys\nkey = os.environ['API_KEY']\nfor index in range(3):\n    sys.stdout.write('x' * (65536 - 5 - index) + key + '\\n')\n    sys.stdout.flush()\n";
    let options = ["--env", "API_KEY=hunter2&hunter2"];
    let output = piped(source, &options, b"");
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text.matches("[redacted API_KEY]\n").count(), 3);
    assert!(!text.contains("hunter2"));
}
