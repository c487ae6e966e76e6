//! Asking somebody.

use std::collections::BTreeSet;
use std::error::Error;
use std::fmt;
use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;

use crate::{Permission, PermissionDecision, ResourceLimits};

/// What somebody is asked: everything about one run that they need to know.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct ApprovalRequest {
    /// The skill's name, as it calls itself.
    pub name: String,
    /// Where it lies.
    #[serde(serialize_with = "crate::path::serialize_lossy")]
    pub directory: PathBuf,
    /// The digest of its content; without one no approval lasts.
    pub digest: Option<String>,
    /// Whether the digest is of the command's words alone, since the machine's programs work on the
    /// directory and its files are not looked at.
    pub is_ad_hoc_digest: bool,
    /// What will run, with its arguments.
    pub command: Vec<String>,
    /// Whether these are words that no skill wrote: then an answer holds for just these words, and
    /// for the session at most.
    pub is_ad_hoc: bool,
    /// What has to be allowed: paths, hosts, programs, names of variables.
    pub pending: Vec<PermissionDecision>,
    /// What is granted anyway.
    pub granted: Vec<PermissionDecision>,
    /// What is known of the content.
    pub content: ContentStatus,
    /// Whether it is the content itself that has to be allowed, because rules would give it powers
    /// that nobody approved it for.
    pub requires_content_approval: bool,
    /// How much it may use.
    pub limits: ResourceLimits,
    /// What whoever answers should know besides.
    pub notes: Vec<String>,
}

/// What is known of the content of a skill.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ContentStatus {
    /// Nothing of this directory was approved before, or it has no digest.
    New,
    /// This content was approved before, for other things.
    Approved,
    /// Other content was approved before.
    Changed {
        /// What the skill declares now and did not when it was approved: entries of
        /// `allowed-tools`, variables, hooks.
        added: Vec<String>,
        /// What it declared then and does not any more.
        removed: Vec<String>,
    },
}

/// What somebody answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ApprovalResponse {
    /// Yes, for this run.
    #[serde(rename = "once")]
    AllowOnce,
    /// Yes, for this content, until the [session](crate::Request::session) or the host ends.
    #[serde(rename = "session")]
    AllowSession,
    /// Yes, for this content, for good.
    #[serde(rename = "always")]
    AllowAlways,
    /// No.
    Deny,
}

impl fmt::Display for ApprovalResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::AllowOnce => "once",
            Self::AllowSession => "session",
            Self::AllowAlways => "always",
            Self::Deny => "deny",
        })
    }
}

/// Why asking failed.
pub type BoxError = Box<dyn Error + Send + Sync>;

/// An answer under way; nothing when there is none.
pub type ApprovalFuture<'a> =
    Pin<Box<dyn Future<Output = Result<Option<ApprovalResponse>, BoxError>> + Send + 'a>>;

/// Somebody who can be asked. Functions from a question to an answer are, and so is an
/// [`ApprovalResponse`], which is the same to every question.
///
/// A function that blocks blocks whoever polls the decision, and no timeout ends it: who waits for
/// a person implements the trait and awaits.
pub trait Approver: Send + Sync {
    /// Asks. No answer, an error and a panic all deny.
    fn request_approval<'a>(&'a self, question: &'a ApprovalRequest) -> ApprovalFuture<'a>;
}

impl<F: Fn(&ApprovalRequest) -> ApprovalResponse + Send + Sync> Approver for F {
    fn request_approval<'a>(&'a self, question: &'a ApprovalRequest) -> ApprovalFuture<'a> {
        Box::pin(async move { Ok(Some(self(question))) })
    }
}

impl Approver for ApprovalResponse {
    fn request_approval<'a>(&'a self, _question: &'a ApprovalRequest) -> ApprovalFuture<'a> {
        Box::pin(async move { Ok(Some(*self)) })
    }
}

/// What was approved for good: these permissions, for this content of this directory.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Approval {
    /// The skill's name when it was approved.
    pub name: String,
    /// Where it lies.
    pub directory: PathBuf,
    /// The digest of its content.
    pub digest: String,
    /// What it may have.
    pub permissions: BTreeSet<Permission>,
    /// What rules gave it besides when it was approved, which was shown. It may have that only as
    /// long as rules give it.
    #[serde(default, rename = "granted")]
    pub granted_by_rules: BTreeSet<Permission>,
    /// All that could be dangerous and that the skill declared then; by this it is seen what grew.
    #[serde(default)]
    pub declared: BTreeSet<String>,
}

impl Approval {
    /// Says whether something is approved.
    #[must_use]
    pub fn covers(&self, permission: &Permission) -> bool {
        self.permissions
            .iter()
            .any(|approved| approved.covers(permission))
    }
}

impl Approval {
    /// Says whether whoever approved saw that the content would have this.
    pub(crate) fn was_shown(&self, permission: &Permission) -> bool {
        self.permissions
            .iter()
            .chain(&self.granted_by_rules)
            .any(|seen| seen.covers(permission))
    }
}

/// Where a host keeps approvals. There is at most one for a directory: that of the content that was
/// approved last.
pub trait ApprovalStore: Send + Sync {
    /// Returns the approval for a directory.
    ///
    /// # Errors
    /// When it cannot be read. Then nothing counts as approved.
    fn load(&self, directory: &std::path::Path) -> Result<Option<Approval>, BoxError>;

    /// Keeps an approval in place of the one for the same directory.
    ///
    /// # Errors
    /// When it cannot be kept. The answer then holds for the session only.
    fn save(&self, approval: &Approval) -> Result<(), BoxError>;
}

/// A store that keeps nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NullApprovalStore;

impl ApprovalStore for NullApprovalStore {
    fn load(&self, _directory: &std::path::Path) -> Result<Option<Approval>, BoxError> {
        Ok(None)
    }

    fn save(&self, _approval: &Approval) -> Result<(), BoxError> {
        Err("this host keeps no approvals".into())
    }
}
