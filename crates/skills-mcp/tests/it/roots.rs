//! Roots of legacy clients, of which one becomes the workspace.

use std::path::Path;

use serde_json::{Value, json};
use skills_mcp::Server;
use skills_tools::runtime::{Policy, Root, Scope, SkillRuntime};
use skills_tools::{Mount, ToolSet};

use crate::client::{Client, Lifecycle};
use crate::fixture::Host;

/// A script whose arguments are known, so that it is a tool when its skill is loaded.
const SCRIPT: &str =
    "import argparse\np = argparse.ArgumentParser()\np.add_argument('--city')\np.parse_args()\n";

/// A host without a workspace, and with two projects of a client.
pub(crate) fn host() -> Host {
    let host = Host::new();
    host.file("a project/note.txt", "one")
        .file("other/note.txt", "two")
        .skill("rain", "")
        .script("rain", "now.py", SCRIPT);
    host
}

/// A server that makes roots workspaces, except for those named `refused`.
pub(crate) fn server(host: &Host) -> Server {
    let runtime = SkillRuntime::builder()
        .root(Root::new(host.path("skills"), Scope::Custom))
        .scratch_directory(host.path("scratch"));
    let tools = ToolSet::builder(runtime.build()).build().unwrap();
    Server::builder(tools)
        .client_workspaces(|tools, directory| {
            if directory.ends_with("refused") {
                return Err("refused".into());
            }
            let workspace = Mount::writable("workspace", directory);
            Ok(tools.with_workspace(workspace, Policy::default(), |_| None)?)
        })
        .build()
        .unwrap()
}

fn capabilities() -> Value {
    json!({"roots": {"listChanged": true}})
}

fn uri(path: &Path) -> String {
    format!("file://{}", path.to_str().unwrap().replace(' ', "%20"))
}

fn roots(paths: &[&Path]) -> Value {
    let roots: Vec<_> = paths.iter().map(|path| json!({"uri": uri(path)})).collect();
    json!({"roots": roots})
}

/// Connects a client whose roots are listed by `answer`.
async fn connect(server: &Server, answer: Value) -> Client {
    let mut client = Client::connect_answering(server, capabilities(), answer).await;
    client.ok("tools/list", json!({})).await;
    client
}

/// Reads the note in the workspace: its text, or the code of the error.
async fn note(client: &mut Client) -> String {
    let result = client
        .tool("skills_read", json!({"path": "note.txt"}))
        .await;
    match &result["_meta"]["skills/report"]["error"]["code"] {
        Value::String(code) => code.clone(),
        _ => result["content"][0]["text"].as_str().unwrap().to_owned(),
    }
}

/// Changes the roots of a client.
async fn change(client: &mut Client, answer: Value) {
    let asked = client.requests.len();
    client.answer = answer;
    let method = "notifications/roots/list_changed";
    client.notify(method, json!({})).await;
    while client.requests.len() == asked {
        client.message().await;
    }
}

/// Reads the note until its text changes to `expected`: a call can precede the change.
async fn expect_note(client: &mut Client, expected: &str) {
    let mut text = String::new();
    for _ in 0..1_000 {
        text = note(client).await;
        if text.contains(expected) {
            return;
        }
    }
    panic!("expected {expected}, found {text}");
}

#[tokio::test]
async fn the_first_usable_root_is_the_workspace_of_the_first_call() {
    let host = host();
    let server = server(&host);
    let [project, other, refused, missing] =
        ["a project", "other", "refused", "missing"].map(|name| host.path(name));
    let file = host.path("other/note.txt");
    for (listed, expected) in [
        (roots(&[&project]), "one"),
        (roots(&[&project, &other]), "one"),
        (roots(&[&refused, &missing, &file, &other]), "two"),
        (roots(&[&refused]), "path_outside_mounts"),
        (roots(&[]), "path_outside_mounts"),
        (
            json!({"roots": [{"uri": "https://example.org/x"}, {"uri": "x"}]}),
            "path_outside_mounts",
        ),
        (json!({"no": "list"}), "path_outside_mounts"),
    ] {
        let mut client = connect(&server, listed.clone()).await;
        let found = note(&mut client).await;
        assert!(found.contains(expected), "{listed}: {found}");
        let asked: Vec<_> = client
            .requests
            .iter()
            .map(|request| &request["method"])
            .collect();
        assert_eq!(asked, ["roots/list"], "{listed}");
    }
}

#[tokio::test]
async fn at_most_32_roots_are_tried() {
    let host = host();
    let server = server(&host);
    let (missing, project) = (host.path("missing"), host.path("other"));
    for (number, expected) in [(31, "two"), (32, "path_outside_mounts")] {
        let mut paths = vec![missing.as_path(); number];
        paths.push(&project);
        let mut client = connect(&server, roots(&paths)).await;
        let found = note(&mut client).await;
        assert!(found.contains(expected), "{number}: {found}");
    }
}

#[tokio::test]
async fn a_change_of_the_roots_changes_the_workspace_and_keeps_the_session() {
    let host = host();
    let server = server(&host);
    let [project, other] = ["a project", "other"].map(|name| host.path(name));
    let mut client = connect(&server, roots(&[&project])).await;
    client.tool("load_skill", json!({"name": "rain"})).await;
    client
        .notification("notifications/tools/list_changed")
        .await;
    let before = client.ok("tools/list", json!({})).await;
    assert!(before.to_string().contains("skill__rain__now"));
    assert!(note(&mut client).await.contains("one"));
    change(&mut client, roots(&[&other])).await;
    expect_note(&mut client, "two").await;
    let after = client.ok("tools/list", json!({})).await;
    assert_eq!(before, after, "definitions do not depend on the workspace");
    let changed = client
        .notifications
        .iter()
        .map(|message| &message["method"]);
    assert_eq!(changed.count(), 0, "{:?}", client.notifications);
    change(&mut client, roots(&[])).await;
    expect_note(&mut client, "path_outside_mounts").await;
}

#[tokio::test]
async fn clients_of_one_server_have_their_own_workspaces() {
    let host = host();
    let server = server(&host);
    let [project, other] = ["a project", "other"].map(|name| host.path(name));
    let mut first = connect(&server, roots(&[&project])).await;
    let mut second = connect(&server, roots(&[&other])).await;
    assert!(note(&mut first).await.contains("one"));
    assert!(note(&mut second).await.contains("two"));
    let write = json!({"path": "new.txt", "content": "x"});
    first.tool("skills_write", write).await;
    assert!(project.join("new.txt").exists() && !other.join("new.txt").exists());
    let mut none = Client::connect(&server, Lifecycle::Legacy, json!({})).await;
    assert_eq!(note(&mut none).await, "path_outside_mounts");
}

#[tokio::test]
async fn only_legacy_clients_that_declare_roots_are_asked() {
    let host = host();
    let server = server(&host);
    for (lifecycle, capabilities) in [
        (Lifecycle::Legacy, json!({"elicitation": {}})),
        (Lifecycle::Stateless, capabilities()),
    ] {
        let mut client = Client::connect(&server, lifecycle, capabilities).await;
        client.ok("tools/list", json!({})).await;
        assert_eq!(note(&mut client).await, "path_outside_mounts");
        assert!(
            client.requests.is_empty(),
            "{lifecycle:?}: {:?}",
            client.requests
        );
    }
    // Without the option of the server, no client is asked.
    let server = host.server(&[]);
    let mut client = Client::connect(&server, Lifecycle::Legacy, capabilities()).await;
    client.ok("tools/list", json!({})).await;
    note(&mut client).await;
    assert!(client.requests.is_empty(), "{:?}", client.requests);
}

#[tokio::test]
async fn a_client_that_refuses_to_list_its_roots_is_served() {
    let host = host();
    let server = server(&host);
    let mut client = Client::connect(&server, Lifecycle::Legacy, capabilities()).await;
    let request = client.message().await;
    assert_eq!(request["method"], "roots/list", "{request}");
    let error = json!({"code": -32601, "message": "no"});
    let answer = json!({"jsonrpc": "2.0", "id": request["id"], "error": error});
    client.write(&answer).await;
    assert_eq!(note(&mut client).await, "path_outside_mounts");
}

#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_answer_delays_only_the_first_calls() {
    let host = host();
    let server = server(&host);
    let mut client = Client::connect(&server, Lifecycle::Legacy, capabilities()).await;
    assert_eq!(note(&mut client).await, "path_outside_mounts");
    let request = client.requests[0].clone();
    assert_eq!(request["method"], "roots/list", "{request}");
    assert_eq!(note(&mut client).await, "path_outside_mounts");
}

#[tokio::test]
async fn instructions_explain_a_workspace_that_is_named_later() {
    let host = host();
    let server = server(&host);
    let greeting = |capabilities: Value| json!({"protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": {"name": "test", "version": "1"}});
    let mut client = Client::connect(&server, Lifecycle::Stateless, json!({})).await;
    let mut instructions = Vec::new();
    for (id, capabilities) in [(98, json!({})), (99, capabilities())] {
        let params = greeting(capabilities);
        client
            .write(&json!({"jsonrpc": "2.0", "id": id, "method": "initialize", "params": params}))
            .await;
        let greeted = client.answer_to(id).await;
        let text = greeted["result"]["instructions"].as_str().unwrap();
        instructions.push(text.to_owned());
    }
    assert!(
        !instructions[0].contains("/workspace/PATH"),
        "{}",
        instructions[0]
    );
    assert!(
        instructions[1].contains("/workspace/PATH"),
        "{}",
        instructions[1]
    );
    assert!(
        instructions[1].contains("skills/list"),
        "{}",
        instructions[1]
    );
}
