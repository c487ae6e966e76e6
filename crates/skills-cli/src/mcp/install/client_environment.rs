//! What this process knows of where it runs.
#![expect(
    clippy::disallowed_methods,
    reason = "this crate is where the environment is read"
)]

use std::env;
use std::path::PathBuf;

use super::config_path::{ClientEnvironment, System};
use crate::input::InputError;

/// Reads the environment. Empty and relative values are mistakes, and count for nothing.
pub(crate) fn client_environment() -> ClientEnvironment {
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
            .min_by_key(|directory| directory.components().count()),
        claude: set("CLAUDE_CONFIG_DIR"),
        codex: set("CODEX_HOME"),
        gemini: set("GEMINI_CLI_HOME"),
        config: set("XDG_CONFIG_HOME"),
        app_data: set("APPDATA"),
    }
}

/// Returns the path of this program, as clients start it.
///
/// # Errors
/// When there is no program any more, as after an update of the one that runs, or when its path
/// cannot be written into a text file.
pub(crate) fn current_program() -> anyhow::Result<String> {
    let path = env::current_exe()?;
    if !path.is_absolute() || !path.is_file() {
        anyhow::bail!(
            "{} is not there any more: start the new `skills` again",
            path.display()
        );
    }
    path.into_os_string().into_string().map_err(|path| {
        let message = format!(
            "{} is no Unicode text, which files of clients are: install this program elsewhere",
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
