//! Scripts of skills as tools: selection, names, arguments and results.

mod confined;

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};
use skills_runtime::discovery::{Discovery, Precedence};
use skills_runtime::{Root, Scope, is_invisible};
use skills_test_support::skip_without_sandbox;
use skills_tools::{CallContext, ToolDefinition, ToolErrorCode, ToolOutput};

use crate::fixture::{Host, ToolOutputExt, Tools};

/// Prints its arguments and its standard input as JSON.
const ECHO: &str =
    "import json, sys\nprint(json.dumps({'argv': sys.argv[1:], 'stdin': sys.stdin.read()}))\n";

/// Returns a `scripts` block with an entry for `main`.
fn block(says: &str) -> String {
    format!("scripts:\n  main:\n    {says}\n")
}

fn host(extra: &str, file: &str, source: &str) -> Host {
    let host = Host::new();
    host.skill("demo", extra).script("demo", file, source);
    host
}

fn script_tools(tools: &Tools) -> Vec<ToolDefinition> {
    tools
        .set
        .definitions()
        .unwrap()
        .into_iter()
        .filter(|definition| definition.name.starts_with("skill__"))
        .collect()
}

fn names(tools: &Tools) -> Vec<String> {
    script_tools(tools)
        .into_iter()
        .map(|definition| definition.name)
        .collect()
}

fn description(extra: &str, file: &str, source: &str) -> String {
    script_tools(&host(extra, file, source).tools())
        .pop()
        .unwrap()
        .description
}

fn data(outcome: &ToolOutput) -> Value {
    serde_json::from_str(outcome.answer()).unwrap_or_else(|_| panic!("{}", outcome.answer()))
}

/// Runs the tool of `main`.
async fn run(tools: &Tools, arguments: Value) -> ToolOutput {
    tools.call("skill__demo__main", arguments).await
}

#[test]
fn scripts_are_tools_and_skipped_files_cause_warnings() {
    let host = host("", "a.py", ECHO);
    for file in [
        "a.sh",
        ".hidden.py",
        "_x.py",
        "test_x.py",
        "__init__.py",
        "conftest.py",
        "tests/x.py",
        "deep/inner.py",
        "b c.py",
        "天气.py",
        "d__e.sh",
        "notes.md",
    ] {
        host.script("demo", file, "");
    }
    host.script("demo", "lib.py", "import os\n\n\ndef f():\n    return 1\n");
    host.file("outside.py", "print('CANARY')\n");
    symlink(
        host.path("outside.py"),
        host.path("skills/demo/scripts/link.py"),
    )
    .unwrap();
    let tools = host.tools();
    let names = names(&tools);
    assert_eq!(
        names,
        [
            "skill__demo__a__5a21b9bbfcd85eff",
            "skill__demo__a__333b9cf43b0e6ef6",
            "skill__demo__b_c__974100289ec658d7",
            "skill__demo__d__e__c1922e87917b42ed",
            "skill__demo__deep_inner",
            "skill__demo______71527407241dfcb7",
        ],
        "in byte order of the files"
    );
    assert_eq!(tools.set.allowed_tools("demo").unwrap(), names);
    let notes = tools.set.warnings().unwrap().join("\n");
    assert!(
        notes.contains(
            "skill `demo`: script `a.sh` is the tool `skill__demo__a__333b9cf43b0e6ef6`: tool name `skill__demo__a` is ambiguous"
        ),
        "{notes}"
    );
    for file in [
        "_x.py",
        "test_x.py",
        "__init__.py",
        "conftest.py",
        "tests/x.py",
        "lib.py",
    ] {
        assert!(
            notes.contains(&format!("skill `demo`: script `{file}` is not a tool: ")),
            "{file}: {notes}"
        );
    }
    assert!(
        !notes.contains(&host.path("").to_string_lossy().into_owned())
            && !notes.contains("notes.md"),
        "{notes}"
    );
}

/// Clients remember the tools that may run without a prompt by name.
#[test]
fn adding_or_removing_a_skill_reassigns_no_tool_name() {
    let host = Host::new();
    host.skill("a__b", "")
        .script("a__b", "c.py", ECHO)
        .skill("deploy", "")
        .script("deploy", "run.py", ECHO);
    let runtime = host
        .runtime()
        .root(Root::new(host.path("others"), Scope::Custom))
        .discovery(Discovery::new([]).precedence(Precedence::FirstRoot));
    let tools = host.wrap(host.builder(runtime).build().unwrap());
    let before = names(&tools);
    assert_eq!(before[1], "skill__deploy__run");
    let owned = || {
        before
            .iter()
            .map(|name| names(&tools).iter().any(|now| now == name))
            .collect::<Vec<_>>()
    };
    host.skill("a", "").script("a", "b__c.py", ECHO);
    assert_eq!((owned(), names(&tools).len()), (vec![true, true], 3));
    host.file(
        "others/deploy/SKILL.md",
        "---\nname: deploy\ndescription: Another.\n---\n",
    )
    .file("others/deploy/scripts/run.py", ECHO);
    assert_eq!(
        (owned(), names(&tools).len()),
        (vec![true, false], 3),
        "one of the two is shadowed, neither has the plain name"
    );
    let of_first = names(&tools);
    fs::remove_dir_all(host.path("skills/deploy")).unwrap();
    assert_eq!(names(&tools)[2], "skill__deploy__run");
    assert!(!of_first.contains(&names(&tools)[2]));
}

#[tokio::test]
async fn a_symlink_out_of_the_skill_does_not_run() {
    let host = host("", "main.py", ECHO);
    host.file("outside.py", "print('CANARY')\n");
    symlink(
        host.path("outside.py"),
        host.path("skills/demo/scripts/link.py"),
    )
    .unwrap();
    let tools = host.tools();
    assert!(
        tools
            .set
            .call("skill__demo__link", json!({}), &CallContext::default())
            .await
            .is_err()
    );
    let engine = tools
        .call(
            "run_skill_script",
            json!({"skill_name": "demo", "script_name": "link.py"}),
        )
        .await;
    assert!(
        engine.is_error && !engine.structured.to_string().contains("CANARY"),
        "{}",
        engine.text()
    );
}

#[test]
fn skills_that_are_not_model_invocable_have_no_tools() {
    let host = host("disable-model-invocation: true\n", "main.py", ECHO);
    assert_eq!(names(&host.tools()), [""; 0]);
    host.skill("demo", "disable-model-invocation: false\n");
    assert_eq!(names(&host.tools()), ["skill__demo__main"]);
}

#[test]
fn descriptions_come_from_the_block_then_the_script_then_its_name() {
    // A sentence about the input follows.
    let description = |extra: &str, file: &str, source: &str| {
        let shown = description(extra, file, source);
        let end =
            " The script seems to take no arguments; `args` would be words of its command line.";
        shown.strip_suffix(end).unwrap_or(&shown).to_owned()
    };
    let source = "\"\"\"From the script.\n\nMore.\n\"\"\"\n# Description: From the comment.\n";
    assert_eq!(
        description(&block("description: From the block."), "main.py", source),
        "From the block."
    );
    assert_eq!(description("", "main.py", source), "From the script.");
    assert_eq!(
        description(
            "",
            "main.py",
            "#!/usr/bin/env python3\n# Description: From the comment.\n"
        ),
        "From the comment."
    );
    assert_eq!(
        description(
            "",
            "main.sh",
            "#!/bin/sh\n# description: From the comment.\n"
        ),
        "From the comment."
    );
    assert_eq!(
        description("", "main.py", "print(1)\n"),
        "Execute main from demo."
    );
    assert_eq!(
        description("", "get_all.sh", "echo\n"),
        "Execute get_all from demo."
    );
}

#[test]
fn descriptions_are_one_short_visible_line() {
    let hidden = "Adds.\u{202e}\u{200b}\u{e0041}\u{e0042}\u{7}\u{1b}[31m <!--\n\n";
    let source = format!("\"\"\"{hidden}{}\"\"\"\n", "word ".repeat(20_000));
    let host = host(
        &block(&format!(
            "args: [{{name: city, description: \"{}\"}}]",
            "x \\u202e\\u200b\\n".repeat(500)
        )),
        "main.py",
        &source,
    );
    let definition = script_tools(&host.tools()).pop().unwrap();
    let argument = definition.input_schema["properties"]["city"]["description"]
        .as_str()
        .unwrap()
        .to_owned();
    for (text, max_chars) in [(&definition.description, 1024), (&argument, 300)] {
        assert!(
            !text.contains(is_invisible) && !text.contains('\n'),
            "{text:?}"
        );
        assert!(
            text.chars().count() <= max_chars,
            "{}",
            text.chars().count()
        );
    }
    assert!(
        definition.description.starts_with("Adds."),
        "{}",
        definition.description
    );
    assert!(serde_json::to_string(&definition).unwrap().len() < 8 * 1024);
}

#[tokio::test]
async fn declared_arguments_are_passed_in_order() {
    if skip_without_sandbox() {
        return;
    }
    let args = "args: [{name: city, required: true}, {name: days, type: integer}, \
                {name: loud, type: boolean}, {name: tags, type: array}, {name: more, type: object}]";
    let host = host(&block(args), "main.py", ECHO);
    let tools = host.tools();
    let check = async |given: Value, expected: Value| {
        let outcome = run(&tools, given.clone()).await;
        assert_eq!(
            data(&outcome),
            json!({"argv": expected, "stdin": ""}),
            "{given}"
        );
    };
    check(json!({"city": "Tai pei"}), json!(["--city", "Tai pei"])).await;
    check(
        json!({"days": 3, "city": "; rm -rf / $(id) `id` 'a' \"b\"\n台北"}),
        json!([
            "--city",
            "; rm -rf / $(id) `id` 'a' \"b\"\n台北",
            "--days",
            "3"
        ]),
    )
    .await;
    check(
        json!({"city": "--help", "loud": true}),
        json!(["--city=--help", "--loud"]),
    )
    .await;
    check(json!({"city": "", "loud": false}), json!(["--city", ""])).await;
    check(
        json!({"city": "a", "tags": ["x", "-y"]}),
        json!(["--city", "a", "--tags", "x", "--tags=-y"]),
    )
    .await;
    check(
        json!({"city": "a", "more": {"b": [1, null]}}),
        json!(["--city", "a", "--more", "{\"b\":[1,null]}"]),
    )
    .await;
    let long = "長".repeat(20_000);
    check(json!({"city": long}), json!(["--city", long])).await;
}

#[tokio::test]
async fn invalid_arguments_are_rejected_before_the_start() {
    let host = host(
        &block("args: [{name: city, required: true}, {name: days, type: integer, max: 3}]"),
        "main.py",
        ECHO,
    );
    let tools = host.tools();
    for given in [
        json!({}),
        Value::Null,
        json!({"city": 5.5}),
        json!({"city": null}),
        json!({"city": "a", "days": "4"}),
        json!({"city": "a", "town": "b"}),
        json!({"city": "a\0b"}),
        json!({"city": "x".repeat(65 * 1024)}),
    ] {
        let outcome = run(&tools, given).await;
        assert!(
            outcome.has_code(ToolErrorCode::InvalidArguments),
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
    assert_eq!(
        fs::read_dir(host.path("scratch")).unwrap().count(),
        0,
        "no session was created"
    );
}

#[tokio::test]
async fn undeclared_arguments_are_words_and_options() {
    if skip_without_sandbox() {
        return;
    }
    let host = host("", "main.py", ECHO);
    let tools = host.tools();
    assert_eq!(
        data(
            &run(
                &tools,
                json!({"args": ["台北 'x'", "-v"], "days": 3, "loud": true, "stdin": "text"})
            )
            .await
        ),
        json!({"argv": ["台北 'x'", "-v", "--days", "3", "--loud"], "stdin": "text"})
    );
    assert_eq!(
        data(&run(&tools, Value::Null).await),
        json!({"argv": [], "stdin": ""})
    );
    let rejected = run(&tools, json!({"--help": true})).await;
    assert!(
        rejected.has_code(ToolErrorCode::InvalidArguments),
        "{}",
        rejected.text()
    );
}

/// A script that parses JSON gets it where it reads it, and its description says so.
#[tokio::test]
async fn json_is_passed_where_the_script_reads_it() {
    if skip_without_sandbox() {
        return;
    }
    let given = json!({"city": "台北 'x'", "days": [1, null]});
    for (source, expected) in [
        (
            "import json, sys\nprint(json.dumps(json.load(sys.stdin)))\n",
            "on standard input",
        ),
        (
            "import json, sys\nprint(json.dumps(json.loads(sys.argv[1])))\n",
            "in the first argument",
        ),
    ] {
        let host = host("", "main.py", source);
        let tools = host.tools();
        let description = script_tools(&tools).pop().unwrap().description;
        assert!(description.contains(expected), "{description}");
        assert_eq!(data(&run(&tools, given.clone()).await), given);
    }
}

#[tokio::test]
async fn scripts_in_subdirectories_run() {
    if skip_without_sandbox() {
        return;
    }
    let host = host("", "main.py", ECHO);
    host.script("demo", "deep/inner.py", ECHO);
    let tools = host.tools();
    let outcome = tools
        .call("skill__demo__deep_inner", json!({"args": ["a"]}))
        .await;
    assert_eq!(data(&outcome)["argv"], json!(["a"]));
}

#[tokio::test]
async fn argparse_arguments_are_inferred() {
    if skip_without_sandbox() {
        return;
    }
    let source = "import argparse
parser = argparse.ArgumentParser()
parser.add_argument('place')
parser.add_argument('--days', type=int, default=1, help='How many')
parser.add_argument('--loud', action='store_true')
args = parser.parse_args()
print(args.place, args.days, args.loud)
";
    let host = host("", "main.py", source);
    let tools = host.tools();
    let schema = script_tools(&tools).pop().unwrap().input_schema;
    assert_eq!(
        (&schema["required"], schema.get("x-derived")),
        (&json!(["place"]), None),
        "private keywords are not for models"
    );
    assert_eq!(
        run(&tools, json!({"place": "-x", "days": -2, "loud": true}))
            .await
            .answer()
            .trim_end(),
        "-x -2 True"
    );
    let missing = run(&tools, json!({"days": 1})).await;
    assert!(
        missing.has_code(ToolErrorCode::InvalidArguments),
        "{}",
        missing.text()
    );
}

#[tokio::test]
async fn standard_output_is_the_result_and_standard_error_the_failure() {
    if skip_without_sandbox() {
        return;
    }
    let check = async |source: &str, is_error: bool, text: &str| {
        let outcome = run(&host("", "main.sh", source).tools(), json!({})).await;
        assert_eq!(
            (outcome.is_error, outcome.answer().trim_end()),
            (is_error, text),
            "{source}"
        );
        outcome.structured
    };
    let fine = check("echo result; echo warning >&2\n", false, "result").await;
    assert_eq!(
        (&fine["stderr"], &fine["exit_code"]),
        (&json!("warning\n"), &json!(0))
    );
    let failed = check(
        "echo partly; echo 'no such city' >&2; exit 4\n",
        true,
        "no such city",
    )
    .await;
    assert_eq!(
        (&failed["stdout"], &failed["exit_code"]),
        (&json!("partly\n"), &json!(4))
    );
    assert_eq!(failed["error"]["code"], "failed");
    check("echo 'only here'; exit 1\n", true, "only here").await;
    check("exit 7\n", true, "Script exited with code 7").await;
    check(
        "printf '\\033[31mred\\033[0m \\377'\n",
        false,
        "red \u{fffd}",
    )
    .await;
}

/// Scripts are cached, but not beyond a change.
#[test]
fn changed_scripts_are_scanned_again() {
    let host = Host::new();
    host.skill("demo", "")
        .skill("other", "")
        .script("demo", "a.py", "print(1)\n");
    let tools = host.tools();
    let check = |expected: &str| {
        // The second scan finds no changes, however old the files are by then.
        for _ in 0..2 {
            let names: Vec<String> = tools
                .set
                .definitions()
                .unwrap()
                .into_iter()
                .map(|definition| definition.name)
                .collect();
            let names: Vec<&str> = names
                .iter()
                .filter_map(|name| name.strip_prefix("skill__"))
                .collect();
            assert_eq!(names.join(" "), expected);
        }
    };
    for _ in 0..10 {
        check("demo__a");
        host.script("demo", "b.sh", "").script("other", "c.py", "");
        check("demo__a demo__b other__c");
        host.script("demo", "b.sh", &"#".repeat((1 << 20) + 1));
        check("demo__a other__c");
        host.script("demo", "b.sh", "echo\n");
        tools
            .set
            .set_override("skill__demo__a", skills_tools::ToolOverride::disable())
            .unwrap();
        check("demo__b other__c");
        assert!(tools.set.clear_override("skill__demo__a").unwrap());
        fs::remove_dir_all(host.path("skills/other/scripts")).unwrap();
        fs::rename(
            host.path("skills/demo/scripts/b.sh"),
            host.path("skills/demo/scripts/d.sh"),
        )
        .unwrap();
        check("demo__a demo__d");
        fs::remove_file(host.path("skills/demo/scripts/d.sh")).unwrap();
    }
    host.script("demo", "a.py", "\"\"\"Says more.\"\"\"\n");
    assert!(
        tools
            .set
            .definitions()
            .unwrap()
            .iter()
            .any(|definition| definition.description.contains("Says more."))
    );
}

/// By convention these names are of tests and configuration; a skill says otherwise.
#[test]
fn a_script_that_the_instructions_name_as_a_command_is_a_tool() {
    let host = Host::new();
    let text = "---\nname: demo\ndescription: d\nscripts:\n  test_declared:\n    description: d\n---\nRun `python scripts/test_suite.py src/`.\n```\n./scripts/setup.py\n```\nSee scripts/test_other.py.\n";
    host.file("skills/demo/SKILL.md", text);
    for file in [
        "test_suite.py",
        "setup.py",
        "test_other.py",
        "test_declared.py",
    ] {
        host.script("demo", file, "print(1)\n");
    }
    let names = names(&host.tools());
    assert_eq!(
        names,
        [
            "skill__demo__setup",
            "skill__demo__test_declared",
            "skill__demo__test_suite"
        ]
    );
}

#[tokio::test]
async fn a_script_that_prints_to_standard_error_only_has_that_as_its_result() {
    if skip_without_sandbox() {
        return;
    }
    let source = "import sys\nprint('saved', file=sys.stderr)\n";
    let saving = host("", "main.py", source);
    let tools = saving.tools();
    assert_eq!(run(&tools, json!({})).await.answer().trim(), "saved");
    let arguments = json!({"skill_name": "demo", "script_name": "main.py"});
    let outcome = tools.call("run_skill_script", arguments).await;
    assert_eq!(
        (outcome.answer(), &outcome.structured["raw"]),
        ("saved", &json!(""))
    );
    let both = host("", "main.py", &format!("{source}print('text')\n"));
    assert_eq!(run(&both.tools(), json!({})).await.answer().trim(), "text");
}

#[tokio::test]
async fn a_failed_script_says_which_requirement_it_missed() {
    if skip_without_sandbox() {
        return;
    }
    let extra = "metadata: {openclaw: {requires: {env: [DEMO_KEY]}}}\n";
    let failing = host(extra, "main.py", "exit(1)\n");
    let outcome = run(&failing.tools(), json!({})).await;
    assert!(outcome.is_error);
    let line = "Missing requirement: ";
    assert!(
        outcome.text().contains(line) && outcome.text().contains("DEMO_KEY"),
        "{}",
        outcome.text()
    );
    let working = host(extra, "main.py", "print(1)\n");
    let outcome = run(&working.tools(), json!({})).await;
    assert_eq!(outcome.answer().trim(), "1");
    assert!(outcome.structured["notes"].to_string().contains("DEMO_KEY"));
}
