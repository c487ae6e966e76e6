//! `skills call TOOL`: calls a tool as a model would.

use serde_json::json;
use skills_runtime::Builder;
use skills_tools::{CallContext, ToolErrorCode, ToolOutput};

use crate::approver::{ApproverKind, approver};
use crate::arguments::{Call, ExecutionArgs};
use crate::exit::Exit;
use crate::input::{self, InputError};
use crate::output::Output;
use crate::signals;
use crate::tool_host;

pub(crate) fn call(
    builder: Builder,
    arguments: &Call,
    trust_project: bool,
    output: &Output,
) -> anyhow::Result<Exit> {
    let given = input::read_json(&arguments.arguments, "the tool arguments")?;
    let what = ExecutionArgs {
        allow: arguments.allow.clone(),
        env_file: arguments.env_file.clone(),
        ..ExecutionArgs::default()
    };
    let set = tool_host::callable_tools(builder, &arguments.host, what, trust_project, output)?;
    let answers = match arguments {
        Call { yes: true, .. } => ApproverKind::AllowAll,
        Call { deny: true, .. } => ApproverKind::DenyAll,
        _ if arguments.arguments == "-" => ApproverKind::None,
        _ => ApproverKind::Terminal,
    };
    let context = approver(answers)
        .into_iter()
        .fold(CallContext::default(), CallContext::approver);
    let executor = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let outcome = executor.block_on(async {
        // Resets an inherited SIGCHLD ignore, so children can be reaped.
        #[cfg(unix)]
        let _children = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::child());
        tokio::select! {
            outcome = set.call(&arguments.tool, given, &context) => outcome.map(Some),
            // Dropping the call kills its processes and removes its temporary files.
            () = signals::wait_for_interrupt() => Ok(None),
        }
    });
    executor.shutdown_background();
    let Some(outcome) = outcome.map_err(|error| InputError::new(error.to_string()))? else {
        return Ok(Exit::Interrupted);
    };
    if output.is_json() {
        let ToolOutput {
            text,
            structured,
            is_error,
            files,
            ..
        } = &outcome;
        output.print_json(
            &json!({"text": text, "structured": structured, "is_error": is_error, "files": files}),
        )?;
    } else if outcome.is_error {
        output.status_lines(&outcome.text);
        if outcome.has_code(ToolErrorCode::ApprovalRequired) {
            output.status( "help: allow it with `--allow PERMISSION` or `--yes`; accept a draft with `skills accept NAME`", );
        }
        outcome.structured["error"]["hint"]
            .as_str()
            .filter(|hint| !outcome.text.contains(hint))
            .iter()
            .for_each(|hint| output.status(&format!("help: {hint}")));
    } else {
        let newline = if outcome.text.ends_with('\n') {
            ""
        } else {
            "\n"
        };
        output.text(&format!("{}{newline}", outcome.text))?;
    }
    Ok(exit_status(&outcome))
}

fn exit_status(outcome: &ToolOutput) -> Exit {
    let is_any = |codes: &[ToolErrorCode]| codes.iter().any(|code| outcome.has_code(*code));
    if !outcome.is_error {
        Exit::Success
    } else if is_any(&[ToolErrorCode::InvalidArguments]) {
        Exit::Usage
    } else if is_any(&[
        ToolErrorCode::DeniedByPolicy,
        ToolErrorCode::ApprovalRequired,
        ToolErrorCode::SandboxUnavailable,
    ]) {
        Exit::Denied
    } else if is_any(&[ToolErrorCode::TimedOut]) {
        Exit::Timeout
    } else {
        Exit::Failed
    }
}
