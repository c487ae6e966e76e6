//! The result for a whole request.

use std::fmt;

use crate::{Decision, Grants, PermissionDecision};

/// The result for a whole request. One denied permission denies the request.
///
/// A request of a caller is granted completely or denied: a program with fewer permissions can fail
/// after it had effects, which are harder to explain than a denial. A skill often declares more
/// than its scripts use, so a caller can [omit](crate::Request::omit_ungranted) declared
/// permissions that nothing allows.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
#[expect(
    clippy::large_enum_variant,
    reason = "one is made for each run, and a box would be in every match"
)]
pub enum Authorization {
    /// Every requested permission is allowed or [omitted](Decision::Omit).
    Granted(Grants),
    /// At least one is not, so nothing runs.
    Denied(Denial),
}

impl Authorization {
    /// Returns the decision on each requested permission, in the order of
    /// [`Permission`](crate::Permission).
    #[must_use]
    pub fn decisions(&self) -> &[PermissionDecision] {
        match self {
            Self::Granted(grants) => grants.decisions(),
            Self::Denied(denial) => denial.decisions(),
        }
    }
}

/// The explanation of a denied request.
///
/// [`Display`](fmt::Display) writes one line that begins with `permission denied:` and names at
/// most ten denied permissions with their reasons. The line can contain host paths and text of the
/// skill: it is for the operator, not for a model.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Denial {
    pub(crate) decisions: Vec<PermissionDecision>,
    /// Why the content itself may not run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) content_reason: Option<Box<str>>,
    /// Additional notes, such as failures of the approval store.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) notes: Vec<String>,
    /// True if an approver was asked.
    #[serde(skip)]
    pub(crate) was_asked: bool,
}

impl Denial {
    /// Returns the decision on each requested permission. At least one is denied, or
    /// [`content_reason`](Self::content_reason) says why nothing runs.
    #[must_use]
    pub fn decisions(&self) -> &[PermissionDecision] {
        &self.decisions
    }

    /// Returns the denied permissions.
    pub fn denied(&self) -> impl Iterator<Item = &PermissionDecision> {
        self.decisions
            .iter()
            // A denied request contains allowed permissions too: each has its own decision.
            .filter(|decision| decision.decision() == Decision::Deny)
    }

    /// Returns why content that has not been approved may not run, if that is the cause of the
    /// denial.
    #[must_use]
    pub fn content_reason(&self) -> Option<&str> {
        self.content_reason.as_deref()
    }

    /// Returns true if an approver was asked, also if it failed or gave no response in time. Such a
    /// request must not be repeated with less: the person may have refused the run as a whole.
    #[must_use]
    pub fn was_asked(&self) -> bool {
        self.was_asked
    }
}

impl fmt::Display for Denial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A skill can request any number of permissions; the line must stay readable.
        const MAX_SHOWN: usize = 10;
        let mut causes = Vec::new();
        // First, because no permission is the cause then.
        if let Some(reason) = &self.content_reason {
            causes.push(format!(
                "this content of the skill has not been approved: {reason}"
            ));
        }
        causes.extend(self.denied().take(MAX_SHOWN).map(|decision| {
            format!(
                "{} (requested by {}): {}",
                decision.permission(),
                decision.requesters(),
                decision.explanation()
            )
        }));
        let more = self.denied().count().saturating_sub(MAX_SHOWN);
        if more > 0 {
            causes.push(format!("and {more} more permissions"));
        }
        causes.extend(self.notes.iter().cloned());
        write!(f, "permission denied: {}", causes.join("; "))
    }
}
