//! Preview and prior approval of a run.

use skills_policy::{Authorization, Decision, Evaluation, Permission, Question, Request};

use crate::check::{blocking, required_programs};
use crate::error::{Repr, RuntimeError};
use crate::execution_mode::ExecutionMode;
use crate::optional_mounts::with_optional_mounts;
use crate::plan::Planned;
use crate::request::with_digest;

/// Preview of a run: what would run, what it would be granted, and why.
///
/// Nothing runs and no approver is asked. Pass `question` to
/// [`Executor::approve`](super::Executor::approve) to store a permanent approval for exactly this request.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Preview {
    /// The skill's name.
    pub skill: String,
    /// The program that would run.
    pub mode: ExecutionMode,
    /// Content digest of the skill, if it can be computed.
    pub digest: Option<String>,
    /// Result of rules and stored approvals, without asking an approver.
    pub authorization: Authorization,
    /// The question that a run would ask an approver, if any. Without an approver and in [strict
    /// mode](skills_policy::ApprovalMode::Strict) a run does not ask, but its permissions can still
    /// be approved here.
    pub question: Option<Question>,
    /// What [`Executor::approve`](super::Executor::approve) can approve in advance, if anything: in addition to
    /// `question`, programs and hosts that the rules of the invocation allow and those that
    /// only standing rules request.
    pub question_in_advance: Option<Question>,
    /// What only the skill asks for and nothing allows, if the run goes on without it where no
    /// approver can answer. `authorization` is that of the whole request.
    pub omitted: Vec<Permission>,
    /// What standing rules allow, but not to this content, which is not approved.
    pub withheld: Vec<Permission>,
    /// The entries of `allowed-tools` that have no effect for this run, and why.
    pub unused_tools: Vec<(String, &'static str)>,
    /// Missing requirements.
    pub missing_requirements: Vec<String>,
    /// Those without which the skill does not run, as
    /// [`on_missing_requirements`](crate::ExecutorConfig::on_missing_requirements) says.
    pub blocking_requirements: Vec<String>,
    /// The backend that would run the program, or why none is available or cannot enforce the
    /// grants.
    pub backend: Result<&'static str, String>,
}

/// A planned run with the content that an approval would be valid for.
pub(crate) struct PlannedContent<'a> {
    planned: &'a Planned,
    digest: Option<String>,
    /// The request with the content, and with what a run asks for beyond it.
    request: Request,
}

impl<'a> PlannedContent<'a> {
    /// Adds what a run would get without a question. Nothing is created.
    pub(crate) fn new(planned: &'a Planned) -> Self {
        let digest = planned
            .subject()
            .digest(&planned.services().config().digests);
        let request = with_optional_mounts(planned, planned.request(), digest.as_deref());
        let request = with_allowed_programs(planned, request, digest.as_deref());
        Self {
            request: with_digest(&request, digest.as_deref()),
            digest,
            planned,
        }
    }

    /// Returns what a run would be granted, and why.
    pub(crate) fn preview(self) -> Preview {
        let planned = self.planned;
        let services = planned.services();
        let permissions = services.permissions();
        let request = self.request;
        let authorization = permissions.preview(&request);
        let omitted = omitted(&permissions.preview(&request.clone().omit_ungranted()));
        let withheld = match &authorization {
            Authorization::Granted(grants) => {
                permissions.withheld_by_rules(&request, grants.decisions())
            }
            Authorization::Denied(_) => Vec::new(),
        };
        let backends = &services.config().backends;
        let choice = planned.options().sandbox;
        let backend = backends.for_run(planned.name(), planned.mode(), choice);
        let backend = backend.and_then(|backend| {
            // Grants that cannot be enforced do not run.
            if let Authorization::Granted(grants) = &authorization {
                backend.check_grants(grants)?;
            }
            Ok(backend.name())
        });
        let missing = planned.missing_requirements();
        Preview {
            skill: planned.name().to_owned(),
            digest: self.digest,
            question: pending_request(&permissions.evaluate(&request)),
            question_in_advance: pending_request(&permissions.evaluate_in_advance(&request)),
            authorization,
            omitted,
            withheld,
            unused_tools: request.unused_tools(),
            missing_requirements: missing.to_lines(),
            blocking_requirements: blocking(services, &missing),
            backend: backend.map_err(|error| error.to_string()),
            mode: planned.mode().clone(),
        }
    }

    /// Stores a permanent approval for the request that was shown.
    pub(crate) fn approve(&self, shown: &Question) -> Result<Authorization, RuntimeError> {
        let permissions = self.planned.services().permissions();
        let evaluations = [
            permissions.evaluate(&self.request),
            permissions.evaluate_in_advance(&self.request),
        ];
        let mut decided = None;
        for evaluation in evaluations {
            match evaluation {
                Evaluation::Decided(authorization) => decided = Some(authorization),
                // An answer allows only what the request showed, so the request must not have
                // changed since.
                Evaluation::NeedsApproval(pending) if pending.question() == shown => {
                    return permissions
                        .approve_permanently(*pending)
                        .map_err(|source| Repr::Approval(source).into());
                }
                Evaluation::NeedsApproval(_) => {}
            }
        }
        match decided {
            Some(authorization) => Ok(*authorization),
            None => Err(Repr::ContentChanged {
                skill: self.planned.name().to_owned(),
                path: self.planned.subject().location(),
            }
            .into()),
        }
    }
}

/// Returns what a run goes without; nothing if it does not start.
fn omitted(authorization: &Authorization) -> Vec<Permission> {
    let Authorization::Granted(grants) = authorization else {
        return Vec::new();
    };
    let decisions = grants.decisions().iter();
    decisions
        .filter(|decision| decision.decision() == Decision::Omit)
        .map(|decision| decision.permission().clone())
        .collect()
}

/// Adds the required programs to a request, unless rules alone deny it: a run then goes on without
/// them.
fn with_allowed_programs(planned: &Planned, request: Request, digest: Option<&str>) -> Request {
    let programs = required_programs(planned);
    let extended = programs
        .iter()
        .fold(request.clone(), Request::required_program);
    let permissions = planned.services().permissions();
    match permissions.evaluate(&with_digest(&extended, digest)) {
        Evaluation::Decided(decision) if matches!(*decision, Authorization::Denied(_)) => request,
        _ => extended,
    }
}

fn pending_request(evaluation: &Evaluation) -> Option<Question> {
    match evaluation {
        Evaluation::NeedsApproval(pending) => Some(pending.question().clone()),
        Evaluation::Decided(_) => None,
    }
}
