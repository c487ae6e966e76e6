//! Environment variables and directories that determine where clients keep their configuration.
#![expect(
    clippy::disallowed_methods,
    reason = "this crate is where the environment is read"
)]

use std::env;
use std::path::PathBuf;

use super::config_path::{ClientEnvironment, System};
use crate::input::InputError;

/// Reads the environment. Empty and relative values are ignored.
pub(crate) fn client_environment() -> ClientEnvironment {
    // A relative path would depend on the working directory of the client.
    let set = |name| {
        env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    ClientEnvironment {
        system: host_system(),
        home: env::home_dir().filter(|home| home.is_absolute()),
        project: crate::discovery_config::project_dirs()
            .into_iter()
            // The outermost directory is the root of the project, which is where clients look.
            .min_by_key(|directory| directory.components().count()),
        claude: set("CLAUDE_CONFIG_DIR"),
        codex: set("CODEX_HOME"),
        gemini: set("GEMINI_CLI_HOME"),
        config: set("XDG_CONFIG_HOME"),
        app_data: set("APPDATA"),
    }
}

/// Returns the absolute path of this program, for the client's configuration.
///
/// # Errors
/// Fails if the program no longer exists, as after an update, or if its path is not valid Unicode.
pub(crate) fn current_program() -> anyhow::Result<String> {
    let path = env::current_exe()?;
    // On Linux the path of a deleted program ends with ` (deleted)`.
    if !path.is_absolute() || !path.is_file() {
        anyhow::bail!(
            "`{}` no longer exists: start the new `skills` again",
            path.display()
        );
    }
    path.into_os_string().into_string().map_err(|path| {
        let message = format!(
            "cannot register `{}`: the path is not valid Unicode; install this program elsewhere",
            path.display()
        );
        InputError::new(message).into()
    })
}

fn host_system() -> System {
    match env::consts::OS {
        "macos" => System::MacOs,
        "windows" => System::Windows,
        _ => System::Linux,
    }
}
