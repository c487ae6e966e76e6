//! Groups of tools.

/// Groups of tools that can be enabled.
///
/// Each group is enabled or disabled as a whole. By default, [`Core`](Self::Core) and
/// [`LoadedScripts`](Self::LoadedScripts) are enabled, whose size does not depend on the number of
/// skills. Groups may overlap; a tool is listed once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ToolGroup {
    /// `search_skills`, `load_skill`, `skills_ls`, `skills_read`, `skills_write`, `skills_run`,
    /// `skills_bash`: all that a model needs to find, read and run skills.
    Core,
    /// One tool for each script of the skills that a session has loaded, if the arguments of the
    /// script are known; at most 40, of the skills that were loaded last.
    LoadedScripts,
    /// `skills_ls`, `skills_read`, `skills_write`, `skills_create`, `skills_run`, `skills_bash`.
    Workspace,
    /// `run_skill_script`.
    ScriptExecutor,
    /// `search_skills`, `load_skill`, `read_skill_resource`, `search_references`: for models without file access.
    Catalog,
    /// One tool for each script of all skills.
    ScriptTools,
}

impl ToolGroup {
    /// The groups that are enabled by default.
    pub const DEFAULT: [Self; 2] = [Self::Core, Self::LoadedScripts];
    /// Groups with all tools.
    pub const ALL: [Self; 4] = [
        Self::Workspace,
        Self::ScriptExecutor,
        Self::Catalog,
        Self::ScriptTools,
    ];
}
