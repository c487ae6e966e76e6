//! Information about script tools, and operator overrides for them.

use super::ToolSet;
use crate::overrides::{OverrideError, ToolOverride};
use crate::registry::ScriptToolEntry;
use skills_script::ScriptTool;

impl ToolSet {
    /// Returns warnings about the scripts of skills, for the host application: ambiguous tool
    /// names, scripts that are not tools, ignored declarations, missing environment variables.
    ///
    /// Scripts that the operator disabled are included. Each warning names the skill. All scripts
    /// are read. Performs blocking I/O.
    ///
    /// # Errors
    /// As [`definitions`](Self::definitions).
    pub fn warnings(&self) -> Result<Vec<String>, OverrideError> {
        let registry = self.registry(&self.catalog())?;
        let mut warnings = registry.warnings().to_vec();
        // Includes disabled scripts: the operator decides about them with these warnings.
        for entry in registry.scripts() {
            match entry.load_tool() {
                Ok(ScriptToolEntry { tool, .. }) => {
                    let ScriptTool { skill, file, .. } = &tool;
                    let of_tool = tool.warnings.iter();
                    warnings.extend(
                        of_tool.map(|warning| format!("skill `{skill}`: `{file}`: {warning}")),
                    );
                }
                Err(warning) => warnings.push(warning),
            }
        }
        Ok(warnings)
    }

    /// Returns the `allowed-tools` of a skill together with the enabled tools of its own scripts.
    ///
    /// Use it to restrict a model to what an active skill declares. A skill that does not exist or
    /// is inactive has no declared tools. The catalog is refreshed unless a watcher is active.
    /// Performs blocking I/O.
    ///
    /// # Errors
    /// As [`definitions`](Self::definitions).
    pub fn allowed_tools(&self, skill: &str) -> Result<Vec<String>, OverrideError> {
        let catalog = self.catalog();
        let entry = catalog
            .entries()
            .iter()
            .find(|entry| entry.name().as_str() == skill);
        let declared = entry
            .map(|entry| entry.manifest().allowed_tools())
            .unwrap_or_default();
        let registry = self.registry(&catalog)?;
        Ok(declared
            .iter()
            .map(ToString::to_string)
            .chain(registry.names_of_skill(skill))
            .collect())
    }

    /// Sets overrides of a script tool: enabled, description, timeout. Fields of `change` that are
    /// `None` stay as they are.
    ///
    /// Overrides take effect with the next call, and last as long as the
    /// [store](crate::ToolSetBuilder::overrides) keeps them. Performs blocking I/O.
    ///
    /// ```
    /// use skills_tools::runtime::{Root, Scope, SkillRuntime};
    /// use skills_tools::{ToolGroup, ToolOverride, ToolSet};
    ///
    /// # let directory = tempfile::tempdir()?;
    /// # std::fs::create_dir_all(directory.path().join("greet/scripts"))?;
    /// # std::fs::write(directory.path().join("greet/SKILL.md"), "---\nname: greet\ndescription: Says hello.\n---\nSay hello.\n")?;
    /// # std::fs::write(directory.path().join("greet/scripts/hello.py"), "print('hello')\n")?;
    /// let root = Root::new(directory.path(), Scope::Custom);
    /// let runtime = SkillRuntime::builder().root(root).build();
    /// let tools = ToolSet::builder(runtime).tool_groups([ToolGroup::ScriptTools]).build()?;
    /// tools.set_override("skill__greet__hello", ToolOverride::disable())?;
    /// assert!(tools.definitions()?.is_empty());
    /// assert!(tools.clear_override("skill__greet__hello")?);
    /// assert_eq!(tools.definitions()?.len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Fails if no script has a tool of that name, enabled or not, and if the override cannot be
    /// stored.
    pub fn set_override(&self, name: &str, change: ToolOverride) -> Result<(), OverrideError> {
        let registry = self.registry(&self.catalog())?;
        let entry = registry
            .find_by_name(name)
            .ok_or_else(|| OverrideError::unknown_tool(name))?;
        self.inner
            .overrides
            .merge(entry.script_id().clone(), change)
    }

    /// Removes all overrides of a script tool, and returns whether there were any.
    ///
    /// The tool then has the state that
    /// [`default_script_state`](crate::ToolSetBuilder::default_script_state) selects. Performs
    /// blocking I/O.
    ///
    /// # Errors
    /// As [`set_override`](Self::set_override).
    pub fn clear_override(&self, name: &str) -> Result<bool, OverrideError> {
        let registry = self.registry(&self.catalog())?;
        let entry = registry
            .find_by_name(name)
            .ok_or_else(|| OverrideError::unknown_tool(name))?;
        self.inner.overrides.remove(entry.script_id())
    }
}
