//! The one error of this crate: a profile that cannot be written.

use std::path::PathBuf;

/// Says why no profile can be written.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct ProfileError(#[from] Repr);

#[derive(Debug, thiserror::Error)]
pub(crate) enum Repr {
    #[error("the path {0:?} is not absolute")]
    Relative(PathBuf),
    #[error("the path {0:?} holds `.` or `..`; resolve it first")]
    NotCanonical(PathBuf),
    #[error("the path {0:?} holds a control character or is not UTF-8")]
    Unprintable(PathBuf),
    #[error("a seatbelt profile cannot open the network to named hosts only")]
    Hosts,
    #[error("a seatbelt profile cannot allow programs by name without knowing where they lie")]
    Programs,
    #[error("the script {0:?} lies in no directory")]
    NoParent(PathBuf),
}
