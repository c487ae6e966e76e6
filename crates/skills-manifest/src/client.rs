//! What each client makes of a skill: the rules in which they differ, as data.

mod rules;

use std::fmt;

use crate::{Document, SkillName};
use rules::{ClientRules, NameChars, OverLimit};

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
pub struct Diagnostic {
    /// The stable code of the rule.
    pub code: &'static str,
    /// What the client makes of it.
    pub severity: Severity,
    /// One lower-case sentence.
    pub message: String,
    /// The line of the file, counted from 1, where it is about one.
    pub line: Option<usize>,
}

impl fmt::Display for Diagnostic {
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

    /// Lists what the client finds wrong with a skill in a directory of the name `directory`,
    /// errors and warnings in the order of the fields.
    ///
    /// What every client stumbles over (the warnings of the document) is not repeated here.
    #[must_use]
    pub fn lint(self, document: &Document, directory: &str) -> Vec<Diagnostic> {
        let mut check = Linter {
            rules: ClientRules::for_client(self),
            client: self,
            diagnostics: Vec::new(),
        };
        check.check_name(document, directory);
        check.check_description(document);
        check.check_fields(document);
        check.diagnostics
    }
}

impl fmt::Display for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

struct Linter {
    rules: ClientRules,
    client: Client,
    diagnostics: Vec<Diagnostic>,
}

impl Linter {
    fn report(
        &mut self,
        code: &'static str,
        severity: Severity,
        message: String,
        line: Option<usize>,
    ) {
        self.diagnostics.push(Diagnostic {
            code,
            severity,
            message,
            line,
        });
    }

    fn check_name(&mut self, document: &Document, directory: &str) {
        let client = self.client;
        let Some(name) = document.manifest().name() else {
            let severity = if self.rules.name_required {
                Severity::Error
            } else {
                Severity::Warning
            };
            return self.report(
                "name-missing",
                severity,
                format!("{client} reads no usable `name`"),
                None,
            );
        };
        let line = document.field_line("name");
        let characters = name.as_str().chars().count();
        if let Some(limit) = self
            .rules
            .name_max_chars
            .filter(|limit| characters > *limit)
        {
            self.report(
                "name-long",
                Severity::Error,
                format!("`name` has {characters} characters, {client} allows {limit}"),
                line,
            );
        }
        if let Some(letters) = self.rules.name_chars
            && let Some(c) = first_disallowed_char(name, letters)
        {
            let message = format!("`name` holds {c:?}, {client} allows {}", letters.describe());
            self.report(
                "name-characters",
                self.rules.name_chars_severity,
                message,
                line,
            );
        }
        let hyphens = name.as_str().starts_with('-')
            || name.as_str().ends_with('-')
            || name.as_str().contains("--");
        if self.rules.checks_hyphens && hyphens {
            self.report(
                "name-hyphen",
                self.rules.name_chars_severity,
                "`name` begins or ends with a hyphen or doubles one".to_owned(),
                line,
            );
        }
        if let Some(severity) = self.rules.directory_mismatch_severity
            && !names_match(name.as_str(), directory)
        {
            self.report(
                "name-directory",
                severity,
                format!("`name` is not the name of the directory {directory:?}"),
                line,
            );
        }
    }

    fn check_description(&mut self, document: &Document) {
        let client = self.client;
        let text = document.manifest().description();
        let line = document.field_line("description");
        // Claude Code shows `when_to_use` behind it, within the same limit.
        let more = document
            .manifest()
            .extensions()
            .when_to_use
            .as_deref()
            .filter(|_| self.rules.extra_fields.contains(&"when_to_use"));
        let characters = text.chars().count() + more.map_or(0, |text| text.chars().count());
        if let Some((limit, reaction)) = self
            .rules
            .description_max_chars
            .filter(|(limit, _)| characters > *limit)
        {
            let message = format!(
                "`description` has {characters} characters, {client} {}",
                reaction.describe(limit)
            );
            let severity = if reaction == OverLimit::Reject {
                Severity::Error
            } else {
                Severity::Warning
            };
            self.report("description-long", severity, message, line);
        }
        if self.rules.rejects_angle_brackets && text.contains(['<', '>']) {
            self.report(
                "description-brackets",
                Severity::Error,
                format!("`description` holds `<` or `>`, which {client} refuses"),
                line,
            );
        }
        let compatibility = document
            .manifest()
            .compatibility()
            .map_or(0, |text| text.chars().count());
        if self.rules.rejects_unknown_fields && compatibility > 500 {
            let message =
                format!("`compatibility` has {compatibility} characters, {client} allows 500");
            self.report(
                "compatibility-long",
                Severity::Error,
                message,
                document.field_line("compatibility"),
            );
        }
    }

    fn check_fields(&mut self, document: &Document) {
        let client = self.client;
        for key in document.manifest().extra().keys() {
            let line = document.field_line(key);
            if self.rules.rejects_unknown_fields {
                self.report(
                    "field-unknown",
                    Severity::Error,
                    format!("{client} does not know the field {key:?}"),
                    line,
                );
            } else if !self.rules.extra_fields.contains(&key.as_str()) {
                self.report(
                    "field-ignored",
                    Severity::Warning,
                    format!("{client} ignores the field {key:?}"),
                    line,
                );
            }
        }
        if self.rules.rejects_unknown_fields
            && let Some((key, _)) = document
                .manifest()
                .metadata()
                .iter()
                .find(|(_, value)| !value.is_string())
        {
            let message = format!("the value of {key:?} in `metadata` is not text");
            self.report(
                "metadata-type",
                Severity::Error,
                message,
                document.field_line("metadata"),
            );
        }
    }
}

fn first_disallowed_char(name: &SkillName, letters: NameChars) -> Option<char> {
    name.as_str().chars().find(|c| !letters.allows(*c))
}

/// Compares under NFKC, as the specification's tool does.
fn names_match(name: &str, directory: &str) -> bool {
    use unicode_normalization::UnicodeNormalization;
    name.nfkc().eq(directory.nfkc())
}
