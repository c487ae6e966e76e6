//! `skills call TOOL`.

use serde_json::json;
use skills_runtime::Builder;
use skills_tools::{CallContext, Code, Outcome};

use crate::approver::{Answers, approver};
use crate::arguments::{Call, What};
use crate::exit::Exit;
use crate::host;
use crate::input::{self, InputError};
use crate::output::Output;
use crate::signals;

pub(crate) fn call(
    builder: Builder,
    arguments: &Call,
    trust_project: bool,
    output: &Output,
) -> anyhow::Result<Exit> {
    let given = input::read(&arguments.arguments, "what stands behind the tool")?;
    let what = What {
        allow: arguments.allow.clone(),
        env_file: arguments.env_file.clone(),
        ..What::default()
    };
    let set = host::to_call(builder, &arguments.host, what, trust_project, output)?;
    let answers = match arguments {
        Call { yes: true, .. } => Answers::Yes,
        Call { deny: true, .. } => Answers::No,
        _ if arguments.arguments == "-" => Answers::Nobody,
        _ => Answers::Terminal,
    };
    let context = approver(answers)
        .into_iter()
        .fold(CallContext::default(), CallContext::approver);
    let executor = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let outcome = executor.block_on(async {
        // Whoever started this command may have had it ignore the end of its children; with a
        // handler they can be collected.
        #[cfg(unix)]
        let _children = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::child());
        tokio::select! {
            outcome = set.call(&arguments.tool, given, &context) => outcome.map(Some),
            // The call is dropped, and with it everything that it started or made.
            () = signals::interrupted() => Ok(None),
        }
    });
    executor.shutdown_background();
    let Some(outcome) = outcome.map_err(|error| InputError::new(error.to_string()))? else {
        return Ok(Exit::Interrupted);
    };
    if output.is_json() {
        let Outcome {
            text,
            structured,
            is_error,
            files,
            ..
        } = &outcome;
        output.document(
            &json!({"text": text, "structured": structured, "is_error": is_error, "files": files}),
        )?;
    } else if outcome.is_error {
        output.notes(&outcome.text);
        if outcome.is(Code::ApprovalRequired) {
            output.note(
                "  for this call: --allow PERMISSION, or --yes; for drafts: skills adopt NAME",
            );
        }
        outcome.structured["error"]["hint"]
            .as_str()
            .filter(|hint| !outcome.text.contains(hint))
            .iter()
            .for_each(|hint| output.note(&format!("  {hint}")));
    } else {
        let newline = if outcome.text.ends_with('\n') {
            ""
        } else {
            "\n"
        };
        output.text(&format!("{}{newline}", outcome.text))?;
    }
    Ok(exit(&outcome))
}

fn exit(outcome: &Outcome) -> Exit {
    let is_any = |codes: &[Code]| codes.iter().any(|code| outcome.is(*code));
    if !outcome.is_error {
        Exit::Done
    } else if is_any(&[Code::InvalidArguments]) {
        Exit::Usage
    } else if is_any(&[
        Code::DeniedByPolicy,
        Code::ApprovalRequired,
        Code::SandboxUnavailable,
    ]) {
        Exit::Denied
    } else if is_any(&[Code::TimedOut]) {
        Exit::Timeout
    } else {
        Exit::Failed
    }
}
