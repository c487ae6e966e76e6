//! `skills completions SHELL`: generates shell completions.

use clap::CommandFactory;

use crate::arguments::{Arguments, Completions};
use crate::exit::Exit;
use crate::output::Output;

/// Prints a script with which a shell completes subcommands and options.
pub(crate) fn completions(arguments: &Completions, output: &Output) -> anyhow::Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(
        arguments.shell,
        &mut Arguments::command(),
        "skills",
        &mut script,
    );
    output.text(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Success)
}
