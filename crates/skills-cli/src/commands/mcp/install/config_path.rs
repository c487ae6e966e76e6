//! Paths of the clients' configuration files.

use std::path::PathBuf;

use super::client::{Client, Scope};

/// Inputs that determine the paths. Every path is absolute; `None` is not set.
#[derive(Debug, Clone, Default)]
pub(crate) struct ClientEnvironment {
    pub(crate) system: System,
    pub(crate) home: Option<PathBuf>,
    /// The root of the project.
    pub(crate) project: Option<PathBuf>,
    /// `CLAUDE_CONFIG_DIR`.
    pub(crate) claude: Option<PathBuf>,
    /// `CODEX_HOME`.
    pub(crate) codex: Option<PathBuf>,
    /// `GEMINI_CLI_HOME`, which replaces the home directory.
    pub(crate) gemini: Option<PathBuf>,
    /// `XDG_CONFIG_HOME`.
    pub(crate) config: Option<PathBuf>,
    /// `APPDATA`.
    pub(crate) app_data: Option<PathBuf>,
}

/// Operating systems with different application directories.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum System {
    #[default]
    Linux,
    MacOs,
    Windows,
}

/// Returns the file that a client reads its servers from. Returns `None` if its parent directory is
/// unknown.
pub(crate) fn config_path(
    client: Client,
    scope: Scope,
    surroundings: &ClientEnvironment,
) -> Option<PathBuf> {
    match scope {
        Scope::User => user_config_path(client, surroundings),
        Scope::Project => Some(surroundings.project.as_ref()?.join(match client {
            Client::Claude => ".mcp.json",
            Client::Codex => ".codex/config.toml",
            Client::Cursor => ".cursor/mcp.json",
            Client::VsCode => ".vscode/mcp.json",
            Client::Gemini => ".gemini/settings.json",
        })),
    }
}

fn user_config_path(client: Client, surroundings: &ClientEnvironment) -> Option<PathBuf> {
    let ClientEnvironment {
        home,
        claude,
        codex,
        gemini,
        ..
    } = surroundings;
    let home = home.as_ref();
    Some(match client {
        Client::Claude => claude.as_ref().or(home)?.join(".claude.json"),
        Client::Codex => directory_or(codex, home, ".codex")?.join("config.toml"),
        Client::Cursor => home?.join(".cursor/mcp.json"),
        Client::VsCode => app_config_dir(surroundings)?.join("Code/User/mcp.json"),
        Client::Gemini => gemini.as_ref().or(home)?.join(".gemini/settings.json"),
    })
}

/// Returns the configuration directory of desktop applications.
fn app_config_dir(surroundings: &ClientEnvironment) -> Option<PathBuf> {
    let ClientEnvironment {
        system,
        home,
        config,
        app_data,
        ..
    } = surroundings;
    let home = home.as_ref();
    match system {
        System::Linux => directory_or(config, home, ".config"),
        System::MacOs => Some(home?.join("Library/Application Support")),
        System::Windows => directory_or(app_data, home, "AppData/Roaming"),
    }
}

/// Returns a directory that a variable names, else the one at this path of the home directory.
fn directory_or(named: &Option<PathBuf>, home: Option<&PathBuf>, path: &str) -> Option<PathBuf> {
    named.clone().or_else(|| Some(home?.join(path)))
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum;

    use super::*;

    fn all(scope: Scope, surroundings: &ClientEnvironment) -> String {
        let one = |client: &Client| {
            config_path(*client, scope, surroundings)
                .map_or("nowhere".to_owned(), |path| path.display().to_string())
        };
        Client::value_variants()
            .iter()
            .map(|client| format!("{}: {}\n", client.title(), one(client)))
            .collect()
    }

    #[test]
    fn every_client_has_user_and_project_paths() {
        let plain = ClientEnvironment {
            home: Some("/home/a".into()),
            project: Some("/p".into()),
            ..ClientEnvironment::default()
        };
        insta::assert_snapshot!(all(Scope::User, &plain), @"
        Claude Code: /home/a/.claude.json
        Codex: /home/a/.codex/config.toml
        Cursor: /home/a/.cursor/mcp.json
        VS Code: /home/a/.config/Code/User/mcp.json
        Gemini CLI: /home/a/.gemini/settings.json
        ");
        insta::assert_snapshot!(all(Scope::Project, &plain), @"
        Claude Code: /p/.mcp.json
        Codex: /p/.codex/config.toml
        Cursor: /p/.cursor/mcp.json
        VS Code: /p/.vscode/mcp.json
        Gemini CLI: /p/.gemini/settings.json
        ");
    }

    #[test]
    fn paths_depend_on_variables_and_system() {
        let moved = ClientEnvironment {
            claude: Some("/c".into()),
            codex: Some("/x".into()),
            gemini: Some("/g".into()),
            config: Some("/conf".into()),
            ..ClientEnvironment::default()
        };
        insta::assert_snapshot!(all(Scope::User, &moved), @"
        Claude Code: /c/.claude.json
        Codex: /x/config.toml
        Cursor: nowhere
        VS Code: /conf/Code/User/mcp.json
        Gemini CLI: /g/.gemini/settings.json
        ");
        assert_eq!(all(Scope::Project, &moved).matches("nowhere").count(), 5);
        let code = |system, app_data: Option<&str>| {
            let home = Some("/h".into());
            config_path(
                Client::VsCode,
                Scope::User,
                &ClientEnvironment {
                    system,
                    home,
                    app_data: app_data.map(Into::into),
                    ..moved.clone()
                },
            )
        };
        assert_eq!(
            code(System::MacOs, None),
            Some("/h/Library/Application Support/Code/User/mcp.json".into())
        );
        assert_eq!(
            code(System::Windows, Some("/roaming")),
            Some("/roaming/Code/User/mcp.json".into())
        );
        assert_eq!(
            code(System::Windows, None),
            Some("/h/AppData/Roaming/Code/User/mcp.json".into())
        );
    }
}
