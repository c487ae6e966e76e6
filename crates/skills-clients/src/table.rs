//! The clients, one row each.
//!
//! The paths are from the documentation and sources of the clients; `docs/mcp.md` names the source
//! of the configuration files.

use crate::client::{Client, ConfigBase, ConfigFile, Root, RootBase, RootScope};
use crate::scan_order::{admin, config, home, project, root, working};

const NO_ROOTS: &[Root] = &[];

const fn below(base: ConfigBase, path: &'static str) -> ConfigFile {
    ConfigFile {
        variables: &[],
        base,
        path,
        windows: None,
    }
}

/// All clients. Directories that clients share come first, then those of single clients.
pub const CLIENTS: &[&Client] = &[
    &SHARED,
    &SKILLS,
    &CLAUDE,
    &CODEX,
    &COPILOT,
    &GEMINI,
    &ANTIGRAVITY,
    &CURSOR,
    &OPENCODE,
    &GOOSE,
    &AMP,
    &CRUSH,
    &DEVIN,
    &DEEPAGENTS,
    &OPENCLAW,
    &AGENT,
    &FACTORY,
    &WINDSURF,
    &HERMES,
    &PI,
    &CORTEX,
    &ROO,
    &KILO,
    &KIRO,
    &JUNIE,
    &CONTINUE,
    &AUGMENT,
    &QWEN,
    &VS_CODE,
    &CLAUDE_DESKTOP,
    &ZED,
    &CLINE,
    &AIDER,
    &OTHERS,
];

/// The directory that clients agreed on.
pub const SHARED: Client = Client {
    id: "agents",
    title: "all clients",
    roots: &[project(".agents/skills"), home(".agents/skills")],
    user_config: &[],
    project_config: &[],
    settings: &[".agents"],
};

/// Settings and policies of the `skills` command.
pub const SKILLS: Client = Client {
    id: "skills",
    title: "this program",
    roots: NO_ROOTS,
    user_config: &[],
    project_config: &[],
    settings: &[".config/skills", ".skills"],
};

/// Claude Code.
pub const CLAUDE: Client = Client {
    id: "claude",
    title: "Claude Code",
    roots: &[
        project(".claude/skills"),
        root(RootBase::Claude, "skills", RootScope::User),
        admin("etc/claude-code/.claude/skills"),
    ],
    user_config: &[ConfigFile {
        variables: &[("CLAUDE_CONFIG_DIR", ".claude.json")],
        ..below(ConfigBase::Home, ".claude.json")
    }],
    project_config: &[".mcp.json"],
    settings: &[],
};

/// Codex.
pub const CODEX: Client = Client {
    id: "codex",
    title: "Codex",
    roots: &[
        project(".codex/skills"),
        root(RootBase::Codex, "skills", RootScope::User),
        root(RootBase::Codex, "skills/.system", RootScope::System),
        admin("etc/codex/skills"),
    ],
    user_config: &[ConfigFile {
        variables: &[("CODEX_HOME", "config.toml")],
        ..below(ConfigBase::Home, ".codex/config.toml")
    }],
    project_config: &[".codex/config.toml"],
    settings: &[],
};

/// Copilot CLI.
pub const COPILOT: Client = Client {
    id: "copilot",
    title: "Copilot CLI",
    roots: &[project(".github/skills"), home(".copilot/skills")],
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
};

/// Gemini CLI.
pub const GEMINI: Client = Client {
    id: "gemini",
    title: "Gemini CLI",
    roots: &[project(".gemini/skills"), home(".gemini/skills")],
    user_config: &[ConfigFile {
        // It replaces the home directory.
        variables: &[("GEMINI_CLI_HOME", ".gemini/settings.json")],
        ..below(ConfigBase::Home, ".gemini/settings.json")
    }],
    project_config: &[".gemini/settings.json"],
    settings: &[],
};

/// Antigravity CLI.
pub const ANTIGRAVITY: Client = Client {
    id: "antigravity",
    title: "Antigravity CLI",
    roots: &[home(".gemini/antigravity/skills")],
    user_config: &[below(ConfigBase::Home, ".gemini/config/mcp_config.json")],
    project_config: &[".agents/mcp_config.json"],
    settings: &[".antigravity"],
};

/// Cursor.
pub const CURSOR: Client = Client {
    id: "cursor",
    title: "Cursor",
    roots: &[project(".cursor/skills"), home(".cursor/skills")],
    user_config: &[below(ConfigBase::Home, ".cursor/mcp.json")],
    project_config: &[".cursor/mcp.json"],
    settings: &[".cursorrules"],
};

/// opencode.
pub const OPENCODE: Client = Client {
    id: "opencode",
    title: "opencode",
    roots: &[project(".opencode/skills"), config("opencode/skills")],
    user_config: &[
        below(ConfigBase::Config, "opencode/opencode.json"),
        below(ConfigBase::Config, "opencode/opencode.jsonc"),
    ],
    project_config: &["opencode.json", "opencode.jsonc"],
    settings: &[],
};

/// Goose.
pub const GOOSE: Client = Client {
    id: "goose",
    title: "Goose",
    roots: &[project(".goose/skills"), config("goose/skills")],
    user_config: &[ConfigFile {
        windows: Some("Block/goose/config/config.yaml"),
        ..below(ConfigBase::Config, "goose/config.yaml")
    }],
    project_config: &[],
    settings: &[],
};

/// Amp.
pub const AMP: Client = Client {
    id: "amp",
    title: "Amp",
    roots: &[config("agents/skills")],
    user_config: &[],
    project_config: &[],
    settings: &[".amp", ".config/amp"],
};

/// Crush.
pub const CRUSH: Client = Client {
    id: "crush",
    title: "Crush",
    roots: &[config("crush/skills")],
    user_config: &[],
    project_config: &["crush.json", ".crush.json"],
    settings: &[".crush"],
};

/// Devin.
pub const DEVIN: Client = Client {
    id: "devin",
    title: "Devin",
    roots: &[config("devin/skills")],
    user_config: &[],
    project_config: &[],
    settings: &[".devin"],
};

/// Deep Agents.
pub const DEEPAGENTS: Client = Client {
    id: "deepagents",
    title: "Deep Agents",
    roots: &[project(".deepagents/skills")],
    user_config: &[],
    project_config: &[],
    settings: &[],
};

/// OpenClaw.
pub const OPENCLAW: Client = Client {
    id: "openclaw",
    title: "OpenClaw",
    roots: &[
        working(".openclaw/skills"),
        root(RootBase::OpenClaw, "skills", RootScope::User),
    ],
    user_config: &[],
    project_config: &[],
    settings: &[],
};

/// Clients that use `.agent`.
pub const AGENT: Client = Client {
    id: "agent",
    title: "clients that use `.agent`",
    roots: &[project(".agent/skills"), home(".agent/skills")],
    user_config: &[],
    project_config: &[],
    settings: &[],
};

/// Factory.
pub const FACTORY: Client = Client {
    id: "factory",
    title: "Factory",
    roots: &[working(".factory/skills"), home(".factory/skills")],
    user_config: &[],
    project_config: &[],
    settings: &[],
};

/// Windsurf.
pub const WINDSURF: Client = Client {
    id: "windsurf",
    title: "Windsurf",
    roots: &[
        working(".windsurf/skills"),
        home(".codeium/windsurf/skills"),
    ],
    user_config: &[below(ConfigBase::Home, ".codeium/windsurf/mcp_config.json")],
    project_config: &[],
    settings: &[".windsurfrules"],
};

/// Hermes.
pub const HERMES: Client = Client {
    id: "hermes",
    title: "Hermes",
    roots: &[working(".hermes/skills"), home(".hermes/skills")],
    user_config: &[],
    project_config: &[],
    settings: &[],
};

/// Pi.
pub const PI: Client = Client {
    id: "pi",
    title: "Pi",
    roots: &[working(".pi/skills"), home(".pi/agent/skills")],
    user_config: &[],
    project_config: &[],
    settings: &[],
};

/// Cortex Code.
pub const CORTEX: Client = Client {
    id: "cortex",
    title: "Cortex Code",
    roots: &[working(".cortex/skills"), home(".snowflake/cortex/skills")],
    user_config: &[],
    project_config: &[],
    settings: &[],
};

/// Roo Code.
pub const ROO: Client = Client {
    id: "roo",
    title: "Roo Code",
    roots: &[working(".roo/skills"), home(".roo/skills")],
    user_config: &[],
    project_config: &[],
    settings: &[".roomodes", ".roorules"],
};

/// Kilo.
pub const KILO: Client = Client {
    id: "kilo",
    title: "Kilo",
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
};

/// Kiro.
pub const KIRO: Client = Client {
    id: "kiro",
    title: "Kiro",
    roots: &[working(".kiro/skills"), home(".kiro/skills")],
    user_config: &[below(ConfigBase::Home, ".kiro/settings/mcp.json")],
    project_config: &[".kiro/settings/mcp.json"],
    settings: &[],
};

/// Junie.
pub const JUNIE: Client = Client {
    id: "junie",
    title: "Junie",
    roots: &[working(".junie/skills"), home(".junie/skills")],
    user_config: &[],
    project_config: &[],
    settings: &[],
};

/// Continue.
pub const CONTINUE: Client = Client {
    id: "continue",
    title: "Continue",
    roots: &[working(".continue/skills"), home(".continue/skills")],
    user_config: &[],
    project_config: &[],
    settings: &[".continuerc.json"],
};

/// Augment.
pub const AUGMENT: Client = Client {
    id: "augment",
    title: "Augment",
    roots: &[working(".augment/skills"), home(".augment/skills")],
    user_config: &[],
    project_config: &[],
    settings: &[],
};

/// Qwen Code.
pub const QWEN: Client = Client {
    id: "qwen",
    title: "Qwen Code",
    roots: &[working(".qwen/skills"), home(".qwen/skills")],
    user_config: &[below(ConfigBase::Home, ".qwen/settings.json")],
    project_config: &[".qwen/settings.json"],
    settings: &[],
};

/// VS Code.
pub const VS_CODE: Client = Client {
    id: "vscode",
    title: "VS Code",
    roots: NO_ROOTS,
    user_config: &[below(ConfigBase::Applications, "Code/User/mcp.json")],
    project_config: &[".vscode/mcp.json"],
    settings: &[],
};

/// Claude Desktop.
pub const CLAUDE_DESKTOP: Client = Client {
    id: "claude-desktop",
    title: "Claude Desktop",
    roots: NO_ROOTS,
    user_config: &[below(
        ConfigBase::Applications,
        "Claude/claude_desktop_config.json",
    )],
    project_config: &[],
    settings: &[],
};

/// Zed.
pub const ZED: Client = Client {
    id: "zed",
    title: "Zed",
    roots: NO_ROOTS,
    user_config: &[ConfigFile {
        windows: Some("Zed/settings.json"),
        ..below(ConfigBase::Config, "zed/settings.json")
    }],
    project_config: &[".zed/settings.json"],
    settings: &[],
};

/// Cline.
pub const CLINE: Client = Client {
    id: "cline",
    title: "Cline",
    roots: NO_ROOTS,
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
    project_config: &[],
    settings: &[".clinerules"],
};

/// Aider.
pub const AIDER: Client = Client {
    id: "aider",
    title: "Aider",
    roots: NO_ROOTS,
    user_config: &[],
    project_config: &[],
    settings: &[".aider.conf.yml"],
};

/// Clients of which only the directory is known, with their skills, hooks and settings.
pub const OTHERS: Client = Client {
    id: "others",
    title: "other clients",
    roots: NO_ROOTS,
    user_config: &[],
    project_config: &[],
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
};
