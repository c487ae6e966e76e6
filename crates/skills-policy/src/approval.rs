//! The approver interface, and the store of approvals.

use std::collections::BTreeSet;
use std::error::Error;
use std::path::PathBuf;
use std::pin::Pin;

use crate::{Answer, Permission, Question};

/// The error of an approver or a store; its text is shown as the cause of a denial.
pub type BoxError = Box<dyn Error + Send + Sync>;

/// The pending answer of an approver. `Ok(None)` means that there is no answer, for example
/// because the user closed the prompt; it denies, as an error does.
pub type AnswerFuture<'a> =
    Pin<Box<dyn Future<Output = Result<Option<Answer>, BoxError>> + Send + 'a>>;

/// The person or program that answers questions.
///
/// Implemented for functions from `&Question` to [`Answer`], and for
/// [`Answer`] itself, which is the same for every question. A blocking closure
/// blocks the executor and is not covered by the timeout; to wait for a person, implement the
/// trait.
///
/// ```
/// use skills_policy::{Question, Answer, Approver};
///
/// let approver = |question: &Question| {
///     if question.subjects.len() > 3 { Answer::Deny } else { Answer::AllowOnce }
/// };
/// fn accepts_approver(_: &impl Approver) {}
/// accepts_approver(&approver);
/// accepts_approver(&Answer::Deny);
/// ```
pub trait Approver: Send + Sync {
    /// Asks for an answer. No answer, an error and a panic all deny.
    ///
    /// The future can be dropped at any time, when the run times out or is cancelled.
    fn ask<'a>(&'a self, question: &'a Question) -> AnswerFuture<'a>;

    /// Returns false if no question can be answered, such as for a client without prompts. Callers
    /// then prepare nothing that takes an answer. Default: true.
    fn can_respond(&self) -> bool {
        true
    }

    /// Returns false if it does not answer for what a program was refused while it ran, such as an
    /// answer that was given before. Default: [`can_respond`](Self::can_respond); for [`Answer`] false.
    fn can_respond_to_refusals(&self) -> bool {
        self.can_respond()
    }
}

/// Makes an approver of a function that waits for its answer, such as one that sends the question to the
/// task with the user. `None` is no answer.
///
/// ```
/// use skills_policy::{Answer, Approver, Question, approver_fn};
///
/// fn accepts_approver(_: &impl Approver) {}
/// accepts_approver(&approver_fn(async |question: Question| {
///     (question.subjects.len() == 1).then_some(Answer::AllowOnce)
/// }));
/// ```
pub fn approver_fn<F, A>(ask: F) -> impl Approver
where
    F: Fn(Question) -> A + Send + Sync,
    A: Future<Output = Option<Answer>> + Send + 'static,
{
    AsyncApprover(ask)
}

struct AsyncApprover<F>(F);

impl<F, A> Approver for AsyncApprover<F>
where
    F: Fn(Question) -> A + Send + Sync,
    A: Future<Output = Option<Answer>> + Send + 'static,
{
    fn ask<'a>(&'a self, question: &'a Question) -> AnswerFuture<'a> {
        let answer = self.0(question.clone());
        Box::pin(async move { Ok(answer.await) })
    }
}

impl<F: Fn(&Question) -> Answer + Send + Sync> Approver for F {
    fn ask<'a>(&'a self, question: &'a Question) -> AnswerFuture<'a> {
        Box::pin(async move { Ok(Some(self(question))) })
    }
}

impl Approver for Answer {
    fn ask<'a>(&'a self, _question: &'a Question) -> AnswerFuture<'a> {
        Box::pin(async move { Ok(Some(*self)) })
    }

    fn can_respond_to_refusals(&self) -> bool {
        false
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
    /// Privileged permissions that rules granted when the approver saw the question. They are not
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
        // Both lists were in the question.
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
