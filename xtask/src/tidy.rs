//! Checks the workspace against the architecture rules.

mod crates;
mod files;
mod members;
mod translations;

use anyhow::{Result, bail};

use crate::command::workspace_dir;

pub(crate) use members::members;

pub(crate) fn tidy() -> Result<()> {
    // All problems are collected, so that one run shows them.
    let mut problems: Vec<String> = members()?.iter().flat_map(crates::problems).collect();
    problems.extend(files::problems()?);
    problems.extend(translations::problems(&workspace_dir())?);
    if problems.is_empty() {
        eprintln!("tidy: no problems");
        return Ok(());
    }
    bail!("tidy: problems found\n  {}", problems.join("\n  "))
}
