//! What the tools record in the usage ledger.

use std::fs;

use serde_json::{Value, json};
use skills_runtime::CallContext;
use skills_runtime::ledger::Ledger;

use crate::fixture::{Host, Tools};

fn host() -> Host {
    let host = Host::new();
    host.skill("pdf", "")
        .skill("tax", "")
        .file(
            "skills/pdf/references/forms.md",
            "# Forms\nHow to fill forms.\n",
        )
        .script("pdf", "merge.sh", "echo merged\n");
    host
}

/// The tools with a ledger.
fn tools(host: &Host) -> Tools {
    let ledger = Ledger::new(host.path("ledger"));
    let runtime = host.runtime().usage_ledger(ledger);
    host.wrap(host.builder(runtime).build().unwrap())
}

/// Returns what was recorded since the last call, one line for each event.
fn recorded(host: &Host, tools: Tools) -> Vec<String> {
    // Writes what waits.
    drop(tools);
    let lines = ["offers.jsonl", "uses.jsonl"].map(|name| {
        let path = host.path("ledger").join(name);
        let text = fs::read_to_string(&path).unwrap_or_default();
        let _ = fs::remove_file(&path);
        let lines = text.lines().map(|line| {
            let line: Value = serde_json::from_str(line).unwrap();
            let text = |key: &str| line[key].as_str().unwrap_or_default().to_owned();
            let line = [text("skill"), text("event"), text("class")].join(" ");
            line.trim_end().to_owned()
        });
        lines.collect::<Vec<_>>()
    });
    lines.concat()
}

async fn record(host: &Host, name: &str, arguments: Value) -> Vec<String> {
    let tools = tools(host);
    let _ = tools.call(name, arguments).await;
    recorded(host, tools)
}

#[tokio::test]
async fn lists_and_searches_are_offers() {
    let host = host();
    let both = ["pdf offered", "tax offered"];
    assert_eq!(record(&host, "search_skills", json!({})).await, both);
    assert_eq!(
        record(&host, "skills_ls", json!({"path": "/skills"})).await,
        both
    );
    let one = json!({"path": "/skills", "limit": 1});
    assert_eq!(record(&host, "skills_ls", one).await, ["pdf offered"]);
    let for_task = json!({"path": "/skills", "limit": 1, "task": "tax"});
    assert_eq!(record(&host, "skills_ls", for_task).await, ["tax offered"]);
    let found = json!({"query": "about pdf"});
    assert_eq!(
        record(&host, "search_skills", found).await,
        ["pdf searched"]
    );
    let nothing = json!({"query": "thank you"});
    assert_eq!(record(&host, "search_skills", nothing).await, [""; 0]);
}

#[tokio::test]
async fn loading_and_reading_a_skill_are_uses() {
    let host = host();
    let load = json!({"name": "pdf"});
    assert_eq!(
        record(&host, "load_skill", load).await,
        ["pdf activated model"]
    );
    let rest = json!({"name": "pdf", "offset": 3});
    assert_eq!(record(&host, "load_skill", rest).await, [""; 0]);
    let read = |path: &str| json!({"path": path});
    let implicit = ["pdf activated implicit"];
    assert_eq!(
        record(&host, "skills_read", read("/skills/pdf")).await,
        implicit
    );
    assert_eq!(
        record(&host, "skills_read", read("/skills/pdf/SKILL.md")).await,
        implicit
    );
    let reference = ["pdf reference_read"];
    let forms = read("/skills/pdf/references/forms.md");
    assert_eq!(record(&host, "skills_read", forms).await, reference);
    let forms = json!({"name": "pdf", "path": "references/forms.md"});
    assert_eq!(record(&host, "read_skill_resource", forms).await, reference);
    let sections = json!({"query": "fill forms"});
    assert_eq!(
        record(&host, "search_references", sections).await,
        reference
    );
    assert_eq!(
        record(&host, "load_skill", json!({"name": "none"})).await,
        [""; 0]
    );
    assert_eq!(
        record(&host, "skills_read", read("missing.txt")).await,
        [""; 0]
    );
}

#[tokio::test]
async fn a_draft_is_not_a_skill_that_is_used() {
    let host = host();
    let tools = tools(&host);
    let draft = json!({"name": "new", "description": "A draft.", "instructions": "Text."});
    let _ = tools.call("skills_create", draft).await;
    let _ = tools
        .call("skills_read", json!({"path": "/skills/new/SKILL.md"}))
        .await;
    assert_eq!(recorded(&host, tools), [""; 0]);
}

#[tokio::test]
async fn programs_are_recorded_with_their_session() {
    let host = host();
    let set = tools(&host);
    let context = CallContext::default().session("the session");
    let _ = set.call_in("skill__pdf__merge", json!({}), &context).await;
    // A command that reads the instructions or runs a script is an implicit use of the skill.
    let command = "cat /skills/pdf/SKILL.md && bash scripts/merge.sh";
    let bash = json!({"command": command, "cwd": "/skills/pdf"});
    let _ = set.call_in("skills_bash", bash, &context).await;
    let run = json!({"name": "pdf", "command": "cat SKILL.md"});
    let _ = set.call_in("skills_run", run, &context).await;
    drop(set);
    let text = fs::read_to_string(host.path("ledger/uses.jsonl")).unwrap();
    let lines: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let words = |line: &Value| format!("{} {}", line["event"], line["class"]);
    let words: Vec<String> = lines.iter().map(words).collect();
    assert_eq!(words[0], r#""script_run" "succeeded""#);
    assert!(
        words.contains(&r#""activated" "implicit""#.to_owned()),
        "{words:?}"
    );
    assert!(
        !text.contains("the session") && !text.contains("merge"),
        "{text}"
    );
    assert!(
        lines
            .iter()
            .all(|line| line["session"] == lines[0]["session"])
    );
}

#[tokio::test]
async fn a_denied_command_uses_nothing() {
    let host = host();
    let command = json!({"name": "pdf", "command": "cat SKILL.md > /workspace/out; touch x"});
    assert_eq!(record(&host, "skills_run", command).await, [""; 0]);
}
