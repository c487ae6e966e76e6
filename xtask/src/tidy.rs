//! Checks the workspace against the architecture rules.

mod crates;
mod cycles;
mod exceptions;
mod files;
mod impl_files;
mod measure;
mod members;
mod module;
mod public_types;
mod resolve;
mod source;
mod token;
mod translations;

use anyhow::{Result, bail};

use crate::command::workspace_dir;

pub(crate) use members::members;

pub(crate) fn tidy() -> Result<()> {
    let members = members()?;
    let sources = source::read(&members)?;
    // All problems are collected, so that one run shows them.
    let mut problems = Vec::new();
    for (member, sources) in members.iter().zip(&sources) {
        problems.extend(crates::problems(member, sources));
    }
    problems.extend(impl_files::problems(&sources));
    problems.extend(cycles::problems(&sources));
    problems.extend(public_types::problems(&sources));
    problems.extend(files::problems()?);
    problems.extend(translations::problems(&workspace_dir())?);
    if problems.is_empty() {
        eprintln!("tidy: no problems");
        return Ok(());
    }
    bail!("tidy: problems found\n  {}", problems.join("\n  "))
}

/// Prints the measures of the crates below `crates`, without examples and this tool.
pub(crate) fn measure() -> Result<()> {
    let directory = workspace_dir().join("crates");
    let mut members = members()?;
    members.retain(|member| member.roots.iter().all(|root| root.starts_with(&directory)));
    members.sort_by(|a, b| a.name.cmp(&b.name));
    print!("{}", measure::table(&source::read(&members)?));
    Ok(())
}
