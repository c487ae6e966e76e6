//! Rules, approvals and whoever is asked, together.

use std::collections::BTreeSet;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::Poll;

use crate::approval::NullApprovalStore;
use crate::policy::RuleEvaluation;
use crate::session_approvals::{Epoch, SessionApprovals};
use crate::{
    Approval, ApprovalMode, ApprovalRequest, ApprovalResponse, ApprovalStore, Approver,
    Authorization, BoxError, ContentStatus, Decision, DecisionReason, Denial, HostPattern,
    NewContentPolicy, Permission, PermissionDecision, Policy, Request, RuleSource,
};

/// The most things that somebody is asked about at once. Whoever wants more is denied: nobody reads
/// it.
const MAX_PENDING: usize = 64;

/// Decides by rules, stored approvals and answers, in this order.
///
/// Defaults: the default [`Policy`], nobody to ask, no store. Then everything that would have to be
/// asked for is denied. Of each session the answers for at most 200 contents are remembered, and of
/// more its oldest is forgotten; of all sessions together 10,000, and of more the oldest of the
/// session that has most.
#[must_use]
pub struct PermissionManager {
    policy: Policy,
    approver: Option<Arc<dyn Approver>>,
    store: Arc<dyn ApprovalStore>,
    session_approvals: SessionApprovals,
}

/// What rules and approvals come to.
#[derive(Debug)]
#[must_use]
pub enum Evaluation {
    /// They decide.
    Decided(Box<Authorization>),
    /// Somebody has to be asked.
    NeedsApproval(Box<PendingApproval>),
}

/// A decision that an answer is missing to.
#[derive(Debug)]
pub struct PendingApproval {
    request: Request,
    evaluation: RuleEvaluation,
    approval_request: ApprovalRequest,
    /// Whether the content itself has to be approved.
    requires_content_approval: bool,
    /// Why stored approvals do not count.
    store_warnings: Vec<String>,
    epoch: Epoch,
}

impl PendingApproval {
    /// Returns what is to be asked.
    #[must_use]
    pub fn approval_request(&self) -> &ApprovalRequest {
        &self.approval_request
    }
}

impl Default for PermissionManager {
    fn default() -> Self {
        Self::new(Policy::default())
    }
}

impl PermissionManager {
    /// Decides by these rules.
    pub fn new(rules: Policy) -> Self {
        Self {
            policy: rules,
            approver: None,
            store: Arc::new(NullApprovalStore),
            session_approvals: SessionApprovals::default(),
        }
    }

    /// Asks this one.
    pub fn approver(mut self, approver: Arc<dyn Approver>) -> Self {
        self.approver = Some(approver);
        self
    }

    /// Keeps approvals here.
    pub fn store(mut self, store: Arc<dyn ApprovalStore>) -> Self {
        self.store = store;
        self
    }

    /// Returns the rules.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Decides, and asks where that is needed: `approver`, else the manager's own.
    pub async fn authorize(
        &self,
        request: &Request,
        approver: Option<&dyn Approver>,
    ) -> Authorization {
        match self.evaluate(request) {
            Evaluation::Decided(decision) => *decision,
            Evaluation::NeedsApproval(pending) => self.request_approval(*pending, approver).await,
        }
    }

    /// Says what would be decided if nobody was asked.
    pub fn preview(&self, request: &Request) -> Authorization {
        match self.evaluate(request) {
            Evaluation::Decided(decision) => *decision,
            Evaluation::NeedsApproval(pending) => self.deny_without_response(*pending),
        }
    }

    /// Applies rules, then approvals.
    pub fn evaluate(&self, request: &Request) -> Evaluation {
        let put = self.session_approvals.epoch();
        let mut ruling = self.policy.evaluate(request);
        let is_open = |verdict: &PermissionDecision| verdict.decision == Decision::Ask;
        let open = ruling
            .decisions
            .iter()
            .filter(|verdict| is_open(verdict))
            .count();
        let is_denied = ruling
            .decisions
            .iter()
            .any(|verdict| verdict.decision == Decision::Deny);
        if is_denied || open > MAX_PENDING {
            // Nothing of it will run, so nobody is asked about the rest.
            let reason = if is_denied {
                DecisionReason::OtherDenied
            } else {
                DecisionReason::TooManyPermissions { count: open }
            };
            ruling
                .decisions
                .iter_mut()
                .filter(|verdict| is_open(verdict))
                .for_each(|verdict| verdict.resolve(Decision::Deny, reason.clone()));
            return Evaluation::Decided(Box::new(self.policy.finish(request, ruling)));
        }
        if open == 0 && !self.requires_content_approval(&ruling, &[]) {
            return Evaluation::Decided(Box::new(self.policy.finish(request, ruling)));
        }
        let mut notes = Vec::new();
        let stored = self.store.load(&request.directory).unwrap_or_else(|error| {
            notes.push(format!("stored approvals cannot be read: {error}"));
            None
        });
        let approved = self.matching_approvals(request, stored.as_ref());
        let is_content_open = self.requires_content_approval(&ruling, &approved)
            && self.requires_content_approval(&ruling, &self.matching_session_approvals(request));
        let of_words = self.matching_session_approvals(request);
        for verdict in ruling
            .decisions
            .iter_mut()
            .filter(|verdict| is_open(verdict))
        {
            let by_content = if request.is_ad_hoc_permission(&verdict.permission) {
                &[][..]
            } else {
                &approved
            };
            if by_content
                .iter()
                .chain(&of_words)
                .any(|approval| approval.covers(&verdict.permission))
            {
                verdict.resolve(Decision::Allow, DecisionReason::PreviouslyApproved);
            }
        }
        if !is_content_open && !ruling.decisions.iter().any(is_open) {
            return Evaluation::Decided(Box::new(self.policy.finish(request, ruling)));
        }
        let trouble = notes.clone();
        let mut question = self.build_request(request, &ruling, stored.as_ref(), &approved, notes);
        question.requires_content_approval = is_content_open;
        Evaluation::NeedsApproval(Box::new(PendingApproval {
            request: request.clone(),
            evaluation: ruling,
            approval_request: question,
            requires_content_approval: is_content_open,
            store_warnings: trouble,
            epoch: put,
        }))
    }

    /// Asks `approver`, else the manager's own, and decides by the answer.
    pub async fn request_approval(
        &self,
        pending: PendingApproval,
        approver: Option<&dyn Approver>,
    ) -> Authorization {
        let approver = approver.or(self.approver.as_deref());
        let (fate, reason) = match approver {
            _ if self.policy.mode() == ApprovalMode::Strict => {
                (Decision::Deny, DecisionReason::StrictMode)
            }
            None => (Decision::Deny, DecisionReason::NoApprover),
            Some(approver) => {
                match request_catching_panics(approver, &pending.approval_request).await {
                    Ok(Some(ApprovalResponse::Deny)) => (
                        Decision::Deny,
                        DecisionReason::ApproverResponded {
                            response: ApprovalResponse::Deny,
                            store_error: None,
                        },
                    ),
                    Ok(Some(answer)) => (Decision::Allow, self.store_response(&pending, answer)),
                    Ok(None) => (Decision::Deny, DecisionReason::NoResponse),
                    Err(error) => (
                        Decision::Deny,
                        DecisionReason::ApproverFailed {
                            error: error.to_string(),
                        },
                    ),
                }
            }
        };
        self.finish(pending, fate, &reason)
    }

    /// Decides without an answer, because none came in time.
    pub fn timed_out(&self, pending: PendingApproval) -> Authorization {
        self.finish(pending, Decision::Deny, &DecisionReason::NoResponse)
    }

    /// Forgets what was answered for a [session](Request::session). The answer to a question that
    /// is open then holds for its own run alone.
    pub fn clear_session(&self, session: &str) {
        self.session_approvals.remove_session(session);
    }

    fn deny_without_response(&self, pending: PendingApproval) -> Authorization {
        self.finish(pending, Decision::Deny, &self.policy.no_approver_reason())
    }

    /// Approves for good what was asked, as an answer of [`ApprovalResponse::AllowAlways`] would,
    /// without running anything. Works in strict mode too.
    ///
    /// # Errors
    /// When there is no digest, or the store fails.
    pub fn approve_permanently(&self, pending: PendingApproval) -> Result<Authorization, BoxError> {
        if pending.request.ad_hoc_digest.is_some() {
            return Err("a command is approved when it is to run, not beforehand".into());
        }
        let approval = self
            .build_approval(&pending, ApprovalResponse::AllowAlways)
            .ok_or("the content has no digest")?;
        self.store.save(&approval)?;
        let reason = DecisionReason::ApproverResponded {
            response: ApprovalResponse::AllowAlways,
            store_error: None,
        };
        Ok(self.finish(pending, Decision::Allow, &reason))
    }

    /// Whether the content has to be asked for: nobody approved it at all, or not for a power that
    /// rules would give it now.
    fn requires_content_approval(&self, ruling: &RuleEvaluation, approved: &[Approval]) -> bool {
        let is_known = |verdict: &PermissionDecision| {
            approved
                .iter()
                .any(|approval| approval.was_shown(&verdict.permission))
        };
        match self.policy.new_content() {
            NewContentPolicy::Ask if approved.is_empty() => true,
            NewContentPolicy::Ask | NewContentPolicy::AskIfPrivileged => ruling
                .decisions
                .iter()
                .any(|verdict| is_standing_privilege(verdict) && !is_known(verdict)),
            NewContentPolicy::Allow => false,
        }
    }

    /// The approvals for just this content.
    fn matching_approvals(&self, request: &Request, stored: Option<&Approval>) -> Vec<Approval> {
        let stored = stored
            .filter(|approval| matches_request(approval, request))
            .cloned();
        stored
            .into_iter()
            .chain(
                self.session_approvals
                    .get(request.session.as_deref(), |approval| {
                        matches_request(approval, request)
                    }),
            )
            .collect()
    }

    /// The answers of the request's session to just these words.
    fn matching_session_approvals(&self, request: &Request) -> Vec<Approval> {
        let Some(words) = request.ad_hoc_content_digest() else {
            return Vec::new();
        };
        self.session_approvals
            .get(request.session.as_deref(), |approval| {
                approval.digest == words && approval.directory == request.directory
            })
    }

    fn build_request(
        &self,
        request: &Request,
        ruling: &RuleEvaluation,
        stored: Option<&Approval>,
        approved: &[Approval],
        mut notes: Vec<String>,
    ) -> ApprovalRequest {
        let with = |fate: Decision| {
            ruling
                .decisions
                .iter()
                .filter(|verdict| verdict.decision == fate)
                .cloned()
                .collect::<Vec<_>>()
        };
        let content = match stored {
            _ if !approved.is_empty() => ContentStatus::Approved,
            Some(before) if request.digest.is_some() => content_status(before, request),
            _ => ContentStatus::New,
        };
        if request.digest.is_none() {
            let note = "its content has no digest, so an answer holds for this run only, and a change until it is given is not noticed";
            notes.push(note.to_owned());
        }
        if with(Decision::Ask)
            .iter()
            .any(|verdict| verdict.permission == Permission::Host(HostPattern::ANY))
        {
            notes.push("all hosts could be reached".to_owned());
        }
        if with(Decision::Ask)
            .iter()
            .any(|verdict| matches!(verdict.permission, Permission::WriteProtected { .. }))
        {
            notes.push("DANGEROUS: what is written to a protected path can run outside of any sandbox later".to_owned());
        }
        ApprovalRequest {
            name: request.name.clone(),
            directory: request.directory.clone(),
            digest: request.digest.clone(),
            is_ad_hoc_digest: !request.is_skill_directory,
            command: request.command.clone(),
            is_ad_hoc: request.ad_hoc_digest.is_some(),
            pending: with(Decision::Ask),
            granted: with(Decision::Allow),
            content,
            requires_content_approval: false,
            limits: self.policy.effective_limits(request),
            notes,
        }
    }

    /// Keeps an answer for as long as it should hold; what cannot be stored holds for the session.
    fn store_response(
        &self,
        pending: &PendingApproval,
        answer: ApprovalResponse,
    ) -> DecisionReason {
        let mut not_stored = None;
        if answer == ApprovalResponse::AllowAlways && pending.request.ad_hoc_digest.is_some() {
            not_stored = Some("an answer to a command holds for the session at most".to_owned());
        } else if answer == ApprovalResponse::AllowAlways
            && let Some(approval) = self.build_approval(pending, answer)
        {
            not_stored = self
                .store
                .save(&approval)
                .err()
                .map(|error| error.to_string());
        }
        if (answer == ApprovalResponse::AllowSession || not_stored.is_some())
            && let Some(approval) = self.build_approval(pending, ApprovalResponse::AllowSession)
        {
            self.session_approvals.insert(
                pending.request.session.as_deref(),
                pending.epoch,
                approval,
            );
        }
        DecisionReason::ApproverResponded {
            response: answer,
            store_error: not_stored,
        }
    }

    /// What was asked; for good, with what is stored for just this content. What holds for the
    /// session never becomes permanent by another answer.
    fn build_approval(
        &self,
        pending: &PendingApproval,
        answer: ApprovalResponse,
    ) -> Option<Approval> {
        let request = &pending.request;
        let digest = if request.ad_hoc_digest.is_some() {
            request.ad_hoc_content_digest()
        } else {
            request.digest.clone()
        }?;
        let mut permissions: BTreeSet<Permission> = pending
            .approval_request
            .pending
            .iter()
            .map(|verdict| verdict.permission.clone())
            .collect();
        let stored = if answer == ApprovalResponse::AllowAlways {
            self.store.load(&request.directory).ok().flatten()
        } else {
            None
        };
        let is_dangerous =
            |verdict: &&PermissionDecision| verdict.permission.capability().is_privileged();
        let mut granted: BTreeSet<Permission> = pending
            .approval_request
            .granted
            .iter()
            .filter(is_dangerous)
            .map(|verdict| verdict.permission.clone())
            .collect();
        if let Some(stored) = stored.filter(|stored| matches_request(stored, request)) {
            permissions.extend(stored.permissions);
            granted.extend(stored.granted_by_rules);
        }
        let (name, directory, declared) = (
            request.name.clone(),
            request.directory.clone(),
            request.declared_privileges(),
        );
        Some(Approval {
            name,
            directory,
            digest,
            permissions,
            granted_by_rules: granted,
            declared,
        })
    }

    fn finish(
        &self,
        pending: PendingApproval,
        fate: Decision,
        reason: &DecisionReason,
    ) -> Authorization {
        let PendingApproval {
            request,
            evaluation: mut ruling,
            requires_content_approval: is_content_open,
            store_warnings: trouble,
            ..
        } = pending;
        for verdict in ruling
            .decisions
            .iter_mut()
            .filter(|verdict| verdict.decision == Decision::Ask)
        {
            verdict.resolve(fate, reason.clone());
        }
        if fate == Decision::Deny && is_content_open {
            return Authorization::Denied(Denial {
                decisions: ruling.decisions,
                content_reason: Some(reason.to_string()),
                notes: trouble,
            });
        }
        match self.policy.finish(&request, ruling) {
            Authorization::Denied(denial) => Authorization::Denied(Denial {
                notes: trouble,
                ..denial
            }),
            granted => granted,
        }
    }
}

fn matches_request(approval: &Approval, request: &Request) -> bool {
    request.digest.as_deref() == Some(approval.digest.as_str())
        && approval.directory == request.directory
}

/// A power that a rule gives which was written before this run.
fn is_standing_privilege(verdict: &PermissionDecision) -> bool {
    let standing = match &verdict.reason {
        DecisionReason::Rule { source: layer, .. } => *layer != RuleSource::Invocation,
        DecisionReason::TrustedMode => true,
        _ => false,
    };
    standing
        && verdict.decision == Decision::Allow
        && verdict.permission.capability().is_privileged()
}

fn content_status(before: &Approval, request: &Request) -> ContentStatus {
    let now = request.declared_privileges();
    ContentStatus::Changed {
        added: now.difference(&before.declared).cloned().collect(),
        removed: before.declared.difference(&now).cloned().collect(),
    }
}

/// Asks; a panic is an error like any other.
async fn request_catching_panics(
    approver: &dyn Approver,
    question: &ApprovalRequest,
) -> Result<Option<ApprovalResponse>, BoxError> {
    let panicked = |_| BoxError::from("whoever was asked panicked");
    let mut answering =
        catch_unwind(AssertUnwindSafe(|| approver.request_approval(question))).map_err(panicked)?;
    poll_fn(
        |context| match catch_unwind(AssertUnwindSafe(|| answering.as_mut().poll(context))) {
            Ok(poll) => poll,
            Err(payload) => Poll::Ready(Err(panicked(payload))),
        },
    )
    .await
}
