//! Other workspaces for the same tools.

use serde_json::json;
use skills_runtime::Policy;
use skills_tools::{CallContext, Mount, ToolGroup};

use crate::fixture::{Host, Tools};

/// A host with two workspaces, a mount, and a skill whose script is a tool when it is loaded.
fn host() -> Host {
    let host = Host::new();
    let script = "import argparse\np = argparse.ArgumentParser()\np.add_argument('--city')\np.parse_args()\n";
    host.file("workspace/note.txt", "first")
        .file("other/note.txt", "second")
        .file("data/d.txt", "data")
        .skill("rain", "")
        .script("rain", "now.py", script);
    host
}

fn tools(host: &Host) -> Tools {
    let data = Mount::writable("data", host.path("data")).quota_bytes(10);
    let builder = host.builder(host.runtime()).mount(data);
    host.wrap(builder.tool_groups(ToolGroup::DEFAULT).build().unwrap())
}

fn with_workspace(host: &Host, tools: &Tools, directory: &str) -> Result<Tools, String> {
    let workspace = Mount::writable("any", host.path(directory));
    let set = tools
        .set
        .with_workspace(workspace, Policy::default(), |_| None);
    set.map(|set| host.wrap(set))
        .map_err(|error| error.to_string())
}

async fn text(tools: &Tools, path: &str) -> String {
    tools
        .call("skills_read", json!({"path": path}))
        .await
        .text()
        .into_owned()
}

#[tokio::test]
async fn each_tool_set_has_its_own_workspace() {
    let host = host();
    let first = tools(&host);
    let second = with_workspace(&host, &first, "other").unwrap();
    assert!(text(&first, "note.txt").await.contains("first"));
    assert!(
        text(&second, "/workspace/note.txt")
            .await
            .contains("second")
    );
    assert!(text(&second, "/data/d.txt").await.contains("data"));
    assert!(
        text(&second, "/skills/rain/SKILL.md")
            .await
            .contains("# rain")
    );
    assert_eq!(
        second.set.workspace_directory(),
        Some(host.path("other").as_path())
    );
    assert_eq!(
        first.set.workspace_directory(),
        Some(host.path("workspace").as_path())
    );
    assert_eq!(
        first.set.definitions().unwrap(),
        second.set.definitions().unwrap(),
        "definitions do not depend on the workspace"
    );
}

#[tokio::test]
async fn tool_sets_with_several_workspaces_share_quotas_and_sessions() {
    let host = host();
    let first = tools(&host);
    let second = with_workspace(&host, &first, "other").unwrap();
    let write = json!({"path": "/data/new.txt", "content": "123456"});
    assert!(!first.call("skills_write", write.clone()).await.is_error);
    let refused = second.call("skills_write", write).await;
    assert!(
        refused.is_error,
        "only four bytes are left: {}",
        refused.text()
    );

    let context = CallContext::default().session("a");
    let load = json!({"name": "rain"});
    assert!(!first.call_in("load_skill", load, &context).await.is_error);
    let own = |tools: &Tools| tools.set.session_definitions("a").unwrap().len();
    assert_eq!((own(&first), own(&second)), (1, 1));
    second.set.end_session("a");
    assert_eq!((own(&first), own(&second)), (0, 0));
}

#[test]
fn another_workspace_is_checked_like_the_first_one() {
    let host = host();
    let tools = tools(&host);
    for (directory, expected) in [
        ("scratch", "the directory with private copies of skills"),
        ("data", "overlap"),
        ("skills/rain", "is in the trusted root"),
        ("missing", "cannot open "),
        ("other/note.txt", "cannot open "),
    ] {
        match with_workspace(&host, &tools, directory) {
            Ok(_) => panic!("{directory} is accepted"),
            Err(error) => assert!(error.contains(expected), "{directory}: {error}"),
        }
    }
}

#[test]
fn instructions_can_explain_a_workspace_that_comes_later() {
    let host = host();
    let without = host.wrap(
        skills_tools::ToolSet::builder(host.runtime().build())
            .build()
            .unwrap(),
    );
    let paths = "`/workspace/PATH` or `PATH`";
    assert!(!without.set.instructions().contains(paths));
    let later = without.set.instructions_for_later_workspace();
    assert!(later.contains(paths), "{later}");
    let with = tools(&host);
    assert_eq!(
        with.set.instructions_for_later_workspace(),
        with.set.instructions()
    );
}
