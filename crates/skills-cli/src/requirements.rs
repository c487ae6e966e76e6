//! Missing requirements of skills, as text and JSON.

use serde_json::{Value, json};
use skills_runtime::prompt::{MissingRequirements, RequirementSession};

/// Describes the MCP servers that a client would be asked to install.
pub(crate) fn describe_servers(missing: &MissingRequirements) -> Vec<String> {
    let mut lines = Vec::new();
    for required in &missing.servers {
        let (server, skills) = (&required.server, required.skills.join(", "));
        lines.push(format!(
            "MCP server `{}` ({} {}), required by {skills}",
            server.name, server.transport, server.locator
        ));
    }
    lines
}

/// Returns missing requirements, and the questions that a client would ask, as JSON.
pub(crate) fn to_json(missing: &MissingRequirements) -> Value {
    let questions = RequirementSession::default().prompts(missing, "1").into_iter().map(|question| {
        json!({
            "id": question.id, "header": question.header, "text": question.text, "details": question.details,
            "options": question.options, "secret": question.is_secret,
        })
    });
    let servers = missing.servers.iter().map(|required| {
        let (server, skills) = (&required.server, &required.skills);
        json!({"name": server.name, "key": server.key, "transport": server.transport, "locator": server.locator, "skills": skills})
    });
    let variables = missing.variables.iter().map(|variable| {
        let (description, required) = (&variable.description, variable.is_required);
        json!({"name": variable.name, "description": description, "required": required, "skills": variable.skills})
    });
    let programs = missing.programs.iter().map(|program| {
        let installs: Vec<_> = program
            .installs
            .iter()
            .map(|install| &install.raw)
            .collect();
        json!({"any_of": program.any_of, "installs": installs, "skills": program.skills})
    });
    let invalid = missing
        .invalid
        .iter()
        .map(|invalid| json!({"skill": invalid.skill, "message": invalid.reason}));
    json!({
        "servers": servers.collect::<Vec<_>>(),
        "variables": variables.collect::<Vec<_>>(),
        "programs": programs.collect::<Vec<_>>(),
        "invalid": invalid.collect::<Vec<_>>(),
        "questions": questions.collect::<Vec<_>>(),
    })
}
