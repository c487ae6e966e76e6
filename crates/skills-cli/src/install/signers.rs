//! The signers that policy files trust.

#[cfg(feature = "sigstore")]
use std::collections::BTreeMap;
#[cfg(feature = "sigstore")]
use std::path::{Path, PathBuf};

use skills_install::InstallErrorKind;
#[cfg(feature = "sigstore")]
use skills_runtime::discovery::Trust;
use skills_runtime::policy::InstallPolicy;
#[cfg(feature = "sigstore")]
use skills_runtime::policy::{RuleSource, SignatureIdentity};
use skills_signature::{SignatureError, TrustedSigners};
#[cfg(feature = "sigstore")]
use skills_signature::{SigstoreIdentity, SigstoreRoot};

use crate::error::CommandError;
use crate::exit::Exit;
#[cfg(feature = "sigstore")]
use crate::policy_files;

/// Returns the keys and identities of policy files.
///
/// # Errors
/// Fails if one of them is not valid, or a trusted root cannot be read: without it, fewer signatures
/// would be verified than the files say.
pub(super) fn trusted(policy: &InstallPolicy) -> anyhow::Result<TrustedSigners> {
    let mut trusted = TrustedSigners::default();
    for key in policy.signature_keys.iter().flatten() {
        trusted = trusted.key(key.parse().map_err(invalid)?);
    }
    // Without the feature, bundles are noted as unverified whatever identity they have.
    #[cfg(feature = "sigstore")]
    {
        let mut roots = BTreeMap::new();
        for signer in policy.signature_identities.iter().flatten() {
            trusted = trusted.identity(identity(signer, &mut roots)?);
        }
    }
    Ok(trusted)
}

fn invalid(error: SignatureError) -> CommandError {
    let code = InstallErrorKind::Signature.code();
    CommandError::new(code, Exit::Denied, error.to_string())
}

#[cfg(feature = "sigstore")]
fn identity(
    signer: &SignatureIdentity,
    roots: &mut BTreeMap<PathBuf, SigstoreRoot>,
) -> anyhow::Result<SigstoreIdentity> {
    let identity: SigstoreIdentity = signer.identity.parse().map_err(invalid)?;
    let Some(path) = &signer.trusted_root else {
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
