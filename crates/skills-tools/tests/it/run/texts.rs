//! Texts of results.

use insta::assert_snapshot;
use serde_json::json;
use skills_runtime::policy::{Effect, Rule, RuleSource};
use skills_runtime::{Answer, FileApprovalStore, Policy};
use skills_test_support::skip_without_sandbox;
use skills_tools::ToolOutput;

use super::{SHOW, bash, kit, run};
use crate::fixture::{Host, ToolOutputExt, Tools};

const BOTH: &str = "echo out\necho err >&2\n";

/// A host where `sh` may run the files of the workspace.
fn with_shell_files() -> (Host, Tools) {
    let host = kit(&[
        ("both.sh", BOTH),
        ("err.sh", "echo err >&2\n"),
        ("none.sh", ":\n"),
        ("space.sh", "printf ' \\n\\t'\n"),
        ("three.sh", "echo out\nexit 3\n"),
    ]);
    host.file("workspace/both.sh", BOTH)
        .file("workspace/err.sh", "echo err >&2\n")
        .file("workspace/none.sh", ":\n");
    host.file("workspace/three.sh", "echo out\nexit 3\n");
    let tools = host.allowing(&["spawn:sh"]);
    (host, tools)
}

#[tokio::test]
async fn both_streams_are_combined() {
    if skip_without_sandbox() {
        return;
    }
    let (_host, tools) = with_shell_files();
    assert_snapshot!(run(&tools, "scripts/both.sh").await.text(), @"
    Program output:
    out
    err
    ");
    assert_snapshot!(run(&tools, "scripts/err.sh").await.text(), @"
    Program output:
    err
    ");
    assert_snapshot!(run(&tools, "scripts/none.sh").await.text(), @"(no output)");
    assert_snapshot!(run(&tools, "scripts/space.sh").await.text(), @"(no output)");
    assert_snapshot!(bash(&tools, "sh both.sh", "").await.text(), @"
    Program output:
    out
    err
    ");
    assert_snapshot!(bash(&tools, "sh err.sh", "").await.text(), @"
    Program output:
    err
    ");
    assert_snapshot!(bash(&tools, "sh none.sh", "").await.text(), @"(no output)");
}

#[tokio::test]
async fn the_exit_code_comes_first() {
    if skip_without_sandbox() {
        return;
    }
    let (_host, tools) = with_shell_files();
    for outcome in [
        run(&tools, "scripts/three.sh").await,
        bash(&tools, "sh three.sh", "").await,
    ] {
        assert_eq!(outcome.text(), "Exit code: 3\nProgram output:\nout");
        assert_eq!(
            (outcome.code(), &outcome.structured["exit_code"]),
            (Some("failed"), &json!(3))
        );
        assert_eq!(
            (
                outcome.structured["stdout"].as_str(),
                &outcome.structured["signal"]
            ),
            (Some("out\n"), &json!(null))
        );
    }
}

#[tokio::test]
async fn standard_input_is_empty_unless_given() {
    if skip_without_sandbox() {
        return;
    }
    let host = kit(&[("read.py", "import sys\nprint(repr(sys.stdin.read()))\n")]);
    let tools = host.allowing(&["spawn:cat"]);
    assert_eq!(run(&tools, "scripts/read.py").await.answer(), "''");
    let arguments = json!({"name": "kit", "command": "scripts/read.py", "stdin": "a\n$(id)"});
    assert_eq!(tools.answer("skills_run", arguments).await, r"'a\n$(id)'");
    assert_eq!(bash(&tools, "cat", "").await.text(), "(no output)");
    assert_eq!(
        tools
            .answer("skills_bash", json!({"command": "cat -", "stdin": "a; b"}))
            .await,
        "a; b"
    );
}

#[tokio::test]
async fn unknown_names_get_suggestions() {
    let host = kit(&[("show.py", SHOW)]);
    let tools = host.tools();
    assert_snapshot!(tools.text("skills_run", json!({"name": "kitt", "command": "scripts/show.py"})).await, @"
    Error: skill `kitt` not found
    Hint: did you mean `kit`?
    ");
    assert_snapshot!(tools.text("skills_run", json!({"name": "zzz", "command": "scripts/show.py"})).await, @"
    Error: skill `zzz` not found
    Hint: list the skills: call skills_ls with path `/skills`
    ");
    for command in [
        "scripts/shaw.py",
        "python scripts/shaw.py",
        "python3 ./scripts/shaw.py 1",
    ] {
        let outcome = run(&tools, command).await;
        assert_eq!(
            outcome.code(),
            Some("script_not_found"),
            "{command}: {}",
            outcome.text()
        );
    }
    assert_snapshot!(run(&tools, "scripts/shaw.py").await.text(), @"
    Error: skill `kit` has no script `scripts/shaw.py`
    Hint: did you mean `scripts/show.py`?
    ");
    assert_snapshot!(tools.text("run_skill_script", json!({"skill_name": "kit", "script_name": "shaw"})).await, @"
    Error: skill `kit` has no script `shaw`
    Hint: available: show.py
    ");
}

/// A command names a script without an extension by its path, with and without an interpreter.
#[tokio::test]
async fn a_script_is_known_by_its_first_line() {
    if skip_without_sandbox() {
        return;
    }
    let host = kit(&[
        ("query", "#!/usr/bin/env bash\necho \"ran $*\"\n"),
        ("data", "no program\n"),
        ("count", "#!/usr/bin/env -S wc -c\n"),
    ]);
    let tools = host.tools();
    for command in [
        "scripts/query x",
        "bash scripts/query x",
        "./scripts/query x",
    ] {
        assert_eq!(run(&tools, command).await.answer(), "ran x", "{command}");
    }
    let arguments = json!({"skill_name": "kit", "script_name": "query"});
    let answer = tools.text("run_skill_script", arguments).await;
    assert!(answer.ends_with("ran {}"), "{answer}");
    assert_snapshot!(run(&tools, "scripts/data").await.text(), @"
    Error: skill `kit` has no script `scripts/data`
    Hint: `scripts/data` has neither a known extension nor a first line that names a program
    ");
    // The program that a first line names is one of the host.
    let refused = run(&tools, "scripts/count").await;
    assert_eq!(
        refused.code(),
        Some("approval_required"),
        "{}",
        refused.text()
    );
    let allowing = host.allowing(&["spawn:wc"]);
    let counted = run(&allowing, "scripts/count").await;
    assert!(
        counted.text().contains("24 /skills/kit/scripts/count"),
        "{}",
        counted.text()
    );
}

#[tokio::test]
async fn a_denial_reports_whether_an_approval_could_allow_the_run() {
    let host = kit(&[("show.py", SHOW)]);
    let tools = host.tools();
    let text = |outcome: ToolOutput| {
        format!(
            "{} {}\n{}",
            outcome.code().unwrap(),
            outcome.structured["error"]["retryable"],
            outcome.text()
        )
    };
    assert_snapshot!(text(run(&tools, "tee -l").await), @"
    approval_required true
    Error: not run: permission denied: spawn `tee` (requested by the caller): no rule allows it and the user could not be asked
    Hint: ask your user to allow it, then retry
    ");
    assert_snapshot!(text(bash(&tools, "tee -l", "").await), @"
    approval_required true
    Error: not run: permission denied: spawn `tee` (requested by the caller): no rule allows it and the user could not be asked
    Hint: ask your user to allow it, then retry
    ");
    assert_snapshot!(text(bash(&tools, "tee | wc $HOME", "").await), @"
    approval_required true
    Error: not run: permission denied: spawn any program (requested by the caller): no rule allows it and the user could not be asked
    Hint: ask your user to allow it, then retry
    ");
    let network =
        json!({"name": "kit", "command": "scripts/show.py", "network": ["api.example.com"]});
    assert_snapshot!(text(tools.call("skills_run", network).await), @"
    approval_required true
    Error: not run: permission denied: connect to `api.example.com` (requested by the caller): no rule allows it and the user could not be asked
    Hint: ask your user to allow it, then retry
    ");
    let network = json!({"command": "tee", "network": ["not a host"]});
    assert_snapshot!(text(tools.call("skills_bash", network).await), @"
    invalid_arguments false
    Error: invalid `network`: invalid host `not a host`: expected `api.example.com`, `localhost:8080`, `[::1]:8080`, `*.example.com` or `*`, without scheme and path
    ");
    let deny = Rule::parse(Effect::Deny, RuleSource::User, "spawn:tee").unwrap();
    let tools = host.tools_with(Policy::default().rule(deny));
    assert_snapshot!(text(run(&tools, "tee -l").await), @"
    denied_by_policy false
    Error: not run: permission denied: spawn `tee` (requested by the caller): denied by rule `deny spawn:tee (user)`
    Hint: do not retry; use another approach
    ");
    assert_snapshot!(text(bash(&tools, "tee -l", "").await), @"
    denied_by_policy false
    Error: not run: permission denied: spawn `tee` (requested by the caller): denied by rule `deny spawn:tee (user)`
    Hint: do not retry; use another approach
    ");
}

/// Rules contain host paths; denials for a model do not.
#[tokio::test]
async fn a_denial_contains_no_host_path() {
    let host = kit(&[]);
    host.skill("kit", "allowed-tools: Bash, Read, Write\n")
        .script("kit", "show.py", SHOW);
    let rule = |effect, text: &str| Rule::parse(effect, RuleSource::User, text).unwrap();
    let root = host.path("").display().to_string();
    let everything = format!("write:{}", root.trim_end_matches('/'));
    let rules = [
        vec![rule(Effect::Deny, &everything)],
        vec![rule(Effect::Ask, &everything)],
        vec![rule(Effect::Allow, &everything)],
        vec![rule(Effect::Deny, "spawn").origin(host.path("policy.toml").display().to_string())],
        vec![rule(Effect::Deny, "spawn").within(host.path("skills"))],
        vec![
            rule(Effect::Deny, &host.write_rule()),
            rule(Effect::Deny, "spawn:tee"),
        ],
    ];
    for rules in rules {
        let tools = host.tools_with(Policy::default().with_rules(rules.clone()));
        for command in ["tee", "tee | wc"] {
            let outcome = run(&tools, command).await;
            assert!(
                matches!(
                    outcome.code(),
                    Some("denied_by_policy" | "approval_required")
                ),
                "{rules:?} {command}: {}",
                outcome.text()
            );
        }
    }
    let tools = host.tools_with(Policy::default().rule(rule(Effect::Deny, &everything)));
    let outcome = run(&tools, "scripts/show.py").await;
    assert_eq!(outcome.code(), None, "{}", outcome.text());
    let tools = host.tools_with(
        Policy::default()
            .rule(rule(Effect::Allow, &everything))
            .rule(rule(Effect::Allow, "spawn")),
    );
    assert_snapshot!(run(&tools, "scripts/show.py").await.text(), @"
    Error: not run: permission denied: the user has not approved this content of the skill
    Hint: ask your user to allow it, then retry
    ");
}

/// Errors of the approval store are not shown either.
#[tokio::test]
async fn errors_of_the_approval_store_are_not_shown() {
    let host = kit(&[]);
    host.file("state/approvals.json", "{ not JSON");
    let store = std::sync::Arc::new(FileApprovalStore::new(host.path("state/approvals.json")));
    for answer in [Answer::AllowAlways, Answer::Deny] {
        let runtime = host
            .runtime()
            .approval_store(store.clone())
            .approver(std::sync::Arc::new(answer));
        let tools = host.wrap(host.builder(runtime).build().unwrap());
        for arguments in [
            json!({"name": "kit", "command": "tee"}),
            json!({"name": "kit", "command": "nothing-like-it"}),
        ] {
            // The fixture checks the result for host paths in any case.
            let outcome = tools.call("skills_run", arguments).await;
            assert!(
                !outcome.text().contains("approvals.json"),
                "{}",
                outcome.text()
            );
        }
    }
}

/// Instructions often name a script without its directory.
#[tokio::test]
async fn a_script_is_found_without_its_directory() {
    if skip_without_sandbox() {
        return;
    }
    let host = kit(&[("show.py", SHOW)]);
    host.file("workspace/mine.py", "print('mine')");
    let tools = host.tools();
    assert_eq!(run(&tools, "show.py a").await.answer(), "[\"a\"]");
    // The name alone is that of a program, and a path is what it says.
    for command in ["show a", "x/show.py a", "/show.py a", "../scripts/show.py"] {
        assert!(run(&tools, command).await.is_error, "{command}");
    }
    // Only a script of the skill needs no permission.
    assert!(run(&tools, "mine.py").await.is_error);
    assert!(bash(&tools, "show.py a", "").await.is_error);
}
