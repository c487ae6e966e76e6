//! Checks a skill against the rules of each client, which are kept as data.

mod rules;

use std::fmt;

use skills_manifest::{Document, escape_invisible};

use rules::{ClientRules, OverLimit};

/// Maximum length of `compatibility` by the specification, in characters.
const COMPATIBILITY_MAX_CHARACTERS: usize = 500;

/// A client whose rules for skills are known.
///
/// The variants cover agents, upload services and the specification. The rules come from their
/// documentation and sources; they differ in required fields, limits and in whether a violation
/// keeps the skill from loading.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Client {
    /// The Agent Skills specification itself.
    Spec,
    /// Claude Code.
    Claude,
    /// The upload of skills to claude.ai and the Claude API.
    ClaudeApi,
    /// Codex.
    Codex,
    /// Gemini CLI.
    Gemini,
    /// Copilot, on the command line and in VS Code.
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

/// How a client reacts to a problem.
///
/// Ordered by severity: a warning is less than an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The client loads the skill, silently or with a warning of its own.
    Warning,
    /// The client does not load the skill.
    Error,
}

impl Severity {
    /// Returns the severity as one lowercase word: `warning` or `error`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// A problem that a client has with a skill.
///
/// The `Display` form is the message, with `line N: ` before it where the line is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// The stable code of the rule, such as `name-long`.
    pub code: &'static str,
    /// Whether the client rejects the skill.
    pub severity: Severity,
    /// The message: one line in lowercase, without a full stop.
    pub message: String,
    /// The line of the field in the file, counted from 1, if it is present.
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
    /// All clients, sorted by name.
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

    /// Returns the client's name as one lowercase word, with hyphens for spaces.
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

    /// Returns the problems that the client has with a skill in a directory called `directory`.
    ///
    /// Errors and warnings come in a fixed order: name, description, compatibility, other fields,
    /// metadata. Problems that are [warnings of the document](Document::warnings) already are not
    /// repeated. An empty list means that the client loads the skill as it is.
    ///
    /// ```
    /// use skills_manifest::Document;
    /// use skills_ref_compat::{Client, Severity};
    ///
    /// let file = b"---\nname: greet\ndescription: Says hello.\nmodel: inherit\n---\n";
    /// let document = Document::parse(file)?;
    /// assert!(Client::Claude.lint(&document, "greet").is_empty());
    /// let diagnostics = Client::Spec.lint(&document, "greet");
    /// assert_eq!(diagnostics[0].message, "unknown field `model` (rejected by spec)");
    /// assert_eq!(diagnostics[0].severity, Severity::Error);
    /// # Ok::<(), skills_manifest::ManifestError>(())
    /// ```
    #[must_use]
    pub fn lint(self, document: &Document, directory: &str) -> Vec<Diagnostic> {
        let mut linter = Linter {
            client: self,
            rules: ClientRules::for_client(self),
            document,
            diagnostics: Vec::new(),
        };
        linter.check_name(directory);
        linter.check_description();
        linter.check_compatibility();
        linter.check_fields();
        linter.check_argument_hint();
        linter.check_metadata();
        linter.diagnostics
    }
}

impl fmt::Display for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

struct Linter<'a> {
    client: Client,
    rules: ClientRules,
    document: &'a Document,
    diagnostics: Vec<Diagnostic>,
}

impl Linter<'_> {
    fn report(&mut self, code: &'static str, severity: Severity, field: &str, message: String) {
        self.diagnostics.push(Diagnostic {
            code,
            severity,
            message,
            line: self.document.field_line(field),
        });
    }

    fn check_name(&mut self, directory: &str) {
        let Some(name) = self.document.manifest().name() else {
            return self.report_missing_name();
        };
        let name = name.as_str();
        self.check_name_length(name);
        self.check_name_chars(name);
        if let Some(severity) = self.rules.directory_mismatch_severity
            && !names_match(name, directory)
        {
            let directory = escape_invisible(directory);
            let message = format!("`name` does not match the directory `{directory}`");
            self.report("name-directory", severity, "name", message);
        }
    }

    fn report_missing_name(&mut self) {
        let (severity, effect) = if self.rules.name_required {
            (Severity::Error, "required by")
        } else {
            (Severity::Warning, "optional for")
        };
        self.diagnostics.push(Diagnostic {
            code: "name-missing",
            severity,
            message: format!("missing or invalid `name` ({effect} {})", self.client),
            // A name that is present but invalid is a warning of the document, with its line.
            line: None,
        });
    }

    fn check_name_length(&mut self, name: &str) {
        let characters = name.chars().count();
        if let Some(limit) = self.rules.name_max_chars
            && characters > limit
        {
            let client = self.client;
            let message = format!("`name` is {characters} characters, limit {limit} ({client})");
            self.report("name-long", Severity::Error, "name", message);
        }
    }

    fn check_name_chars(&mut self, name: &str) {
        let severity = self.rules.name_chars_severity;
        if let Some(allowed) = self.rules.name_chars
            && let Some(c) = name.chars().find(|c| !allowed.allows(*c))
        {
            let (client, expected) = (self.client, allowed.describe());
            let message = format!("`name` contains `{c}`; {client} allows {expected}");
            self.report("name-characters", severity, "name", message);
        }
        let has_misplaced_hyphen =
            name.starts_with('-') || name.ends_with('-') || name.contains("--");
        if self.rules.checks_hyphens && has_misplaced_hyphen {
            let message = "`name` starts or ends with a hyphen or contains two in a row";
            self.report("name-hyphen", severity, "name", message.to_owned());
        }
    }

    fn check_description(&mut self) {
        let client = self.client;
        let text = self.document.manifest().description();
        // Clients count characters, not bytes.
        let characters = text.chars().count() + self.appended_chars();
        if let Some((limit, reaction)) = self.rules.description_max_chars
            && characters > limit
        {
            let (severity, effect) = match reaction {
                OverLimit::Reject => (Severity::Error, "rejected"),
                OverLimit::Truncate => (Severity::Warning, "truncated"),
            };
            let message = format!(
                "`description` is {characters} characters, limit {limit} ({effect} by {client})"
            );
            self.report("description-long", severity, "description", message);
        }
        if self.rules.rejects_angle_brackets && text.contains(['<', '>']) {
            let message = format!("`description` contains `<` or `>` (rejected by {client})");
            self.report(
                "description-brackets",
                Severity::Error,
                "description",
                message,
            );
        }
    }

    /// Returns the length of the text that the client appends to the description.
    fn appended_chars(&self) -> usize {
        // Claude Code shows `when_to_use` after the description, and one limit holds for both.
        if !self.rules.extra_fields.contains(&"when_to_use") {
            return 0;
        }
        let when_to_use = &self.document.manifest().extensions().when_to_use;
        when_to_use.as_ref().map_or(0, |text| text.chars().count())
    }

    fn check_compatibility(&mut self) {
        let text = self.document.manifest().compatibility().unwrap_or_default();
        let characters = text.chars().count();
        if self.rules.rejects_unknown_fields && characters > COMPATIBILITY_MAX_CHARACTERS {
            let client = self.client;
            let message = format!(
                "`compatibility` is {characters} characters, limit {COMPATIBILITY_MAX_CHARACTERS} (rejected by {client})"
            );
            self.report(
                "compatibility-long",
                Severity::Error,
                "compatibility",
                message,
            );
        }
    }

    fn check_fields(&mut self) {
        let client = self.client;
        for key in self.document.manifest().extra().keys() {
            let shown = escape_invisible(key);
            if self.rules.rejects_unknown_fields {
                let message = format!("unknown field `{shown}` (rejected by {client})");
                self.report("field-unknown", Severity::Error, key, message);
            } else if !self.rules.extra_fields.contains(&key.as_str()) {
                let message = format!("field `{shown}` is ignored by {client}");
                self.report("field-ignored", Severity::Warning, key, message);
            }
        }
    }

    fn check_argument_hint(&mut self) {
        let hint = self.document.manifest().extra().get("argument-hint");
        let is_text = hint.is_none_or(|hint| hint.is_string() || hint.is_null());
        if self.rules.rejects_hint_list && !is_text {
            let client = self.client;
            let message =
                format!("`argument-hint` is not text (rejected by {client}); put it in quotes");
            self.report(
                "argument-hint-type",
                Severity::Error,
                "argument-hint",
                message,
            );
        }
    }

    fn check_metadata(&mut self) {
        // Only clients that follow the specification to the letter require text values; the others
        // read nested metadata too.
        if !self.rules.rejects_unknown_fields {
            return;
        }
        let metadata = self.document.manifest().metadata();
        if let Some((key, _)) = metadata.iter().find(|(_, value)| !value.is_string()) {
            let key = escape_invisible(key);
            let message = format!("the value of `{key}` in `metadata` is not text");
            self.report("metadata-type", Severity::Error, "metadata", message);
        }
    }
}

/// Compares two names under NFKC, as the reference validator does.
///
/// File systems normalize names differently (macOS decomposes them), and a checkout must not make a
/// skill invalid.
fn names_match(name: &str, directory: &str) -> bool {
    use unicode_normalization::UnicodeNormalization;
    name.nfkc().eq(directory.nfkc())
}
