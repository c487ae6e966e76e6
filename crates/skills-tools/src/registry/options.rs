//! Options of script tools.

/// Selects whether scripts without an operator override are tools.
///
/// With [`Disabled`](Self::Disabled), new scripts that come with an updated skill are not callable
/// by any tool before the operator enables them with [`ToolSet::set_override`](crate::ToolSet::set_override).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum DefaultScriptState {
    /// They are tools.
    #[default]
    Enabled,
    /// They are tools only after the operator enables them.
    Disabled,
}

/// Selects what happens to the scripts of a skill whose `primaryEnv` is not set.
///
/// In both cases, [`ToolSet::warnings`](crate::ToolSet::warnings) reports the missing environment variable. The variables of
/// the runtime decide, not those of the process.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum MissingEnv {
    /// They are tools, and may fail when they are called.
    #[default]
    Warn,
    /// They are not tools until the variable is set.
    Skip,
}
