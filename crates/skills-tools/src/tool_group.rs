//! Groups of tools.

/// Groups of tools that can be enabled.
///
/// Each group is enabled or disabled as a whole. By default, [`Core`](Self::Core) and
/// [`LoadedScripts`](Self::LoadedScripts) are enabled, whose size does not depend on the number of
/// skills. Groups may overlap; a tool is listed once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ToolGroup {
    /// All that a model needs to find, read and run skills.
    Core,
    /// One tool for each script of the skills that a session has loaded, if the arguments of the
    /// script are known; at most 40, of the skills that were loaded last.
    LoadedScripts,
    /// A workspace and the skills as one small file system, and programs in it.
    Workspace,
    /// One script at a time, with a JSON object as its input.
    ScriptExecutor,
    /// Finding and reading skills, for models without file access.
    Catalog,
    /// One tool for each script of all skills.
    ScriptTools,
}

impl ToolGroup {
    /// The groups that are enabled by default.
    pub const DEFAULT: [Self; 2] = [Self::Core, Self::LoadedScripts];

    /// Returns its name, as `--tools` of the `skills` command takes it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Core | Self::LoadedScripts => "default",
            Self::Workspace => "workspace",
            Self::ScriptExecutor => "runner",
            Self::Catalog => "catalog",
            Self::ScriptTools => "scripts",
        }
    }

    /// Groups with all tools.
    pub const ALL: [Self; 4] = [
        Self::Workspace,
        Self::ScriptExecutor,
        Self::Catalog,
        Self::ScriptTools,
    ];
}
