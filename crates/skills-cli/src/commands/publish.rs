//! `skills publish`: writes skills as the files of a web site.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;
use skills_install::WellKnownSite;
use skills_runtime::discovery::SkillFiles;

use crate::context::Context;
use crate::counted::counted;
use crate::exit::Exit;
use crate::install::failed;
use crate::lookup::get_skill;
use crate::output::line;

/// Write skills as the files of a web site
///
/// Writes .well-known/agent-skills/index.json (version 0.2.0) and the skills that it lists, from
/// which `skills add https://SITE` and other programs install them. Without names, all skills that
/// are in use are published. The index lists only these: files of other skills that an earlier index
/// lists are removed, also of those that cannot be published any more.
#[derive(Debug, Args)]
pub(crate) struct Publish {
    /// Skills to publish [default: all]
    #[arg(value_name = "NAME")]
    names: Vec<String>,

    /// Top directory of the web site
    #[arg(long, value_name = "DIR", required = true)]
    well_known: PathBuf,
}

impl Publish {
    pub(crate) fn run(&self, context: &Context) -> anyhow::Result<Exit> {
        let (runtime, output) = (context.unrecorded_builder()?.build(), context.output);
        let directories: Vec<PathBuf> = if self.names.is_empty() {
            let catalog = runtime.library().catalog();
            let entries = catalog.entries().iter();
            entries.map(|entry| entry.directory().to_owned()).collect()
        } else {
            let names = self.names.iter();
            let skills = names.map(|name| Ok(get_skill(&runtime, name)?.directory));
            skills.collect::<anyhow::Result<_>>()?
        };
        let mut site = WellKnownSite::default();
        let mut exit = Exit::Success;
        for directory in &directories {
            let files = SkillFiles::open_directory(directory)?;
            if let Err(error) = site.add(&files) {
                let shown = line(&directory.to_string_lossy());
                output.status(&format!("error: {shown}: {error}"));
                exit = Exit::Failed;
            }
        }
        // The rest is written: readers of the site have more of that than of nothing.
        site.write(&self.well_known).map_err(failed)?;
        let names: Vec<&str> = site.names().collect();
        if output.is_json() {
            output.print_json(&json!({"directory": self.well_known, "skills": names}))?;
        } else {
            let shown = line(&self.well_known.to_string_lossy());
            output.status(&format!(
                "published {} in {shown}",
                counted(names.len(), "skill")
            ));
        }
        Ok(exit)
    }
}
