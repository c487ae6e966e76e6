//! The tools of all scripts that the catalogue has.

mod scripts;

use std::sync::Arc;
use std::time::Duration;

use skills_runtime::Entry;
use skills_runtime::manifest::ScriptSpec;

use self::scripts::{Script, Scripts};
use crate::overrides::{Identity, Known, Override};
use crate::script::{ScriptTool, block, scan};
use crate::{MissingEnv, NewScripts};

pub(crate) use self::scripts::ScriptFinder;

/// The deadline of a script that nobody says otherwise of.
pub(crate) const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);

/// The scripts that the catalogue has, with what administrators changed about them.
pub(crate) struct Registry {
    scripts: Arc<Scripts>,
    known: Known,
    terms: Terms,
}

/// A script and the tool that it becomes.
pub(crate) struct Listed<'a> {
    script: &'a Script,
    pub(crate) is_enabled: bool,
    change: Override,
}

/// The tool of one script.
pub(crate) struct Registered {
    pub(crate) tool: ScriptTool,
    pub(crate) entry: Entry,
    pub(crate) timeout: Duration,
}

/// How scripts become tools.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Terms {
    pub(crate) new_scripts: NewScripts,
    pub(crate) missing_env: MissingEnv,
}

impl Registry {
    pub(crate) fn new(scripts: Arc<Scripts>, known: Known, terms: Terms) -> Self {
        Self {
            scripts,
            known,
            terms,
        }
    }

    /// Lists the scripts in the order of the catalogue, those that are turned off as well.
    pub(crate) fn scripts(&self) -> impl Iterator<Item = Listed<'_>> {
        self.scripts.all.iter().map(|script| self.listed(script))
    }

    /// Finds a tool by its name, whether it is turned off or not.
    pub(crate) fn find(&self, name: &str) -> Option<Listed<'_>> {
        self.scripts
            .all
            .iter()
            .find(|script| script.name == name)
            .map(|script| self.listed(script))
    }

    /// The names of the tools that a skill's scripts became.
    pub(crate) fn of_skill(&self, skill: &str) -> impl Iterator<Item = String> {
        let of_skill = self
            .scripts
            .all
            .iter()
            .filter(move |script| script.identity.skill == skill);
        of_skill
            .map(|script| self.listed(script))
            .filter(|listed| listed.is_enabled)
            .map(|listed| listed.name().to_owned())
    }

    /// What the host should know: names that others have, scripts that are no tools, variables that
    /// are missing.
    pub(crate) fn notes(&self) -> &[String] {
        &self.scripts.notes
    }

    fn listed<'a>(&self, script: &'a Script) -> Listed<'a> {
        let change = self.known.of(&script.identity);
        let is_enabled = change
            .enabled
            .unwrap_or(self.terms.new_scripts == NewScripts::Enabled);
        Listed {
            script,
            is_enabled,
            change,
        }
    }
}

impl<'a> Listed<'a> {
    pub(crate) fn name(&self) -> &'a str {
        &self.script.name
    }

    pub(crate) fn identity(&self) -> &'a Identity {
        &self.script.identity
    }

    /// Reads the script and makes its tool; what went wrong is for the host.
    pub(crate) fn tool(&self) -> Result<Registered, String> {
        let Script {
            name, entry, file, ..
        } = self.script;
        let skill = entry.name().as_str();
        let path = format!("scripts/{file}");
        let source = entry
            .open()
            .and_then(|files| files.read(&path, scan::MAX_SCRIPT_BYTES));
        let source = source.map_err(|error| format!("{skill}: {path} cannot be read: {error}"))?;
        let specs: &[ScriptSpec] = &entry.manifest().extensions().scripts;
        let mut tool = ScriptTool::new(
            skill,
            file,
            name.clone(),
            &source,
            block::entry(specs, file),
        );
        if let Some(description) = &self.change.description {
            tool.description.clone_from(description);
        }
        let timeout = self
            .change
            .timeout_ms
            .map(Duration::from_millis)
            .or(tool.timeout)
            .unwrap_or(DEFAULT_TIMEOUT);
        Ok(Registered {
            tool,
            entry: entry.clone(),
            timeout,
        })
    }
}
