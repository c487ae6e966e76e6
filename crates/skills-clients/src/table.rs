//! The clients, one row each.
//!
//! The paths are from the documentation and sources of the clients; `docs/mcp.md` names the source
//! of the configuration files and of the entries in them. A field of an entry that could not be
//! confirmed is left out: a wrong unit of a timeout is worse than the default of the client.

use crate::client::{Client, ConfigBase, ConfigFile, RootBase, RootScope};
use crate::scan_order::{PLUGINS, admin, config, downward, home, project, root, working};
use crate::server_format::*;

const fn below(base: ConfigBase, path: &'static str) -> ConfigFile {
    ConfigFile {
        variables: &[],
        base,
        path,
        windows: None,
    }
}

/// All clients. Directories that clients share come first, then those of single clients.
pub const CLIENTS: &[Client] = &[
    // The directory that clients agreed on.
    Client {
        id: "agents",
        title: "all clients",
        roots: &[project(".agents/skills"), home(".agents/skills")],
        settings: &[".agents"],
        ..Client::EMPTY
    },
    // Settings and policies of the `skills` command.
    Client {
        id: "skills",
        title: "this program",
        settings: &[".config/skills", ".skills"],
        ..Client::EMPTY
    },
    Client {
        id: "claude",
        title: "Claude Code",
        roots: &[
            project(".claude/skills"),
            root(RootBase::Claude, "skills", RootScope::User),
            admin("etc/claude-code/.claude/skills"),
        ],
        scanned: &[
            admin("etc/claude-code/.claude/skills"),
            root(RootBase::Claude, "skills", RootScope::User),
            root(RootBase::Claude, "skills/synced", RootScope::User),
            project(".claude/skills"),
            PLUGINS,
        ],
        user_config: &[ConfigFile {
            variables: &[("CLAUDE_CONFIG_DIR", ".claude.json")],
            ..below(ConfigBase::Home, ".claude.json")
        }],
        project_config: &[".mcp.json"],
        servers: Some(ServerFormat {
            stdio: TYPED_COMMAND,
            http: &[
                ServerField::Kind("type", "http"),
                ServerField::Url("url"),
                ServerField::BearerHeader("headers", "${", "}"),
            ],
            next_step: "restart Claude Code; `/mcp` lists it",
            project_next_step: Some(
                "restart Claude Code in the project, and approve the server when asked",
            ),
            ..ServerFormat::JSON
        }),
        ..Client::EMPTY
    },
    Client {
        id: "codex",
        title: "Codex",
        roots: &[
            project(".codex/skills"),
            root(RootBase::Codex, "skills", RootScope::User),
            root(RootBase::Codex, "skills/.system", RootScope::System),
            admin("etc/codex/skills"),
        ],
        scanned: &[
            project(".codex/skills"),
            root(RootBase::Codex, "skills", RootScope::User),
            home(".agents/skills"),
            root(RootBase::Codex, "skills/.system", RootScope::System),
            admin("etc/codex/skills"),
            PLUGINS,
            downward(".agents/skills"),
        ],
        user_config: &[ConfigFile {
            variables: &[("CODEX_HOME", "config.toml")],
            ..below(ConfigBase::Home, ".codex/config.toml")
        }],
        project_config: &[".codex/config.toml"],
        servers: Some(ServerFormat {
            language: ConfigLanguage::Toml,
            section: "mcp_servers",
            for_project: Some(&CODEX_PROJECT),
            stdio: CODEX_COMMAND,
            http: CODEX_REMOTE,
            expansion: Expansion::Never,
            next_step: "restart Codex; `/mcp` lists it",
            project_next_step: Some(
                "restart Codex in the project; it reads this file only if it trusts the project",
            ),
            ..ServerFormat::JSON
        }),
        ..Client::EMPTY
    },
    Client {
        id: "copilot",
        title: "Copilot CLI",
        full_name: Some("GitHub Copilot CLI"),
        roots: &[project(".github/skills"), home(".copilot/skills")],
        scanned: &[
            working(".github/skills"),
            working(".agents/skills"),
            working(".claude/skills"),
            project(".github/skills"),
            home(".copilot/skills"),
            home(".agents/skills"),
            root(RootBase::Claude, "skills", RootScope::User),
            PLUGINS,
            root(RootBase::Copilot, "", RootScope::User),
        ],
        user_config: &[ConfigFile {
            variables: &[("COPILOT_HOME", "mcp-config.json")],
            ..below(ConfigBase::Home, ".copilot/mcp-config.json")
        }],
        // `.mcp.json` is read as well, but belongs to Claude Code and needs no list of tools there.
        project_config: &[".github/mcp.json"],
        settings: &[
            ".github/agents",
            ".github/copilot-instructions.md",
            ".github/hooks",
            ".github/instructions",
            ".github/prompts",
        ],
        servers: Some(ServerFormat {
            stdio: &[
                ServerField::Kind("type", "local"),
                ServerField::Program("command"),
                ServerField::Arguments("args"),
                ServerField::Default("tools", DefaultValue::All),
            ],
            http: &[
                ServerField::Kind("type", "http"),
                ServerField::Url("url"),
                ServerField::BearerHeader("headers", "${", "}"),
                ServerField::Default("tools", DefaultValue::All),
            ],
            next_step: "restart Copilot CLI; `/mcp show` lists it",
            project_next_step: Some(
                "restart Copilot CLI in the project; it reads this file only if it trusts the folder",
            ),
            ..ServerFormat::JSON
        }),
        ..Client::EMPTY
    },
    Client {
        id: "gemini",
        title: "Gemini CLI",
        roots: &[project(".gemini/skills"), home(".gemini/skills")],
        scanned: &[
            working(".agents/skills"),
            working(".gemini/skills"),
            home(".agents/skills"),
            home(".gemini/skills"),
            PLUGINS,
        ],
        user_config: &[ConfigFile {
            // It replaces the home directory.
            variables: &[("GEMINI_CLI_HOME", ".gemini/settings.json")],
            ..below(ConfigBase::Home, ".gemini/settings.json")
        }],
        project_config: &[".gemini/settings.json"],
        servers: Some(ServerFormat {
            stdio: GEMINI_COMMAND,
            http: GEMINI_REMOTE,
            expansion: Expansion::Dollar,
            // Server and tool names are joined with underscores.
            separator: Some('_'),
            next_step: "restart Gemini CLI; `/mcp` lists it",
            project_next_step: Some(
                "restart Gemini CLI in the project; it reads this file only if it trusts the folder",
            ),
            ..ServerFormat::JSON
        }),
        ..Client::EMPTY
    },
    Client {
        id: "antigravity",
        title: "Antigravity CLI",
        roots: &[home(".gemini/antigravity/skills")],
        user_config: &[below(ConfigBase::Home, ".gemini/config/mcp_config.json")],
        project_config: &[".agents/mcp_config.json"],
        settings: &[".antigravity"],
        servers: Some(ServerFormat {
            // It expands no variables.
            http: &[],
            expansion: Expansion::Never,
            next_step: "restart Antigravity CLI; `/mcp` lists it (not tested with this client)",
            project_next_step: Some(
                "restart Antigravity CLI in the project; `/mcp` lists it (not tested with this client)",
            ),
            ..ServerFormat::JSON
        }),
        ..Client::EMPTY
    },
    Client {
        id: "cursor",
        title: "Cursor",
        roots: &[project(".cursor/skills"), home(".cursor/skills")],
        user_config: &[below(ConfigBase::Home, ".cursor/mcp.json")],
        project_config: &[".cursor/mcp.json"],
        settings: &[".cursorrules"],
        servers: Some(ServerFormat {
            stdio: TYPED_COMMAND,
            http: &[
                ServerField::Url("url"),
                ServerField::BearerHeader("headers", "${env:", "}"),
            ],
            project_variable: Some("${workspaceFolder}"),
            next_step: "restart Cursor, and check that the server is enabled in its settings",
            ..ServerFormat::JSON
        }),
        ..Client::EMPTY
    },
    Client {
        id: "opencode",
        title: "opencode",
        roots: &[project(".opencode/skills"), config("opencode/skills")],
        scanned: &[
            config("opencode/skills"),
            root(RootBase::Claude, "skills", RootScope::User),
            home(".agents/skills"),
            downward(".opencode/skills"),
            downward(".claude/skills"),
            downward(".agents/skills"),
        ],
        user_config: &[
            below(ConfigBase::Config, "opencode/opencode.json"),
            below(ConfigBase::Config, "opencode/opencode.jsonc"),
        ],
        project_config: &["opencode.json", "opencode.jsonc"],
        servers: Some(ServerFormat {
            section: "mcp",
            nested: Some(&OPENCODE_2),
            stdio: OPENCODE_COMMAND,
            http: OPENCODE_REMOTE,
            expansion: Expansion::Colon,
            next_step: "restart opencode; `opencode mcp list` shows it",
            project_next_step: Some(
                "restart opencode in the project; `opencode mcp list` shows it",
            ),
            ..ServerFormat::JSON
        }),
        ..Client::EMPTY
    },
    Client {
        id: "goose",
        title: "Goose",
        roots: &[project(".goose/skills"), config("goose/skills")],
        scanned: &[
            working(".agents/skills"),
            working(".goose/skills"),
            working(".claude/skills"),
            home(".agents/skills"),
            config("goose/skills"),
            root(RootBase::Claude, "skills", RootScope::User),
            config("agents/skills"),
            PLUGINS,
        ],
        user_config: &[ConfigFile {
            windows: Some("Block/goose/config/config.yaml"),
            ..below(ConfigBase::Config, "goose/config.yaml")
        }],
        servers: Some(ServerFormat {
            language: ConfigLanguage::Yaml,
            section: "extensions",
            stdio: GOOSE_COMMAND,
            http: GOOSE_REMOTE,
            next_step: "start a new session of Goose",
            ..ServerFormat::JSON
        }),
        ..Client::EMPTY
    },
    Client {
        id: "amp",
        title: "Amp",
        roots: &[config("agents/skills")],
        settings: &[".amp", ".config/amp"],
        ..Client::EMPTY
    },
    Client {
        id: "crush",
        title: "Crush",
        roots: &[config("crush/skills")],
        project_config: &["crush.json", ".crush.json"],
        settings: &[".crush"],
        ..Client::EMPTY
    },
    Client {
        id: "devin",
        title: "Devin",
        roots: &[config("devin/skills")],
        settings: &[".devin"],
        ..Client::EMPTY
    },
    Client {
        id: "deepagents",
        title: "Deep Agents",
        roots: &[project(".deepagents/skills")],
        ..Client::EMPTY
    },
    Client {
        id: "openclaw",
        title: "OpenClaw",
        roots: &[
            working(".openclaw/skills"),
            root(RootBase::OpenClaw, "skills", RootScope::User),
        ],
        scanned: &[
            working("skills"),
            working(".agents/skills"),
            home(".agents/skills"),
            root(RootBase::OpenClaw, "skills", RootScope::User),
            home(".clawdbot/skills"),
            home(".moltbot/skills"),
            PLUGINS,
        ],
        ..Client::EMPTY
    },
    Client {
        id: "agent",
        title: "clients that use `.agent`",
        roots: &[project(".agent/skills"), home(".agent/skills")],
        ..Client::EMPTY
    },
    Client {
        id: "factory",
        title: "Factory",
        roots: &[working(".factory/skills"), home(".factory/skills")],
        ..Client::EMPTY
    },
    Client {
        id: "windsurf",
        title: "Windsurf",
        roots: &[
            working(".windsurf/skills"),
            home(".codeium/windsurf/skills"),
        ],
        user_config: &[below(ConfigBase::Home, ".codeium/windsurf/mcp_config.json")],
        settings: &[".windsurfrules"],
        servers: Some(ServerFormat {
            http: &[
                ServerField::Url("serverUrl"),
                ServerField::BearerHeader("headers", "${env:", "}"),
            ],
            next_step: "refresh the MCP servers in the settings of Cascade",
            ..ServerFormat::JSON
        }),
        ..Client::EMPTY
    },
    Client {
        id: "hermes",
        title: "Hermes",
        roots: &[working(".hermes/skills"), home(".hermes/skills")],
        ..Client::EMPTY
    },
    Client {
        id: "pi",
        title: "Pi",
        roots: &[working(".pi/skills"), home(".pi/agent/skills")],
        ..Client::EMPTY
    },
    Client {
        id: "cortex",
        title: "Cortex Code",
        roots: &[working(".cortex/skills"), home(".snowflake/cortex/skills")],
        ..Client::EMPTY
    },
    Client {
        id: "roo",
        title: "Roo Code",
        roots: &[working(".roo/skills"), home(".roo/skills")],
        settings: &[".roomodes", ".roorules"],
        ..Client::EMPTY
    },
    Client {
        id: "kilo",
        title: "Kilo",
        full_name: Some("Kilo Code"),
        roots: &[working(".kilo/skills"), home(".kilo/skills")],
        user_config: &[
            below(ConfigBase::Config, "kilo/kilo.jsonc"),
            below(ConfigBase::Config, "kilo/kilo.json"),
        ],
        project_config: &[
            ".kilo/kilo.jsonc",
            ".kilo/kilo.json",
            "kilo.jsonc",
            "kilo.json",
        ],
        settings: &[".kilocode", ".kilocodemodes"],
        servers: Some(ServerFormat {
            section: "mcp",
            stdio: OPENCODE_COMMAND,
            http: OPENCODE_REMOTE,
            expansion: Expansion::Colon,
            next_step: "restart Kilo; `kilo mcp list` shows it",
            project_next_step: Some("restart Kilo in the project; `kilo mcp list` shows it"),
            ..ServerFormat::JSON
        }),
        ..Client::EMPTY
    },
    Client {
        id: "kiro",
        title: "Kiro",
        roots: &[working(".kiro/skills"), home(".kiro/skills")],
        user_config: &[below(ConfigBase::Home, ".kiro/settings/mcp.json")],
        project_config: &[".kiro/settings/mcp.json"],
        servers: Some(ServerFormat {
            http: &[
                ServerField::Url("url"),
                ServerField::BearerHeader("headers", "${", "}"),
            ],
            next_step: "Kiro reads the file when it changes; `/mcp` in Kiro CLI lists it",
            ..ServerFormat::JSON
        }),
        ..Client::EMPTY
    },
    Client {
        id: "junie",
        title: "Junie",
        roots: &[working(".junie/skills"), home(".junie/skills")],
        ..Client::EMPTY
    },
    Client {
        id: "continue",
        title: "Continue",
        roots: &[working(".continue/skills"), home(".continue/skills")],
        settings: &[".continuerc.json"],
        ..Client::EMPTY
    },
    Client {
        id: "augment",
        title: "Augment",
        roots: &[working(".augment/skills"), home(".augment/skills")],
        ..Client::EMPTY
    },
    Client {
        id: "qwen",
        title: "Qwen Code",
        roots: &[working(".qwen/skills"), home(".qwen/skills")],
        user_config: &[below(ConfigBase::Home, ".qwen/settings.json")],
        project_config: &[".qwen/settings.json"],
        servers: Some(ServerFormat {
            stdio: GEMINI_COMMAND,
            http: GEMINI_REMOTE,
            expansion: Expansion::Dollar,
            next_step: "restart Qwen Code; `/mcp` lists it",
            project_next_step: Some("restart Qwen Code in the project; `/mcp` lists it"),
            ..ServerFormat::JSON
        }),
        ..Client::EMPTY
    },
    Client {
        id: "vscode",
        title: "VS Code",
        full_name: Some("Visual Studio Code"),
        user_config: &[below(ConfigBase::Applications, "Code/User/mcp.json")],
        project_config: &[".vscode/mcp.json"],
        servers: Some(ServerFormat {
            section: "servers",
            stdio: TYPED_COMMAND,
            http: &[
                ServerField::Kind("type", "http"),
                ServerField::Url("url"),
                ServerField::BearerHeader("headers", "${env:", "}"),
            ],
            project_variable: Some("${workspaceFolder}"),
            next_step: "VS Code asks whether you trust the server when it starts it; `MCP: List Servers` shows it",
            ..ServerFormat::JSON
        }),
        ..Client::EMPTY
    },
    Client {
        id: "claude-desktop",
        title: "Claude Desktop",
        user_config: &[below(
            ConfigBase::Applications,
            "Claude/claude_desktop_config.json",
        )],
        servers: Some(ServerFormat {
            // The file has only servers that the application starts.
            http: &[],
            expansion: Expansion::Never,
            next_step: "quit Claude Desktop and start it again",
            ..ServerFormat::JSON
        }),
        ..Client::EMPTY
    },
    Client {
        id: "zed",
        title: "Zed",
        user_config: &[ConfigFile {
            windows: Some("Zed/settings.json"),
            ..below(ConfigBase::Config, "zed/settings.json")
        }],
        project_config: &[".zed/settings.json"],
        servers: Some(ServerFormat {
            section: "context_servers",
            stdio: &[
                ServerField::Default("source", DefaultValue::Text("custom")),
                ServerField::Program("command"),
                ServerField::Arguments("args"),
            ],
            // It is not known to expand variables in headers.
            http: &[],
            expansion: Expansion::Never,
            next_step: "Zed reads the file when it changes; the settings of the agent panel show the server",
            project_next_step: Some(
                "Zed starts the server after you trust the project; the settings of the agent panel show it",
            ),
            ..ServerFormat::JSON
        }),
        ..Client::EMPTY
    },
    Client {
        id: "cline",
        title: "Cline",
        user_config: &[ConfigFile {
            variables: &[
                ("CLINE_MCP_SETTINGS_PATH", ""),
                ("CLINE_DATA_DIR", "settings/cline_mcp_settings.json"),
            ],
            ..below(
                ConfigBase::Home,
                ".cline/data/settings/cline_mcp_settings.json",
            )
        }],
        settings: &[".clinerules"],
        mcp_name: Some("Cline"),
        max_result_chars: Some(8_000),
        servers: Some(ServerFormat {
            // Its documentation names no variables.
            http: &[],
            next_step: "Cline reads the file when it changes; its list of MCP servers shows it",
            ..ServerFormat::JSON
        }),
        ..Client::EMPTY
    },
    Client {
        id: "aider",
        title: "Aider",
        settings: &[".aider.conf.yml"],
        ..Client::EMPTY
    },
    // Clients of which only the directory is known, with their skills, hooks and settings.
    Client {
        id: "others",
        title: "other clients",
        settings: &[
            ".adal",
            ".amazonq",
            ".bob",
            ".codebuddy",
            ".commandcode",
            ".firebender",
            ".iflow",
            ".kode",
            ".mcpjam",
            ".mux",
            ".neovate",
            ".openhands",
            ".pochi",
            ".qoder",
            ".tabnine",
            ".trae",
            ".vibe",
            ".void",
            ".warp",
            ".zencoder",
        ],
        ..Client::EMPTY
    },
];
