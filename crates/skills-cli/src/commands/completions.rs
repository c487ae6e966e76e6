//! `skills completions SHELL`: generates shell completions.

use clap::Args;

use crate::context::Context;
use crate::exit::Exit;

/// Generate shell completions
#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// Shell to generate completions for
    #[arg(value_enum)]
    shell: clap_complete::Shell,
}

impl Completions {
    /// Prints a script with which a shell completes subcommands and options.
    pub(crate) fn run(&self, context: &Context) -> anyhow::Result<Exit> {
        let mut script = Vec::new();
        let mut command = (context.command_line)();
        clap_complete::generate(self.shell, &mut command, "skills", &mut script);
        context.output.text(&String::from_utf8_lossy(&script))?;
        Ok(Exit::Success)
    }
}
