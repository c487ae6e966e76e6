//! Environment variables and directories that determine where clients keep their configuration.

use std::env;

use super::client::Client;
use super::config_path::{ClientEnvironment, System};
use crate::error::CommandError;
use crate::process_environment::Environment;

/// Reads the environment for a client. Empty and relative values are ignored: they would depend on the working
/// directory of the client.
pub(super) fn client_environment(client: Client, environment: &Environment) -> ClientEnvironment {
    let project = environment.project_dirs().into_iter();
    ClientEnvironment {
        system: host_system(),
        home: environment.home().map(Into::into),
        // The outermost directory is the root of the project, which is where clients look.
        project: project.min_by_key(|directory| directory.components().count()),
        config: environment.path("XDG_CONFIG_HOME"),
        app_data: environment.path("APPDATA"),
        variables: client
            .spec()
            .client
            .user_config
            .iter()
            .flat_map(|location| location.variables)
            .filter_map(|(name, _)| Some((*name, environment.path(name)?)))
            .collect(),
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
        let path = path.display();
        anyhow::bail!("`{path}` no longer exists: start the new `skills` again");
    }
    path.into_os_string().into_string().map_err(|path| {
        let message = format!(
            "cannot register `{}`: the path is not valid Unicode; install this program elsewhere",
            path.display()
        );
        CommandError::input(message).into()
    })
}

fn host_system() -> System {
    match env::consts::OS {
        "macos" => System::MacOs,
        "windows" => System::Windows,
        _ => System::Linux,
    }
}
