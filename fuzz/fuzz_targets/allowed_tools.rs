//! Parses a text as `allowed-tools` of a skill and requests the permissions from a policy.
#![no_main]

use std::path::{Component, Path};

use libfuzzer_sys::fuzz_target;
use skills_manifest::{Document, ToolPattern};
use skills_policy::{Access, Authorization, NetworkGrant, Policy, Request, SpawnGrant};

const SKILL: &str = "/skills/s";
const WORKSPACE: &str = "/workspace";

fuzz_target!(|text: &str| {
    let Some(patterns) = tools(text) else { return };
    let mut request = Request::new(SKILL).workspace(WORKSPACE);
    for pattern in &patterns {
        // The text of an entry parses to the same entry.
        let reparsed = tools(&pattern.to_string()).expect("the text of an entry is valid YAML");
        assert!(
            reparsed.is_empty() || reparsed == [pattern.clone()],
            "{pattern} became {reparsed:?}"
        );
        let _ = (pattern.argument_matcher(), pattern.mcp_server_and_tool());
        request = request.allowed_tool(pattern.tool(), pattern.pattern());
    }
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
    // The built-in rules grant reading only, whatever the request contains.
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

/// Parses a text in quotes as `allowed-tools`; `None` if YAML cannot represent it.
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
