//! How much a run may write where it has no quota.

use skills_sandbox::Quota;

use crate::path_rule::SymlinkPolicy;
use crate::plan::Plan;

/// Returns true if a granted path is writable and has no quota, so that files there have no limit
/// but the space that has to be left on the disk.
pub(crate) fn writes_without_quota(plan: &Plan) -> bool {
    plan.paths.iter().any(|rule| {
        let mut quotas = plan.quotas.iter();
        rule.is_writable()
            && rule.symlinks == SymlinkPolicy::Reject
            && !quotas.any(|quota| rule.path.starts_with(quota.directory()))
    })
}

/// Returns the largest size of a file. It is one for all directories, so that one that a user
/// named, without a quota, determines it.
pub(crate) fn file_bytes(plan: &Plan) -> u64 {
    let limit = plan.limits.file_bytes;
    if writes_without_quota(plan) {
        return limit;
    }
    // Quotas are measured at intervals, which is too late for a file that grows in one call.
    let quotas = plan.measured_quotas();
    quotas.iter().map(Quota::max_bytes).fold(limit, u64::min)
}
