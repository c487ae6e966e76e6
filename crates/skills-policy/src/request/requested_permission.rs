//! A requested permission with its requesters and its basis.

use crate::{Permission, Target};

/// A requested permission, with its requesters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RequestedPermission {
    pub(crate) permission: Permission,
    pub(crate) requested_by: Vec<String>,
    pub(crate) basis: Basis,
}

/// The basis of a requested permission: what supports it apart from rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Basis {
    /// The skill declares it.
    Declared,
    /// The caller provides it for this run.
    ByCaller,
    /// The caller or the first line of a script requests it; the skill declares nothing about it.
    Undeclared,
    /// The caller requests it; the skill declares what it needs, and this is not included.
    ExceedsDeclaration,
    /// The skill does not declare the package, and one of its files imports it.
    UndeclaredPackage,
    /// Requested by an `allow` rule or a stored approval.
    ByRule,
}

impl RequestedPermission {
    /// Returns true if an `allow` rule for a target allows it. A skill chooses the names of what it
    /// imports, so a rule has to have exactly that name.
    pub(crate) fn is_allowed_by(&self, target: &Target) -> bool {
        match self.basis {
            Basis::UndeclaredPackage => target.is_exactly(&self.permission),
            _ => target.allows(&self.permission),
        }
    }

    /// Adds a requester. The permission keeps the basis `Declared` if one of its requests has it.
    pub(crate) fn merge(&mut self, requester: String, basis: Basis) {
        if !self.requested_by.contains(&requester) {
            self.requested_by.push(requester);
        }
        // A request of the caller must not turn a declared permission into one that needs approval:
        // the skill asks for it anyway.
        if self.basis != Basis::Declared {
            self.basis = basis;
        }
    }
}
