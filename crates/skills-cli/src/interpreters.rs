//! Which interpreters run scripts.

use skills_runtime::Builder;

use crate::arguments::{Chosen, Command};
#[cfg(unix)]
use crate::search_path;

/// Lets scripts run by the interpreters that the command line names, else by those of the system,
/// else by those on the `PATH`.
#[cfg(unix)]
pub(crate) fn choose(builder: Builder, command: &Command) -> anyhow::Result<Builder> {
    use skills_runtime::Interpreters;

    let mut interpreters = Interpreters::default().also_in(search_path::trusted());
    for Chosen { kind, path } in chosen(command) {
        // Symlinks stay: a virtual environment is known by the name that leads to its Python.
        interpreters = interpreters.interpreter(*kind, std::path::absolute(path)?);
    }
    Ok(builder.interpreters(interpreters))
}

/// No scripts run on other systems.
#[cfg(not(unix))]
pub(crate) fn choose(builder: Builder, command: &Command) -> anyhow::Result<Builder> {
    let _: &[Chosen] = chosen(command);
    Ok(builder)
}

fn chosen(command: &Command) -> &[Chosen] {
    match command {
        Command::Run(run) => &run.interpreter,
        _ => &[],
    }
}
