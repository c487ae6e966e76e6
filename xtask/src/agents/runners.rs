//! The agents: how each is started without a person, and how it gets a model and the server.
//!
//! In all texts `{url}` is the endpoint, and in files `{project}` the directory of the session.

mod installed;

use super::person::Person;

/// An agent of a package of npm.
#[derive(Debug)]
pub(crate) struct Agent {
    pub(crate) name: &'static str,
    /// The short name, for options and directories.
    pub(crate) key: &'static str,
    pub(crate) package: &'static str,
    /// The version that was tested last.
    pub(crate) version: &'static str,
    /// The program in `node_modules/.bin`.
    pub(crate) program: &'static str,
    /// Its name for `skills mcp install --client`.
    pub(crate) client: &'static str,
    /// The start of the names that the agent gives to the tools of a server named `skills`.
    pub(crate) tool_prefix: &'static str,
    /// The start that lets each call pass; `None` if only its defaults are tested.
    pub(crate) prepared: Option<Launch>,
    /// The start with its defaults.
    pub(crate) installed: Launch,
}

/// How an agent is started.
#[derive(Debug)]
pub(crate) struct Launch {
    pub(crate) arguments: &'static [&'static str],
    pub(crate) environment: &'static [(&'static str, &'static str)],
    /// Files in the home directory that exist before the server is registered.
    pub(crate) files: &'static [(&'static str, &'static str)],
    /// What the person at the terminal does; `None` for an agent without a terminal.
    pub(crate) person: Option<Person>,
    /// Whether the model searches for the tools if the agent does not offer them.
    pub(crate) searches_tools: bool,
}

/// Node, which the agents need in a newer version than most systems have.
pub(crate) const NODE: (&str, &str) = ("node", "22.23.3");

pub(super) const PROMPT: &str = "Do the job.";

/// A key of the API, and no statistics.
pub(super) const GEMINI_SETTINGS: &str = r#"{
  "security": {"auth": {"selectedType": "gemini-api-key"}},
  "privacy": {"usageStatisticsEnabled": false}
}
"#;

/// The endpoint as a provider, which Kilo reads in the same form.
pub(super) const OPENCODE_CONFIG: &str = r#"{
  "model": "fake/model",
  "provider": {
    "fake": {
      "npm": "@ai-sdk/openai-compatible",
      "options": {"baseURL": "{url}/v1", "apiKey": "x"},
      "models": {"model": {"name": "model", "tool_call": true}}
    }
  }
}
"#;

pub(crate) const AGENTS: [Agent; 8] = [
    Agent {
        name: "Claude Code",
        key: "claude",
        package: "@anthropic-ai/claude-code",
        version: "2.1.330",
        program: "claude",
        client: "claude",
        tool_prefix: "mcp__skills__",
        prepared: Some(Launch {
            arguments: &["--print", PROMPT, "--allowedTools", "mcp__skills"],
            environment: &[
                ("ANTHROPIC_BASE_URL", "{url}"),
                ("ANTHROPIC_API_KEY", "x"),
                // Otherwise the model is offered a search for tools in the place of the tools.
                ("ENABLE_TOOL_SEARCH", "false"),
                ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
            ],
            files: &[],
            person: None,
            searches_tools: false,
        }),
        installed: installed::CLAUDE,
    },
    Agent {
        name: "Codex",
        key: "codex",
        package: "@openai/codex",
        version: "0.169.0",
        program: "codex",
        client: "codex",
        tool_prefix: "mcp__skills",
        prepared: Some(Launch {
            arguments: &[
                "exec",
                "--skip-git-repo-check",
                // Approves each tool, which Codex asks for by itself if a tool is not read-only.
                "--dangerously-bypass-approvals-and-sandbox",
                "-c",
                "mcp_servers.skills.required=true",
                PROMPT,
            ],
            environment: &[("FAKE_KEY", "x")],
            files: &[(
                ".codex/config.toml",
                r#"model = "gpt-5"
model_provider = "fake"
tool_output_token_limit = 10000

[model_providers.fake]
name = "fake"
base_url = "{url}/v1"
env_key = "FAKE_KEY"
wire_api = "responses"
"#,
            )],
            person: None,
            searches_tools: false,
        }),
        installed: installed::CODEX,
    },
    Agent {
        name: "Gemini CLI",
        key: "gemini",
        package: "@google/gemini-cli",
        version: "0.61.0",
        program: "gemini",
        client: "gemini",
        tool_prefix: "mcp_skills_",
        prepared: Some(Launch {
            arguments: &["--prompt", PROMPT, "--yolo", "--model", "gemini-2.5-pro"],
            environment: &[
                ("GOOGLE_GEMINI_BASE_URL", "{url}"),
                ("GEMINI_API_KEY", "x"),
                ("GEMINI_CLI_TRUST_WORKSPACE", "true"),
            ],
            files: &[(".gemini/settings.json", GEMINI_SETTINGS)],
            person: None,
            searches_tools: false,
        }),
        installed: installed::GEMINI,
    },
    Agent {
        name: "opencode",
        key: "opencode",
        package: "opencode-ai",
        version: "1.18.33",
        program: "opencode",
        client: "opencode",
        tool_prefix: "skills_",
        prepared: Some(Launch {
            arguments: &["run", PROMPT],
            environment: &[
                ("OPENCODE_DISABLE_MODELS_FETCH", "1"),
                ("OPENCODE_DISABLE_AUTOUPDATE", "1"),
            ],
            files: &[(".config/opencode/opencode.json", OPENCODE_CONFIG)],
            person: None,
            searches_tools: false,
        }),
        installed: installed::OPENCODE,
    },
    Agent {
        name: "Qwen Code",
        key: "qwen",
        package: "@qwen-code/qwen-code",
        version: "0.24.4",
        program: "qwen",
        client: "qwen",
        tool_prefix: "mcp__skills__",
        prepared: Some(Launch {
            arguments: &["--prompt", PROMPT, "--yolo"],
            environment: &[
                ("OPENAI_BASE_URL", "{url}/v1"),
                ("OPENAI_API_KEY", "x"),
                ("OPENAI_MODEL", "model"),
            ],
            files: &[(
                ".qwen/settings.json",
                r#"{
  "security": {"auth": {"selectedType": "openai"}},
  "privacy": {"usageStatisticsEnabled": false},
  "tools": {"toolSearch": {"enabled": false}}
}
"#,
            )],
            person: None,
            searches_tools: false,
        }),
        installed: installed::QWEN,
    },
    Agent {
        name: "Copilot CLI",
        key: "copilot",
        package: "@github/copilot",
        version: "1.0.102",
        program: "copilot",
        client: "copilot",
        tool_prefix: "skills-",
        prepared: Some(Launch {
            arguments: &["--prompt", PROMPT, "--allow-all-tools"],
            environment: &[
                ("COPILOT_PROVIDER_TYPE", "openai"),
                ("COPILOT_PROVIDER_BASE_URL", "{url}/v1"),
                ("COPILOT_PROVIDER_API_KEY", "x"),
                ("COPILOT_MODEL", "gpt-4.1"),
                ("COPILOT_OFFLINE", "true"),
            ],
            files: &[],
            person: None,
            searches_tools: false,
        }),
        installed: installed::COPILOT,
    },
    Agent {
        name: "Cline",
        key: "cline",
        package: "cline",
        version: "3.0.65",
        program: "cline",
        client: "cline",
        tool_prefix: "skills__",
        prepared: None,
        installed: installed::CLINE,
    },
    Agent {
        name: "Kilo",
        key: "kilo",
        package: "@kilocode/cli",
        version: "7.7.7",
        program: "kilo",
        client: "kilo",
        tool_prefix: "skills_",
        prepared: None,
        installed: installed::KILO,
    },
];
