//! What clients fetch without a tool is recorded in the usage ledger, too.

use serde_json::json;
use skills_mcp::Server;
use skills_tools::ToolSet;
use skills_tools::runtime::ledger::Ledger;
use skills_tools::runtime::{Root, Scope, SkillRuntime};

use crate::client::{Client, Lifecycle};
use crate::fixture::Host;

#[tokio::test]
async fn lists_resources_and_prompts_are_recorded() {
    let host = Host::new();
    host.skill("greet", "")
        .file("skills/greet/references/a.md", "# A\n");
    let ledger = Ledger::new(host.path("ledger"));
    let runtime = SkillRuntime::builder()
        .root(Root::new(host.path("skills"), Scope::Custom))
        .usage_ledger(ledger)
        .build();
    let usage = runtime.library().usage().clone();
    let tools = ToolSet::builder(runtime).build().unwrap();
    let server = Server::builder(tools).build().unwrap();
    let mut client = Client::connect(&server, Lifecycle::Legacy, json!({})).await;
    for uri in ["skill://greet/SKILL.md", "skill://greet/references/a.md"] {
        client.ok("resources/read", json!({"uri": uri})).await;
    }
    client.ok("prompts/get", json!({"name": "greet"})).await;
    usage.flush();
    let text = std::fs::read_to_string(host.path("ledger/uses.jsonl")).unwrap();
    let found = |word: &str| text.lines().filter(|line| line.contains(word)).count();
    assert_eq!(
        [
            found("implicit"),
            found("reference_read"),
            found(r#""class":"user""#)
        ],
        [1, 1, 1],
        "{text}"
    );
    assert_eq!(found(r#""session":"#), 3, "{text}");

    let mut client = Client::connect(&server, Lifecycle::Stateless, json!({})).await;
    for _ in 0..2 {
        client.ok("skills/list", json!({})).await;
    }
    usage.flush();
    let offers = std::fs::read_to_string(host.path("ledger/offers.jsonl")).unwrap();
    assert_eq!(offers.lines().count(), 1, "{offers}");
}
