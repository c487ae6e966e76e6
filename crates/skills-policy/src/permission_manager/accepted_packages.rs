//! Packages that a skill may import without a declaration.

use std::collections::BTreeSet;

use super::PermissionManager;
use crate::Request;

impl PermissionManager {
    /// Returns the full names of the packages that the skill may import [without a
    /// declaration](Request::undeclared_package): those that rules allow by exactly this name, or that
    /// an approver allowed for this content. Whether a version is allowed is decided with the request.
    #[must_use]
    pub fn accepted_packages(&self, request: &Request) -> BTreeSet<String> {
        let rules = self.policy.allow_rules(request);
        let named = rules.filter_map(|rule| rule.target.package_name());
        let approved = self.load_approvals(request).package_names();
        named.chain(approved).collect()
    }

    /// Returns true if an approval for the directory is stored or lasts for the session, for whatever
    /// content.
    #[must_use]
    pub fn has_approval(&self, request: &Request) -> bool {
        let is_of_session = || {
            let of_directory = self
                .session_approvals
                .get(request.session.as_deref(), |approval| {
                    approval.directory == request.directory
                });
            !of_directory.is_empty()
        };
        self.has_stored_approval(request) || is_of_session()
    }
}
