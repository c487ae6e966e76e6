//! The agents at their default settings: only the endpoint and answers to their setup are given.

use super::{GEMINI_SETTINGS, Launch, OPENCODE_CONFIG, PROMPT};
use crate::agents::person::{Asker, Person, Reaction};

const fn agent(shows: &'static [&'static str], keys: &'static str) -> Reaction {
    Reaction {
        asker: Asker::Agent,
        shows,
        keys,
    }
}

const fn server(shows: &'static [&'static str], keys: &'static str) -> Reaction {
    Reaction {
        asker: Asker::Server,
        shows,
        keys,
    }
}

const fn setup(shows: &'static [&'static str], keys: &'static str) -> Reaction {
    Reaction {
        asker: Asker::Setup,
        shows,
        keys,
    }
}

pub(super) const CLAUDE: Launch = Launch {
    arguments: &[],
    environment: &[
        ("ANTHROPIC_BASE_URL", "{url}"),
        ("ANTHROPIC_AUTH_TOKEN", "x"),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
    ],
    files: &[(
        ".claude.json",
        r#"{"hasCompletedOnboarding": true, "theme": "dark"}
"#,
    )],
    person: Some(Person {
        prompt: Some(PROMPT),
        reactions: &[
            // The first choice is no.
            setup(&["trust this folder", "❯ No"], "\x1b[B"),
            setup(&["❯ Yes, I trust this folder"], "\r"),
            // The form of the server is a closed list in which no is chosen.
            server(&["requests your input", "❯ Accept"], "\r"),
            setup(&["requests your input", "❯ Decline"], "\x1b[D"),
            setup(&["requests your input", "◉ Yes, this run"], "\x1b[B"),
            setup(&["requests your input", "▸ Yes, this run"], "\x1b[B"),
            setup(&["requests your input", "❯ ◯ Yes, this run"], " "),
            setup(&["requests your input", "◉ Yes, until"], "\x1b[B"),
            setup(&["requests your input", "▸ Yes, until"], "\x1b[B"),
            setup(&["requests your input", "❯ ◯ Yes, until"], " "),
            setup(&["requests your input", "▾"], "\x1b[A"),
            setup(&["requests your input", "▸"], "\x1b[C"),
            // The endpoint has no classifier, so that the person decides about each call.
            setup(&["Enter to stay in auto mode"], "\r"),
            setup(&["Do you want to proceed?", "❯ No"], "\x1b[B"),
            agent(&["Do you want to proceed?", "❯ "], "\r"),
        ],
    }),
    searches_tools: true,
};

pub(super) const CODEX: Launch = Launch {
    arguments: &[PROMPT],
    environment: &[("FAKE_KEY", "x")],
    files: &[(
        ".codex/config.toml",
        r#"model = "gpt-5"
model_provider = "fake"

[model_providers.fake]
name = "fake"
base_url = "{url}/v1"
env_key = "FAKE_KEY"
wire_api = "responses"
"#,
    )],
    person: Some(Person {
        prompt: None,
        reactions: &[
            setup(&["Do you trust the contents of this directory?"], "\r"),
            agent(&["Would you like to"], "\r"),
            server(&["Field 1/1", "› 1. Yes"], "\r"),
            setup(&["Field 1/1", "enter to submit"], "1"),
        ],
    }),
    searches_tools: true,
};

pub(super) const GEMINI: Launch = Launch {
    arguments: &["--model", "gemini-2.5-pro"],
    environment: &[("GOOGLE_GEMINI_BASE_URL", "{url}"), ("GEMINI_API_KEY", "x")],
    files: &[
        (".gemini/settings.json", GEMINI_SETTINGS),
        // Given in an earlier session: servers start in none in which the folder was not trusted.
        (
            ".gemini/trustedFolders.json",
            r#"{"{project}": "TRUST_FOLDER"}
"#,
        ),
    ],
    person: Some(Person {
        prompt: Some(PROMPT),
        reactions: &[agent(&["Allow execution of MCP tool"], "\r")],
    }),
    searches_tools: true,
};

pub(super) const OPENCODE: Launch = Launch {
    arguments: &["run", PROMPT],
    environment: &[
        ("OPENCODE_DISABLE_MODELS_FETCH", "1"),
        ("OPENCODE_DISABLE_AUTOUPDATE", "1"),
    ],
    files: &[(".config/opencode/opencode.json", OPENCODE_CONFIG)],
    person: None,
    searches_tools: true,
};

pub(super) const QWEN: Launch = Launch {
    arguments: &[],
    environment: &[
        ("OPENAI_BASE_URL", "{url}/v1"),
        ("OPENAI_API_KEY", "x"),
        ("OPENAI_MODEL", "model"),
    ],
    files: &[(
        ".qwen/settings.json",
        r#"{
  "security": {"auth": {"selectedType": "openai"}},
  "privacy": {"usageStatisticsEnabled": false}
}
"#,
    )],
    person: Some(Person {
        prompt: Some(PROMPT),
        reactions: &[
            setup(&["Do you trust"], "\r"),
            agent(&["Allow execution of MCP tool"], "\r"),
        ],
    }),
    searches_tools: true,
};

pub(super) const COPILOT: Launch = Launch {
    arguments: &["--interactive", PROMPT],
    environment: &[
        ("COPILOT_PROVIDER_TYPE", "openai"),
        ("COPILOT_PROVIDER_BASE_URL", "{url}/v1"),
        ("COPILOT_PROVIDER_API_KEY", "x"),
        ("COPILOT_MODEL", "gpt-4.1"),
        ("COPILOT_OFFLINE", "true"),
    ],
    files: &[],
    person: Some(Person {
        prompt: None,
        reactions: &[
            setup(&["Do you trust the files in this folder?"], "\r"),
            agent(&["Do you want to use this tool"], "\r"),
            server(&["needs information.", "❯ Yes, this run"], "\r"),
            server(&["needs information.", "❯ Yes, until"], "\r"),
            setup(&["needs information.", "❯ "], "\x1b[A"),
        ],
    }),
    searches_tools: true,
};

pub(super) const CLINE: Launch = Launch {
    arguments: &[PROMPT],
    environment: &[],
    files: &[(
        ".cline/data/settings/providers.json",
        r#"{
  "version": 1,
  "lastUsedProvider": "openai-compatible",
  "modes": {},
  "providers": {
    "openai-compatible": {
      "settings": {
        "provider": "openai-compatible",
        "apiKey": "x",
        "model": "model",
        "baseUrl": "{url}/v1"
      },
      "updatedAt": "2026-11-29T00:00:00.000Z",
      "tokenSource": "manual"
    }
  }
}
"#,
    )],
    person: None,
    searches_tools: true,
};

pub(super) const KILO: Launch = Launch {
    arguments: &["run", PROMPT],
    environment: &[
        ("KILO_DISABLE_MODELS_FETCH", "1"),
        ("KILO_DISABLE_AUTOUPDATE", "1"),
    ],
    files: &[(".config/kilo/kilo.json", OPENCODE_CONFIG)],
    person: None,
    searches_tools: true,
};
