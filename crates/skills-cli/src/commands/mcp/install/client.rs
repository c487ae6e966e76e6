//! Supported clients and their configuration formats.

use std::fmt;

use clap::ValueEnum;

/// A client that starts servers over standard input and output.
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
}

/// Whether the configuration is the user's or a project's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// The user's configuration, for all projects.
    User,
    /// The project's configuration, shared by its users.
    Project,
}

/// How a client stores its servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ConfigFormat {
    pub(crate) language: ConfigLanguage,
    /// The key of the table of servers.
    pub(crate) section: &'static str,
    /// The value of the entry's transport field, if the client has one.
    pub(crate) transport: Option<&'static str>,
}

/// The language of a configuration file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ConfigLanguage {
    /// JSON, optionally with comments and trailing commas.
    Json,
    /// TOML.
    Toml,
}

impl fmt::Display for ConfigLanguage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Json => "JSON",
            Self::Toml => "TOML",
        })
    }
}

impl Client {
    /// Returns the name of the client in options and JSON output.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Cursor => "cursor",
            Self::VsCode => "vscode",
            Self::Gemini => "gemini",
        }
    }

    /// Returns the product name of the client.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Claude => "Claude Code",
            Self::Codex => "Codex",
            Self::Cursor => "Cursor",
            Self::VsCode => "VS Code",
            Self::Gemini => "Gemini CLI",
        }
    }

    /// Returns how the client stores its servers.
    pub(crate) fn format(self) -> ConfigFormat {
        let json = |section, transport| ConfigFormat {
            language: ConfigLanguage::Json,
            section,
            transport,
        };
        match self {
            Self::Claude | Self::Cursor => json("mcpServers", Some("stdio")),
            Self::VsCode => json("servers", Some("stdio")),
            Self::Gemini => json("mcpServers", None),
            Self::Codex => ConfigFormat {
                language: ConfigLanguage::Toml,
                section: "mcp_servers",
                transport: None,
            },
        }
    }

    /// Returns how a configuration of a project names the directory of the project: by a variable of
    /// the client, or as the directory in which the client starts servers.
    pub(crate) fn project_directory(self) -> &'static str {
        match self {
            Self::Cursor | Self::VsCode => "${workspaceFolder}",
            Self::Claude | Self::Codex | Self::Gemini => ".",
        }
    }

    /// Returns true if the client would expand a variable in this text.
    pub(crate) fn expands(self, text: &str) -> bool {
        match self {
            Self::Codex => false,
            // Gemini CLI replaces `$NAME` as well as `${NAME}`.
            Self::Gemini => text.contains('$'),
            Self::Claude | Self::Cursor | Self::VsCode => text.contains("${"),
        }
    }

    /// Returns true if the client supports a server of this name. Gemini CLI joins server and tool
    /// names with underscores, so a name with an underscore is ambiguous.
    pub(crate) fn takes_name(self, name: &str) -> bool {
        self != Self::Gemini || !name.contains('_')
    }

    /// Returns what the user has to do next for the client to start the server.
    pub(crate) fn next_step(self, scope: Scope) -> &'static str {
        match (self, scope) {
            (Self::Claude, Scope::User) => "restart Claude Code; `/mcp` lists it",
            (Self::Claude, Scope::Project) => {
                "restart Claude Code in the project, and approve the server when asked"
            }
            (Self::Codex, Scope::User) => "restart Codex; `/mcp` lists it",
            (Self::Codex, Scope::Project) => {
                "restart Codex in the project; it reads this file only if it trusts the project"
            }
            (Self::Cursor, _) => {
                "restart Cursor, and check that the server is enabled in its settings"
            }
            (Self::VsCode, _) => {
                "VS Code asks whether you trust the server when it starts it; `MCP: List Servers` shows it"
            }
            (Self::Gemini, Scope::User) => "restart Gemini CLI; `/mcp` lists it",
            (Self::Gemini, Scope::Project) => {
                "restart Gemini CLI in the project; it reads this file only if it trusts the folder"
            }
        }
    }
}
