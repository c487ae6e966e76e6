//! What hooks see of a tool call, and the skills whose hooks apply to it.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde_json::{Map, Value, json};
use skills_runtime::{Entry, shell_quote};
use skills_script::build_argv;

use super::{Inner, ResolvedCall};
use crate::builtin::BuiltinKind;
use crate::registry::ScriptToolEntry;
use crate::run::{HookMode, HookedCall};
use crate::virtual_path::VirtualPath;

/// The skills that each session has activated, by directory, the latest last. Every session is
/// removed at its end.
#[derive(Debug, Default)]
pub(crate) struct ActiveSkills(Mutex<HashMap<String, Vec<PathBuf>>>);

impl ActiveSkills {
    fn add(&self, session: &str, directory: &Path) {
        let mut sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let skills = sessions.entry(session.to_owned()).or_default();
        skills.retain(|known| known != directory);
        skills.push(directory.to_owned());
    }

    pub(super) fn of_session(&self, session: &str) -> Vec<PathBuf> {
        let sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.get(session).cloned().unwrap_or_default()
    }

    pub(crate) fn remove(&self, session: &str) {
        let mut sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.remove(session);
    }
}

impl Inner {
    /// Records that a session uses a skill. Without a session, nothing is recorded.
    pub(crate) fn activate(&self, session: Option<&str>, name: &str) {
        if let (Some(session), Ok((entry, false))) = (session, self.files.find_cached_skill(name)) {
            self.active_skills.add(session, entry.directory());
        }
    }

    /// Returns the call as hooks see it; `None` if no hook applies. Performs blocking I/O.
    pub(super) fn hooked_call(
        &self,
        name: &str,
        call: &ResolvedCall,
        session: Option<&str>,
    ) -> Option<HookedCall> {
        if self.hooks == HookMode::Disabled {
            return None;
        }
        let (tool, input, own) = match call {
            ResolvedCall::Unknown { .. } => return None,
            ResolvedCall::Builtin(kind, arguments) => describe_builtin(*kind, arguments)?,
            ResolvedCall::Script(tool, arguments) => (
                "Bash",
                describe_script(tool, arguments),
                Some(tool.tool.skill.clone()),
            ),
        };
        let catalog = self.runtime.library().catalog();
        let active = session.map(|session| self.active_skills.of_session(session));
        let active = active.unwrap_or_default();
        let own = match call {
            ResolvedCall::Script(tool, _) => Some(tool.entry.directory().to_owned()),
            // Such a command is a run of the skill, wherever it starts.
            ResolvedCall::Builtin(BuiltinKind::Bash, arguments) => arguments["command"]
                .as_str()
                .and_then(|command| self.program_tools.skill_of_command(command))
                .map(|entry| entry.directory().to_owned()),
            // A draft does not run, so it has no hooks.
            _ => own
                .and_then(|name| self.files.find_cached_skill(&name).ok())
                .filter(|(_, is_draft)| !is_draft)
                .map(|(entry, _)| entry.directory().to_owned()),
        };
        let applies = |entry: &&Entry| {
            active.iter().any(|known| known == entry.directory())
                || own.as_deref() == Some(entry.directory())
        };
        let skills: Vec<Entry> = catalog.entries().iter().filter(applies).cloned().collect();
        (!skills.is_empty()).then(|| HookedCall {
            tool,
            aliases: vec![name.to_owned(), format!("mcp__skills__{name}")],
            input,
            skills,
        })
    }
}

/// Returns the tool of Claude Code with the same purpose, the arguments with its fields, and the
/// skill that the call uses. `None` for tools that only find and read skills.
fn describe_builtin(
    kind: BuiltinKind,
    arguments: &Value,
) -> Option<(&'static str, Map<String, Value>, Option<String>)> {
    let mut input = arguments.as_object().cloned().unwrap_or_default();
    let text = |key: &str| arguments[key].as_str().unwrap_or_default().to_owned();
    let named = |key: &str| arguments[key].as_str().map(str::to_owned);
    Some(match kind {
        // Their `command` has the name that hooks expect.
        BuiltinKind::Run => ("Bash", input, named("name")),
        BuiltinKind::Bash => ("Bash", input, None),
        BuiltinKind::RunSkillScript => {
            let json = arguments
                .get("args")
                .map_or_else(String::new, Value::to_string);
            let words = [format!("scripts/{}", text("script_name")), json];
            input.insert("command".to_owned(), json!(command_text(&words)));
            ("Bash", input, named("skill_name"))
        }
        BuiltinKind::Write => {
            input.insert("file_path".to_owned(), json!(program_path(&text("path"))));
            ("Write", input, None)
        }
        BuiltinKind::Create => {
            let path = format!("/skills/{}/SKILL.md", text("name"));
            input.insert("file_path".to_owned(), json!(path));
            input.insert("content".to_owned(), json!(text("instructions")));
            ("Write", input, None)
        }
        BuiltinKind::Read => {
            input.insert("file_path".to_owned(), json!(program_path(&text("path"))));
            ("Read", input, None)
        }
        BuiltinKind::Ls => ("LS", input, None),
        BuiltinKind::SearchSkills
        | BuiltinKind::LoadSkill
        | BuiltinKind::ReadSkillResource
        | BuiltinKind::SearchReferences => {
            return None;
        }
    })
}

fn describe_script(tool: &ScriptToolEntry, arguments: &Map<String, Value>) -> Map<String, Value> {
    // Invalid arguments are the error of the call itself.
    let words = build_argv(arguments, &tool.tool.arguments).map(|argv| argv.args);
    let words = words.unwrap_or_default();
    let script = format!("scripts/{}", tool.tool.file);
    let words: Vec<String> = std::iter::once(script).chain(words).collect();
    let mut input = Map::new();
    input.insert("command".to_owned(), json!(command_text(&words)));
    input.insert("skill".to_owned(), json!(tool.tool.skill));
    input.insert("arguments".to_owned(), Value::Object(arguments.clone()));
    input
}

/// Returns the path under which programs, and so hooks, see a file.
fn program_path(text: &str) -> String {
    match VirtualPath::parse(text) {
        Ok(path) => {
            let path = path.to_string();
            let is_absolute = path.starts_with('/');
            let starts_named = ["workspace", "skills"]
                .iter()
                .any(|name| path.split('/').next() == Some(name));
            match (is_absolute, starts_named) {
                (true, _) => path,
                (false, true) => format!("/{path}"),
                (false, false) => format!("/workspace/{path}"),
            }
        }
        Err(_) => text.to_owned(),
    }
}

/// Returns words as a command for a shell.
fn command_text(words: &[String]) -> String {
    let words: Vec<String> = words.iter().map(|word| shell_quote(word)).collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hooks_get_paths_and_commands_as_programs_see_them() {
        for (given, expected) in [
            ("a/b.txt", "/workspace/a/b.txt"),
            ("./a", "/workspace/a"),
            ("workspace/a", "/workspace/a"),
            ("/workspace/a", "/workspace/a"),
            ("skills/pdf/x.py", "/skills/pdf/x.py"),
            ("skillset/x", "/workspace/skillset/x"),
            ("/data/x", "/data/x"),
        ] {
            assert_eq!(program_path(given), expected, "{given}");
        }
        let words = ["scripts/x.py", "", "it's", "--a=b", "c d"].map(str::to_owned);
        assert_eq!(
            command_text(&words),
            r"scripts/x.py '' 'it'\''s' --a=b 'c d'"
        );
    }
}
