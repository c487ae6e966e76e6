//! Trusted identities and trusted roots.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use sigstore_verify::Verifier;
use sigstore_verify::trust_root::TrustedRoot;

use super::provider;
use crate::error::{Repr, SignatureError};

/// The keys of a Sigstore instance: of its certificate authorities, logs and time stamp authorities.
///
/// It is parsed from a `trusted_root.json`, as Sigstore publishes it. Empty lists are accepted; with
/// them no bundle is valid.
#[derive(Clone)]
pub struct SigstoreRoot(Arc<Verifier>);

/// An identity that is trusted to sign bundles of Sigstore.
///
/// It is parsed from the issuer of the identity, a space, and the identity: a URI or an email address
/// as in the certificate. `*` at the end, after `/` or `@`, accepts any end. The text of its
/// signer is `sigstore:` and that text.
///
/// ```
/// use skills_signature::SigstoreIdentity;
///
/// let text = "https://accounts.example.com ada@example.com";
/// let identity: SigstoreIdentity = text.parse()?;
/// assert_eq!(identity.to_string(), text);
/// let workflow = "https://ci.example.com https://git.example.com/a/release.yml@refs/tags/*";
/// assert!(workflow.parse::<SigstoreIdentity>().is_ok());
/// assert!("https://accounts.example.com *".parse::<SigstoreIdentity>().is_err());
/// # Ok::<(), skills_signature::SignatureError>(())
/// ```
#[derive(Debug, Clone)]
pub struct SigstoreIdentity {
    issuer: String,
    identity: String,
    root: Option<SigstoreRoot>,
}

impl SigstoreRoot {
    /// Parses a trusted root in JSON. The caller limits the length of the text.
    ///
    /// # Errors
    /// Fails if it is not a trusted root, or has a key or certificate that cannot be used.
    pub fn parse(text: &str) -> Result<Self, SignatureError> {
        let invalid = |error: &dyn fmt::Display| Repr::TrustedRoot {
            problem: error.to_string(),
        };
        provider::install();
        let root = TrustedRoot::from_json(text).map_err(|error| invalid(&error))?;
        let verifier = Verifier::new(&root).map_err(|error| invalid(&error))?;
        Ok(Self(Arc::new(verifier)))
    }

    pub(super) fn verifier(&self) -> &Verifier {
        &self.0
    }
}

impl SigstoreIdentity {
    /// Sets by which keys the bundles of the identity are verified. Without them, none is.
    #[must_use]
    pub fn root(mut self, root: SigstoreRoot) -> Self {
        self.root = Some(root);
        self
    }

    pub(super) fn trusted_root(&self) -> Option<&SigstoreRoot> {
        self.root.as_ref()
    }

    /// Returns true if a certificate with this issuer and identity is trusted.
    pub(super) fn matches(&self, issuer: &str, identity: &str) -> bool {
        self.issuer == issuer
            && match self.identity.strip_suffix('*') {
                Some(start) => identity.starts_with(start),
                None => identity == self.identity,
            }
    }
}

impl FromStr for SigstoreIdentity {
    type Err = SignatureError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let invalid = || {
            SignatureError::from(Repr::Identity {
                text: text.chars().take(200).collect(),
            })
        };
        let (issuer, identity) = text.trim().split_once(' ').ok_or_else(invalid)?;
        let start = identity.strip_suffix('*');
        // Elsewhere it would also accept `acme-other` for `acme*`.
        let has_whole_names = start.is_none_or(|start| start.ends_with(['/', '@']));
        let fixed = start.unwrap_or(identity);
        let is_word = |word: &str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_graphic());
        if !is_word(issuer) || !is_word(fixed) || !has_whole_names {
            return Err(invalid());
        }
        if issuer.contains('*') || fixed.contains('*') {
            return Err(invalid());
        }
        Ok(Self {
            issuer: issuer.to_owned(),
            identity: identity.to_owned(),
            root: None,
        })
    }
}

impl fmt::Display for SigstoreIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.issuer, self.identity)
    }
}

impl fmt::Debug for SigstoreRoot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SigstoreRoot")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identity_is_exact_or_has_whole_names_before_a_wildcard() {
        let parse = |text: &str| text.parse::<SigstoreIdentity>();
        for text in [
            "",
            "https://i",
            "https://i ",
            " a",
            "* a",
            "https://i *",
            "https://i *@b.example",
            "https://i https://host/acme*",
            "https://i https://host/*/x@*",
            "https://i a b",
            "https://i a\nb",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
        let matches = |text: &str, identity: &str| {
            let trusted = parse(text).unwrap();
            assert!(!trusted.matches("https://j", identity));
            trusted.matches("https://i", identity)
        };
        assert!(matches("https://i a@b.example", "a@b.example"));
        assert!(!matches("https://i a@b.example", "a@b.example.org"));
        assert!(!matches("https://i a@b.example", "A@b.example"));
        let tags = "https://i https://host/a/x.yml@refs/tags/*";
        assert!(matches(tags, "https://host/a/x.yml@refs/tags/v1"));
        assert!(!matches(tags, "https://host/a/x.yml@refs/heads/main"));
    }
}
