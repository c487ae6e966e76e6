//! `skills call TOOL`: calls a tool as a model would.

use serde_json::json;
use skills_runtime::Builder;
use skills_runtime::discovery::Trust;
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
    project_trust: Trust,
    output: &Output,
) -> anyhow::Result<Exit> {
    let given = input::read_json(&arguments.arguments, "the tool arguments")?;
    // Script, input, limits and paths of a call are arguments of the tool, and not options of the
    // command.
    let what = ExecutionArgs {
        allow: arguments.allow.clone(),
        env_file: arguments.env_file.clone(),
        ..ExecutionArgs::default()
    };
    let tools = tool_host::callable_tools(builder, &arguments.host, what, project_trust, output)?;
    let context = approver(approver_kind(arguments))
        .into_iter()
        .fold(CallContext::default(), CallContext::approver);
    let called =
        signals::run_until_interrupt(tools.call(&arguments.tool, given, &context))?.transpose();
    // An unknown tool is a mistake of the caller, and not a failed call.
    let called = called.map_err(|error| InputError::new(error.to_string()))?;
    let Some(result) = called else {
        return Ok(Exit::Interrupted);
    };
    print_result(&result, output)?;
    Ok(exit_status(&result))
}

fn approver_kind(arguments: &Call) -> ApproverKind {
    match arguments {
        Call { yes: true, .. } => ApproverKind::AllowAll,
        Call { deny: true, .. } => ApproverKind::DenyAll,
        // Standard input was the arguments, so no answer can be read from it.
        _ if arguments.arguments == "-" => ApproverKind::None,
        _ => ApproverKind::Terminal,
    }
}

fn print_result(result: &ToolOutput, output: &Output) -> anyhow::Result<()> {
    if output.is_json() {
        return output.print_json(&json!({
            "text": result.text,
            "structured": result.structured,
            "is_error": result.is_error,
            "files": result.files,
        }));
    }
    if !result.is_error {
        let newline = if result.text.ends_with('\n') {
            ""
        } else {
            "\n"
        };
        return output.text(&format!("{}{newline}", result.text));
    }
    output.status_lines(&result.text);
    if result.has_code(ToolErrorCode::ApprovalRequired) {
        output.status(
            "help: allow it with `--allow PERMISSION` or `--yes`; accept a draft with `skills accept NAME`",
        );
    }
    // The text is what a model reads, so it can contain the hint already.
    if let Some(hint) = result.structured["error"]["hint"].as_str()
        && !result.text.contains(hint)
    {
        output.status(&format!("help: {hint}"));
    }
    Ok(())
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
