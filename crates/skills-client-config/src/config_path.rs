//! Paths of the clients' configuration files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use skills_clients::{ConfigBase, ConfigFile};

use crate::client::{ConfigScope, ServerClient};

/// Inputs that determine the paths. Every path is absolute; `None` is not set.
#[derive(Debug, Clone, Default)]
pub struct ClientEnvironment {
    /// The system of the client.
    pub system: System,
    /// The home directory.
    pub home: Option<PathBuf>,
    /// The root of the project.
    pub project: Option<PathBuf>,
    /// `XDG_CONFIG_HOME`.
    pub config: Option<PathBuf>,
    /// `APPDATA`.
    pub app_data: Option<PathBuf>,
    /// The [variables](ServerClient::variables) of the client.
    pub variables: BTreeMap<&'static str, PathBuf>,
}

/// Operating systems with different application directories.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum System {
    /// Linux, and other systems with the directories of XDG.
    #[default]
    Linux,
    /// macOS.
    MacOs,
    /// Windows.
    Windows,
}

impl System {
    /// Returns the system that this program was compiled for.
    #[must_use]
    pub fn host() -> Self {
        match std::env::consts::OS {
            "macos" => Self::MacOs,
            "windows" => Self::Windows,
            _ => Self::Linux,
        }
    }
}

/// Returns the files that a client reads its servers from, the preferred one first. Empty if their
/// parent directory is unknown, or if the client has no such file.
pub(crate) fn config_paths(
    client: ServerClient,
    scope: ConfigScope,
    surroundings: &ClientEnvironment,
) -> Vec<PathBuf> {
    let client = client.row;
    match scope {
        ConfigScope::User => {
            let locations = client.user_config.iter();
            locations
                .filter_map(|location| user_path(location, surroundings))
                .collect()
        }
        ConfigScope::Project => {
            let project = surroundings.project.iter();
            project
                .flat_map(|project| client.project_config.iter().map(|path| project.join(path)))
                .collect()
        }
    }
}

fn user_path(location: &ConfigFile, surroundings: &ClientEnvironment) -> Option<PathBuf> {
    for (variable, path) in location.variables {
        match surroundings.variables.get(variable) {
            // Joining an empty path would add a separator.
            Some(file) if path.is_empty() => return Some(file.clone()),
            Some(directory) => return Some(directory.join(path)),
            None => {}
        }
    }
    let home = surroundings.home.as_deref();
    if let (System::Windows, Some(path)) = (surroundings.system, location.windows) {
        let directory = directory_or(surroundings.app_data.as_deref(), home, "AppData/Roaming")?;
        return Some(directory.join(path));
    }
    let config = surroundings.config.as_deref();
    let directory = match (location.base, surroundings.system) {
        (ConfigBase::Home, _) => home?.to_owned(),
        (ConfigBase::Applications, System::MacOs) => home?.join("Library/Application Support"),
        (ConfigBase::Applications, System::Windows) => {
            directory_or(surroundings.app_data.as_deref(), home, "AppData/Roaming")?
        }
        _ => directory_or(config, home, ".config")?,
    };
    Some(directory.join(location.path))
}

/// Returns a directory that a variable names, else the one at this path of the home directory.
fn directory_or(named: Option<&Path>, home: Option<&Path>, path: &str) -> Option<PathBuf> {
    named.map(Path::to_owned).or_else(|| Some(home?.join(path)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(scope: ConfigScope, surroundings: &ClientEnvironment) -> String {
        let one = |client: &ServerClient| {
            let paths = config_paths(*client, scope, surroundings);
            let paths: Vec<_> = paths
                .iter()
                .map(|path| path.display().to_string())
                .collect();
            if paths.is_empty() {
                "nowhere".to_owned()
            } else {
                paths.join(", ")
            }
        };
        ServerClient::all()
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
        insta::assert_snapshot!(all(ConfigScope::User, &plain), @"
        Claude Code: /home/a/.claude.json
        Codex: /home/a/.codex/config.toml
        Copilot CLI: /home/a/.copilot/mcp-config.json
        Gemini CLI: /home/a/.gemini/settings.json
        Antigravity CLI: /home/a/.gemini/config/mcp_config.json
        Cursor: /home/a/.cursor/mcp.json
        opencode: /home/a/.config/opencode/opencode.json, /home/a/.config/opencode/opencode.jsonc
        Goose: /home/a/.config/goose/config.yaml
        Windsurf: /home/a/.codeium/windsurf/mcp_config.json
        Kilo: /home/a/.config/kilo/kilo.jsonc, /home/a/.config/kilo/kilo.json
        Kiro: /home/a/.kiro/settings/mcp.json
        Qwen Code: /home/a/.qwen/settings.json
        VS Code: /home/a/.config/Code/User/mcp.json
        Claude Desktop: /home/a/.config/Claude/claude_desktop_config.json
        Zed: /home/a/.config/zed/settings.json
        Cline: /home/a/.cline/data/settings/cline_mcp_settings.json
        ");
        insta::assert_snapshot!(all(ConfigScope::Project, &plain), @"
        Claude Code: /p/.mcp.json
        Codex: /p/.codex/config.toml
        Copilot CLI: /p/.github/mcp.json
        Gemini CLI: /p/.gemini/settings.json
        Antigravity CLI: /p/.agents/mcp_config.json
        Cursor: /p/.cursor/mcp.json
        opencode: /p/opencode.json, /p/opencode.jsonc
        Goose: nowhere
        Windsurf: nowhere
        Kilo: /p/.kilo/kilo.jsonc, /p/.kilo/kilo.json, /p/kilo.jsonc, /p/kilo.json
        Kiro: /p/.kiro/settings/mcp.json
        Qwen Code: /p/.qwen/settings.json
        VS Code: /p/.vscode/mcp.json
        Claude Desktop: nowhere
        Zed: /p/.zed/settings.json
        Cline: nowhere
        ");
    }

    /// A program that may write a project or a home directory cannot change what a registration
    /// wrote there.
    #[test]
    fn every_configuration_file_is_protected() {
        use skills_policy::innermost_protected_name;
        for system in [System::Linux, System::MacOs, System::Windows] {
            let surroundings = ClientEnvironment {
                system,
                home: Some("/home/a".into()),
                project: Some("/p".into()),
                ..ClientEnvironment::default()
            };
            for client in ServerClient::all() {
                let user = config_paths(client, ConfigScope::User, &surroundings);
                let project = config_paths(client, ConfigScope::Project, &surroundings);
                let user = user.iter().map(|path| (path, "/home/a"));
                for (path, top) in user.chain(project.iter().map(|path| (path, "/p"))) {
                    let protected = innermost_protected_name(path, top.as_ref());
                    assert!(protected.is_some(), "{}: {path:?}", client.title());
                }
            }
        }
    }

    #[test]
    fn paths_depend_on_variables_and_system() {
        let mut moved = ClientEnvironment {
            config: Some("/conf".into()),
            ..ClientEnvironment::default()
        };
        for variable in ServerClient::all()
            .into_iter()
            .flat_map(ServerClient::variables)
        {
            let path = PathBuf::from("/").join(variable);
            moved.variables.insert(variable, path);
        }
        insta::assert_snapshot!(all(ConfigScope::User, &moved), @"
        Claude Code: /CLAUDE_CONFIG_DIR/.claude.json
        Codex: /CODEX_HOME/config.toml
        Copilot CLI: /COPILOT_HOME/mcp-config.json
        Gemini CLI: /GEMINI_CLI_HOME/.gemini/settings.json
        Antigravity CLI: nowhere
        Cursor: nowhere
        opencode: /conf/opencode/opencode.json, /conf/opencode/opencode.jsonc
        Goose: /conf/goose/config.yaml
        Windsurf: nowhere
        Kilo: /conf/kilo/kilo.jsonc, /conf/kilo/kilo.json
        Kiro: nowhere
        Qwen Code: nowhere
        VS Code: /conf/Code/User/mcp.json
        Claude Desktop: /conf/Claude/claude_desktop_config.json
        Zed: /conf/zed/settings.json
        Cline: /CLINE_MCP_SETTINGS_PATH
        ");
        assert_eq!(
            all(ConfigScope::Project, &moved).matches("nowhere").count(),
            ServerClient::all().len()
        );
        let on = |system, app_data: Option<&str>| {
            let surroundings = ClientEnvironment {
                system,
                home: Some("/h".into()),
                app_data: app_data.map(Into::into),
                ..ClientEnvironment::default()
            };
            ["vscode", "claude-desktop", "zed", "goose"]
                .iter()
                .filter_map(|name| ServerClient::from_name(name))
                .flat_map(|client| config_paths(client, ConfigScope::User, &surroundings))
                .map(|path| path.display().to_string() + "\n")
                .collect::<String>()
        };
        insta::assert_snapshot!(on(System::MacOs, None), @"
        /h/Library/Application Support/Code/User/mcp.json
        /h/Library/Application Support/Claude/claude_desktop_config.json
        /h/.config/zed/settings.json
        /h/.config/goose/config.yaml
        ");
        insta::assert_snapshot!(on(System::Windows, Some("/roaming")), @"
        /roaming/Code/User/mcp.json
        /roaming/Claude/claude_desktop_config.json
        /roaming/Zed/settings.json
        /roaming/Block/goose/config/config.yaml
        ");
        assert!(on(System::Windows, None).starts_with("/h/AppData/Roaming/Code/User/mcp.json\n"));
    }
}
