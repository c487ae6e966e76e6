//! Reads a text as the `allowed-tools` of a skill, and asks the policy for what it says.
#![no_main]

use std::path::{Component, Path};

use libfuzzer_sys::fuzz_target;
use skills_manifest::{Document, ToolPattern};
use skills_policy::{Access, Authorization, NetworkGrant, Policy, Request, SpawnGrant};

const SKILL: &str = "/skills/s";
const WORKSPACE: &str = "/workspace";

fuzz_target!(|text: &str| {
    let Some(rules) = tools(text) else { return };
    let request = rules
        .iter()
        .fold(Request::new(SKILL).workspace(WORKSPACE), |request, rule| {
            // An entry is written as it is read.
            let again = tools(&rule.to_string()).expect("the text of an entry can be written");
            assert!(
                again.is_empty() || again == [rule.clone()],
                "{rule} became {again:?}"
            );
            let _ = (rule.argument_matcher(), rule.mcp_server_and_tool());
            request.allowed_tool(rule.tool(), rule.pattern())
        });
    for permission in request.permissions() {
        let _ = permission.to_string();
        if let Some(path) = permission.path() {
            assert!(path.starts_with(WORKSPACE), "{permission}");
            assert!(
                path.components()
                    .all(|part| matches!(part, Component::Normal(_) | Component::RootDir)),
                "{permission}"
            );
        }
    }
    // Whatever is asked for, the default rules give reading alone.
    if let Authorization::Granted(grants) = Policy::default().authorize(&request) {
        assert_eq!(*grants.spawn(), SpawnGrant::None);
        assert_eq!(*grants.network(), NetworkGrant::None);
        assert!(grants.variables().is_empty());
        for file in grants.files() {
            assert_eq!(file.access(), Access::ReadOnly);
            assert!(
                [SKILL, WORKSPACE]
                    .iter()
                    .any(|root| file.path().starts_with(Path::new(root))),
                "{:?}",
                file.path()
            );
        }
    }
});

/// Reads a text that stands in quotes in the frontmatter; nothing when YAML has no such text.
fn tools(text: &str) -> Option<Vec<ToolPattern>> {
    let quoted = serde_json::to_string(text).ok()?;
    let file = format!("---\ndescription: d\nallowed-tools: {quoted}\n---\n");
    Some(
        Document::parse(file.as_bytes())
            .ok()?
            .manifest()
            .allowed_tools()
            .to_vec(),
    )
}
