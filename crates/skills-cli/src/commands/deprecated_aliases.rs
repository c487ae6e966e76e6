//! Former spellings of commands. They are hidden, and do exactly what the new ones do.

use clap::Subcommand;

use super::compat::{ReadProperties, ToPrompt};
use super::prompt::{detect::Detect, load::Load, mentions::Mentions};
use super::wasm::Precompile;
use super::{list, show};
use crate::context::Context;
use crate::deferred::Deferred;
use crate::exit::Exit;

#[derive(Debug, Subcommand)]
pub(crate) enum FormerCommand {
    /// Former `skills list --roots`
    #[command(hide = true)]
    Roots,
    /// Former `skills show --why`
    #[command(hide = true)]
    Explain {
        /// Skill name, directory or SKILL.md file
        #[arg(value_name = "NAME|PATH")]
        query: String,
    },
    /// Former `skills prompt load`
    #[command(hide = true)]
    Load(Deferred<Load>),
    /// Former `skills prompt mentions`
    #[command(hide = true)]
    Mentions(Deferred<Mentions>),
    /// Former `skills prompt detect`
    #[command(hide = true)]
    Detect(Deferred<Detect>),
    /// Former `skills compat read-properties`
    #[command(hide = true)]
    ReadProperties(Deferred<ReadProperties>),
    /// Former `skills compat to-prompt`
    #[command(hide = true)]
    ToPrompt(Deferred<ToPrompt>),
    /// Former `skills wasm precompile`
    #[command(hide = true)]
    Precompile(Deferred<Precompile>),
}

impl FormerCommand {
    pub(crate) fn run(&self, context: &Context) -> anyhow::Result<Exit> {
        match self {
            Self::Roots => list::roots::print_roots(context),
            Self::Explain { query } => show::explanation::explain(query, context),
            Self::Load(load) => load.run(context),
            Self::Mentions(mentions) => mentions.run(context),
            Self::Detect(detect) => detect.run(context),
            Self::ReadProperties(read) => read.run(context),
            Self::ToPrompt(prompt) => prompt.run(context),
            Self::Precompile(precompile) => precompile.run(context),
        }
    }
}
