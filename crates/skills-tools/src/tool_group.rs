//! Groups of tools.

/// Groups of tools that can be enabled.
///
/// Each group is enabled or disabled as a whole; by default, all of them are enabled. A model
/// without file access needs the catalog tools to find and read skills.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ToolGroup {
    /// `skills_ls`, `skills_read`, `skills_write`, `skills_create`, `skills_run`, `skills_bash`.
    Workspace,
    /// `run_skill_script`.
    ScriptExecutor,
    /// `search_skills`, `load_skill`, `read_skill_resource`, `search_references`: for models without file access.
    Catalog,
    /// One tool for each script of a skill.
    ScriptTools,
}
