//! Definitions of the tools, and validation of arguments.

use std::collections::BTreeSet;
use std::fs;
use std::task::Poll;
use std::time::Duration;

use insta::assert_json_snapshot;
use serde_json::{Value, json};
use skills_tools::{
    CallContext, ProgramOptions, ToolDefinition, ToolErrorCode, ToolFormat, ToolGroup, ToolOutput,
};

use crate::fixture::{Host, Tools};

/// Two skills; one has a script with declared arguments.
fn host() -> Host {
    let host = Host::new();
    let args = "[{name: person, required: true}, {name: times, type: integer, min: 1}]";
    host.skill(
        "demo",
        &format!("scripts:\n  greet:\n    description: Greets a person.\n    args: {args}\n"),
    );
    host.skill("pdf-tools", "")
        .script("demo", "greet.py", "print('ran')\n");
    host
}

fn definitions(tools: &Tools) -> Vec<ToolDefinition> {
    tools.set.definitions().unwrap()
}

fn property<'a>(definitions: &'a [ToolDefinition], tool: &str, name: &str) -> &'a Value {
    let definition = definitions
        .iter()
        .find(|definition| definition.name == tool)
        .unwrap();
    &definition.input_schema["properties"][name]
}

#[test]
fn every_tool_has_an_mcp_definition() {
    for definition in host().tools().set.render(ToolFormat::Mcp).unwrap() {
        let name = definition["name"].as_str().unwrap();
        assert_json_snapshot!(format!("mcp_{name}"), definition);
    }
}

#[test]
fn other_formats_have_the_same_content() {
    let host = host();
    let tools = host.tools();
    let one = |format| tools.set.render(format).unwrap().pop().unwrap();
    assert_json_snapshot!("openai", one(ToolFormat::OpenAi));
    assert_json_snapshot!("anthropic", one(ToolFormat::Anthropic));
    let all = definitions(&tools).len();
    assert_eq!(
        [ToolFormat::Mcp, ToolFormat::OpenAi, ToolFormat::Anthropic].map(|format| tools
            .set
            .render(format)
            .unwrap()
            .len()),
        [all; 3]
    );
}

#[test]
fn schemas_and_names_are_valid() {
    let host = host();
    let definitions = definitions(&host.tools());
    for definition in &definitions {
        let ToolDefinition {
            name,
            input_schema,
            output_schema,
            ..
        } = definition;
        for schema in [input_schema, output_schema] {
            assert!(
                jsonschema::draft202012::meta::is_valid(schema),
                "{name}: {schema}"
            );
            assert_eq!(schema["type"], "object", "{name}");
        }
        let is_allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        assert!(
            !name.is_empty() && name.len() <= 64 && name.chars().all(is_allowed),
            "{name}"
        );
        assert!(
            !definition.description.is_empty() && !definition.title.is_empty(),
            "{name}"
        );
        assert_eq!(input_schema["additionalProperties"], false, "{name}");
    }
    let names: BTreeSet<&str> = definitions
        .iter()
        .map(|definition| definition.name.as_str())
        .collect();
    assert_eq!(names.len(), definitions.len());
}

#[test]
fn equal_skills_have_equal_definitions() {
    let host = host();
    let tools = host.tools();
    let rendered =
        |tools: &Tools| serde_json::to_string(&tools.set.render(ToolFormat::Mcp).unwrap()).unwrap();
    let first = rendered(&tools);
    assert_eq!(rendered(&tools), first);
    assert_eq!(rendered(&host.tools()), first);
}

#[test]
fn parameters_and_defaults_are_stable() {
    let host = host();
    let definitions = definitions(&host.tools());
    for (tool, name, default) in [
        ("skills_run", "timeout", json!(120)),
        ("skills_bash", "timeout", json!(60)),
        ("run_skill_script", "args", json!({})),
        ("run_skill_script", "timeout", json!(10)),
    ] {
        assert_eq!(
            property(&definitions, tool, name)["default"],
            default,
            "{tool} {name}"
        );
    }
    for (tool, required) in [
        ("skills_ls", json!([])),
        ("skills_read", json!(["path"])),
        ("skills_write", json!(["path", "content"])),
        (
            "skills_create",
            json!(["name", "description", "instructions"]),
        ),
        ("skills_run", json!(["name", "command"])),
        ("skills_bash", json!(["command"])),
        ("run_skill_script", json!(["skill_name", "script_name"])),
        ("search_skills", json!([])),
        ("load_skill", json!(["name"])),
        ("read_skill_resource", json!(["name", "path"])),
        ("search_references", json!(["query"])),
        ("skill__demo__greet", json!(["person"])),
    ] {
        let definition = definitions
            .iter()
            .find(|definition| definition.name == tool)
            .unwrap();
        assert_eq!(
            definition
                .input_schema
                .get("required")
                .unwrap_or(&json!([])),
            &required,
            "{tool}"
        );
    }
    assert_eq!(
        property(&definitions, "skills_ls", "path")["type"],
        "string"
    );
}

#[tokio::test]
async fn missing_arguments_are_an_empty_object() {
    let host = host();
    host.file("workspace/a.txt", "a");
    let tools = host.tools();
    for arguments in [
        Value::Null,
        json!({}),
        json!({"path": ""}),
        json!({"path": "/workspace"}),
    ] {
        assert_eq!(
            tools.text("skills_ls", arguments.clone()).await,
            tools.text("skills_ls", json!({})).await,
            "{arguments}"
        );
    }
    assert!(tools.text("skills_ls", Value::Null).await.contains("a.txt"));
    let missing = tools.call("skills_read", Value::Null).await;
    assert!(
        missing.has_code(ToolErrorCode::InvalidArguments)
            && missing.text().contains("\"path\" is a required property"),
        "{}",
        missing.text()
    );
}

#[tokio::test]
async fn integral_floats_are_integers() {
    let host = host();
    let tools = host.tools();
    let listed = tools
        .call("skills_ls", json!({"limit": 10.0, "depth": 1.0}))
        .await;
    assert!(!listed.is_error, "{}", listed.text());
    assert!(
        tools
            .call("skills_ls", json!({"limit": 1.5}))
            .await
            .has_code(ToolErrorCode::InvalidArguments)
    );
}

/// Some clients send every value as text, and `null` for what their model left out.
#[tokio::test]
async fn values_are_converted_to_the_types_of_the_schema_before_they_are_validated() {
    let host = host();
    host.file("workspace/5", "five");
    let tools = host.tools();
    for (tool, arguments) in [
        (
            "skills_ls",
            json!({"limit": "10", "depth": "1", "cursor": null}),
        ),
        ("skills_read", json!({"path": 5, "limit": null})),
        (
            "search_skills",
            json!({"limit": "5", "offset": "0", "query": null}),
        ),
    ] {
        let output = tools.call(tool, arguments).await;
        assert!(!output.is_error, "{tool}: {}", output.text());
    }
    assert!(
        tools
            .text("skills_read", json!({"path": 5}))
            .await
            .contains("five")
    );
    // A converted value has the bounds of the schema, and what is not clear is named.
    for (tool, arguments, mistake) in [
        (
            "skills_ls",
            json!({"limit": "0"}),
            "/limit: 0 is less than 1",
        ),
        (
            "skills_ls",
            json!({"limit": "ten"}),
            "/limit: \"ten\" is not of type \"integer\"",
        ),
        (
            "skills_ls",
            json!({"path": 1.5}),
            "/path: 1.5 is not of type \"string\"; did you mean \"1.5\"?",
        ),
        (
            "skills_read",
            json!({"path": null}),
            "/path: null is not of type \"string\"",
        ),
        (
            "skill__demo__greet",
            json!({"person": 7, "times": "0"}),
            "/times: 0 is less than 1",
        ),
        (
            "run_skill_script",
            json!({"skill_name": "demo", "script_name": "none", "args": "[1]"}),
            "/args: \"[1]\" is not of type \"object\"",
        ),
    ] {
        let output = tools.call(tool, arguments).await;
        assert!(output.has_code(ToolErrorCode::InvalidArguments), "{tool}");
        assert!(output.text().contains(mistake), "{}", output.text());
    }
    let script = json!({"skill_name": "demo", "script_name": "none", "args": "{\"a\": 1}"});
    let output = tools.call("run_skill_script", script).await;
    assert!(
        output.has_code(ToolErrorCode::ScriptNotFound),
        "{}",
        output.text()
    );
}

#[tokio::test]
async fn invalid_arguments_name_every_mistake_and_do_nothing() {
    let host = host();
    let tools = host.allowing(&["spawn", &host.write_rule()]);
    let check = async |tool: &str, arguments: Value, mistakes: &[&str]| {
        let outcome = tools.call(tool, arguments.clone()).await;
        assert!(
            outcome.has_code(ToolErrorCode::InvalidArguments),
            "{tool} {arguments}: {}",
            outcome.text()
        );
        assert_eq!(
            outcome.structured.as_object().unwrap().len(),
            1,
            "{tool}: something was done: {}",
            outcome.structured
        );
        for mistake in mistakes {
            assert!(
                outcome.text().contains(mistake),
                "{tool} {arguments}: {mistake:?} is not in {}",
                outcome.text()
            );
        }
    };
    check(
        "skills_ls",
        json!({"path": 3.5, "limt": true, "limit": 1001}),
        &["/path: 3.5", "'limt'", "/limit: 1001"],
    )
    .await;
    check("skills_ls", json!([]), &["not of type \"object\""]).await;
    check(
        "skills_read",
        json!({"limit": -1}),
        &["\"path\" is a required", "/limit: -1"],
    )
    .await;
    check(
        "skills_write",
        json!({"path": "a.txt", "content": [5], "mode": "rename"}),
        &["/content: [5]", "/mode: \"rename\""],
    )
    .await;
    check(
        "skills_write",
        json!({"path": "a.txt", "content": "x", "contents": "y"}),
        &["'contents'"],
    )
    .await;
    check(
        "skills_create",
        json!({"name": "new", "description": "", "instructions": null}),
        &["/description", "/instructions"],
    )
    .await;
    check(
        "skills_run",
        json!({"name": "demo", "command": "touch a", "timeout": 0}),
        &["/timeout: 0"],
    )
    .await;
    check(
        "skills_run",
        json!({"name": "demo", "command": "touch a", "timeout": 1.5}),
        &["/timeout: 1.5"],
    )
    .await;
    check(
        "skills_bash",
        json!({"command": "touch a", "timeout": 3601, "cwd": false}),
        &["/timeout: 3601", "/cwd: false"],
    )
    .await;
    check(
        "run_skill_script",
        json!({"skill_name": "demo", "script_name": "greet", "args": [1]}),
        &["/args: [1]"],
    )
    .await;
    check(
        "run_skill_script",
        json!({"skill_name": "demo"}),
        &["\"script_name\" is a required"],
    )
    .await;
    check(
        "search_skills",
        json!({"limit": 0, "offset": -1}),
        &["/limit: 0", "/offset: -1"],
    )
    .await;
    check(
        "load_skill",
        json!({"name": "nope", "max_bytes": 5}),
        &["/max_bytes: 5"],
    )
    .await;
    check(
        "read_skill_resource",
        json!({"name": "demo"}),
        &["\"path\" is a required"],
    )
    .await;
    check(
        "skill__demo__greet",
        json!({"times": 0, "loud": true}),
        &["\"person\" is a required", "/times: 0", "'loud'"],
    )
    .await;
    for directory in ["workspace", "scratch"] {
        assert_eq!(
            fs::read_dir(host.path(directory)).unwrap().count(),
            0,
            "{directory}"
        );
    }
    assert!(!host.path("drafts").exists());
}

#[tokio::test]
async fn an_unknown_tool_is_an_error_of_the_host() {
    let host = host();
    let tools = host.tools();
    let unknown = async |name: &str| {
        tools
            .set
            .call(name, json!({}), &CallContext::default())
            .await
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        unknown("skills_lss").await,
        "tool `skills_lss` not found; did you mean `skills_ls`?"
    );
    assert_eq!(
        unknown("skill__demo__greets").await,
        "tool `skill__demo__greets` not found; did you mean `skill__demo__greet`?"
    );
    assert_eq!(unknown("zzz").await, "tool `zzz` not found");
    assert_eq!(unknown("a\n`").await, "tool `a\\n`` not found");
}

#[tokio::test]
async fn only_the_selected_tools_are_listed_and_callable() {
    let host = host();
    let with = |groups: &[ToolGroup]| {
        host.wrap(
            host.builder(host.runtime())
                .tool_groups(groups.iter().copied())
                .build()
                .unwrap(),
        )
    };
    let names = |tools: &Tools| {
        definitions(tools)
            .into_iter()
            .map(|definition| definition.name)
            .collect::<Vec<_>>()
            .join(" ")
    };
    let core = "search_skills load_skill skills_ls skills_read skills_write skills_run skills_bash";
    let workspace = "skills_ls skills_read skills_write skills_create skills_run skills_bash";
    let catalog = "search_skills load_skill read_skill_resource search_references";
    let (executor, scripts) = ("run_skill_script", "skill__demo__greet");
    let catalog_and_executor = format!("{catalog} {executor}");
    let all = format!("{workspace} {executor} {catalog} {scripts}");
    for (groups, expected) in [
        (&[][..], ""),
        (&[ToolGroup::Core], core),
        (&[ToolGroup::LoadedScripts], ""),
        (&[ToolGroup::Workspace], workspace),
        (&[ToolGroup::ScriptExecutor], executor),
        (&[ToolGroup::Catalog], catalog),
        (&[ToolGroup::ScriptTools], scripts),
        (&ToolGroup::DEFAULT, core),
        (
            &[ToolGroup::Catalog, ToolGroup::ScriptExecutor],
            &catalog_and_executor,
        ),
        (&ToolGroup::ALL, &all),
    ] {
        assert_eq!(names(&with(groups)), expected, "{groups:?}");
    }
    let catalog_tools = with(&[ToolGroup::Catalog, ToolGroup::ScriptExecutor]);
    for name in ["skills_ls", "skills_bash", "skill__demo__greet"] {
        assert!(
            catalog_tools
                .set
                .call(name, json!({}), &CallContext::default())
                .await
                .is_err(),
            "{name}"
        );
    }
}

#[tokio::test]
async fn unknown_arguments_are_ignored_only_where_nothing_changes() {
    let host = host();
    let tools = host.tools();
    let listed = tools
        .call("skills_ls", json!({"path": "/skills", "reason": "to look"}))
        .await;
    assert!(
        listed
            .text()
            .ends_with("\nNote: unknown arguments were ignored: `reason`"),
        "{}",
        listed.text()
    );
    for (tool, arguments) in [
        (
            "skills_write",
            json!({"path": "a", "content": "x", "append": true}),
        ),
        (
            "skills_run",
            json!({"name": "demo", "command": "x", "dry": true}),
        ),
        ("skill__demo__greet", json!({"dry": true})),
    ] {
        let outcome = tools.call(tool, arguments).await;
        assert!(
            outcome.has_code(ToolErrorCode::InvalidArguments),
            "{tool}: {}",
            outcome.text()
        );
    }
}

/// The default tools: their number does not depend on the skills.
#[tokio::test]
async fn a_session_gets_the_script_tools_of_the_skills_that_it_loads() {
    let host = host();
    let known = "import argparse\np = argparse.ArgumentParser()\np.add_argument('--city')\np.parse_args()\n";
    for skill in ["rain", "snow"] {
        host.skill(skill, "").script(skill, "now.py", known);
    }
    host.script("rain", "open.py", "import sys\nprint(sys.argv[1:])\n");
    let builder = host.builder(host.runtime());
    let tools = host.wrap(builder.tool_groups(ToolGroup::DEFAULT).build().unwrap());
    let core = "search_skills load_skill skills_ls skills_read skills_write skills_run skills_bash";
    let shared = definitions(&tools);
    let names = |definitions: &[ToolDefinition]| {
        let names: Vec<&str> = definitions
            .iter()
            .map(|definition| definition.name.as_str())
            .collect();
        names.join(" ")
    };
    assert_eq!(names(&shared), core);
    let own = |session: &str| names(&tools.set.session_definitions(session).unwrap());
    let load = async |session: &str, name: &str| {
        let context = CallContext::default().session(session);
        let outcome = tools
            .call_in("load_skill", json!({"name": name}), &context)
            .await;
        assert!(!outcome.is_error, "{}", outcome.text());
    };
    assert_eq!(own("a"), "");
    load("a", "snow").await;
    load("a", "rain").await;
    // Scripts with unknown arguments are run with skills_run.
    assert_eq!(own("a"), "skill__snow__now skill__rain__now");
    assert_eq!(own("b"), "");
    tools.set.end_session("a");
    assert_eq!(own("a"), "");
    assert_eq!(names(&definitions(&tools)), core);
    // A tool that is not listed can be called: clients need not read the list again.
    let arguments = json!({"town": 1});
    let context = CallContext::default();
    let called = tools
        .set
        .call("skill__snow__now", arguments, &context)
        .await;
    assert!(called.unwrap().has_code(ToolErrorCode::InvalidArguments));
}

/// A call that its client gave up goes on in the background, after the end of its session.
#[test]
fn a_call_that_was_dropped_adds_nothing_to_its_session() {
    let host = host();
    let known = "import argparse\np = argparse.ArgumentParser()\np.add_argument('--city')\np.parse_args()\n";
    host.skill("rain", "").script("rain", "now.py", known);
    let builder = host.builder(host.runtime());
    let tools = builder.tool_groups(ToolGroup::DEFAULT).build().unwrap();
    let context = CallContext::default().session("a");
    let load = || tools.call("load_skill", json!({"name": "rain"}), &context);
    // One thread for blocking work, so that a later task runs after an earlier one.
    let executor = tokio::runtime::Builder::new_current_thread()
        .max_blocking_threads(1)
        .build()
        .unwrap();
    let is_empty = || tools.session_definitions("a").unwrap().is_empty();
    executor.block_on(async {
        let mut polls = 0;
        loop {
            polls += 1;
            let mut call = Box::pin(load());
            let mut is_ready = false;
            for _ in 0..polls {
                // Occupies the thread, so that no work ends within the poll that starts it.
                let (release, released) = std::sync::mpsc::channel::<()>();
                let occupied = tokio::task::spawn_blocking(move || released.recv());
                let poll = |cx: &mut std::task::Context<'_>| Poll::Ready(call.as_mut().poll(cx));
                is_ready = std::future::poll_fn(poll).await.is_ready();
                drop(release);
                let _ = occupied.await;
                if is_ready {
                    break;
                }
                let _ = tokio::task::spawn_blocking(|| ()).await;
            }
            drop(call);
            if is_ready {
                break;
            }
            tools.end_session("a");
            let _ = tokio::task::spawn_blocking(|| ()).await;
            assert!(is_empty(), "dropped after {polls} polls");
        }
        assert!(polls > 1 && !is_empty());
    });
}

/// The timeout of the operator raises what a call can choose.
#[tokio::test]
async fn a_call_can_choose_the_timeout_of_the_operator() {
    for (operator, max) in [(10, 600), (3_600, 3_600)] {
        let host = Host::new();
        let options = ProgramOptions::default().timeout(Duration::from_secs(operator));
        let builder = host.builder(host.runtime()).program_options(options);
        let tools = host.wrap(builder.build().unwrap());
        for definition in tools.set.definitions().unwrap() {
            let timeout = &definition.input_schema["properties"]["timeout"];
            if !timeout.is_null() {
                assert_eq!(timeout["maximum"], max, "{}", definition.name);
            }
        }
        let code = async |timeout: u64| {
            let arguments = json!({"name": "none", "command": "x", "timeout": timeout});
            let result = tools.call("skills_run", arguments).await;
            result.structured["error"]["code"].clone()
        };
        assert_eq!(code(max).await, "skill_not_found");
        assert_eq!(code(max + 1).await, "invalid_arguments");
    }
}

/// A model that knows a tool from elsewhere learns where it is, and nothing about scripts that the
/// operator has disabled.
#[tokio::test]
async fn a_tool_of_another_group_is_named_with_its_group() {
    let host = host();
    let set = host
        .builder(host.runtime())
        .tool_groups([ToolGroup::Catalog]);
    let tools = set.build().unwrap();
    let text = async |name: &str| {
        let called = tools.call(name, json!({}), &CallContext::default()).await;
        ToolOutput::from(called.unwrap_err()).text().into_owned()
    };
    for (name, group) in [
        ("skills_create", "workspace"),
        ("skills_read", "workspace"),
        ("run_skill_script", "runner"),
    ] {
        assert_eq!(
            text(name).await,
            format!(
                "Error: tool `{name}` is not enabled: it is in group `{group}`\n\
                 Hint: use another tool, or ask your user to add `{group}` to `--tools` of the skills server"
            )
        );
    }
    let unknown = text("skill__demo__greet").await;
    assert_eq!(
        unknown,
        "Error: tool `skill__demo__greet` not found\nHint: list the tools"
    );
}
