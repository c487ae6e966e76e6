//! `run_skill_script`: one JSON object as input, standard output as result.

use serde_json::{Value, json};
use skills_test_support::skip_without_sandbox;
use skills_tools::{CallContext, ToolErrorCode, ToolOutput};

use crate::fixture::{Host, ToolOutputExt, Tools};

/// Prints the number of its arguments and the first of them, as JSON.
const ECHO: &str = "import json, sys\nprint(json.dumps([len(sys.argv) - 1, sys.argv[1]]))\n";

fn host(script: &str) -> Host {
    let host = Host::new();
    host.skill("demo", "").script("demo", "main.py", script);
    host
}

async fn run(tools: &Tools, script: &str, args: Value) -> ToolOutput {
    tools
        .call(
            "run_skill_script",
            json!({"skill_name": "demo", "script_name": script, "args": args}),
        )
        .await
}

/// Runs a failing script, and returns what it printed, else the error.
async fn failure(source: &str) -> (ToolOutput, String) {
    let outcome = run(&host(source).tools(), "main", json!({})).await;
    assert!(outcome.is_error, "{}", outcome.text());
    let message = outcome.structured["error"]["message"]
        .as_str()
        .unwrap()
        .to_owned();
    assert_eq!(outcome.own_text(), format!("Error: {message}"));
    let reason = outcome.program_output().map_or(message, str::to_owned);
    (outcome, reason)
}

#[tokio::test]
async fn arguments_are_passed_as_one_word_byte_for_byte() {
    if skip_without_sandbox() {
        return;
    }
    let host = host(ECHO);
    let tools = host.tools();
    for args in [
        json!({}),
        json!({"text": "it's \"quoted\" `id` $(id) $HOME; rm -rf / | cat & > x \\ \\n"}),
        json!({"line one\nline two\r\n\ttab": "税 🧾 é \u{202e}\u{0}\u{7f}"}),
        json!({"--help": "-x", "-": ["--", "=", "*", "?", "~", "%s", "!"]}),
        json!({"deep": {"a": [1, -2.5, 1e300, true, null, {"b": []}]}, "big": u64::MAX, "small": i64::MIN}),
        json!({"long": "長".repeat(20_000)}),
    ] {
        let outcome = run(&tools, "main.py", args.clone()).await;
        assert_eq!(
            outcome.structured["result"],
            json!([1, args.to_string()]),
            "{}",
            outcome.text()
        );
    }
}

#[tokio::test]
async fn large_arguments_are_rejected_and_accepted_on_standard_input() {
    if skip_without_sandbox() {
        return;
    }
    let host = host("import json, sys\nprint(json.dumps(len(sys.stdin.read())))\n");
    let tools = host.tools();
    let long = "x".repeat(200 * 1024);
    let refused = run(&tools, "main", json!({"long": long})).await;
    assert!(
        refused.has_code(ToolErrorCode::TooLarge) && refused.structured.get("raw").is_none(),
        "{}",
        refused.text()
    );
    let given = json!({"skill_name": "demo", "script_name": "main", "stdin": long});
    assert_eq!(
        tools.call("run_skill_script", given).await.structured["result"],
        200 * 1024
    );
    // Otherwise it is the JSON object.
    let own = run(&tools, "main", json!({"a": 1})).await;
    assert_eq!(own.structured["result"], r#"{"a":1}"#.len());
}

#[tokio::test]
async fn output_that_is_not_one_json_value_is_text() {
    if skip_without_sandbox() {
        return;
    }
    for (printed, result) in [
        ("'plain text'", Value::Null),
        ("'{\"a\": NaN}'", Value::Null),
        ("'log line\\n{}'", Value::Null),
        ("'{}\\n{}'", Value::Null),
        ("'\\ufeff{\"a\": 1}'", json!({"a": 1})),
        ("'  [1, 2.5]  \\n\\n'", json!([1, 2.5])),
        ("'{\"a\": 123456789012345678901234567890}'", Value::Null),
        ("'9007199254740993'", json!(9_007_199_254_740_993_u64)),
        ("''", Value::Null),
        ("'null'", Value::Null),
    ] {
        let outcome = run(
            &host(&format!("print({printed})\n")).tools(),
            "main",
            json!({}),
        )
        .await;
        let data = &outcome.structured;
        assert!(
            !outcome.is_error
                && data["success"] == true
                && data["exit_code"] == 0
                && data["timed_out"] == false,
            "{printed}: {data}"
        );
        assert_eq!(data["result"], result, "{printed}");
        assert_eq!(
            outcome.answer().trim_start_matches('\u{feff}'),
            data["raw"]
                .as_str()
                .unwrap()
                .trim()
                .trim_start_matches('\u{feff}'),
            "{printed}"
        );
    }
    let outcome = run(
        &host("print('{\"a\": 123456789012345678901234567890}')\n").tools(),
        "main",
        json!({}),
    )
    .await;
    assert_eq!(
        outcome.answer(),
        "{\"a\": 123456789012345678901234567890}",
        "every digit is preserved"
    );
}

#[tokio::test]
async fn binary_and_endless_output_is_limited_text() {
    if skip_without_sandbox() {
        return;
    }
    let bytes = run(
        &host("import sys\nsys.stdout.buffer.write(b'\\xff\\x1b[31mred\\x1b[0m\\n')\n").tools(),
        "main",
        json!({}),
    )
    .await;
    assert_eq!(
        (bytes.answer(), &bytes.structured["result"]),
        ("\u{fffd}red", &Value::Null)
    );
    let much = run(
        &host("print('[' + '1,' * 2_000_000 + '1]')\n").tools(),
        "main",
        json!({}),
    )
    .await;
    assert_eq!(
        (much.is_error, &much.structured["result"]),
        (false, &Value::Null)
    );
    assert!(
        much.answer().starts_with("[1,1,") && much.text().len() < 300 * 1024,
        "{}",
        much.text().len()
    );
}

#[tokio::test]
async fn failed_scripts_are_results_with_their_output() {
    if skip_without_sandbox() {
        return;
    }
    let (outcome, message) = failure("print(1/0)\n").await;
    assert!(
        outcome.has_code(ToolErrorCode::Failed)
            && message.ends_with("ZeroDivisionError: division by zero"),
        "{message}"
    );
    assert!(
        message.contains("/skills/demo/scripts/main.py\", line 1"),
        "{message}"
    );
    let (outcome, message) = failure("def broken(:\n").await;
    assert!(
        outcome.has_code(ToolErrorCode::Failed) && message.ends_with("SyntaxError: invalid syntax"),
        "{message}"
    );
    let (outcome, message) = failure("import sys\nsys.exit(3)\n").await;
    assert_eq!(
        (outcome.structured["exit_code"].as_i64(), message.as_str()),
        (Some(3), "Script exited with code 3")
    );
    let (outcome, message) =
        failure("import sys\nprint('{\"error\": \"no rate\"}')\nsys.exit(1)\n").await;
    assert_eq!(message, "{\"error\": \"no rate\"}");
    assert_eq!(
        (
            &outcome.structured["result"],
            &outcome.structured["success"]
        ),
        (&Value::Null, &json!(false))
    );
    let (outcome, message) = failure("import ctypes\nctypes.string_at(0)\n").await;
    assert!(
        outcome.has_code(ToolErrorCode::Failed)
            && outcome.structured["exit_code"].is_null()
            && message.starts_with("the script was stopped: "),
        "{message}"
    );
}

#[tokio::test]
async fn a_script_is_stopped_at_its_deadline() {
    if skip_without_sandbox() {
        return;
    }
    let host = host("print('begun', flush=True)\nwhile True: pass\n");
    let tools = host.tools();
    let outcome = tools
        .call(
            "run_skill_script",
            json!({"skill_name": "demo", "script_name": "main", "timeout": 1}),
        )
        .await;
    assert!(
        outcome.has_code(ToolErrorCode::TimedOut),
        "{}",
        outcome.text()
    );
    assert_eq!(
        outcome.text(),
        "Error: Script execution timed out after 1 seconds\nProgram output:\nbegun"
    );
    let data = &outcome.structured;
    assert_eq!(
        (&data["timed_out"], &data["raw"], &data["exit_code"]),
        (&json!(true), &json!("begun\n"), &Value::Null)
    );
}

#[tokio::test]
async fn names_with_paths_out_of_the_skill_are_rejected() {
    let host = host("print('ran')\n");
    host.file("skills/demo/setup.py", "print('ran')\n").script(
        "demo",
        ".hidden.py",
        "print('ran')\n",
    );
    host.file("skills/main.py", "print('ran')\n")
        .script("demo", "deep/inner.py", "print('ran')\n")
        .skill("other", "");
    let tools = host.tools();
    let refused = async |skill: &str, script: &str| {
        let outcome = tools
            .call(
                "run_skill_script",
                json!({"skill_name": skill, "script_name": script}),
            )
            .await;
        assert!(
            outcome.is_error,
            "{skill:?} {script:?} ran: {}",
            outcome.text()
        );
        assert_eq!(
            outcome.structured.as_object().unwrap().len(),
            1,
            "{skill:?} {script:?}: {}",
            outcome.structured
        );
        outcome.code().unwrap().to_owned()
    };
    let in_skill = json!({"skill_name": "demo", "script_name": "scripts/main.py"});
    let ran = tools.call("run_skill_script", in_skill).await;
    assert_eq!(ran.answer(), "ran");
    let long = "x".repeat(257);
    for script in [
        "..",
        "../main.py",
        "../../main.py",
        "../setup.py",
        "deep/inner.py",
        "/etc/passwd",
        "a\\b",
        "main.py\0",
        ".hidden.py",
        ".",
    ] {
        assert_eq!(refused("demo", script).await, "invalid_path", "{script:?}");
    }
    for script in [long.as_str(), ""] {
        assert_eq!(
            refused("demo", script).await,
            "invalid_arguments",
            "{script:?}"
        );
    }
    for script in [
        "setup.py", "setup", "SKILL.md", "MAIN.py", "main.sh", "inner.py", "--help", "main.py ",
        "%2e%2e",
    ] {
        let code = refused("demo", script).await;
        assert!(
            ["script_not_found", "invalid_path"].contains(&code.as_str()),
            "{script:?}: {code}"
        );
    }
    for skill in [
        "..",
        "../demo",
        "./demo",
        "demo/",
        "demo/../demo",
        "a\\b",
        "demo\0",
        ".demo",
        "/etc",
        "Demo",
        &long[..65],
    ] {
        let code = refused(skill, "main.py").await;
        assert!(
            ["skill_not_found", "invalid_path"].contains(&code.as_str()),
            "{skill:?}: {code}"
        );
    }
    assert_eq!(refused("", "main.py").await, "invalid_arguments");
    assert_eq!(refused("other", "main.py").await, "script_not_found");
}

#[tokio::test]
async fn a_host_path_is_not_a_skill_name() {
    let host = host("print('ran')\n");
    let tools = host.tools();
    for path in [host.path("skills/demo"), host.path("skills/demo/SKILL.md")] {
        let given = json!({"skill_name": path, "script_name": "main.py"});
        // Not with `tools.call`: the message repeats the name, which comes from the caller.
        let outcome = tools
            .set
            .call("run_skill_script", given, &CallContext::default())
            .await
            .unwrap();
        assert!(
            outcome.has_code(ToolErrorCode::SkillNotFound),
            "{}",
            outcome.text()
        );
        assert_eq!(
            outcome.structured.as_object().unwrap().len(),
            1,
            "{}",
            outcome.structured
        );
    }
}

#[tokio::test]
async fn similar_names_are_suggested() {
    let host = host("print(1)\n");
    let tools = host.tools();
    let skill = tools
        .text(
            "run_skill_script",
            json!({"skill_name": "dmeo", "script_name": "main"}),
        )
        .await;
    assert_eq!(
        skill,
        "Error: skill `dmeo` not found\nHint: did you mean `demo`?"
    );
    let script = tools
        .text(
            "run_skill_script",
            json!({"skill_name": "demo", "script_name": "mian"}),
        )
        .await;
    assert_eq!(
        script,
        "Error: skill `demo` has no script `mian`\nHint: available: main.py"
    );
}
