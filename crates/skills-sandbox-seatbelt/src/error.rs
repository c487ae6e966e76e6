//! Errors of profile generation.

use std::path::PathBuf;

use skills_sandbox::SandboxError;

/// Why no profile can be generated.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct ProfileError(#[from] Repr);

#[derive(Debug, thiserror::Error)]
pub(crate) enum Repr {
    #[error("path {0:?} is not absolute")]
    RelativePath(PathBuf),
    #[error("path {0:?} contains `.`, `..` or an empty component; resolve it first")]
    NotCanonical(PathBuf),
    #[error("path {0:?} contains a control character or is not UTF-8")]
    Unprintable(PathBuf),
    #[error("cannot restrict the network to named hosts in a seatbelt profile")]
    HostsUnsupported,
    #[error("proxy port given, but the grants allow no host")]
    UnusedProxy,
    #[error("script {0:?} is not in a directory that the grants make readable")]
    ScriptNotReadable(PathBuf),
    #[error("the grants do not make any directory readable")]
    NoReadableDirectory,
}

impl From<ProfileError> for SandboxError {
    fn from(error: ProfileError) -> Self {
        Self::rejected("seatbelt", error.to_string())
    }
}
