//! Tools of all scripts in the catalog.

mod options;
mod script_index;
mod skill_scripts;

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use skills_runtime::Entry;
use skills_runtime::policy::ResourceLimits;

use self::script_index::{IndexedScript, ScriptIndex};
use crate::overrides::{OverrideSnapshot, ScriptId, ToolOverride};
use skills_script::{ArgumentSource, ScriptTool};

pub use self::options::DefaultScriptState;
pub(crate) use self::script_index::ScriptScanner;
pub(crate) use self::skill_scripts::runnable_programs;

/// Default timeout of a script tool.
pub(crate) const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);

/// Maximum number of script tools that a session lists: model APIs take at most 128 tools, and some
/// clients about 40 to 80 of one server.
const MAX_LOADED_TOOLS: usize = 40;

/// The scripts of the catalog, with the operator overrides.
pub(crate) struct ScriptToolRegistry {
    scripts: Arc<ScriptIndex>,
    overrides: OverrideSnapshot,
    default_state: DefaultScriptState,
}

/// A script and its tool.
pub(crate) struct RegistryEntry<'a> {
    script: &'a IndexedScript,
    pub(crate) is_enabled: bool,
    settings: ToolOverride,
}

pub(crate) struct ScriptToolEntry {
    pub(crate) tool: ScriptTool,
    pub(crate) entry: Entry,
    /// The timeout of the override or of the declaration, if there is one.
    pub(crate) timeout: Option<Duration>,
}

impl ScriptToolRegistry {
    pub(crate) fn new(
        scripts: Arc<ScriptIndex>,
        overrides: OverrideSnapshot,
        default_state: DefaultScriptState,
    ) -> Self {
        Self {
            scripts,
            overrides,
            default_state,
        }
    }

    /// Lists all scripts in the order of the catalog, including disabled ones.
    pub(crate) fn scripts(&self) -> impl Iterator<Item = RegistryEntry<'_>> {
        self.scripts.scripts.iter().map(|script| self.entry(script))
    }

    /// Finds a tool by name, including disabled ones.
    pub(crate) fn find_by_name(&self, name: &str) -> Option<RegistryEntry<'_>> {
        self.scripts().find(|entry| entry.name() == name)
    }

    /// Returns the enabled tools in the order of the catalog.
    pub(crate) fn enabled_tools(&self) -> impl Iterator<Item = ScriptToolEntry> {
        self.scripts()
            .filter(|entry| entry.is_enabled)
            .filter_map(|entry| entry.load_tool().ok())
    }

    /// Returns the enabled tools of the skills in these directories whose arguments are known: at
    /// most [`MAX_LOADED_TOOLS`], of the last directories.
    pub(crate) fn tools_of_skills(&self, directories: &[PathBuf]) -> Vec<ScriptToolEntry> {
        let mut found: VecDeque<ScriptToolEntry> = VecDeque::new();
        for directory in directories.iter().rev() {
            let scripts = self.scripts().filter(|entry| {
                entry.is_enabled && entry.script.entry.directory() == directory.as_path()
            });
            let tools = scripts
                .filter_map(|entry| entry.load_tool().ok())
                .filter(|entry| has_known_arguments(&entry.tool))
                .take(MAX_LOADED_TOOLS - found.len());
            // Older skills come first, so that a new skill does not change the start of the list.
            for (index, tool) in tools.enumerate() {
                found.insert(index, tool);
            }
        }
        found.into()
    }

    /// Returns the names of the tools of a skill's scripts.
    pub(crate) fn names_of_skill(&self, skill: &str) -> impl Iterator<Item = String> {
        self.scripts()
            .filter(move |entry| entry.is_enabled && entry.script_id().skill == skill)
            .map(|entry| entry.name().to_owned())
    }

    /// Returns the warnings for the host application: ambiguous tool names, scripts that are not
    /// tools, missing environment variables.
    pub(crate) fn warnings(&self) -> &[String] {
        &self.scripts.warnings
    }

    fn entry<'a>(&self, script: &'a IndexedScript) -> RegistryEntry<'a> {
        let settings = self.overrides.get(&script.script_id);
        let is_enabled = settings
            .enabled
            .unwrap_or(self.default_state == DefaultScriptState::Enabled);
        RegistryEntry {
            script,
            is_enabled,
            settings,
        }
    }
}

impl<'a> RegistryEntry<'a> {
    pub(crate) fn name(&self) -> &'a str {
        &self.script.name
    }

    pub(crate) fn script_id(&self) -> &'a ScriptId {
        &self.script.script_id
    }

    /// Reads the script and builds its tool. The error is a warning for the host application.
    pub(crate) fn load_tool(&self) -> Result<ScriptToolEntry, String> {
        let IndexedScript { entry, file, .. } = self.script;
        let mut tool = self.script.tool().map_err(|error| {
            let skill = entry.name();
            format!("skill `{skill}`: cannot read 'scripts/{file}': {error}")
        })?;
        if let Some(description) = &self.settings.description {
            tool.description.clone_from(description);
        }
        let timeout = self
            .settings
            .timeout_ms
            .map(Duration::from_millis)
            // A skill declares it, so it raises no limit.
            .or(tool
                .timeout
                .map(|timeout| timeout.min(ResourceLimits::MAX_CHOSEN_TIME)));
        Ok(ScriptToolEntry {
            tool,
            entry: entry.clone(),
            timeout,
        })
    }
}

/// Returns true if the schema of a tool says what its script takes.
fn has_known_arguments(tool: &ScriptTool) -> bool {
    matches!(
        tool.arguments.source,
        ArgumentSource::Declared | ArgumentSource::Inferred(_)
    )
}
