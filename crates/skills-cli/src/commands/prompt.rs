//! `skills prompt`: what a model reads about skills, and what it reads or runs of them.

pub(crate) mod detect;
mod fork;
mod list;
pub(crate) mod load;
pub(crate) mod mentions;
mod turn;

use clap::{Args, Subcommand};

use crate::context::Context;
use crate::error::CommandError;
use crate::exit::Exit;

/// Print what a model reads about skills
///
/// Without a subcommand, prints the skills section of a prompt, like `skills prompt list`.
#[derive(Debug, Args)]
pub(crate) struct Prompt {
    #[command(flatten)]
    list: list::SkillsSection,

    #[command(subcommand)]
    command: Option<PromptCommand>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PromptCommand {
    List(list::SkillsSection),
    Load(load::Load),
    Fork(fork::Fork),
    Mentions(mentions::Mentions),
    Detect(detect::Detect),
    Turn(turn::Turn),
}

impl Prompt {
    pub(crate) fn run(&self, context: &Context) -> anyhow::Result<Exit> {
        let Some(command) = &self.command else {
            return self.list.run(context);
        };
        if self.list != list::SkillsSection::default() {
            let message = "options of the skills section conflict with a subcommand";
            let help = "pass them to `skills prompt` or `skills prompt list`";
            return Err(CommandError::input(message).with_help(help).into());
        }
        match command {
            PromptCommand::List(list) => list.run(context),
            PromptCommand::Load(load) => load.run(context),
            PromptCommand::Fork(fork) => fork.run(context),
            PromptCommand::Mentions(mentions) => mentions.run(context),
            PromptCommand::Detect(detect) => detect.run(context),
            PromptCommand::Turn(turn) => turn.run(context),
        }
    }
}
