//! Missing requirements of skills, as text and JSON.

use serde_json::{Value, json};
use skills_runtime::prompt::{MissingRequirements, RequirementSession, SetupPrompt};

/// Describes the MCP servers that a client would be asked to install.
pub(crate) fn describe_servers(needs: &MissingRequirements) -> Vec<String> {
    let skills = |names: &[String]| names.join(", ");
    needs
        .servers
        .iter()
        .map(|server| {
            format!(
                "MCP server `{}` ({} {}), required by {}",
                server.server.name,
                server.server.transport,
                server.server.locator,
                skills(&server.skills)
            )
        })
        .collect()
}

/// Returns missing requirements, and the questions that a client would ask, as JSON.
pub(crate) fn to_json(needs: &MissingRequirements) -> Value {
    let question = |question: &SetupPrompt| {
        json!({
            "id": question.id, "header": question.header, "text": question.text, "details": question.details, "options": question.options,
            "secret": question.is_secret,
        })
    };
    let questions: Vec<Value> = RequirementSession::default()
        .prompts(needs, "1")
        .iter()
        .map(question)
        .collect();
    let servers: Vec<Value> = (needs.servers.iter())
        .map(|server| {
            json!({"name": server.server.name, "key": server.server.key, "transport": server.server.transport, "locator": server.server.locator, "skills": server.skills})
        })
        .collect();
    let variables: Vec<Value> = (needs.variables.iter())
        .map(|variable| {
            let (name, description, required) = (&variable.name, &variable.description, variable.is_required);
            json!({"name": name, "description": description, "required": required, "skills": variable.skills})
        })
        .collect();
    let programs: Vec<Value> = (needs.programs.iter())
        .map(|program| {
            let installs: Vec<Value> = program
                .installs
                .iter()
                .map(|install| Value::Object(install.raw.clone()))
                .collect();
            json!({"any_of": program.any_of, "installs": installs, "skills": program.skills})
        })
        .collect();
    let invalid: Vec<Value> = needs
        .invalid
        .iter()
        .map(|invalid| json!({"skill": invalid.skill, "message": invalid.reason}))
        .collect();
    json!({"servers": servers, "variables": variables, "programs": programs, "invalid": invalid, "questions": questions})
}
