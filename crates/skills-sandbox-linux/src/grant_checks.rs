//! Grants that this backend cannot enforce.

use skills_policy::{Grants, NetworkGrant};
use skills_sandbox::SandboxError;

use crate::excluded_paths::{check_hidden_paths, check_skill_in_writable};
use crate::isolation::IsolationLevel;
use crate::setup_step::StepFailure;

/// Rejects grants that cannot be enforced at an isolation level.
pub(crate) fn check_grants(grants: &Grants, isolation: IsolationLevel) -> Result<(), SandboxError> {
    check_hidden_paths(grants, isolation)?;
    check_skill_in_writable(grants, isolation)?;
    // Landlock restricts ports, not addresses, so it cannot enforce a list of hosts.
    if has_hosts(grants) && isolation != IsolationLevel::Namespaces {
        let reason = "granted hosts need a network namespace, which needs user namespaces";
        return Err(SandboxError::rejected("linux", reason));
    }
    Ok(())
}

pub(crate) fn has_hosts(grants: &Grants) -> bool {
    *grants.network() != NetworkGrant::None
}

pub(crate) fn network_error(failure: &StepFailure) -> SandboxError {
    SandboxError::unavailable(
        "a network namespace",
        failure.to_string(),
        crate::hints::NETWORK_HINT,
    )
}
