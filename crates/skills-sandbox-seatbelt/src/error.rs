//! A profile that cannot be written.

use std::path::PathBuf;

use skills_sandbox::SandboxError;

/// Says why no profile can be written.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct ProfileError(#[from] Repr);

#[derive(Debug, thiserror::Error)]
pub(crate) enum Repr {
    #[error("the path {0:?} is not absolute")]
    RelativePath(PathBuf),
    #[error("the path {0:?} holds `.`, `..` or an empty part; resolve it first")]
    NotCanonical(PathBuf),
    #[error("the path {0:?} holds a control character or is not UTF-8")]
    Unprintable(PathBuf),
    #[error("a seatbelt profile cannot open the network to named hosts only")]
    HostsUnsupported,
    #[error("the grants open no host, so no port of this machine leads to one")]
    UnusedProxy,
    #[error(
        "the granted program {0:?} is not found on this machine, and a seatbelt profile names programs by their paths"
    )]
    ProgramNotFound(String),
    #[error("the script {0:?} lies in no directory that the grants make readable")]
    ScriptNotReadable(PathBuf),
    #[error("the grants make no directory readable, not even the script's own")]
    NoReadableDirectory,
}

impl From<ProfileError> for SandboxError {
    fn from(error: ProfileError) -> Self {
        Self::rejected("seatbelt", error.to_string())
    }
}
