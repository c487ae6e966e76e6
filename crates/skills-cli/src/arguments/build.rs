//! `skills build`.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use skills_build::Language;

#[derive(Debug, Args)]
pub(crate) struct Build {
    /// Directory of the skill; one without `guest` is a source itself
    pub(crate) path: PathBuf,

    /// The language, when there is source in several
    #[arg(long, value_name = "LANGUAGE", value_parser = language_parser())]
    pub(crate) lang: Option<Language>,

    /// Change nothing: build elsewhere and compare the bytes; for JavaScript and Python, whose
    /// bytes differ each time, compare the source
    #[arg(long, conflicts_with = "force")]
    pub(crate) check: bool,

    /// Build even when nothing changed
    #[arg(long)]
    pub(crate) force: bool,

    /// Get tools that are missing, with rustup, npm or pip; each command is shown before it is
    /// started
    #[arg(long)]
    pub(crate) install: bool,

    /// Directory of tools to look in before the PATH, and to install into [default: skills/tools in
    /// the cache directory]
    #[arg(long, value_name = "DIR")]
    pub(crate) tools: Option<PathBuf>,

    /// Where the artifact goes [default: wasm/skill.wasm of the skill]
    #[arg(long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

/// Reads the name of a language; shells complete it.
pub(crate) fn language_parser() -> impl TypedValueParser<Value = Language> {
    PossibleValuesParser::new(Language::ALL.map(Language::as_str))
        .try_map(|name| name.parse::<Language>())
}
