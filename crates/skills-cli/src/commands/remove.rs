//! `skills remove`: removes installed skills and their entries in the lock file.

use clap::Args;
use serde_json::json;
use skills_install::LocalEdits;

use crate::context::Context;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::install::{
    SourceMemory, Target, failed, open_store, parse_target, reject_frozen, select_locked,
};
use crate::output::line;

/// Remove installed skills
///
/// Removes skills that skills.lock lists, with their files and entries. Other skills are not
/// touched.
#[derive(Debug, Args)]
pub(crate) struct Remove {
    /// Skills to remove
    #[arg(value_name = "NAME", required = true)]
    names: Vec<String>,

    /// Remove from this directory [default: the only directory with the skill]
    #[arg(long = "in", value_name = "project|user|DIR", value_parser = parse_target)]
    target: Option<Target>,

    /// Also remove skills that were edited since they were installed; the edits are lost
    #[arg(long)]
    theirs: bool,
}

impl Remove {
    pub(crate) fn run(&self, context: &Context) -> anyhow::Result<Exit> {
        reject_frozen(context)?;
        let selected = select_locked(&self.names, self.target.as_ref(), context)?;
        for name in &self.names {
            let places = selected.iter().filter(|(_, names)| names.contains(name));
            if places.count() > 1 {
                let message = format!("skill `{name}` is installed in several directories");
                return Err(CommandError::input(message)
                    .with_help("choose one with `--in project`, `--in user` or `--in DIR`")
                    .into());
            }
        }
        let edits = if self.theirs {
            LocalEdits::Theirs
        } else {
            LocalEdits::Refuse
        };
        let mut removed = Vec::new();
        for (directory, names) in selected {
            if names.is_empty() {
                continue;
            }
            let mut store = open_store(&directory, context)?;
            let memory = SourceMemory::new(context);
            memory.change(|known| store.remember_locked(&names, known))?;
            store.remove(&names, edits).map_err(failed)?;
            removed.extend(names.into_iter().map(|name| (name, directory.clone())));
        }
        if context.output.is_json() {
            let removed = removed
                .iter()
                .map(|(name, from)| json!({"skill": name, "directory": from}));
            return context
                .output
                .json(&json!({"removed": removed.collect::<Vec<_>>()}));
        }
        context.output.lines(removed.iter().map(|(name, from)| {
            format!(
                "removed `{}` from {}",
                line(name),
                line(&from.to_string_lossy())
            )
        }))?;
        Ok(Exit::Success)
    }
}
