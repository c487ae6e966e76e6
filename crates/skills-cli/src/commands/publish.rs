//! `skills publish`: writes skills as the files of a web site, and prints what their publisher signs.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;
use skills_install::WellKnownSite;
use skills_runtime::SkillRuntime;
use skills_runtime::discovery::{InactiveEntry, InactiveReason, SkillFiles};

use crate::context::Context;
use crate::counted::counted;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::install::failed;
use crate::lookup::get_skill;
use crate::output::{Output, line};

/// Write skills as the files of a web site
///
/// Writes .well-known/agent-skills/index.json (version 0.2.0) and the skills that it lists, from
/// which `skills add https://SITE` and other programs install them. Without names, all skills that
/// are in use are published. The index lists only these: files of other skills that an earlier index
/// lists are removed, also of those that cannot be published any more. Skills that are not in use are
/// named; the exit code is then 1, unless the user disabled them.
///
/// With --statement, prints the text that a signature of a skill covers: its name, its content and which
/// files are executable. Sign it with minisign and put the signature beside the directory of the skill:
/// skills publish NAME --statement > NAME.txt; minisign -S -m NAME.txt -x NAME.minisig
///
/// A bundle of Sigstore is NAME.sigstore.json: cosign sign-blob --bundle NAME.sigstore.json NAME.txt
#[derive(Debug, Args)]
pub(crate) struct Publish {
    /// Skills to publish [default: all]
    #[arg(value_name = "NAME")]
    names: Vec<String>,

    /// Top directory of the web site
    #[arg(long, value_name = "DIR", required_unless_present = "statement")]
    well_known: Option<PathBuf>,

    /// Print the text that the publisher of one skill signs
    #[arg(long, requires = "names", conflicts_with = "well_known")]
    statement: bool,
}

/// A skill that was found but is not in use.
struct NotPublished {
    name: String,
    reason: String,
    /// Whether the user disabled it.
    is_disabled: bool,
}

impl NotPublished {
    fn new(inactive: &InactiveEntry) -> Self {
        let reason = inactive.reason();
        Self {
            name: inactive.entry().name().to_string(),
            reason: format!("is inactive: {reason}"),
            is_disabled: matches!(reason, InactiveReason::Disabled { .. }),
        }
    }
}

impl Publish {
    pub(crate) fn run(&self, context: &Context) -> anyhow::Result<Exit> {
        let runtime = context.build(context.unrecorded_builder()?);
        let output = context.output;
        let Some(well_known) = &self.well_known else {
            return self.print_statement(&runtime, output);
        };
        let mut not_published = Vec::new();
        let directories: Vec<PathBuf> = if self.names.is_empty() {
            let catalog = runtime.library().catalog();
            not_published.extend(catalog.inactive().iter().map(NotPublished::new));
            let entries = catalog.entries().iter();
            entries.map(|entry| entry.directory().to_owned()).collect()
        } else {
            let names = self.names.iter();
            let skills = names.map(|name| Ok(get_skill(&runtime, name)?.directory));
            skills.collect::<anyhow::Result<_>>()?
        };
        let mut site = WellKnownSite::default();
        let mut exit = Exit::Success;
        for skill in &not_published {
            output.status(&format!(
                "not published: `{}` {}",
                line(&skill.name),
                line(&skill.reason)
            ));
            if !skill.is_disabled {
                exit = Exit::Failed;
            }
        }
        for directory in &directories {
            let files = SkillFiles::open_directory(directory)?;
            if let Err(error) = site.add(&files) {
                let shown = line(&directory.to_string_lossy());
                output.status(&format!("error: {shown}: {error}"));
                exit = Exit::Failed;
            }
        }
        // The rest is written: readers of the site have more of that than of nothing.
        site.write(well_known).map_err(failed)?;
        let names: Vec<&str> = site.names().collect();
        if output.is_json() {
            let omitted = not_published.iter();
            let omitted = omitted.map(|skill| json!({"name": skill.name, "reason": skill.reason}));
            let omitted: Vec<_> = omitted.collect();
            output.print_json(
                &json!({"directory": well_known, "skills": names, "not_published": omitted}),
            )?;
        } else {
            let shown = line(&well_known.to_string_lossy());
            output.status(&format!(
                "published {} in {shown}",
                counted(names.len(), "skill")
            ));
        }
        Ok(exit)
    }

    /// Prints the statement of the only named skill, byte for byte.
    fn print_statement(&self, runtime: &SkillRuntime, output: Output) -> anyhow::Result<Exit> {
        let [name] = self.names.as_slice() else {
            let message = "`--statement` takes one skill: each has a signature of its own";
            return Err(CommandError::input(message.to_owned()).into());
        };
        let skill = get_skill(runtime, name)?;
        let statement = skills_install::statement(&skill.directory).map_err(failed)?;
        if output.is_json() {
            output.print_json(&json!({"skill": name, "statement": statement}))?;
        } else {
            output.text(&statement)?;
        }
        Ok(Exit::Success)
    }
}
