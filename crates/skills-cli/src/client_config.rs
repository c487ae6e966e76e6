//! The clients that have a configuration, and the part of the environment that moves it.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use skills_client_config::{ClientEnvironment, ServerClient, System};

use crate::process_environment::Environment;

/// Returns the parser of a client's name.
pub(crate) fn client_parser() -> impl TypedValueParser<Value = ServerClient> {
    let clients = ServerClient::all().into_iter();
    let names = clients.map(|client| PossibleValue::new(client.as_str()).help(client.full_name()));
    PossibleValuesParser::new(names)
        .try_map(|name| ServerClient::from_name(&name).ok_or("unknown client"))
}

/// Reads the environment for a client. Empty and relative values are ignored: they would depend on
/// the working directory of the client.
pub(crate) fn client_environment(
    client: ServerClient,
    environment: &Environment,
) -> ClientEnvironment {
    let project = environment.project_dirs().iter();
    ClientEnvironment {
        system: System::host(),
        home: environment.home().map(Into::into),
        // The outermost directory is the root of the project, which is where clients look.
        project: project
            .min_by_key(|directory| directory.components().count())
            .cloned(),
        config: environment.path("XDG_CONFIG_HOME"),
        app_data: environment.path("APPDATA"),
        variables: client
            .variables()
            .filter_map(|name| Some((name, environment.path(name)?)))
            .collect(),
    }
}
