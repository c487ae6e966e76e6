//! Confines commands of callers that then need no question.

use skills_policy::{Authorization, Capability, Decision, DecisionReason, FreeProgram, Request};

use crate::execution_mode::ExecutionMode;
use crate::host_command::HostCommand;
use crate::options::ExecutionOptions;
use crate::services::Services;

/// Confines the request of a command that is a free program, unless rules allow it as it is, or the call
/// asks for more than reading: then it is decided like other programs.
pub(crate) fn confine(
    services: &Services,
    skill: &str,
    mode: &ExecutionMode,
    options: &ExecutionOptions,
    request: Request,
) -> Request {
    let Some(HostCommand::Program(name)) = options.target.command() else {
        return request;
    };
    let Some(program) = FreeProgram::of(name) else {
        return request;
    };
    let backend = services
        .config()
        .backends
        .for_run(skill, mode, options.sandbox);
    let is_confinable = !program.does_more() || backend.is_ok_and(|one| one.confines_commands());
    if !is_confinable || program.wants_more(&options.args) || !options.env.is_empty() {
        return request;
    }
    let authorization = services.permissions().preview(&request);
    if is_allowed_as_it_is(&authorization) || asks_for_more(&authorization) {
        return request;
    }
    request.confine()
}

/// Returns true if rules or approvals allow the program. One that only reads is allowed without them.
fn is_allowed_as_it_is(authorization: &Authorization) -> bool {
    let mut decisions = authorization.decisions().iter();
    matches!(authorization, Authorization::Granted(_))
        && !decisions.any(|decision| *decision.reason() == DecisionReason::ReadingProgram)
}

/// Returns true if an approver would be asked for what only the caller wants in addition.
fn asks_for_more(authorization: &Authorization) -> bool {
    authorization.decisions().iter().any(|decision| {
        let permission = decision.permission();
        matches!(
            permission.capability(),
            Capability::Write | Capability::Network
        ) && decision.decision() != Decision::Allow
            && decision.is_of_caller()
    })
}
