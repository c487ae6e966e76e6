//! Exit codes of `skills run`: those of programs, and those of the command, which a program cannot
//! imitate in JSON documents.

use serde_json::{Value, json};
use skills_test_support::{SkillTree, skip_without_sandbox};

use crate::skills::{Done, EXAMPLES, examples, skills};

/// Runs a skill with one Python script.
fn run(source: &str, options: &[&str]) -> Done {
    run_of("", source, options)
}

fn run_of(frontmatter: &str, source: &str, options: &[&str]) -> Done {
    let tree = SkillTree::new("skills/");
    tree.skill("one", frontmatter)
        .script("one", "main.py", source);
    let root = tree.path("skills").display().to_string();
    skills(&[&["run", "one", "--root", &root], options].concat())
}

fn exit(code: i32, from: &str, reason: &str) -> Value {
    json!({"code": code, "from": from, "reason": reason})
}

/// Checks the exit code of a script as text and as JSON.
#[track_caller]
fn check(source: &str, options: &[&str], code: i32, from: &str, reason: &str) {
    let text = run(source, options);
    assert_eq!(text.code, code, "{source}: {}", text.page());
    let document = run(source, &[options, &["--json"]].concat());
    assert_eq!(document.code, code, "{source}: {}", document.page());
    assert_eq!(
        document.json()["exit"],
        exit(code, from, reason),
        "{source}"
    );
}

#[test]
fn the_code_of_the_program_is_passed_on() {
    if skip_without_sandbox() {
        return;
    }
    for code in [0, 1, 2, 3, 42, 124, 125, 126, 127, 130, 143, 255] {
        let source = format!("import sys; sys.exit({code})");
        check(&source, &[], code, "program", "exited");
    }
    for (signal, code) in [("SIGSEGV", 139), ("SIGTERM", 143), ("SIGKILL", 137)] {
        let source = format!("import os, signal; os.kill(os.getpid(), signal.{signal})");
        check(&source, &[], code, "program", "signaled");
    }
}

/// The lines of the command come after those of the program.
#[test]
fn a_program_that_imitates_a_failure_of_the_command_is_named() {
    if skip_without_sandbox() {
        return;
    }
    let source = "import sys\n\
                  print('error: cannot write the audit record of a finished run', file=sys.stderr)\n\
                  print('{\"exit\": {\"code\": 125, \"from\": \"skills\"}}')\n\
                  sys.exit(125)\n";
    let done = run(source, &[]);
    let (_, own) = done
        .stderr
        .rsplit_once("--- end of program output ---\n")
        .unwrap();
    assert_eq!(
        (done.code, own),
        (125, "error: `one` failed: exit code 125\n")
    );
    check(source, &[], 125, "program", "exited");
}

#[test]
fn a_denied_run_is_not_one_that_the_system_refuses() {
    let source = "print('ran')";
    let frontmatter = "requires: {env: [OTHER]}\n";
    let secrets = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(secrets.path(), "OTHER=x\n").unwrap();
    let secrets = secrets.path().display().to_string();
    let denied = run_of(frontmatter, source, &["--json", "--env-file", &secrets]);
    assert_eq!(denied.code, 125);
    let document = denied.json();
    assert_eq!(document["exit"], exit(125, "skills", "denied"));
    assert_eq!(document["status"]["kind"], "permission-denied");
    let text = run_of(frontmatter, source, &["--env-file", &secrets]);
    assert_eq!((text.code, text.stdout.as_str()), (125, ""));
    assert!(
        text.stderr
            .starts_with("error: cannot run `one`: permission denied")
    );
}

/// Checks the exit code and the origin of an error.
#[track_caller]
fn check_error(arguments: &[&str], code: i32, reason: &str) {
    let text = skills(arguments);
    assert_eq!(text.code, code, "{arguments:?}: {}", text.page());
    assert_eq!(text.stderr.matches("error: ").count(), 1, "{}", text.page());
    let document = skills(&[&["--json"], arguments].concat());
    assert_eq!(document.code, code, "{arguments:?}: {}", document.page());
    let origin = exit(code, "skills", reason);
    assert_eq!(document.json()["exit"], origin, "{arguments:?}");
}

#[test]
fn what_is_not_found_or_cannot_start_has_the_codes_of_a_shell() {
    let tree = SkillTree::new("skills/");
    tree.skill("empty", "")
        .skill("broken", "")
        .file("skills/broken/wasm/skill.wasm", "no module");
    let root = tree.path("skills").display().to_string();
    for (name, code, reason) in [
        ("absent", 127, "not-found"),
        ("empty", 127, "not-found"),
        #[cfg(feature = "wasm")]
        ("broken", 126, "not-started"),
    ] {
        check_error(&["run", name, "--root", &root], code, reason);
    }
    let script = ["run", "tax_calculator", "--script", "absent.py"];
    check_error(&[&script[..], &EXAMPLES].concat(), 127, "not-found");
}

#[test]
fn wrong_usage_of_a_run_is_not_a_code_of_the_program() {
    for arguments in [
        &["run", "one", "--absent"][..],
        &["run", "one", "--timeout", "none"],
        &["run", "one", "--grace", "61"],
        &["run"],
        &["run", "one", "--input", "{", "--root", "examples/skills"],
        &[
            "run",
            "one",
            "--workspace",
            "/absent",
            "--root",
            "examples/skills",
        ],
    ] {
        check_error(arguments, 125, "failed");
    }
    // A preview starts nothing, so its codes are those of `skills policy check`.
    let preview = ["run", "absent", "--dry-run"];
    assert_eq!(examples(&preview).code, 1);
    for wrong in ["--absent", "--timeout=none"] {
        for arguments in [
            ["run", "one", "--dry-run", wrong],
            ["run", "one", wrong, "--dry-run"],
        ] {
            assert_eq!(skills(&arguments).code, 2, "{arguments:?}");
        }
        // An argument of the program.
        let arguments = ["run", "one", wrong, "--", "--dry-run"];
        assert_eq!(skills(&arguments).code, 125, "{arguments:?}");
    }
}

#[test]
fn an_incomplete_result_is_not_a_success() {
    if skip_without_sandbox() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let saved = directory.path().to_str().unwrap();
    std::fs::write(directory.path().join("kept.txt"), "of the user").unwrap();
    let write = "import sys; open('kept.txt', 'w').write('x'); sys.exit(CODE)";
    for (code, of_program) in [("0", "0"), ("3", "3")] {
        let source = write.replace("CODE", code);
        let text = run(&source, &["--output", saved]);
        let line =
            format!("error: exit code 125 is from `skills`; the program ended with {of_program}\n");
        assert!(text.stderr.contains("error: cannot save `kept.txt`"));
        assert!(text.stderr.ends_with(&line), "{}", text.page());
        check(&source, &["--output", saved], 125, "skills", "failed");
    }
    let cut = run("print('x' * (9 << 20))", &["--json"]);
    assert_eq!(cut.code, 125, "{}", cut.stderr);
    let document = cut.json();
    assert_eq!(document["exit"], exit(125, "skills", "failed"));
    assert_eq!(document["stdout"]["truncated"], true);
    assert_eq!(document["status"]["kind"], "success");
}

/// A full disk below standard output.
#[cfg(target_os = "linux")]
#[test]
fn output_that_cannot_be_printed_is_not_a_success() {
    if skip_without_sandbox() {
        return;
    }
    let tree = SkillTree::new("skills/");
    tree.skill("one", "")
        .script("one", "main.py", "print('shown')");
    let root = tree.path("skills").display().to_string();
    let scratch = tree.path("scratch");
    std::fs::create_dir_all(&scratch).unwrap();
    let run = ["run", "one", "--root", &root];
    let call = ["call", "skill__one__main", "--root", &root];
    for (command, options) in [
        (run, &[][..]),
        (run, &["--json"]),
        (call, &[]),
        (call, &["--json"]),
    ] {
        let full = std::fs::File::options()
            .write(true)
            .open("/dev/full")
            .unwrap();
        let arguments = [&command, options].concat();
        let mut command = crate::skills::command(&arguments, &scratch);
        let output = command.stdout(full).output().unwrap();
        let errors = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(125), "{errors}");
        assert!(errors.contains("error: "), "{errors}");
    }
}

/// What a program does after its deadline does not change the code.
#[test]
fn a_deadline_is_not_a_code_of_the_program() {
    if skip_without_sandbox() {
        return;
    }
    let handler = "import signal, sys, time\n\
                   def clean(*_):\n    print('cleaned', flush=True)\n    sys.exit(CODE)\n\
                   signal.signal(signal.SIGTERM, clean)\n\
                   time.sleep(3600)\n";
    for code in ["0", "7"] {
        let source = handler.replace("CODE", code);
        let text = run(&source, &["--timeout", "4", "--grace", "30"]);
        assert_eq!(
            (text.code, text.stdout.as_str()),
            (124, "cleaned\n"),
            "{}",
            text.page()
        );
        assert!(text.stderr.contains("error: `one` timed out after 4 s"));
    }
    let sleep = "import time; time.sleep(3600)";
    check(sleep, &["--timeout", "1"], 124, "skills", "deadline");
    check(
        sleep,
        &["--timeout", "1", "--grace", "0"],
        124,
        "skills",
        "deadline",
    );
    check(
        "import sys; sys.exit(124)",
        &["--timeout", "30"],
        124,
        "program",
        "exited",
    );
}

#[test]
fn a_limit_is_not_a_code_of_the_program() {
    if skip_without_sandbox() {
        return;
    }
    let fill = "import time\n\
                for i in range(64): open(f'{i}', 'wb').write(b'x' * (1 << 19))\n\
                time.sleep(3600)\n";
    // In a private workspace, of which nothing is saved.
    let file = tempfile::NamedTempFile::new().unwrap();
    let options = ["--scratch", "1", "--file", file.path().to_str().unwrap()];
    check(fill, &options, 137, "skills", "limit");
}

/// A caller must not take a part for the whole, so a loss comes before the deadline and a limit.
#[test]
fn a_loss_replaces_the_code_of_a_deadline_and_of_a_limit() {
    if skip_without_sandbox() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let saved = directory.path().to_str().unwrap();
    std::fs::write(directory.path().join("0"), "of the user").unwrap();
    let fill = "import time\n\
                for i in range(COUNT): open(f'{i}', 'wb').write(b'x' * (1 << 19))\n\
                time.sleep(3600)\n";
    for (count, limit, replaced) in [
        ("1", ["--timeout", "5"], "124 (deadline)"),
        ("64", ["--scratch", "1"], "137 (limit)"),
    ] {
        let source = fill.replace("COUNT", count);
        let options = [&limit[..], &["--output", saved]].concat();
        let text = run(&source, &options);
        let line = format!("error: exit code 125 replaces {replaced}\n");
        assert!(text.stderr.ends_with(&line), "{}", text.page());
        check(&source, &options, 125, "skills", "failed");
    }
}

/// A tool that starts a program passes on its code. The others have the codes of all commands.
#[test]
fn a_call_passes_on_the_code_of_a_program_that_it_started() {
    let call = |source: &str, tool: &str, arguments: &str, options: &[&str]| {
        let tree = SkillTree::new("skills/");
        tree.skill("one", "").script("one", "main.py", source);
        let root = tree.path("skills").display().to_string();
        skills(&[&["call", tool, arguments, "--root", &root], options].concat())
    };
    for (tool, arguments, code) in [
        ("absent", "{}", 1),
        ("skills_ls", r#"{"path": [1]}"#, 2),
        ("skills_run", r#"{"name": "one", "command": "tee"}"#, 3),
        (
            "skills_run",
            r#"{"name": "absent", "command": "main.py"}"#,
            1,
        ),
    ] {
        let done = call("", tool, arguments, &["--json"]);
        assert_eq!(done.code, code, "{tool} {arguments}: {}", done.page());
        assert_eq!(done.json()["exit"], Value::Null, "{tool} {arguments}");
    }
    if skip_without_sandbox() {
        return;
    }
    let script = r#"{"skill_name": "one", "script_name": "main.py"}"#;
    for (source, code, from, reason) in [
        ("print('{}')", 0, "program", "exited"),
        ("import sys; sys.exit(3)", 3, "program", "exited"),
        ("import os; os.abort()", 134, "program", "signaled"),
    ] {
        for (tool, arguments) in [("skill__one__main", "{}"), ("run_skill_script", script)] {
            let done = call(source, tool, arguments, &["--json"]);
            assert_eq!(done.code, code, "{tool}: {}", done.page());
            assert_eq!(done.json()["exit"], exit(code, from, reason), "{tool}");
        }
    }
    let sleep = "import time; time.sleep(3600)";
    let done = call(
        sleep,
        "skill__one__main",
        "{}",
        &["--json", "--timeout", "1"],
    );
    assert_eq!(done.json()["exit"], exit(124, "skills", "deadline"));
}
