//! Missing requirements of skills on this machine.

use serde_json::{Value, json};
use skills_runtime::Entry;
use skills_runtime::policy::is_unsafe_variable;
use skills_runtime::prompt::{HostProbe, MissingRequirements, RequirementSession, SetupPrompt};

use crate::discovery_config;

/// The machine as a command sees it, without a client and its MCP servers.
struct LocalHost;

impl HostProbe for LocalHost {
    fn has_server(&self, _key: &str) -> bool {
        false
    }

    fn may_set_variable(&self, variable: &str) -> bool {
        !is_unsafe_variable(variable)
    }

    fn has_variable(&self, name: &str) -> bool {
        discovery_config::is_env_set(name)
    }

    fn has_program(&self, name: &str) -> bool {
        discovery_config::is_on_path(name)
    }

    /// Only a client knows its settings, so they are never reported as missing.
    fn has_setting(&self, _path: &str) -> bool {
        true
    }

    fn platform(&self) -> &str {
        match std::env::consts::OS {
            "macos" => "darwin",
            "windows" => "win32",
            other => other,
        }
    }
}

/// Finds the missing requirements of skills.
pub(crate) fn unmet_requirements<'a>(
    entries: impl IntoIterator<Item = &'a Entry>,
) -> MissingRequirements {
    MissingRequirements::collect(entries, &LocalHost)
}

/// Describes missing requirements, one line each, without MCP servers, which only a client has.
pub(crate) fn describe(needs: &MissingRequirements) -> Vec<String> {
    let mut lines: Vec<String> = needs
        .invalid
        .iter()
        .map(|unusable| unusable.reason.clone())
        .collect();
    lines.extend(
        needs
            .programs
            .iter()
            .map(|program| match program.any_of.as_slice() {
                [only] => format!("program `{only}` not found in PATH"),
                several => format!(
                    "none of the programs `{}` found in PATH",
                    several.join("`, `")
                ),
            }),
    );
    let required = needs
        .variables
        .iter()
        .filter(|variable| variable.is_required);
    lines.extend(
        required.map(|variable| format!("environment variable `{}` not set", variable.name)),
    );
    lines
}

/// Describes the MCP servers that a client would be asked to install.
pub(crate) fn describe_servers(needs: &MissingRequirements) -> Vec<String> {
    let skills = |names: &[String]| names.join(", ");
    needs
        .servers
        .iter()
        .map(|server| {
            format!(
                "MCP server `{}` ({} {}), required by {}",
                server.name,
                server.transport,
                server.locator,
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
            json!({"name": server.name, "key": server.key, "transport": server.transport, "locator": server.locator, "skills": server.skills})
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
    let unusable: Vec<Value> = needs
        .invalid
        .iter()
        .map(|unusable| json!({"skill": unusable.skill, "message": unusable.reason}))
        .collect();
    json!({"servers": servers, "variables": variables, "programs": programs, "unusable": unusable, "questions": questions})
}
