//! The names of the requesters of permissions.

/// The requester of permissions that the caller of a run asks for.
pub(crate) const CALLER_NAME: &str = "the caller";
/// The requester of permissions of hooks.
pub(crate) const HOOKS_NAME: &str = "its hooks";
/// The requester of declared variables and programs.
pub(crate) const REQUIREMENTS_NAME: &str = "its requirements";
/// Why a caller does not get a permission that the skill does not declare.
pub(crate) const NOT_DECLARED: &str = "the `allowed-tools` of the skill do not include it";
/// The requester of permissions that rules or approvals allow without a request of the skill.
pub(crate) const RULES_NAME: &str = "the policy";
/// The requester of what an earlier attempt was refused.
pub(crate) const REFUSED_NAME: &str = "its last attempt";
/// The requester of the program that the first line of a script names.
pub(crate) const FIRST_LINE_NAME: &str = "the first line of its script";
/// The requester of packages that the skill imports and does not declare.
pub(crate) const IMPORT_NAME: &str = "an import of its script";
/// Requesters that are not entries of `allowed-tools`.
pub(crate) const ROLES: [&str; 7] = [
    CALLER_NAME,
    HOOKS_NAME,
    REQUIREMENTS_NAME,
    RULES_NAME,
    REFUSED_NAME,
    FIRST_LINE_NAME,
    IMPORT_NAME,
];
