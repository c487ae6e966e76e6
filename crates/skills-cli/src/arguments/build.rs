//! Arguments of `skills build`.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use skills_build::Language;

#[derive(Debug, Args)]
pub(crate) struct Build {
    /// Skill directory; without `guest`, the source itself
    pub(crate) path: PathBuf,

    /// Language, if there is source in several
    #[arg(long, value_name = "LANGUAGE", value_parser = language_parser())]
    pub(crate) lang: Option<Language>,

    /// Check that the artifact matches its source, without changing it
    ///
    /// Builds in a temporary directory and compares the bytes. JavaScript and Python modules differ
    /// on each build, so their source is compared instead.
    #[arg(long, conflicts_with = "force")]
    pub(crate) check: bool,

    /// Build even if the artifact is up to date
    #[arg(long)]
    pub(crate) force: bool,

    /// Install missing tools with rustup, npm or pip
    ///
    /// Prints each command before it is started.
    #[arg(long)]
    pub(crate) install: bool,

    /// Directory of tools [default: skills/tools in the cache directory]
    ///
    /// Searched before PATH, and the target of --install.
    #[arg(long, value_name = "DIR")]
    pub(crate) tools: Option<PathBuf>,

    /// Path of the artifact [default: wasm/skill.wasm of the skill]
    #[arg(long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

/// Parses the name of a language, with shell completion.
pub(crate) fn language_parser() -> impl TypedValueParser<Value = Language> {
    PossibleValuesParser::new(Language::ALL.map(Language::as_str))
        .try_map(|name| name.parse::<Language>())
}
