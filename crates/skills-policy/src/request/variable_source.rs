//! Where the value of a variable comes from.

/// Where the value of a variable comes from. It decides whether the variable needs a rule or an
/// approval: a value that the caller provides for a declared variable does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum VariableSource {
    /// From the secrets of the host; the skill declares the variable.
    Secret,
    /// From the caller, for this run; the skill declares the variable. Needs no approval.
    Caller,
    /// From the caller; the skill does not declare the variable.
    Undeclared,
}
