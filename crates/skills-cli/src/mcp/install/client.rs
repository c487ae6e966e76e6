//! The clients, and what each wants to read.

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

/// Whose configuration it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// The user's, for all that they do.
    User,
    /// A project's, for everybody who works in it.
    Project,
}

/// How a client writes its servers down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ConfigFormat {
    pub(crate) language: ConfigLanguage,
    /// The key that holds the servers.
    pub(crate) section: &'static str,
    /// What an entry says of its transport, where it says so.
    pub(crate) transport: Option<&'static str>,
}

/// What a file is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ConfigLanguage {
    /// JSON, perhaps with comments and trailing commas.
    Json,
    /// TOML.
    Toml,
}

impl Client {
    /// Returns the name that options and documents have for the client.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Cursor => "cursor",
            Self::VsCode => "vscode",
            Self::Gemini => "gemini",
        }
    }

    /// Returns how the client is called.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Claude => "Claude Code",
            Self::Codex => "Codex",
            Self::Cursor => "Cursor",
            Self::VsCode => "VS Code",
            Self::Gemini => "Gemini CLI",
        }
    }

    /// Returns how the client writes its servers down.
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

    /// Says whether the client puts something else in the place of a part of this text, as of a
    /// variable.
    pub(crate) fn expands(self, text: &str) -> bool {
        match self {
            Self::Codex => false,
            Self::Gemini => text.contains('$'),
            Self::Claude | Self::Cursor | Self::VsCode => text.contains("${"),
        }
    }

    /// Says whether the client can tell the tools of a server of this name from others. Gemini CLI
    /// joins names with underscores.
    pub(crate) fn takes_name(self, name: &str) -> bool {
        self != Self::Gemini || !name.contains('_')
    }

    /// Returns what is left to do for the server to be started.
    pub(crate) fn next_step(self, scope: Scope) -> &'static str {
        match (self, scope) {
            (Self::Claude, Scope::User) => "start Claude Code anew; `/mcp` lists it",
            (Self::Claude, Scope::Project) => {
                "start Claude Code anew in the project, and agree to the server when it asks"
            }
            (Self::Codex, Scope::User) => "start Codex anew; `/mcp` lists it",
            (Self::Codex, Scope::Project) => {
                "start Codex anew in the project; it reads this file only where it trusts the project"
            }
            (Self::Cursor, _) => {
                "start Cursor anew, and look whether the server is switched on in its settings"
            }
            (Self::VsCode, _) => {
                "VS Code asks whether you trust the server when it starts it; `MCP: List Servers` shows it"
            }
            (Self::Gemini, Scope::User) => "start Gemini CLI anew; `/mcp` lists it",
            (Self::Gemini, Scope::Project) => {
                "start Gemini CLI anew in the project; it reads this file only where it trusts the folder"
            }
        }
    }
}
