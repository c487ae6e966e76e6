//! How the supported clients store their servers, one row each. Where is in `skills_clients`.
//!
//! `docs/mcp.md` names the source of each row. A field that could not be confirmed is left out: a
//! wrong unit of a timeout is worse than the default of the client.

use super::client_spec::{ClientSpec, DefaultValue, Expansion, Field};
use super::config_language::ConfigLanguage;

/// Timeout of calls, in seconds: a call can wait for the approval of its user.
const TIMEOUT_SECONDS: u64 = 600;
const TIMEOUT_MILLISECONDS: u64 = TIMEOUT_SECONDS * 1000;

const COMMAND: &[Field] = &[Field::Program("command"), Field::Arguments("args")];
const TYPED_COMMAND: &[Field] = &[
    Field::Kind("type", "stdio"),
    Field::Program("command"),
    Field::Arguments("args"),
];
/// Entries of opencode, and of Kilo, which is built on it.
const OPENCODE_COMMAND: &[Field] = &[
    Field::Kind("type", "local"),
    Field::CommandLine("command"),
    Field::Default("enabled", DefaultValue::True),
    Field::Timeout("timeout", DefaultValue::Number(TIMEOUT_MILLISECONDS)),
];
const OPENCODE_REMOTE: &[Field] = &[
    Field::Kind("type", "remote"),
    Field::Url("url"),
    Field::Default("enabled", DefaultValue::True),
    Field::BearerHeader("headers", "{env:", "}"),
    Field::Timeout("timeout", DefaultValue::Number(TIMEOUT_MILLISECONDS)),
];
/// Entries of Gemini CLI, and of Qwen Code, which is built on it.
const GEMINI_COMMAND: &[Field] = &[
    Field::Program("command"),
    Field::Arguments("args"),
    Field::Timeout("timeout", DefaultValue::Number(TIMEOUT_MILLISECONDS)),
];
const GEMINI_REMOTE: &[Field] = &[
    Field::Url("httpUrl"),
    Field::BearerHeader("headers", "${", "}"),
    Field::Timeout("timeout", DefaultValue::Number(TIMEOUT_MILLISECONDS)),
];

pub(super) const CLAUDE: ClientSpec = ClientSpec {
    client: &skills_clients::CLAUDE,
    language: ConfigLanguage::Json,
    section: "mcpServers",
    nested: None,
    stdio: TYPED_COMMAND,
    http: &[
        Field::Kind("type", "http"),
        Field::Url("url"),
        Field::BearerHeader("headers", "${", "}"),
    ],
    expansion: Expansion::Braces,
    project_variable: None,
    separator: None,
    next_step: "restart Claude Code; `/mcp` lists it",
    project_next_step: "restart Claude Code in the project, and approve the server when asked",
};

pub(super) const CODEX: ClientSpec = ClientSpec {
    client: &skills_clients::CODEX,
    language: ConfigLanguage::Toml,
    section: "mcp_servers",
    nested: None,
    stdio: &[
        Field::Program("command"),
        Field::Arguments("args"),
        Field::Timeout("tool_timeout_sec", DefaultValue::Number(TIMEOUT_SECONDS)),
    ],
    http: &[
        Field::Url("url"),
        Field::TokenVariable("bearer_token_env_var"),
        Field::Timeout("tool_timeout_sec", DefaultValue::Number(TIMEOUT_SECONDS)),
    ],
    expansion: Expansion::Never,
    project_variable: None,
    separator: None,
    next_step: "restart Codex; `/mcp` lists it",
    project_next_step: "restart Codex in the project; it reads this file only if it trusts the project",
};

pub(super) const CURSOR: ClientSpec = ClientSpec {
    client: &skills_clients::CURSOR,
    language: ConfigLanguage::Json,
    section: "mcpServers",
    nested: None,
    stdio: TYPED_COMMAND,
    http: &[
        Field::Url("url"),
        Field::BearerHeader("headers", "${env:", "}"),
    ],
    expansion: Expansion::Braces,
    project_variable: Some("${workspaceFolder}"),
    separator: None,
    next_step: "restart Cursor, and check that the server is enabled in its settings",
    project_next_step: "restart Cursor, and check that the server is enabled in its settings",
};

pub(super) const VS_CODE: ClientSpec = ClientSpec {
    client: &skills_clients::VS_CODE,
    language: ConfigLanguage::Json,
    section: "servers",
    nested: None,
    stdio: TYPED_COMMAND,
    http: &[
        Field::Kind("type", "http"),
        Field::Url("url"),
        Field::BearerHeader("headers", "${env:", "}"),
    ],
    expansion: Expansion::Braces,
    project_variable: Some("${workspaceFolder}"),
    separator: None,
    next_step: "VS Code asks whether you trust the server when it starts it; `MCP: List Servers` shows it",
    project_next_step: "VS Code asks whether you trust the server when it starts it; `MCP: List Servers` shows it",
};

pub(super) const GEMINI: ClientSpec = ClientSpec {
    client: &skills_clients::GEMINI,
    language: ConfigLanguage::Json,
    section: "mcpServers",
    nested: None,
    stdio: GEMINI_COMMAND,
    http: GEMINI_REMOTE,
    expansion: Expansion::Dollar,
    project_variable: None,
    // Server and tool names are joined with underscores.
    separator: Some('_'),
    next_step: "restart Gemini CLI; `/mcp` lists it",
    project_next_step: "restart Gemini CLI in the project; it reads this file only if it trusts the folder",
};

pub(super) const OPENCODE: ClientSpec = ClientSpec {
    nested: Some(&OPENCODE_2),
    ..OPENCODE_1
};

/// The table `mcp.servers` of opencode 2, which also reads entries of opencode 1.
const OPENCODE_2: ClientSpec = ClientSpec {
    section: "servers",
    stdio: &[
        Field::Kind("type", "local"),
        Field::CommandLine("command"),
        Field::Timeout("timeout", OPENCODE_2_TIMEOUT),
    ],
    http: &[
        Field::Kind("type", "remote"),
        Field::Url("url"),
        Field::BearerHeader("headers", "{env:", "}"),
        Field::Timeout("timeout", OPENCODE_2_TIMEOUT),
    ],
    ..OPENCODE_1
};
const OPENCODE_2_TIMEOUT: DefaultValue = DefaultValue::NumberIn("execution", TIMEOUT_MILLISECONDS);

const OPENCODE_1: ClientSpec = ClientSpec {
    client: &skills_clients::OPENCODE,
    language: ConfigLanguage::Json,
    section: "mcp",
    nested: None,
    stdio: OPENCODE_COMMAND,
    http: OPENCODE_REMOTE,
    expansion: Expansion::Colon,
    project_variable: None,
    separator: None,
    next_step: "restart opencode; `opencode mcp list` shows it",
    project_next_step: "restart opencode in the project; `opencode mcp list` shows it",
};

pub(super) const COPILOT: ClientSpec = ClientSpec {
    client: &skills_clients::COPILOT,
    language: ConfigLanguage::Json,
    section: "mcpServers",
    nested: None,
    stdio: &[
        Field::Kind("type", "local"),
        Field::Program("command"),
        Field::Arguments("args"),
        Field::Default("tools", DefaultValue::All),
    ],
    http: &[
        Field::Kind("type", "http"),
        Field::Url("url"),
        Field::BearerHeader("headers", "${", "}"),
        Field::Default("tools", DefaultValue::All),
    ],
    expansion: Expansion::Braces,
    project_variable: None,
    separator: None,
    next_step: "restart Copilot CLI; `/mcp show` lists it",
    project_next_step: "restart Copilot CLI in the project; it reads this file only if it trusts the folder",
};

pub(super) const QWEN: ClientSpec = ClientSpec {
    client: &skills_clients::QWEN,
    language: ConfigLanguage::Json,
    section: "mcpServers",
    nested: None,
    stdio: GEMINI_COMMAND,
    http: GEMINI_REMOTE,
    expansion: Expansion::Dollar,
    project_variable: None,
    separator: None,
    next_step: "restart Qwen Code; `/mcp` lists it",
    project_next_step: "restart Qwen Code in the project; `/mcp` lists it",
};

pub(super) const ANTIGRAVITY: ClientSpec = ClientSpec {
    client: &skills_clients::ANTIGRAVITY,
    language: ConfigLanguage::Json,
    section: "mcpServers",
    nested: None,
    stdio: COMMAND,
    // It expands no variables.
    http: &[],
    expansion: Expansion::Never,
    project_variable: None,
    separator: None,
    next_step: "restart Antigravity CLI; `/mcp` lists it",
    project_next_step: "restart Antigravity CLI in the project; `/mcp` lists it",
};

pub(super) const KIRO: ClientSpec = ClientSpec {
    client: &skills_clients::KIRO,
    language: ConfigLanguage::Json,
    section: "mcpServers",
    nested: None,
    stdio: COMMAND,
    http: &[Field::Url("url"), Field::BearerHeader("headers", "${", "}")],
    expansion: Expansion::Braces,
    project_variable: None,
    separator: None,
    next_step: "Kiro reads the file when it changes; `/mcp` in Kiro CLI lists it",
    project_next_step: "Kiro reads the file when it changes; `/mcp` in Kiro CLI lists it",
};

pub(super) const CLAUDE_DESKTOP: ClientSpec = ClientSpec {
    client: &skills_clients::CLAUDE_DESKTOP,
    language: ConfigLanguage::Json,
    section: "mcpServers",
    nested: None,
    stdio: COMMAND,
    // The file has only servers that the application starts.
    http: &[],
    expansion: Expansion::Never,
    project_variable: None,
    separator: None,
    next_step: "quit Claude Desktop and start it again",
    project_next_step: "quit Claude Desktop and start it again",
};

pub(super) const ZED: ClientSpec = ClientSpec {
    client: &skills_clients::ZED,
    language: ConfigLanguage::Json,
    section: "context_servers",
    nested: None,
    stdio: &[
        Field::Default("source", DefaultValue::Text("custom")),
        Field::Program("command"),
        Field::Arguments("args"),
    ],
    // It is not known to expand variables in headers.
    http: &[],
    expansion: Expansion::Never,
    project_variable: None,
    separator: None,
    next_step: "Zed reads the file when it changes; the settings of the agent panel show the server",
    project_next_step: "Zed starts the server after you trust the project; the settings of the agent panel show it",
};

pub(super) const GOOSE: ClientSpec = ClientSpec {
    client: &skills_clients::GOOSE,
    language: ConfigLanguage::Yaml,
    section: "extensions",
    nested: None,
    stdio: &[
        Field::Default("enabled", DefaultValue::True),
        Field::Kind("type", "stdio"),
        Field::Default("name", DefaultValue::Name),
        Field::Default("description", DefaultValue::Description),
        Field::Program("cmd"),
        Field::Arguments("args"),
        Field::Timeout("timeout", DefaultValue::Number(TIMEOUT_SECONDS)),
    ],
    http: &[
        Field::Default("enabled", DefaultValue::True),
        Field::Kind("type", "streamable_http"),
        Field::Default("name", DefaultValue::Name),
        Field::Default("description", DefaultValue::Description),
        Field::Url("uri"),
        // Headers can use only the variables of this list.
        Field::TokenVariables("env_keys"),
        Field::BearerHeader("headers", "${", "}"),
        Field::Timeout("timeout", DefaultValue::Number(TIMEOUT_SECONDS)),
    ],
    expansion: Expansion::Braces,
    project_variable: None,
    separator: None,
    next_step: "start a new session of Goose",
    project_next_step: "start a new session of Goose",
};

pub(super) const WINDSURF: ClientSpec = ClientSpec {
    client: &skills_clients::WINDSURF,
    language: ConfigLanguage::Json,
    section: "mcpServers",
    nested: None,
    stdio: COMMAND,
    http: &[
        Field::Url("serverUrl"),
        Field::BearerHeader("headers", "${env:", "}"),
    ],
    expansion: Expansion::Braces,
    project_variable: None,
    separator: None,
    next_step: "refresh the MCP servers in the settings of Cascade",
    project_next_step: "refresh the MCP servers in the settings of Cascade",
};

pub(super) const CLINE: ClientSpec = ClientSpec {
    client: &skills_clients::CLINE,
    language: ConfigLanguage::Json,
    section: "mcpServers",
    nested: None,
    stdio: COMMAND,
    // Its documentation names no variables.
    http: &[],
    expansion: Expansion::Braces,
    project_variable: None,
    separator: None,
    next_step: "Cline reads the file when it changes; its list of MCP servers shows it",
    project_next_step: "Cline reads the file when it changes; its list of MCP servers shows it",
};

pub(super) const KILO: ClientSpec = ClientSpec {
    client: &skills_clients::KILO,
    language: ConfigLanguage::Json,
    section: "mcp",
    nested: None,
    stdio: OPENCODE_COMMAND,
    http: OPENCODE_REMOTE,
    expansion: Expansion::Colon,
    project_variable: None,
    separator: None,
    next_step: "restart Kilo; `kilo mcp list` shows it",
    project_next_step: "restart Kilo in the project; `kilo mcp list` shows it",
};
