//! The command that approves a skill for a server, as its operator runs it.

use std::path::Path;

use skills_runtime::policy::Question;

use crate::global_options::GlobalOptions;
use crate::shell::shell_word;

/// Whether clients run on the machine of the server, so that its paths are no secret for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Clients {
    Local,
    Remote,
}

/// Builds `skills trust` commands with which the skills of a server are found.
#[derive(Debug, Clone)]
pub(super) struct TrustCommand {
    /// The options that select skills, each after a space.
    options: String,
}

impl TrustCommand {
    pub(super) fn new(options: &GlobalOptions, clients: Clients) -> Self {
        let roots = options.root.iter().map(|root| ("--root", root));
        let added = options.add_root.iter().map(|root| ("--add-root", root));
        let mut text: String = roots
            .chain(added)
            .map(|(option, root)| format!(" {option} {}", shown_root(root, clients)))
            .collect();
        if let Some(profile) = options.profile.as_deref().and_then(shell_word) {
            text.push_str(&format!(" --profile {profile}"));
        }
        let switches = [
            (options.trust_project, " --trust-project"),
            (options.nested, " --nested"),
            (options.follow_skill_links, " --follow-skill-links"),
        ];
        text.extend(
            switches
                .into_iter()
                .filter(|(is_set, _)| *is_set)
                .map(|(_, text)| text),
        );
        Self { options: text }
    }

    /// Returns the command that approves what the skill of a request asks for; `None` if its name
    /// needs more than quotes.
    pub(super) fn for_request(&self, question: &Question) -> Option<String> {
        let directory = question
            .directory
            .file_name()
            .and_then(|name| name.to_str());
        let name = shell_word(&question.name).or_else(|| shell_word(directory?))?;
        let script = script(question).and_then(shell_word);
        let script = script.map(|script| format!(" --script {script}"));
        Some(format!(
            "skills trust {name}{}{}",
            self.options,
            script.unwrap_or_default()
        ))
    }
}

/// Returns the script of the skill that would run: a skill with several needs it.
fn script(question: &Question) -> Option<&str> {
    let program = question.command.first()?;
    let is_module = program.ends_with(".wasm");
    (!is_module && question.directory.join(program).is_file()).then_some(program)
}

/// Returns a root as an argument: a placeholder for clients elsewhere, and for a path that needs more
/// than quotes.
fn shown_root(root: &Path, clients: Clients) -> String {
    let path = std::path::absolute(root).unwrap_or_else(|_| root.to_owned());
    let path = path.to_str().filter(|_| clients == Clients::Local);
    path.and_then(shell_word)
        .unwrap_or_else(|| "DIR".to_owned())
}
