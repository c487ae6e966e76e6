//! `skills build PATH`: compiles a skill's source to WebAssembly.

#[cfg(feature = "build")]
mod artifact;

use std::path::PathBuf;

use clap::Args;
#[cfg(feature = "build")]
use skills_build::Language;

/// Compile a skill's source to WebAssembly
///
/// Compiles the source in the skill's `guest` directory to `wasm/skill.wasm`: Rust
/// (Cargo.toml), JavaScript or TypeScript (main, index or skill with .js, .mjs or .ts), C (*.c)
/// or Python (app.py or main.py). The file artifact.lock next to the module records what it was
/// built from; an artifact that is up to date is not rebuilt. Compilers, build scripts and
/// packages run with your privileges and outside any sandbox, so build only source that you
/// trust.
#[derive(Debug, Args)]
pub(crate) struct Build {
    /// Skill directory; without `guest`, the source itself
    path: PathBuf,

    /// Language, if there is source in several
    #[arg(long, value_name = "LANGUAGE", value_parser = language_parser())]
    lang: Option<String>,

    /// Check that the artifact matches its source, without changing it
    ///
    /// Builds in a temporary directory and compares the bytes. JavaScript and Python modules differ
    /// on each build, so their source is compared instead.
    #[arg(long, conflicts_with = "force")]
    check: bool,

    /// Build even if the artifact is up to date
    #[arg(long)]
    force: bool,

    /// Install missing tools with rustup, npm or pip
    ///
    /// Prints each command before it is started.
    #[arg(long)]
    install: bool,

    /// Directory of tools [default: skills/tools in the cache directory]
    ///
    /// Searched before PATH, and the target of --install.
    #[arg(long, value_name = "DIR")]
    tools: Option<PathBuf>,

    /// Path of the artifact [default: wasm/skill.wasm of the skill]
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Parses the name of a language, with shell completion.
#[cfg(feature = "build")]
pub(crate) fn language_parser() -> clap::builder::PossibleValuesParser {
    clap::builder::PossibleValuesParser::new(Language::ALL.map(Language::as_str))
}

/// Returns paths and texts of a program in a language.
#[cfg(feature = "build")]
pub(crate) fn template_files(language: &str) -> anyhow::Result<Vec<(&'static str, &'static str)>> {
    Ok(skills_build::template(language.parse()?).into())
}

#[cfg(not(feature = "build"))]
pub(crate) use without_build::{language_parser, template_files};

/// What is left without the feature.
#[cfg(not(feature = "build"))]
mod without_build {
    use super::Build;
    use crate::context::Context;
    use crate::error::CommandError;
    use crate::exit::Exit;

    impl Build {
        pub(crate) fn run(&self, _context: &Context) -> anyhow::Result<Exit> {
            Err(missing().into())
        }
    }

    pub(crate) fn language_parser() -> clap::builder::NonEmptyStringValueParser {
        clap::builder::NonEmptyStringValueParser::new()
    }

    pub(crate) fn template_files(
        _language: &str,
    ) -> anyhow::Result<Vec<(&'static str, &'static str)>> {
        Err(missing().into())
    }

    fn missing() -> CommandError {
        CommandError::missing_feature("support for building skills", "build")
    }
}
