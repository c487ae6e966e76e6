//! `skills deps`: the packages that skills declare.

mod gc;
mod install;
mod mentioned;
mod opened;
mod plan;
mod status;

use clap::{Args, Subcommand};

use crate::context::Context;
use crate::exit::Exit;

/// Plan, install and remove the packages that skills declare
///
/// Packages are declared by pyproject.toml, requirements.txt, package.json, the script block of a
/// Python script, and the frontmatter. What an interpreter has already is used. Everything else is
/// installed in an environment outside of the skill, once you agree: here, or when the skill runs.
#[derive(Debug, Args)]
pub(crate) struct Deps {
    #[command(subcommand)]
    command: DepsCommand,
}

#[derive(Debug, Subcommand)]
enum DepsCommand {
    Plan(plan::Plan),
    Install(install::Install),
    Status(status::Status),
    Gc(gc::Gc),
}

impl Deps {
    pub(crate) fn run(&self, context: &Context) -> anyhow::Result<Exit> {
        match &self.command {
            DepsCommand::Plan(plan) => plan.run(context),
            DepsCommand::Install(install) => install.run(context),
            DepsCommand::Status(status) => status.run(context),
            DepsCommand::Gc(gc) => gc.run(context),
        }
    }
}
