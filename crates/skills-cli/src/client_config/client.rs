//! Supported clients and their configuration formats.

use anyhow::bail;
use clap::ValueEnum;

use super::client_spec::ClientSpec;
use super::client_table;
use crate::error::CommandError;

/// A client that uses servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Client {
    /// Claude Code
    Claude,
    /// Codex
    Codex,
    /// Cursor
    Cursor,
    /// Visual Studio Code
    #[value(name = "vscode")]
    VsCode,
    /// Gemini CLI
    Gemini,
    /// opencode
    #[value(name = "opencode")]
    OpenCode,
    /// GitHub Copilot CLI
    Copilot,
    /// Qwen Code
    Qwen,
    /// Antigravity CLI
    Antigravity,
    /// Kiro
    Kiro,
    /// Claude Desktop
    ClaudeDesktop,
    /// Zed
    Zed,
    /// Goose
    Goose,
    /// Windsurf
    Windsurf,
    /// Cline
    Cline,
    /// Kilo Code
    Kilo,
}

/// Whether the configuration is the user's or a project's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// The user's configuration, for all projects.
    User,
    /// The project's configuration, shared by its users.
    Project,
}

impl Client {
    /// Returns how the client stores its servers.
    pub(crate) fn spec(self) -> &'static ClientSpec {
        match self {
            Self::Claude => &client_table::CLAUDE,
            Self::Codex => &client_table::CODEX,
            Self::Cursor => &client_table::CURSOR,
            Self::VsCode => &client_table::VS_CODE,
            Self::Gemini => &client_table::GEMINI,
            Self::OpenCode => &client_table::OPENCODE,
            Self::Copilot => &client_table::COPILOT,
            Self::Qwen => &client_table::QWEN,
            Self::Antigravity => &client_table::ANTIGRAVITY,
            Self::Kiro => &client_table::KIRO,
            Self::ClaudeDesktop => &client_table::CLAUDE_DESKTOP,
            Self::Zed => &client_table::ZED,
            Self::Goose => &client_table::GOOSE,
            Self::Windsurf => &client_table::WINDSURF,
            Self::Cline => &client_table::CLINE,
            Self::Kilo => &client_table::KILO,
        }
    }

    /// Returns the name of the client in options and JSON output.
    pub(crate) fn as_str(self) -> &'static str {
        self.spec().client.id
    }

    /// Returns the product name of the client.
    pub(crate) fn title(self) -> &'static str {
        self.spec().client.title
    }

    /// Returns the scope of its configuration.
    ///
    /// # Errors
    /// Fails for the one of a project if the client has none.
    pub(crate) fn scope(self, is_project: bool) -> anyhow::Result<Scope> {
        if !is_project {
            return Ok(Scope::User);
        }
        if self.spec().client.project_config.is_empty() {
            let message = format!("{} has no configuration of projects", self.title());
            bail!(CommandError::input(message).with_help("register without `--project`"));
        }
        Ok(Scope::Project)
    }

    /// Returns true if the client would expand a variable in this text.
    pub(crate) fn expands(self, text: &str) -> bool {
        self.spec().expansion.applies_to(text)
    }

    /// Returns what the user has to do next for the client to use the server.
    pub(crate) fn next_step(self, scope: Scope) -> &'static str {
        match scope {
            Scope::User => self.spec().next_step,
            Scope::Project => self.spec().project_next_step,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_the_table_are_those_of_the_option() {
        for client in Client::value_variants() {
            let value = client.to_possible_value();
            assert_eq!(value.unwrap().get_name(), client.as_str());
        }
    }
}
