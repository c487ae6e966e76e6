//! `skills build`.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use skills_build::Language;

/// Compile a skill's source to WebAssembly
///
/// The source lies in the skill's `guest` directory and becomes `wasm/skill.wasm`: Rust (Cargo.toml), JavaScript or TypeScript (main, index or
/// skill with .js, .mjs or .ts), C (*.c) or Python (app.py or main.py). Beside it, artifact.lock says what it was built from; when nothing changed,
/// nothing is done. Building runs compilers, build scripts and packages with your rights and outside any sandbox: build what you wrote or read.
#[derive(Debug, Args)]
pub(crate) struct Build {
    /// Directory of the skill; one without `guest` is a source itself
    pub(crate) path: PathBuf,

    /// The language, when there is source in several
    #[arg(long, value_name = "LANGUAGE", value_parser = language())]
    pub(crate) lang: Option<Language>,

    /// Change nothing: build elsewhere and compare the bytes; for JavaScript and Python, whose bytes differ each time, compare the source
    #[arg(long, conflicts_with = "force")]
    pub(crate) check: bool,

    /// Build even when nothing changed
    #[arg(long)]
    pub(crate) force: bool,

    /// Get tools that are missing, with rustup, npm or pip; each command is shown before it is started
    #[arg(long)]
    pub(crate) install: bool,

    /// Directory of tools to look in before the PATH, and to install into [default: skills/tools in the cache directory]
    #[arg(long, value_name = "DIR")]
    pub(crate) tools: Option<PathBuf>,

    /// Where the artifact goes [default: wasm/skill.wasm of the skill]
    #[arg(long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

/// Reads the name of a language; shells complete it.
pub(crate) fn language() -> impl TypedValueParser<Value = Language> {
    PossibleValuesParser::new(Language::ALL.map(Language::as_str)).try_map(|name| name.parse::<Language>())
}
