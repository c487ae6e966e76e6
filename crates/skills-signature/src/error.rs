//! The error type of this crate.

/// A signature is not valid for a trusted signer, or the text of a key, identity or trusted root
/// cannot be parsed.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct SignatureError(#[from] Repr);

#[derive(Debug, thiserror::Error)]
pub(crate) enum Repr {
    #[error("{problem}")]
    NotValid { problem: String },
    #[error("`{text}` is not a public key of minisign")]
    Key { text: String },
    #[cfg(feature = "sigstore")]
    #[error(
        "`{text}` is not an identity of Sigstore: expected an issuer, a space and an identity, with `*` only at the end after `/` or `@`"
    )]
    Identity { text: String },
    #[cfg(feature = "sigstore")]
    #[error("cannot parse the trusted root: {problem}")]
    TrustedRoot { problem: String },
}

impl SignatureError {
    pub(crate) fn not_valid(problem: impl ToString) -> Self {
        let problem = problem.to_string();
        Repr::NotValid { problem }.into()
    }
}
