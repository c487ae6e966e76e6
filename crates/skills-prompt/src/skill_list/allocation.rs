//! The division of a budget.

/// How the budget for descriptions is divided, and the order of the list.
///
/// Pinned skills are planned and listed before all others in both cases.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Allocation {
    /// Evenly, in the order of a prompt: scope (Custom, System, Admin, Repo, User), then name, then
    /// path (Codex).
    #[default]
    Even,
    /// By rank, in the order of the caller, best first: the first skills get complete descriptions.
    /// If not even the names and paths of all skills fit, complete entries get half of the budget, and
    /// the last line lists further skills by name alone.
    Ranked,
}
