//! One row of the table.

use crate::server_format::ServerFormat;

/// Where one client keeps skills and configuration. All paths are relative and separated by `/`.
#[derive(Debug)]
#[non_exhaustive]
pub struct Client {
    /// Name in options and JSON output.
    pub id: &'static str,
    /// Product name.
    pub title: &'static str,
    /// The full product name, if the title is a short form.
    pub full_name: Option<&'static str>,
    /// Its own roots of skills.
    pub roots: &'static [Root],
    /// The roots that it scans, those of other clients included; empty if that is not known. The
    /// order matters where a client lets the first or the last root win. Codex keeps all skills, so
    /// there it only decides which root a directory belongs to.
    pub scanned: &'static [Root],
    /// The user's configuration of MCP servers. The first file that exists is used, else the first.
    pub user_config: &'static [ConfigFile],
    /// The project's configuration of MCP servers, below its root, in the same order.
    pub project_config: &'static [&'static str],
    /// Further files and directories with settings, hooks, instructions or state, in a project or in
    /// a home directory.
    pub settings: &'static [&'static str],
    /// The name that it tells its MCP servers, or how that begins; `None` if nothing depends on it.
    pub mcp_name: Option<&'static str>,
    /// How many characters of the text of a result its model sees; `None` if that is not known or not
    /// limited.
    pub max_result_chars: Option<usize>,
    /// How it stores its MCP servers; `None` if that is not known.
    pub servers: Option<ServerFormat>,
}

/// A directory with skills.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Root {
    /// The directory that the path is relative to.
    pub base: RootBase,
    /// The path below it.
    pub path: &'static str,
    /// Whose skills they are.
    pub scope: RootScope,
}

/// The directory that a root is relative to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RootBase {
    /// Each directory of the project, from the working directory up to the root.
    ProjectUpwards,
    /// Each directory of the project, from the root down to the working directory.
    ProjectDownwards,
    /// The working directory.
    Working,
    /// The home directory.
    Home,
    /// `CODEX_HOME`, or `~/.codex`.
    Codex,
    /// `CLAUDE_CONFIG_DIR`, or `~/.claude`.
    Claude,
    /// `XDG_CONFIG_HOME`, or `~/.config`.
    XdgConfig,
    /// `OPENCLAW_STATE_DIR`, or `~/.openclaw`.
    OpenClaw,
    /// Each directory of `COPILOT_SKILLS_DIRS`.
    Copilot,
    /// The root of the file system.
    FileSystemRoot,
    /// The roots of plugins, which only the host knows.
    Plugins,
}

/// Whose skills a root has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RootScope {
    /// A repository.
    Repo,
    /// The user.
    User,
    /// The client itself.
    System,
    /// The administrator.
    Admin,
}

/// A configuration file of the user.
#[derive(Debug)]
pub struct ConfigFile {
    /// Variables that name a directory, or the file if the path below it is empty. The first that
    /// is set is used.
    pub variables: &'static [(&'static str, &'static str)],
    /// The directory if no variable is set.
    pub base: ConfigBase,
    /// Path below that directory.
    pub path: &'static str,
    /// Path below `%APPDATA%`, if the client uses that on Windows instead.
    pub windows: Option<&'static str>,
}

/// A directory of the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConfigBase {
    /// The home directory.
    Home,
    /// `$XDG_CONFIG_HOME`, else `~/.config`, on every system.
    Config,
    /// The configuration directory of desktop applications.
    Applications,
}

/// Directories in which each program has an entry of its own.
const SHARED_DIRECTORIES: [&str; 4] = [
    ".config",
    ".github",
    "AppData/Roaming",
    "Library/Application Support",
];

impl ConfigBase {
    /// Returns its paths below a home directory, of all systems.
    fn directories(self) -> &'static [&'static str] {
        match self {
            Self::Home => &[""],
            Self::Config => &[".config"],
            Self::Applications => &[".config", "AppData/Roaming", "Library/Application Support"],
        }
    }
}

impl RootBase {
    /// Returns its default path in a project or a home directory; `None` if it has none.
    fn directory(self) -> Option<&'static str> {
        match self {
            Self::ProjectUpwards | Self::ProjectDownwards | Self::Working | Self::Home => Some(""),
            Self::Codex => Some(".codex"),
            Self::Claude => Some(".claude"),
            Self::XdgConfig => Some(".config"),
            Self::OpenClaw => Some(".openclaw"),
            Self::Copilot | Self::FileSystemRoot | Self::Plugins => None,
        }
    }
}

impl Root {
    /// Returns the path in a project or a home directory that belongs to the client as a whole.
    /// Returns `None` for a directory that only its path in a host identifies, such as `skills`.
    pub(crate) fn protected_path(&self) -> Option<String> {
        let path = own_part(&join(self.base.directory()?, self.path));
        path.starts_with('.').then_some(path)
    }
}

impl Client {
    /// A client of which nothing is known.
    pub(crate) const EMPTY: Self = Self {
        id: "",
        title: "",
        full_name: None,
        roots: &[],
        scanned: &[],
        user_config: &[],
        project_config: &[],
        settings: &[],
        mcp_name: None,
        max_result_chars: None,
        servers: None,
    };

    /// Returns the paths in a project or a home directory that belong to the client, on any system.
    pub fn protected_paths(&self) -> impl Iterator<Item = String> {
        let roots = self.roots.iter().filter_map(Root::protected_path);
        let user = self.user_config.iter().flat_map(|file| {
            let in_home = file.base.directories().iter();
            let in_home = in_home.map(|directory| join(directory, file.path));
            let on_windows = file.windows.map(|path| join("AppData/Roaming", path));
            in_home.chain(on_windows)
        });
        let project = self.project_config.iter().map(|path| (*path).to_owned());
        let settings = self.settings.iter().map(|path| (*path).to_owned());
        roots
            .chain(user.chain(project).map(|path| own_part(&path)))
            .chain(settings)
    }
}

fn join(directory: &str, path: &str) -> String {
    match directory {
        "" => path.to_owned(),
        directory => format!("{directory}/{path}"),
    }
}

/// Returns the part of a path that no other program shares: its first component, or the first one
/// in a shared directory.
fn own_part(path: &str) -> String {
    let shared = SHARED_DIRECTORIES.iter().find_map(|shared| {
        let below = path.strip_prefix(shared)?.strip_prefix('/')?;
        Some((*shared, below))
    });
    match shared {
        Some((shared, below)) => join(shared, first_component(below)),
        None => first_component(path).to_owned(),
    }
}

fn first_component(path: &str) -> &str {
    path.split('/').next().unwrap_or(path)
}
