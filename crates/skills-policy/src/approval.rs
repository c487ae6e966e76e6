//! The approver interface, the types that it exchanges, and the store of approvals.

use std::collections::BTreeSet;
use std::error::Error;
use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;

use crate::{Answer, Permission, PermissionDecision, ResourceLimits};

/// Everything that an approver needs to decide on one run.
///
/// Names, commands and permissions can contain text that a skill wrote. Escape control and
/// invisible characters before display, and do not ask if [`pending`](Self::pending) cannot be
/// shown in full: an approver cannot approve what is not visible.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct Question {
    /// The display name of the skill, which the skill chooses itself.
    pub name: String,
    /// The skill directory, or the directory that a host command works on.
    #[serde(serialize_with = "crate::path::serialize_lossy")]
    pub directory: PathBuf,
    /// The content digest; without one an approval covers this run only.
    pub digest: Option<String>,
    /// True if the digest covers the command only, because a host command works on the directory
    /// and the files in it are not hashed.
    pub is_ad_hoc_digest: bool,
    /// Further directories whose content the digest of a command covers, since the command reads
    /// [copies](crate::Request::copy_of) of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub covered_directories: Vec<PathBuf>,
    /// The program that will run, with its arguments.
    pub command: Vec<String>,
    /// True if the caller wrote the command. Such an approval covers exactly these arguments and
    /// lasts at most for the session.
    pub is_ad_hoc: bool,
    /// The permissions that need approval: paths, hosts, programs, names of variables.
    pub pending: Vec<PermissionDecision>,
    /// The permissions that are granted without approval.
    pub granted: Vec<PermissionDecision>,
    /// Whether this content, or other content of the same directory, was approved before.
    pub content: ContentStatus,
    /// True if standing rules grant privileges that this content was never approved for.
    pub requires_content_approval: bool,
    /// The resource limits of the run, with the ceiling of the policy applied.
    pub limits: ResourceLimits,
    /// Additional notes for the approver, such as risks and failures of the store.
    pub notes: Vec<String>,
}

/// How the content of a skill relates to its stored approval.
///
/// A change is reported as the difference of the declared privileges, not of the files: an approver
/// sees directly whether an update asks for more than the version before.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ContentStatus {
    /// No content of this directory was approved before, or it has no digest.
    New,
    /// This content was approved before, for other permissions.
    Approved,
    /// Other content of this directory was approved before.
    Changed {
        /// Privileges that the skill declares now and did not declare when it was approved: entries
        /// of `allowed-tools`, variables, hooks.
        added: Vec<String>,
        /// Privileges that it declared then and does not declare now.
        removed: Vec<String>,
    },
}

/// The error of an approver or a store; its text is shown as the cause of a denial.
pub type BoxError = Box<dyn Error + Send + Sync>;

/// The pending response of an approver. `Ok(None)` means that there is no response, for example
/// because the user closed the prompt; it denies, as an error does.
pub type AnswerFuture<'a> =
    Pin<Box<dyn Future<Output = Result<Option<Answer>, BoxError>> + Send + 'a>>;

/// The person or program that answers approval requests.
///
/// Implemented for functions from `&Question` to [`Answer`], and for
/// [`Answer`] itself, which gives the same response to every request. A blocking closure
/// blocks the executor and is not covered by the timeout; to wait for a person, implement the
/// trait.
///
/// ```
/// use skills_policy::{Question, Answer, Approver};
///
/// let approver = |request: &Question| {
///     if request.pending.len() > 3 { Answer::Deny } else { Answer::AllowOnce }
/// };
/// fn accepts_approver(_: &impl Approver) {}
/// accepts_approver(&approver);
/// accepts_approver(&Answer::Deny);
/// ```
pub trait Approver: Send + Sync {
    /// Requests a response. No response, an error and a panic all deny.
    ///
    /// The future can be dropped at any time, when the run times out or is cancelled.
    fn ask<'a>(&'a self, request: &'a Question) -> AnswerFuture<'a>;

    /// Returns false if no request can be answered, such as for a client without prompts. Callers
    /// then prepare nothing that takes an answer. Default: true.
    fn can_respond(&self) -> bool {
        true
    }
}

impl<F: Fn(&Question) -> Answer + Send + Sync> Approver for F {
    fn ask<'a>(&'a self, request: &'a Question) -> AnswerFuture<'a> {
        Box::pin(async move { Ok(Some(self(request))) })
    }
}

impl Approver for Answer {
    fn ask<'a>(&'a self, _request: &'a Question) -> AnswerFuture<'a> {
        Box::pin(async move { Ok(Some(*self)) })
    }
}

/// The stored record of a permanent approval: these permissions, for this content of this
/// directory.
///
/// Other content of the directory has other digests, so an update needs a new approval. Stores
/// serialize this type; unknown fields of later versions are ignored, and fields that an earlier
/// version did not write are empty.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Approval {
    /// The display name of the skill when it was approved.
    pub name: String,
    /// The skill directory, canonical.
    pub directory: PathBuf,
    /// The content digest.
    pub digest: String,
    /// The approved permissions.
    pub permissions: BTreeSet<Permission>,
    /// Privileged permissions that rules granted when the approver saw the request. They are not
    /// approved: the rules must still grant them.
    #[serde(default, rename = "granted")]
    pub granted_by_rules: BTreeSet<Permission>,
    /// All privileges that the skill declared then, to report what an update adds.
    #[serde(default)]
    pub declared: BTreeSet<String>,
}

impl Approval {
    /// Returns true if one of the approved permissions implies `permission`.
    #[must_use]
    pub fn covers(&self, permission: &Permission) -> bool {
        self.permissions
            .iter()
            .any(|approved| approved.covers(permission))
    }

    /// Returns true if the approver saw that the content would have `permission`.
    pub(crate) fn was_shown(&self, permission: &Permission) -> bool {
        // Both lists were in the approval request.
        self.permissions
            .iter()
            .chain(&self.granted_by_rules)
            .any(|shown| shown.covers(permission))
    }
}

/// Persistent storage of approvals, at most one per directory: that of the content approved last.
///
/// Keeping the approvals of earlier contents would let an attacker restore an old, vulnerable
/// version that still runs without approval.
pub trait ApprovalStore: Send + Sync {
    /// Returns the approval for a directory, `None` if there is none.
    ///
    /// # Errors
    /// Fails if it cannot be read. Then no content of the directory counts as approved.
    fn load(&self, directory: &std::path::Path) -> Result<Option<Approval>, BoxError>;

    /// Stores an approval, replacing the one for the same directory.
    ///
    /// # Errors
    /// Fails if it cannot be written. The approval then lasts for the session only.
    fn save(&self, approval: &Approval) -> Result<(), BoxError>;
}

/// A store that holds nothing and rejects every approval; the default of
/// [`PermissionManager`](crate::PermissionManager). With it, a permanent approval lasts for the
/// session.
#[derive(Debug, Clone, Copy, Default)]
pub struct NullApprovalStore;

impl ApprovalStore for NullApprovalStore {
    fn load(&self, _directory: &std::path::Path) -> Result<Option<Approval>, BoxError> {
        Ok(None)
    }

    fn save(&self, _approval: &Approval) -> Result<(), BoxError> {
        Err("no approval store is configured".into())
    }
}
