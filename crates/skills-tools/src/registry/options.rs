//! Options of script tools.

/// Selects whether scripts without an operator override are tools.
///
/// With [`Disabled`](Self::Disabled), new scripts that come with an updated skill are not callable
/// by any tool before the operator enables them with
/// [`ToolSet::set_override`](crate::ToolSet::set_override).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum DefaultScriptState {
    /// They are tools.
    #[default]
    Enabled,
    /// They are tools only after the operator enables them.
    Disabled,
}
