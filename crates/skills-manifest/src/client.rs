//! What each client makes of a skill: the rules in which they differ, as data.

mod rules;

use std::fmt;

use crate::{Document, SkillName};
use rules::{Letters, Rules, TooLong};

/// A client whose reading of skills is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Client {
    /// The Agent Skills specification itself.
    Spec,
    /// Claude Code.
    Claude,
    /// The upload of skills to claude.ai and its API.
    ClaudeApi,
    /// Codex.
    Codex,
    /// Gemini CLI.
    Gemini,
    /// Copilot in its command line and in VS Code.
    Copilot,
    /// OpenClaw and its hub.
    OpenClaw,
    /// Goose.
    Goose,
    /// The deepagents command line.
    DeepAgents,
    /// Microsoft's agent framework.
    AgentFramework,
}

/// What a client makes of something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// It loads the skill and does not care, or only warns.
    Warning,
    /// It does not load the skill.
    Error,
}

impl Severity {
    /// Returns the severity as one lower-case word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// What a client finds wrong with a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The stable code of the rule.
    pub code: &'static str,
    /// What the client makes of it.
    pub severity: Severity,
    /// One lower-case sentence.
    pub message: String,
    /// The line of the file, counted from 1, where it is about one.
    pub line: Option<usize>,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        f.write_str(&self.message)
    }
}

impl Client {
    /// All clients, in the order of their names.
    pub const ALL: [Self; 10] = [
        Self::AgentFramework,
        Self::Claude,
        Self::ClaudeApi,
        Self::Codex,
        Self::Copilot,
        Self::DeepAgents,
        Self::Gemini,
        Self::Goose,
        Self::OpenClaw,
        Self::Spec,
    ];

    /// Returns the client's name as one lower-case word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Spec => "spec",
            Self::Claude => "claude",
            Self::ClaudeApi => "claude-api",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::Copilot => "copilot",
            Self::OpenClaw => "openclaw",
            Self::Goose => "goose",
            Self::DeepAgents => "deepagents",
            Self::AgentFramework => "agent-framework",
        }
    }

    /// Lists what the client finds wrong with a skill in a directory of the name `directory`, errors and warnings in the order of the fields.
    ///
    /// What every client stumbles over (the warnings of the document) is not repeated here.
    #[must_use]
    pub fn check(self, document: &Document, directory: &str) -> Vec<Finding> {
        let mut check = Check { rules: Rules::of(self), client: self, findings: Vec::new() };
        check.name(document, directory);
        check.description(document);
        check.fields(document);
        check.findings
    }
}

impl fmt::Display for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

struct Check {
    rules: Rules,
    client: Client,
    findings: Vec<Finding>,
}

impl Check {
    fn find(&mut self, code: &'static str, severity: Severity, message: String, line: Option<usize>) {
        self.findings.push(Finding { code, severity, message, line });
    }

    fn name(&mut self, document: &Document, directory: &str) {
        let client = self.client;
        let Some(name) = document.manifest().name() else {
            let severity = if self.rules.name_required { Severity::Error } else { Severity::Warning };
            return self.find("name-missing", severity, format!("{client} reads no usable `name`"), None);
        };
        let line = document.line_of("name");
        let characters = name.as_str().chars().count();
        if let Some(limit) = self.rules.name_max.filter(|limit| characters > *limit) {
            self.find("name-long", Severity::Error, format!("`name` has {characters} characters, {client} allows {limit}"), line);
        }
        if let Some(letters) = self.rules.letters
            && let Some(c) = wrong_letter(name, letters)
        {
            let message = format!("`name` holds {c:?}, {client} allows {}", letters.described());
            self.find("name-characters", self.rules.letters_severity, message, line);
        }
        let hyphens = name.as_str().starts_with('-') || name.as_str().ends_with('-') || name.as_str().contains("--");
        if self.rules.hyphens_matter && hyphens {
            self.find("name-hyphen", self.rules.letters_severity, "`name` begins or ends with a hyphen or doubles one".to_owned(), line);
        }
        if let Some(severity) = self.rules.directory_severity
            && !same_name(name.as_str(), directory)
        {
            self.find("name-directory", severity, format!("`name` is not the name of the directory {directory:?}"), line);
        }
    }

    fn description(&mut self, document: &Document) {
        let client = self.client;
        let text = document.manifest().description();
        let line = document.line_of("description");
        // Claude Code shows `when_to_use` behind it, within the same limit.
        let more = document.manifest().extensions().when_to_use.as_deref().filter(|_| self.rules.fields.contains(&"when_to_use"));
        let characters = text.chars().count() + more.map_or(0, |text| text.chars().count());
        if let Some((limit, reaction)) = self.rules.description_max.filter(|(limit, _)| characters > *limit) {
            let message = format!("`description` has {characters} characters, {client} {}", reaction.described(limit));
            let severity = if reaction == TooLong::Refuses { Severity::Error } else { Severity::Warning };
            self.find("description-long", severity, message, line);
        }
        if self.rules.no_angle_brackets && text.contains(['<', '>']) {
            self.find("description-brackets", Severity::Error, format!("`description` holds `<` or `>`, which {client} refuses"), line);
        }
        let compatibility = document.manifest().compatibility().map_or(0, |text| text.chars().count());
        if self.rules.only_specified && compatibility > 500 {
            let message = format!("`compatibility` has {compatibility} characters, {client} allows 500");
            self.find("compatibility-long", Severity::Error, message, document.line_of("compatibility"));
        }
    }

    fn fields(&mut self, document: &Document) {
        let client = self.client;
        for key in document.manifest().extra().keys() {
            let line = document.line_of(key);
            if self.rules.only_specified {
                self.find("field-unknown", Severity::Error, format!("{client} does not know the field {key:?}"), line);
            } else if !self.rules.fields.contains(&key.as_str()) {
                self.find("field-ignored", Severity::Warning, format!("{client} ignores the field {key:?}"), line);
            }
        }
        if self.rules.only_specified
            && let Some((key, _)) = document.manifest().metadata().iter().find(|(_, value)| !value.is_string())
        {
            let message = format!("the value of {key:?} in `metadata` is not text");
            self.find("metadata-type", Severity::Error, message, document.line_of("metadata"));
        }
    }
}

fn wrong_letter(name: &SkillName, letters: Letters) -> Option<char> {
    name.as_str().chars().find(|c| !letters.allow(*c))
}

/// Compares under NFKC, as the specification's tool does.
fn same_name(name: &str, directory: &str) -> bool {
    use unicode_normalization::UnicodeNormalization;
    name.nfkc().eq(directory.nfkc())
}
