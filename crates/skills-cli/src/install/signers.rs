//! The signers that policy files trust.

#[cfg(feature = "sigstore")]
use std::collections::BTreeMap;
#[cfg(feature = "sigstore")]
use std::path::{Path, PathBuf};

use skills_install::Fetcher;
#[cfg(feature = "sigstore")]
use skills_install::{SigstoreIdentity, SigstoreRoot};
#[cfg(feature = "sigstore")]
use skills_runtime::discovery::Trust;
use skills_runtime::policy::InstallPolicy;
#[cfg(feature = "sigstore")]
use skills_runtime::policy::{RuleSource, SignatureIdentity};

use super::failed;
#[cfg(feature = "sigstore")]
use crate::{error::CommandError, policy_files};

/// Trusts the keys and identities of policy files.
///
/// # Errors
/// Fails if one of them is not valid, or a trusted root cannot be read: without it, fewer signatures
/// would be verified than the files say.
pub(super) fn trust(mut fetcher: Fetcher, policy: &InstallPolicy) -> anyhow::Result<Fetcher> {
    for key in policy.signature_keys.iter().flatten() {
        fetcher = fetcher.trust_key(key.parse().map_err(failed)?);
    }
    // Without the feature, bundles are noted as unverified whatever identity they have.
    #[cfg(feature = "sigstore")]
    {
        let mut roots = BTreeMap::new();
        for trusted in policy.signature_identities.iter().flatten() {
            fetcher = fetcher.trust_identity(identity(trusted, &mut roots)?);
        }
    }
    Ok(fetcher)
}

#[cfg(feature = "sigstore")]
fn identity(
    trusted: &SignatureIdentity,
    roots: &mut BTreeMap<PathBuf, SigstoreRoot>,
) -> anyhow::Result<SigstoreIdentity> {
    let identity: SigstoreIdentity = trusted.identity.parse().map_err(failed)?;
    let Some(path) = &trusted.trusted_root else {
        return Ok(identity);
    };
    let root = match roots.get(path) {
        Some(root) => root.clone(),
        None => {
            let root = read_root(path)?;
            roots.insert(path.clone(), root.clone());
            root
        }
    };
    Ok(identity.root(root))
}

#[cfg(feature = "sigstore")]
fn read_root(path: &Path) -> anyhow::Result<SigstoreRoot> {
    let invalid = |problem: String| {
        let path = path.display();
        CommandError::input(format!("cannot use the trusted root `{path}`: {problem}"))
    };
    // Who can write it decides which signatures are valid.
    let text =
        policy_files::read_source_file(RuleSource::User, path, "trusted root", Trust::Trusted)?;
    let text = text.ok_or_else(|| invalid("it does not exist".to_owned()))?;
    Ok(SigstoreRoot::parse(&text).map_err(|error| invalid(error.to_string()))?)
}
