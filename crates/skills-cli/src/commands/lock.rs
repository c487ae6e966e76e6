//! `skills lock`: records skills of another installer in the lock file.

use std::path::{Path, PathBuf};

use clap::Args;
use skills_install::{SourceSpec, parse_foreign_lock};

use crate::context::Context;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::input;
use crate::install::{
    InstallArgs, Target, at_chosen_registry, failed, fetcher, open_store, parse_target, perform,
    policy_words, reject_frozen,
};
use crate::output::line;

/// Maximum size of a lock file, in bytes.
const MAX_BYTES: u64 = 16 << 20;
/// Directories of ClawHub's lock file, beside the directory `skills`.
const CLAWHUB: [&str; 2] = [".clawhub", ".clawdhub"];

/// Lock the skills of another installer
///
/// Reads the sources of a skills-lock.json (npx skills) or .clawhub/lock.json (clawhub), fetches
/// them and writes skills.lock. A skill that is installed already is locked as it is if its source
/// has the same content. The hashes of the other file are not used, since they do not identify the
/// content.
#[derive(Debug, Args)]
pub(crate) struct Lock {
    /// The lock file of the other installer
    #[arg(long, value_name = "FILE")]
    from: PathBuf,

    /// Directory of the skills [default: skills beside .clawhub, the first --root, else project]
    #[arg(long, value_name = "project|user|DIR", value_parser = parse_target)]
    to: Option<Target>,

    #[command(flatten)]
    install: InstallArgs,
}

impl Lock {
    pub(crate) fn run(&self, context: &Context) -> anyhow::Result<Exit> {
        reject_frozen(context)?;
        let fetcher = fetcher(&self.install.fetch, context)?;
        let from = std::path::absolute(&self.from)?;
        let text = input::read_text_file(&from, MAX_BYTES)?;
        // A file that is an argument, unlike the lock file of the skills.
        let foreign = parse_foreign_lock(&text, &from.to_string_lossy())
            .map_err(|error| CommandError::input(error.to_string()))?;
        let parent = from.parent().unwrap_or(&from);
        let clawhub = parent.parent().filter(|_| is_clawhub(parent));
        let mut sources: Vec<(String, SourceSpec)> = Vec::new();
        let mut exit = Exit::Success;
        for skill in foreign {
            match skill.source {
                Ok(source) => {
                    let source = at_chosen_registry(source, context)?;
                    let source = source.resolved_at(clawhub.unwrap_or(parent));
                    sources.push((skill.name, source));
                }
                Err(error) => {
                    let name = line(&skill.name);
                    context.output.status(&format!("error: `{name}`: {error}"));
                    exit = Exit::Failed;
                }
            }
        }
        let directory = self.directory(clawhub, context)?;
        let mut store = open_store(&directory, context)?;
        let edits = self.install.edits.edits();
        let plan = store.plan_sources(&fetcher, sources, edits, &policy_words);
        let plan = plan.map_err(failed)?;
        let performed = perform(store, plan, &directory, &self.install, context)?;
        if context.output.is_json() {
            context.output.print_json(&performed.document)?;
        }
        Ok(exit.max(performed.exit))
    }

    fn directory(&self, clawhub: Option<&Path>, context: &Context) -> anyhow::Result<PathBuf> {
        if let Some(target) = &self.to {
            return target.directory(context);
        }
        match clawhub {
            Some(parent) => Ok(parent.join("skills")),
            None => Target::default_of(context).directory(context),
        }
    }
}

fn is_clawhub(directory: &Path) -> bool {
    directory
        .file_name()
        .is_some_and(|name| CLAWHUB.iter().any(|known| name == *known))
}
