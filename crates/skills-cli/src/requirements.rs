//! Missing requirements of skills, as text and JSON.

use serde_json::{Value, json};
use skills_runtime::prompt::{
    MissingProgram, MissingRequirements, MissingServer, MissingVariable, RequirementSession,
    SetupPrompt,
};

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
    let questions = RequirementSession::default().prompts(missing, "1");
    to_json_with_questions(missing, &questions)
}

/// Returns missing requirements, and these questions about them, as JSON.
pub(crate) fn to_json_with_questions(
    missing: &MissingRequirements,
    questions: &[SetupPrompt],
) -> Value {
    let invalid = missing.invalid.iter();
    let invalid = invalid.map(|invalid| json!({"skill": invalid.skill, "message": invalid.reason}));
    json!({
        "servers": missing.servers.iter().map(server_to_json).collect::<Vec<_>>(),
        "variables": missing.variables.iter().map(variable_to_json).collect::<Vec<_>>(),
        "programs": missing.programs.iter().map(program_to_json).collect::<Vec<_>>(),
        "invalid": invalid.collect::<Vec<_>>(),
        "questions": questions.iter().map(question_to_json).collect::<Vec<_>>(),
    })
}

/// Returns an MCP server that skills require.
pub(crate) fn server_to_json(missing: &MissingServer) -> Value {
    let server = &missing.server;
    json!({
        "name": server.name,
        "key": server.key,
        "transport": server.transport,
        "locator": server.locator,
        "skills": missing.skills,
    })
}

fn variable_to_json(variable: &MissingVariable) -> Value {
    json!({
        "name": variable.name,
        "description": variable.description,
        "required": variable.is_required,
        "skills": variable.skills,
    })
}

fn program_to_json(program: &MissingProgram) -> Value {
    let installs = program.installs.iter().map(|install| &install.raw);
    json!({
        "any_of": program.any_of,
        "installs": installs.collect::<Vec<_>>(),
        "skills": program.skills,
    })
}

fn question_to_json(question: &SetupPrompt) -> Value {
    json!({
        "call_id": question.call_id,
        "id": question.id,
        "header": question.header,
        "text": question.text,
        "details": question.details,
        "options": question.options,
        "secret": question.is_secret,
    })
}
