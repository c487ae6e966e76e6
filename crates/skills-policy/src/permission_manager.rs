//! Authorization by policy, stored approvals and an approver together.

mod accepted_packages;
mod approvals;
mod asking;

use std::sync::Arc;

use self::approvals::{
    ApplicableApprovals, build_approval, build_session_approvals, content_status, coverage,
    matches_request, risk_notes,
};
use self::asking::{can_answer, request_catching_panics};
use crate::approval::NullApprovalStore;
use crate::decision::MAX_PENDING;
use crate::earlier_attempt::AttemptContent;
use crate::evaluation_result::{RuleEvaluation, is_standing_privilege};
use crate::refused_permissions::{all_programs, allow_again, ask_for_refused, raised_limit};
use crate::session_approvals::{Epoch, SessionApprovals};
use crate::{
    Answer, Approval, ApprovalMode, ApprovalStore, Approver, Authorization, BoxError,
    ContentStatus, Decision, DecisionReason, Denial, NewContentPolicy, Permission,
    PermissionDecision, Policy, Question, Request, RunEffects, Subject,
};

/// Authorizes requests by rules, stored approvals and answers of an approver, in this order.
///
/// Defaults: the default [`Policy`], no approver, no store; then everything that needs approval is
/// denied. Approvals for a session are kept in memory for at most 200 contents per session, with
/// the oldest evicted first, and for 10,000 contents in total, with the oldest of the largest
/// session evicted first. All methods take `&self`; one manager serves any number of concurrent
/// runs.
///
/// ```
/// use skills_policy::{Answer, Authorization, PermissionManager, Request};
/// use std::sync::Arc;
///
/// let request = Request::new("/skills/deploy")
///     .content_digest("sha256:1")
///     .allowed_tool("Bash", Some("git:*"));
/// let manager = PermissionManager::default().approver(Arc::new(Answer::AllowSession));
/// assert!(matches!(manager.preview(&request), Authorization::Denied(_)));
///
/// # fn block_on<T>(future: impl Future<Output = T>) -> T {
/// #     let mut context = std::task::Context::from_waker(std::task::Waker::noop());
/// #     match std::pin::pin!(future).poll(&mut context) {
/// #         std::task::Poll::Ready(value) => value,
/// #         std::task::Poll::Pending => panic!("the approver responds at once"),
/// #     }
/// # }
/// let authorization = block_on(manager.authorize(&request, None));
/// assert!(matches!(authorization, Authorization::Granted(_)));
/// // The approval is remembered for this content, so a preview grants it too.
/// assert!(matches!(manager.preview(&request), Authorization::Granted(_)));
/// let update = request.content_digest("sha256:2");
/// assert!(matches!(manager.preview(&update), Authorization::Denied(_)));
/// ```
#[must_use]
pub struct PermissionManager {
    policy: Policy,
    approver: Option<Arc<dyn Approver>>,
    store: Arc<dyn ApprovalStore>,
    session_approvals: Arc<SessionApprovals>,
}

/// The result of evaluating rules and stored approvals, before any approver is asked.
///
/// Use it instead of [`PermissionManager::authorize`] to do something between the two steps, such
/// as starting a timeout or checking requirements before a user is asked.
#[derive(Debug)]
#[must_use]
pub enum Evaluation {
    /// Rules and approvals are sufficient.
    Decided(Box<Authorization>),
    /// An approver has to answer.
    NeedsApproval(Box<PendingQuestion>),
}

/// An authorization that waits for the answer of an approver.
///
/// Consumed by [`PermissionManager::ask`], [`PermissionManager::timed_out`] or
/// [`PermissionManager::approve_permanently`]. Dropping it denies, since nothing runs without
/// [`Grants`](crate::Grants).
#[derive(Debug)]
pub struct PendingQuestion {
    request: Request,
    evaluation: RuleEvaluation,
    question: Question,
    /// What [`Answer::AllowAllPrograms`] allows in addition.
    all_programs: Option<PermissionDecision>,
    /// Why stored approvals were ignored.
    store_warnings: Vec<String>,
    epoch: Epoch,
}

impl PendingQuestion {
    /// Returns the question for the approver.
    #[must_use]
    pub fn question(&self) -> &Question {
        &self.question
    }
}

impl Default for PermissionManager {
    fn default() -> Self {
        Self::new(Policy::default())
    }
}

/// What a request is evaluated for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Purpose {
    Run,
    ApprovalInAdvance,
}

impl PermissionManager {
    /// Creates a manager with a policy, without approver and store.
    pub fn new(policy: Policy) -> Self {
        Self {
            policy,
            approver: None,
            store: Arc::new(NullApprovalStore),
            session_approvals: Arc::default(),
        }
    }

    /// Sets the approver for permissions that the policy leaves open. Default: none; they are
    /// denied.
    pub fn approver(mut self, approver: Arc<dyn Approver>) -> Self {
        self.approver = Some(approver);
        self
    }

    /// Sets the store of permanent approvals. Default: [`NullApprovalStore`].
    pub fn store(mut self, store: Arc<dyn ApprovalStore>) -> Self {
        self.store = store;
        self
    }

    /// Returns a manager with another policy that shares the approver, the store and the approvals
    /// of sessions, for a caller whose paths differ.
    pub fn with_policy(&self, policy: Policy) -> Self {
        Self {
            policy,
            approver: self.approver.clone(),
            store: Arc::clone(&self.store),
            session_approvals: Arc::clone(&self.session_approvals),
        }
    }

    /// Returns true if `approver`, or else the manager's own, can answer questions.
    #[must_use]
    pub fn has_approver(&self, approver: Option<&dyn Approver>) -> bool {
        let approver = approver.or(self.approver.as_deref());
        approver.is_some_and(Approver::can_respond)
    }

    /// Returns true if it can also answer questions about what a program was refused.
    #[must_use]
    pub fn has_approver_of_refusals(&self, approver: Option<&dyn Approver>) -> bool {
        let approver = approver.or(self.approver.as_deref());
        approver.is_some_and(Approver::can_respond_to_refusals)
    }

    /// Returns the policy.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Authorizes a request, and asks `approver`, or else the manager's own, if approval is needed.
    ///
    /// Cancel safe: a future that is dropped while the approver is asked grants and stores nothing.
    pub async fn authorize(
        &self,
        request: &Request,
        approver: Option<&dyn Approver>,
    ) -> Authorization {
        match self.evaluate(request) {
            Evaluation::Decided(authorization) => *authorization,
            Evaluation::NeedsApproval(pending) => self.ask(*pending, approver).await,
        }
    }

    /// Returns the authorization without asking an approver: everything that needs approval is
    /// denied.
    pub fn preview(&self, request: &Request) -> Authorization {
        match self.evaluate(request) {
            Evaluation::Decided(authorization) => *authorization,
            Evaluation::NeedsApproval(pending) => {
                let reason = self.policy.no_approver_reason();
                self.finish(*pending, Decision::Deny, &reason)
            }
        }
    }

    /// Applies the rules, then stored approvals and those of the session.
    pub fn evaluate(&self, request: &Request) -> Evaluation {
        self.evaluate_for(request, Purpose::Run)
    }

    /// Evaluates a request for an approval in advance, with
    /// [`approve_permanently`](Self::approve_permanently). Other than in
    /// [`evaluate`](Self::evaluate), programs and hosts that rules of the invocation allow need
    /// approval, and so do those that only standing rules request: once approved, this content gets
    /// them without these rules, and the standing rules apply to it.
    pub fn evaluate_in_advance(&self, request: &Request) -> Evaluation {
        self.evaluate_for(request, Purpose::ApprovalInAdvance)
    }

    fn evaluate_for(&self, request: &Request, purpose: Purpose) -> Evaluation {
        // Read first: a session that is removed from here on must not get this answer.
        let epoch = self.session_approvals.epoch();
        let mut evaluation = self.policy.evaluate(request);
        let earlier = request.earlier.as_ref();
        if let Some(earlier) = earlier {
            // As little as before: a standing rule adds nothing that this run did not have.
            evaluation.retain_standing_requests(|permission| earlier.had(permission));
            ask_for_refused(earlier, &self.policy, request, &mut evaluation);
        }
        let approvals = self.load_approvals(request);
        // If approvals cannot be read, something may be missing that the user has approved.
        let is_known = approvals.warnings.is_empty();
        if request.omits_ungranted && is_known && purpose == Purpose::Run {
            approvals.apply(request, &self.policy, &mut evaluation);
            evaluation.omit_declared();
        }
        if let Some(reason) = reason_not_to_ask(&evaluation) {
            evaluation.resolve_pending(Decision::Deny, &reason);
            return self.decided(request, evaluation);
        }
        // An earlier attempt ran this content, with an approval if it takes one.
        let same = earlier.filter(|earlier| earlier.content.is_same(&AttemptContent::of(request)));
        let requires_content_approval =
            same.is_none() && self.is_content_unapproved(request, &evaluation, &approvals);
        if purpose == Purpose::ApprovalInAdvance {
            evaluation.ask_for_rules();
        }
        approvals.apply(request, &self.policy, &mut evaluation);
        if let Some(same) = same {
            allow_again(same, &mut evaluation);
        }
        let raised = earlier.and_then(|earlier| raised_limit(earlier, &self.policy));
        if !requires_content_approval && !evaluation.is_pending() && raised.is_none() {
            return self.decided(request, evaluation);
        }
        if purpose == Purpose::Run {
            // A standing rule was written for other content: it adds nothing to what an unapproved
            // skill asks for, so that a rule for one skill causes no question about all others.
            let narrower = evaluation.without_standing_requests();
            if raised.is_none()
                && !narrower.is_pending()
                && !self.is_content_unapproved(request, &narrower, &approvals)
            {
                return self.decided(request, narrower);
            }
        }
        let content = requires_content_approval.then_some(Subject::Content);
        let limit = raised.map(Subject::Limit);
        let mut question = self.build_question(request, &evaluation, &approvals, [content, limit]);
        let all_programs = all_programs(&self.policy, request);
        question.offers_all_programs = all_programs.is_some();
        let mut request = request.clone();
        raised
            .into_iter()
            .for_each(|raised| raised.apply(&mut request.limits));
        Evaluation::NeedsApproval(Box::new(PendingQuestion {
            request,
            evaluation,
            question,
            all_programs,
            store_warnings: approvals.warnings,
            epoch,
        }))
    }

    /// Asks `approver`, or else the manager's own, and decides by the answer. In strict mode it
    /// denies without asking.
    pub async fn ask(
        &self,
        pending: PendingQuestion,
        approver: Option<&dyn Approver>,
    ) -> Authorization {
        let (decision, reason) = match approver.or(self.approver.as_deref()) {
            // Also for an approver of the call, which a client could provide.
            _ if self.policy.mode() == ApprovalMode::Strict => {
                (Decision::Deny, DecisionReason::StrictMode)
            }
            None => (Decision::Deny, DecisionReason::NoApprover),
            Some(approver) if !can_answer(approver, &pending.question) => {
                (Decision::Deny, DecisionReason::NoApprover)
            }
            Some(approver) => {
                let response = request_catching_panics(approver, &pending.question).await;
                self.apply_response(&pending, response)
            }
        };
        self.finish(pending, decision, &reason)
    }

    /// Returns true if the decision on a request may depend on its digest: an approval is stored
    /// for this directory.
    pub fn has_stored_approval(&self, request: &Request) -> bool {
        matches!(self.store.load(&request.directory), Ok(Some(_)))
    }

    /// Denies a pending question that was not answered in time.
    pub fn timed_out(&self, pending: PendingQuestion) -> Authorization {
        self.finish(pending, Decision::Deny, &DecisionReason::NoResponse)
    }

    /// Removes the approvals of a [session](Request::session). An answer to a question that is
    /// pending now then applies to its own run only.
    pub fn clear_session(&self, session: &str) {
        self.session_approvals.remove_session(session);
    }

    /// Approves a pending request permanently, as [`Answer::AllowAlways`] would, without
    /// running anything. Works in strict mode too, where it is the only way to approve.
    ///
    /// # Errors
    /// Fails if the content has no digest, the request is for a [command](Request::ad_hoc), or the
    /// store fails.
    pub fn approve_permanently(&self, pending: PendingQuestion) -> Result<Authorization, BoxError> {
        if pending.request.ad_hoc_digest.is_some() {
            return Err(
                "cannot approve a command in advance: approvals of commands last for one session"
                    .into(),
            );
        }
        let approval = self
            .build_permanent_approval(&pending)
            .ok_or("the content has no digest")?;
        // Before the authorization, so that a failed store does not look like a permanent approval.
        self.store.save(&approval)?;
        let reason = DecisionReason::ApproverResponded {
            response: Answer::AllowAlways,
            store_error: None,
        };
        Ok(self.finish(pending, Decision::Allow, &reason))
    }

    fn decided(&self, request: &Request, evaluation: RuleEvaluation) -> Evaluation {
        Evaluation::Decided(Box::new(self.policy.finish(request, evaluation)))
    }

    /// Returns true if the content has to be approved: it has no approval, or none that shows a
    /// privilege that rules grant now.
    fn requires_content_approval<'a>(
        &self,
        evaluation: &RuleEvaluation,
        approvals: impl IntoIterator<Item = &'a Approval>,
    ) -> bool {
        let approvals: Vec<&Approval> = approvals.into_iter().collect();
        let was_shown = |decision: &PermissionDecision| {
            approvals
                .iter()
                .any(|approval| approval.was_shown(&decision.permission))
        };
        match self.policy.new_content() {
            NewContentPolicy::Ask if approvals.is_empty() => true,
            NewContentPolicy::Ask | NewContentPolicy::AskIfPrivileged => evaluation
                .decisions
                .iter()
                .any(|decision| is_standing_privilege(decision) && !was_shown(decision)),
            NewContentPolicy::Allow => false,
        }
    }

    /// Returns true if neither the content nor this command on this content is approved, and one of
    /// them has to be.
    fn is_content_unapproved(
        &self,
        request: &Request,
        evaluation: &RuleEvaluation,
        approvals: &ApplicableApprovals,
    ) -> bool {
        self.requires_content_approval(evaluation, &approvals.for_content)
            && self.requires_content_approval(
                evaluation,
                approvals.for_whole_command(request, evaluation),
            )
    }

    fn load_approvals(&self, request: &Request) -> ApplicableApprovals {
        let mut warnings = Vec::new();
        let stored = self.store.load(&request.directory).unwrap_or_else(|error| {
            warnings.push(format!("cannot read stored approvals: {error}"));
            None
        });
        let session = request.session.as_deref();
        let mut for_content: Vec<Approval> = stored
            .iter()
            .filter(|approval| matches_request(approval, request))
            .cloned()
            .collect();
        for_content.extend(
            self.session_approvals
                .get(session, |approval| matches_request(approval, request)),
        );
        let with_digest = |digest: Option<String>| {
            digest.map_or_else(Vec::new, |digest| {
                self.session_approvals.get(session, |approval| {
                    approval.digest == digest && approval.directory == request.directory
                })
            })
        };
        ApplicableApprovals {
            stored,
            for_content,
            for_command: with_digest(request.ad_hoc_content_digest()),
            for_programs: with_digest(request.programs_digest()),
            for_all_programs: with_digest(request.all_programs_digest()),
            warnings,
        }
    }

    /// Returns the question about everything that is open, and about `others`.
    fn build_question(
        &self,
        request: &Request,
        evaluation: &RuleEvaluation,
        approvals: &ApplicableApprovals,
        others: [Option<Subject>; 2],
    ) -> Question {
        let content = match &approvals.stored {
            _ if !approvals.for_content.is_empty() => ContentStatus::Approved,
            // Without a digest it is unknown whether the content changed.
            Some(previous) if request.digest.is_some() => content_status(previous, request),
            _ => ContentStatus::New,
        };
        let open = evaluation.with_decision(Decision::Ask);
        let mut notes = risk_notes(request, &open);
        notes.extend(approvals.warnings.iter().cloned());
        let permissions = open.into_iter().map(Subject::Permission);
        let earlier = request.earlier.as_ref();
        Question {
            subjects: others.into_iter().flatten().chain(permissions).collect(),
            covers: coverage(request),
            done: earlier.map_or_else(RunEffects::default, |earlier| earlier.done.clone()),
            attempts: earlier.map_or(0, |earlier| earlier.attempts),
            name: request.name.clone(),
            directory: request.directory.clone(),
            command: request.command.clone(),
            offers_all_programs: false,
            granted: evaluation.with_decision(Decision::Allow),
            content,
            limits: evaluation.limits(request, self.policy.ceiling()),
            notes,
        }
    }

    /// Returns the decision by an answer, and stores the answer for as long as it lasts.
    fn apply_response(
        &self,
        pending: &PendingQuestion,
        response: Result<Option<Answer>, BoxError>,
    ) -> (Decision, DecisionReason) {
        let response = match response {
            // A run that has done something is not repeated, so the answer would allow nothing.
            Ok(Some(Answer::AllowOnce | Answer::AllowAllPrograms))
                if !pending.question.done.is_none() =>
            {
                None
            }
            Ok(response) => response,
            Err(error) => {
                let error = error.to_string();
                return (Decision::Deny, DecisionReason::ApproverFailed { error });
            }
        };
        let Some(response) = response else {
            return (Decision::Deny, DecisionReason::NoResponse);
        };
        let is_lasting = response != Answer::Deny && pending.question.is_lasting();
        let stored = is_lasting.then(|| self.store_response(pending, response));
        let reason = DecisionReason::ApproverResponded {
            response,
            store_error: stored.flatten(),
        };
        if response == Answer::Deny {
            return (Decision::Deny, reason);
        }
        (Decision::Allow, reason)
    }

    /// Stores an allowing response. Returns why one that should be permanent is not; it lasts for
    /// the session then.
    fn store_response(&self, pending: &PendingQuestion, response: Answer) -> Option<String> {
        let store_error = if response != Answer::AllowAlways {
            None
        } else if pending.request.ad_hoc_digest.is_some() {
            // Its text is arbitrary: a stored approval would accumulate commands that a skill
            // made a model write.
            Some("an approval of a command lasts for the session at most".to_owned())
        } else {
            self.build_permanent_approval(pending)
                .and_then(|approval| self.store.save(&approval).err())
                .map(|error| error.to_string())
        };
        let approvals = match response {
            Answer::AllowOnce | Answer::AllowAllPrograms | Answer::Deny => Vec::new(),
            Answer::AllowAlways if store_error.is_none() => Vec::new(),
            _ => build_session_approvals(pending, response),
        };
        for approval in approvals {
            self.session_approvals.insert(
                pending.request.session.as_deref(),
                pending.epoch,
                approval,
            );
        }
        store_error
    }

    /// Returns the approval of a pending request, merged with the stored one for the same content.
    fn build_permanent_approval(&self, pending: &PendingQuestion) -> Option<Approval> {
        let mut approval = build_approval(pending)?;
        // Only what is stored is merged: an approval for the session must not become permanent by
        // a response to another request.
        let stored = self.store.load(&pending.request.directory).ok().flatten();
        if let Some(stored) = stored.filter(|stored| matches_request(stored, &pending.request)) {
            approval.permissions.extend(stored.permissions);
            approval.granted_by_rules.extend(stored.granted_by_rules);
        }
        Some(approval)
    }

    fn finish(
        &self,
        pending: PendingQuestion,
        decision: Decision,
        reason: &DecisionReason,
    ) -> Authorization {
        let PendingQuestion {
            request,
            mut evaluation,
            question,
            all_programs,
            store_warnings,
            ..
        } = pending;
        evaluation.resolve_pending(decision, reason);
        if let Some(mut all_programs) = all_programs.filter(|_| reason.is_for_all_programs()) {
            all_programs.resolve(decision, reason.clone());
            evaluation.add(all_programs);
        }
        // All permissions can be allowed here: then only the content or a limit is the cause of the denial.
        let is_about_content = question.is_about_content();
        if decision == Decision::Deny && (is_about_content || question.is_about_limit()) {
            let limit = question.is_about_limit();
            let limit = limit.then(|| format!("the limits stay as they are: {reason}"));
            return Authorization::Denied(Denial {
                decisions: evaluation.decisions,
                content_reason: is_about_content.then(|| reason.to_string().into()),
                notes: store_warnings.into_iter().chain(limit).collect(),
                was_asked: reason.is_of_approver(),
            });
        }
        match self.policy.finish(&request, evaluation) {
            Authorization::Denied(denial) => Authorization::Denied(Denial {
                notes: store_warnings,
                was_asked: reason.is_of_approver(),
                ..denial
            }),
            granted => granted,
        }
    }

    /// Returns what standing rules allow for this request and the decisions of a run lack: such
    /// rules add nothing to content that was not approved.
    #[must_use]
    pub fn withheld_by_rules(
        &self,
        request: &Request,
        decisions: &[PermissionDecision],
    ) -> Vec<Permission> {
        let is_granted = |permission: &Permission| {
            decisions.iter().any(|decision| {
                decision.decision() == Decision::Allow && decision.permission().covers(permission)
            })
        };
        let evaluation = self.policy().evaluate(request);
        evaluation
            .standing_requests()
            .map(|decision| decision.permission.clone())
            .filter(|permission| !is_granted(permission))
            .collect()
    }
}

/// Returns why no approver is asked about the pending permissions, if nothing will run anyway.
fn reason_not_to_ask(evaluation: &RuleEvaluation) -> Option<DecisionReason> {
    // A prompt whose answer changes nothing trains users to accept.
    if evaluation.count(Decision::Deny) > 0 {
        return Some(DecisionReason::OtherDenied);
    }
    let count = evaluation.count(Decision::Ask);
    (count > MAX_PENDING).then_some(DecisionReason::TooManyPermissions { count })
}
