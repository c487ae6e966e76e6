//! How a client stores the servers that it uses, as data.

use std::fmt;

/// The form of the server entries in the configuration of a client.
#[derive(Debug)]
#[non_exhaustive]
pub struct ServerFormat {
    /// Language of the file.
    pub language: ConfigLanguage,
    /// Key of the table of servers.
    pub section: &'static str,
    /// The table of servers of newer versions, below the key of its own in that table. These versions
    /// read both, so that it is used only in files that have it.
    pub nested: Option<&'static ServerFormat>,
    /// The form in the file of a project, if it is another one: all users of the project share it.
    pub for_project: Option<&'static ServerFormat>,
    /// Fields of a server that the client starts, in the order of a new entry.
    pub stdio: &'static [ServerField],
    /// Fields of a server that the client connects to. Empty if the client cannot connect, or
    /// expands no variable in headers: a token is never written.
    pub http: &'static [ServerField],
    /// What the client replaces in an entry.
    pub expansion: Expansion,
    /// The variable that names the directory of the project, if the client has one.
    pub project_variable: Option<&'static str>,
    /// A character that names of servers cannot contain: the client joins names with it.
    pub separator: Option<char>,
    /// The next step of the user after a change of the user's file.
    pub next_step: &'static str,
    /// The next step after a change of the project's file, if it is another one.
    pub project_next_step: Option<&'static str>,
}

/// The language of a configuration file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConfigLanguage {
    /// JSON, optionally with comments and trailing commas.
    Json,
    /// TOML.
    Toml,
    /// YAML.
    Yaml,
}

/// A field of an entry.
#[derive(Debug, Clone, Copy)]
pub enum ServerField {
    /// The transport. Corrected in an existing entry, but never added to it.
    Kind(&'static str, &'static str),
    /// A field of new entries with this value. Existing entries keep theirs.
    Default(&'static str, DefaultValue),
    /// A default that only entries of this program have: their calls can wait for an approval, and are
    /// approved by its own policy. Never of a server that a skill requires.
    OwnDefault(&'static str, DefaultValue),
    /// The program.
    Program(&'static str),
    /// The arguments of the program.
    Arguments(&'static str),
    /// The program and its arguments as one list.
    CommandLine(&'static str),
    /// The URL of the server.
    Url(&'static str),
    /// Headers, with the token in the syntax of the client: text before and after the name of the
    /// variable.
    BearerHeader(&'static str, &'static str, &'static str),
    /// The name of the variable with the token.
    TokenVariable(&'static str),
    /// The name of the variable with the token, as a list of variables that headers may use.
    TokenVariables(&'static str),
}

/// The value of a field in new entries.
#[derive(Debug, Clone, Copy)]
pub enum DefaultValue {
    /// A text.
    Text(&'static str),
    /// True.
    True,
    /// A number.
    Number(u64),
    /// An object with one number.
    NumberIn(&'static str, u64),
    /// The list `["*"]`: all tools.
    All,
    /// The name of the server.
    Name,
    /// What the server is for.
    Description,
}

/// Which text of an entry a client replaces by the value of a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expansion {
    /// None.
    Never,
    /// `${NAME}` and similar.
    Braces,
    /// `$NAME` as well as `${NAME}`.
    Dollar,
    /// `{env:NAME}` and `{file:PATH}`.
    Colon,
}

impl ServerFormat {
    /// The form that most clients share. It rejects text with `${`, which is safe for all of them.
    pub(crate) const JSON: Self = Self {
        language: ConfigLanguage::Json,
        section: "mcpServers",
        nested: None,
        for_project: None,
        stdio: COMMAND,
        http: &[],
        expansion: Expansion::Braces,
        project_variable: None,
        separator: None,
        next_step: "",
        project_next_step: None,
    };
}

impl fmt::Display for ConfigLanguage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Json => "JSON",
            Self::Toml => "TOML",
            Self::Yaml => "YAML",
        })
    }
}

impl Expansion {
    /// Returns true if the client would replace a part of this text.
    #[must_use]
    pub fn applies_to(self, text: &str) -> bool {
        match self {
            Self::Never => false,
            Self::Braces => text.contains("${"),
            Self::Dollar => text.contains('$'),
            Self::Colon => text.contains("{env:") || text.contains("{file:"),
        }
    }
}

/// Timeout of calls, in seconds: a call can wait for the approval of its user.
const TIMEOUT_SECONDS: u64 = 600;
const TIMEOUT_MILLISECONDS: u64 = TIMEOUT_SECONDS * 1000;

const COMMAND: &[ServerField] = &[
    ServerField::Program("command"),
    ServerField::Arguments("args"),
];
pub(crate) const TYPED_COMMAND: &[ServerField] = &[
    ServerField::Kind("type", "stdio"),
    ServerField::Program("command"),
    ServerField::Arguments("args"),
];
pub(crate) const CODEX_COMMAND: &[ServerField] = &[
    ServerField::Program("command"),
    ServerField::Arguments("args"),
    ServerField::OwnDefault("tool_timeout_sec", DefaultValue::Number(TIMEOUT_SECONDS)),
    // Codex approves no tool call by default; the policy of this program decides about each call.
    ServerField::OwnDefault("default_tools_approval_mode", DefaultValue::Text("approve")),
];
pub(crate) const CODEX_REMOTE: &[ServerField] = &[
    ServerField::Url("url"),
    ServerField::TokenVariable("bearer_token_env_var"),
    ServerField::OwnDefault("tool_timeout_sec", DefaultValue::Number(TIMEOUT_SECONDS)),
];
/// Entries of projects, without approval: each user has another policy, or another program.
pub(crate) const CODEX_PROJECT: ServerFormat = ServerFormat {
    language: ConfigLanguage::Toml,
    section: "mcp_servers",
    stdio: &[
        ServerField::Program("command"),
        ServerField::Arguments("args"),
        ServerField::OwnDefault("tool_timeout_sec", DefaultValue::Number(TIMEOUT_SECONDS)),
    ],
    http: CODEX_REMOTE,
    expansion: Expansion::Never,
    ..ServerFormat::JSON
};
/// Entries of opencode, and of Kilo, which is built on it.
pub(crate) const OPENCODE_COMMAND: &[ServerField] = &[
    ServerField::Kind("type", "local"),
    ServerField::CommandLine("command"),
    ServerField::Default("enabled", DefaultValue::True),
    ServerField::OwnDefault("timeout", DefaultValue::Number(TIMEOUT_MILLISECONDS)),
];
pub(crate) const OPENCODE_REMOTE: &[ServerField] = &[
    ServerField::Kind("type", "remote"),
    ServerField::Url("url"),
    ServerField::Default("enabled", DefaultValue::True),
    ServerField::BearerHeader("headers", "{env:", "}"),
    ServerField::OwnDefault("timeout", DefaultValue::Number(TIMEOUT_MILLISECONDS)),
];
/// The table `mcp.servers` of opencode 2, which also reads entries of opencode 1.
pub(crate) const OPENCODE_2: ServerFormat = ServerFormat {
    section: "servers",
    stdio: &[
        ServerField::Kind("type", "local"),
        ServerField::CommandLine("command"),
        ServerField::OwnDefault("timeout", OPENCODE_2_TIMEOUT),
    ],
    http: &[
        ServerField::Kind("type", "remote"),
        ServerField::Url("url"),
        ServerField::BearerHeader("headers", "{env:", "}"),
        ServerField::OwnDefault("timeout", OPENCODE_2_TIMEOUT),
    ],
    expansion: Expansion::Colon,
    ..ServerFormat::JSON
};
const OPENCODE_2_TIMEOUT: DefaultValue = DefaultValue::NumberIn("execution", TIMEOUT_MILLISECONDS);
/// Entries of Gemini CLI, and of Qwen Code, which is built on it.
pub(crate) const GEMINI_COMMAND: &[ServerField] = &[
    ServerField::Program("command"),
    ServerField::Arguments("args"),
    ServerField::OwnDefault("timeout", DefaultValue::Number(TIMEOUT_MILLISECONDS)),
];
pub(crate) const GEMINI_REMOTE: &[ServerField] = &[
    ServerField::Url("httpUrl"),
    ServerField::BearerHeader("headers", "${", "}"),
    ServerField::OwnDefault("timeout", DefaultValue::Number(TIMEOUT_MILLISECONDS)),
];
pub(crate) const GOOSE_COMMAND: &[ServerField] = &[
    ServerField::Default("enabled", DefaultValue::True),
    ServerField::Kind("type", "stdio"),
    ServerField::Default("name", DefaultValue::Name),
    ServerField::Default("description", DefaultValue::Description),
    ServerField::Program("cmd"),
    ServerField::Arguments("args"),
    ServerField::OwnDefault("timeout", DefaultValue::Number(TIMEOUT_SECONDS)),
];
pub(crate) const GOOSE_REMOTE: &[ServerField] = &[
    ServerField::Default("enabled", DefaultValue::True),
    ServerField::Kind("type", "streamable_http"),
    ServerField::Default("name", DefaultValue::Name),
    ServerField::Default("description", DefaultValue::Description),
    ServerField::Url("uri"),
    // Headers can use only the variables of this list.
    ServerField::TokenVariables("env_keys"),
    ServerField::BearerHeader("headers", "${", "}"),
    ServerField::OwnDefault("timeout", DefaultValue::Number(TIMEOUT_SECONDS)),
];
