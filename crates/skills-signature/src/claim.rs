//! Comparison of the claim of an unverified signer with a verified one.

use crate::signer::UNVERIFIED;
use crate::{minisign, sigstore};

/// Returns true if the texts of two signers are equal, or if the first one is a claim of the second
/// one, which has become trusted.
#[must_use]
pub fn is_same_signer(before: &str, now: &str) -> bool {
    before == now
        || before.strip_prefix(UNVERIFIED).is_some_and(|claim| {
            minisign::key_name(now).as_deref() == Some(claim) || sigstore::could_claim(now, claim)
        })
}
