//! Approvals by the user of the client.

use serde_json::{Value, json};
use skills_mcp::Server;
use skills_test_support::skip_without_sandbox;

use crate::client::{Client, Lifecycle};
use crate::fixture::Host;

const FORMS: &str = r#"{"elicitation": {"form": {}}}"#;

fn forms() -> Value {
    serde_json::from_str(FORMS).unwrap()
}

fn host() -> Host {
    let host = Host::new();
    host.skill("greet", "allowed-tools: Bash(sh:*)\n")
        .script("greet", "hello.sh", "echo hello\n");
    host
}

fn run() -> Value {
    json!({"name": "skills_run", "arguments": {"name": "greet", "command": "sh scripts/hello.sh"}})
}

fn accept(decision: &str) -> Value {
    json!({"action": "accept", "content": {"decision": decision}})
}

fn code(result: &Value) -> &Value {
    &result["_meta"]["skills/report"]["error"]["code"]
}

#[tokio::test]
async fn a_legacy_client_is_prompted_during_the_call() {
    if skip_without_sandbox() {
        return;
    }
    let host = host();
    let server = host.server(&[]);
    let mut client = Client::connect(&server, Lifecycle::Legacy, forms()).await;
    for (answer, expected) in [
        (json!({"action": "decline"}), "denied_by_policy"),
        (json!({"action": "cancel"}), "approval_required"),
        (accept("deny"), "denied_by_policy"),
        (accept("allow_everything"), "denied_by_policy"),
        (json!({"action": "accept"}), "denied_by_policy"),
    ] {
        client.answer = answer.clone();
        let result = client.ok("tools/call", run()).await;
        assert_eq!(code(&result), expected, "{answer}: {result}");
    }
    let form = &client.requests[0]["params"];
    assert!(
        form["message"]
            .as_str()
            .unwrap()
            .starts_with("Allow skill `greet` to run "),
        "{form}"
    );
    assert_eq!(
        form["requestedSchema"]["properties"]["decision"]["enum"],
        json!(["allow_once", "allow_session", "allow_always", "deny"])
    );
    // Commands of a model are approved for the session at most.
    client.answer = json!({"action": "decline"});
    let earlier = client.requests.len();
    client
        .tool(
            "skills_run",
            json!({"name": "greet", "command": "sh -c 'echo x'"}),
        )
        .await;
    assert_eq!(
        client.requests[earlier]["params"]["requestedSchema"]["properties"]["decision"]["enum"],
        json!([
            "allow_once",
            "allow_program_for_session",
            "allow_commands_for_session",
            "deny"
        ])
    );
    let earlier = client.requests.len();
    client.answer = accept("allow_once");
    assert_eq!(
        client.ok("tools/call", run()).await["content"][0]["text"],
        "Program output:\nhello"
    );
    client.answer = accept("allow_session");
    assert_eq!(
        client.ok("tools/call", run()).await["content"][0]["text"],
        "Program output:\nhello"
    );
    assert_eq!(client.requests.len(), earlier + 2);
    assert_eq!(
        client.ok("tools/call", run()).await["content"][0]["text"],
        "Program output:\nhello"
    );
    assert_eq!(
        client.requests.len(),
        earlier + 2,
        "the approval holds for the connection"
    );
    let mut other = Client::connect(&server, Lifecycle::Legacy, forms()).await;
    other.answer = json!({"action": "decline"});
    assert_eq!(
        code(&other.ok("tools/call", run()).await),
        "denied_by_policy",
        "and not for another connection"
    );
}

#[tokio::test]
async fn an_invalid_response_is_a_denial() {
    if skip_without_sandbox() {
        return;
    }
    let host = host();
    let server = host.server(&[]);
    let mut client = Client::connect(&server, Lifecycle::Legacy, forms()).await;
    for unreadable in [
        r#""error":"no""#,
        r#""error":{"message":"no"}"#,
        r#""result":{"action":"\ud800"}"#,
        r#""result":null"#,
    ] {
        let call = client.send("tools/call", run()).await;
        let question = loop {
            let message = client.message().await;
            if message["method"] == "elicitation/create" {
                break message["id"].clone();
            }
        };
        client
            .raw(&format!(
                "{{\"jsonrpc\":\"2.0\",\"id\":{question},{unreadable}}}\n"
            ))
            .await;
        let result = client.answer_to(call).await;
        assert_eq!(
            code(&result["result"]),
            "approval_required",
            "{unreadable}: {result}"
        );
    }
}

/// Calls until there is a prompt, and returns it with the state for the retry.
async fn prompt_for_state(client: &mut Client) -> (Value, Value) {
    let result = client.ok("tools/call", run()).await;
    assert_eq!(result["resultType"], "input_required", "{result}");
    let request = result["inputRequests"]["permission"].clone();
    assert_eq!(request["method"], "elicitation/create");
    (request["params"].clone(), result["requestState"].clone())
}

fn again(state: &Value, answer: Value) -> Value {
    let mut call = run();
    call["requestState"] = state.clone();
    call["inputResponses"] = json!({"permission": answer});
    call
}

#[tokio::test]
async fn a_stateless_client_is_prompted_by_the_result() {
    if skip_without_sandbox() {
        return;
    }
    let host = host();
    let server = host.server(&[]);
    let mut client = Client::connect(&server, Lifecycle::Stateless, forms()).await;
    let (form, state) = prompt_for_state(&mut client).await;
    assert!(
        form["message"]
            .as_str()
            .unwrap()
            .starts_with("Allow skill `greet` to run "),
        "{form}"
    );
    let result = client
        .ok("tools/call", again(&state, accept("allow_once")))
        .await;
    assert_eq!(
        result["content"][0]["text"], "Program output:\nhello",
        "{result}"
    );
    // A response counts once: after that the user is asked again.
    let replayed = client
        .ok("tools/call", again(&state, accept("allow_once")))
        .await;
    assert_eq!(replayed["resultType"], "input_required", "{replayed}");

    for (answer, expected) in [
        (json!({"action": "decline"}), "denied_by_policy"),
        (json!({"action": "cancel"}), "approval_required"),
    ] {
        let (_, state) = prompt_for_state(&mut client).await;
        let result = client.ok("tools/call", again(&state, answer)).await;
        assert_eq!(code(&result), expected, "{result}");
    }
}

#[tokio::test]
async fn a_response_that_does_not_belong_to_the_call_is_asked_for_again() {
    if skip_without_sandbox() {
        return;
    }
    let host = host();
    host.script("greet", "canary.sh", "echo alive > /workspace/canary\n");
    let server = host.server(&[]);
    let mut client = Client::connect(&server, Lifecycle::Stateless, forms()).await;
    let (_, state) = prompt_for_state(&mut client).await;
    let canary = json!({"name": "greet", "command": "sh scripts/canary.sh"});
    let mut wrong = Vec::new();
    let mut other_arguments = again(&state, accept("allow_once"));
    other_arguments["arguments"] = canary.clone();
    wrong.push(other_arguments);
    let mut other_tool = again(&state, accept("allow_once"));
    other_tool["name"] = json!("skill__greet__hello");
    other_tool["arguments"] = json!({});
    wrong.push(other_tool);
    wrong.push(again(&json!("made up"), accept("allow_once")));
    let mut without_state = again(&state, accept("allow_once"));
    without_state
        .as_object_mut()
        .unwrap()
        .remove("requestState");
    wrong.push(without_state);
    let mut without_answer = again(&state, accept("allow_once"));
    without_answer
        .as_object_mut()
        .unwrap()
        .remove("inputResponses");
    wrong.push(without_answer);
    wrong.push(again(&state, json!("yes")));
    for call in wrong {
        let answer = client.ok("tools/call", call.clone()).await;
        assert_eq!(answer["resultType"], "input_required", "{call}: {answer}");
    }
    // Another server, such as this one after a restart, asks again, unless it has the same key.
    let mut foreign = Client::connect(&host.server(&[]), Lifecycle::Stateless, forms()).await;
    let result = foreign
        .ok("tools/call", again(&state, accept("allow_once")))
        .await;
    assert_eq!(result["resultType"], "input_required", "{result}");
    // Responses to other requests are ignored.
    let (_, fresh) = prompt_for_state(&mut client).await;
    let mut more = again(&fresh, accept("allow_once"));
    more["inputResponses"]["sampling"] = json!({});
    let result = client.ok("tools/call", more).await;
    assert_eq!(
        result["content"][0]["text"], "Program output:\nhello",
        "{result}"
    );
    // A changed skill needs a new prompt.
    host.script("greet", "hello.sh", "echo something else\n");
    let result = client
        .ok("tools/call", again(&state, accept("allow_once")))
        .await;
    assert_eq!(result["resultType"], "input_required", "{result}");
    assert!(!host.path("workspace/canary").exists());
}

#[tokio::test]
async fn servers_that_share_a_key_accept_each_others_state() {
    if skip_without_sandbox() {
        return;
    }
    let host = host();
    let replay_dir = host.path("replays");
    let server = || {
        let server = Server::builder(host.tools(&[]))
            .request_state_key([7; 32])
            .replay_cache(skills_mcp::DirectoryReplayCache::new(&replay_dir));
        server.build().unwrap()
    };
    let mut first = Client::connect(&server(), Lifecycle::Stateless, forms()).await;
    let mut second = Client::connect(&server(), Lifecycle::Stateless, forms()).await;
    let (_, state) = prompt_for_state(&mut first).await;
    let result = second
        .ok("tools/call", again(&state, accept("allow_once")))
        .await;
    assert_eq!(
        result["content"][0]["text"], "Program output:\nhello",
        "{result}"
    );
    let replayed = first
        .ok("tools/call", again(&state, accept("allow_once")))
        .await;
    assert_eq!(replayed["resultType"], "input_required", "{replayed}");
}

#[tokio::test]
async fn a_client_without_elicitation_gets_a_hint() {
    if skip_without_sandbox() {
        return;
    }
    let host = host();
    let server = host.server(&[]);
    for (lifecycle, capabilities) in [
        (Lifecycle::Legacy, json!({})),
        (Lifecycle::Stateless, json!({})),
        (Lifecycle::Stateless, json!({"elicitation": {"url": {}}})),
    ] {
        let mut client = Client::connect(&server, lifecycle, capabilities).await;
        // What only the skill asks for is omitted.
        let result = client.ok("tools/call", run()).await;
        let text = result["content"][0]["text"].as_str().unwrap();
        assert_eq!(text, "Program output:\nhello", "{result}");
        let made_up = json!({"name": "skills_run", "arguments": {"name": "greet", "command": "sh -c 'echo x'"}});
        let result = client.ok("tools/call", made_up).await;
        let text = result["content"][0]["text"].as_str().unwrap();
        // Its reader has a user, and does not know the words of this server.
        assert_eq!(
            text,
            "Error: not run: permission denied: spawn `sh` (requested by `Bash(sh:*)`, the caller): no rule allows it and the user could not be asked\n\
             Hint: ask your user to add `--allow spawn:sh` to the skills server, then retry"
        );
        assert!(!text.contains(host.path("").to_str().unwrap()), "{text}");
        assert!(client.requests.is_empty());
    }
}

#[tokio::test]
async fn users_do_not_decide_for_each_other() {
    if skip_without_sandbox() {
        return;
    }
    let host = host();
    let server = Server::builder(host.tools(&[]))
        .multi_user()
        .build()
        .unwrap();
    let mut client = Client::connect(&server, Lifecycle::Legacy, forms()).await;
    client.answer = accept("allow_always");
    assert_eq!(
        code(&client.ok("tools/call", run()).await),
        "denied_by_policy"
    );
    let offered =
        &client.requests[0]["params"]["requestedSchema"]["properties"]["decision"]["enum"];
    assert_eq!(offered, &json!(["allow_once", "allow_session", "deny"]));
    assert!(!host.path("approvals.json").exists());
}

#[tokio::test]
async fn the_prompt_of_a_cancelled_call_is_cancelled() {
    if skip_without_sandbox() {
        return;
    }
    let host = host();
    let server = host.server(&[]);
    let mut client = Client::connect(&server, Lifecycle::Legacy, forms()).await;
    let id = client.send("tools/call", run()).await;
    while client.requests.is_empty() {
        client.message().await;
    }
    client
        .notify("notifications/cancelled", json!({"requestId": id}))
        .await;
    let taken = client.notification("notifications/cancelled").await;
    assert_eq!(
        taken["params"]["requestId"], client.requests[0]["id"],
        "{taken}"
    );
    // A late answer is discarded.
    let late = json!({"jsonrpc": "2.0", "id": client.requests[0]["id"], "result": accept("allow_session")});
    client.write(&late).await;
    client.answer = json!({"action": "decline"});
    assert_eq!(
        code(&client.ok("tools/call", run()).await),
        "denied_by_policy"
    );
}

/// A skill with a script that starts `date`, which it does not declare.
fn dated(first: &str) -> Host {
    let host = Host::new();
    let script = format!("{first}\ndate +%Y > /dev/null && echo shown\n");
    host.skill("dated", "").script("dated", "show.sh", &script);
    host
}

fn run_dated() -> Value {
    json!({"name": "run_skill_script", "arguments": {"skill_name": "dated", "script_name": "show.sh"}})
}

/// The user is asked once for what the program was refused, and it runs again.
#[tokio::test]
async fn a_refusal_is_asked_once_and_the_program_runs_again() {
    if skip_without_sandbox() {
        return;
    }
    let host = dated("");
    for lifecycle in [Lifecycle::Legacy, Lifecycle::Stateless] {
        let server = host.server(&["write"]);
        let mut client = Client::connect(&server, lifecycle, forms()).await;
        client.answer = accept("allow_once");
        let mut result = client.ok("tools/call", run_dated()).await;
        if lifecycle == Lifecycle::Stateless {
            let mut again = run_dated();
            again["requestState"] = result["requestState"].clone();
            again["inputResponses"] = json!({"permission": accept("allow_once")});
            client
                .requests
                .push(result["inputRequests"]["permission"].clone());
            result = client.ok("tools/call", again).await;
            assert!(result["inputRequests"].is_null(), "{result}");
        }
        let text = result["content"][0]["text"].as_str();
        assert_eq!(text, Some("Program output:\nshown"), "{result}");
        let message = &client.requests[0]["params"]["message"];
        let message = message.as_str().unwrap_or_default();
        assert!(
            message.starts_with("Run skill `dated` again, and allow what it was refused?")
                && message.contains("starts /")
                && message.contains("/date"),
            "{message}"
        );
        assert_eq!(client.requests.len(), 1);
    }
}

/// Lines that show progress are not output that a reader was given.
#[tokio::test]
async fn progress_does_not_keep_a_program_from_running_again() {
    if skip_without_sandbox() {
        return;
    }
    let host = dated("echo begun");
    let server = host.server(&["write"]);
    let mut client = Client::connect(&server, Lifecycle::Legacy, forms()).await;
    client.answer = accept("allow_once");
    let mut call = run_dated();
    call["_meta"] = json!({"progressToken": 1});
    let result = client.ok("tools/call", call).await;
    let text = result["content"][0]["text"].as_str();
    assert_eq!(text, Some("Program output:\nbegun\nshown"), "{result}");
    assert_eq!(client.requests.len(), 1);
}

/// No answer, also none for later runs, lets a program that changed a file run twice.
#[tokio::test]
async fn a_program_with_effects_runs_once() {
    if skip_without_sandbox() {
        return;
    }
    for lifecycle in [Lifecycle::Legacy, Lifecycle::Stateless] {
        let host = dated("echo run >> /workspace/runs");
        let server = host.server(&["write"]);
        let mut client = Client::connect(&server, lifecycle, forms()).await;
        client.answer = accept("allow_session");
        let result = client.ok("tools/call", run_dated()).await;
        assert_eq!(result["isError"], true, "{result}");
        let runs = std::fs::read_to_string(host.path("workspace/runs"));
        assert_eq!(runs.unwrap(), "run\n");
        let is_asked = lifecycle == Lifecycle::Legacy;
        assert_eq!(client.requests.len(), usize::from(is_asked), "{result}");
        let text = result["content"].to_string();
        assert_eq!(text.contains("the user can allow"), !is_asked, "{text}");
    }
}
