//! `skills call TOOL`: calls a tool as a model would.

use clap::Args;
use serde_json::json;
use skills_runtime::{Builder, CancellationToken, ExecutionStatus, StopSignal};
use skills_tools::{CallContext, ToolErrorCode, ToolGroup, ToolOutput, starts_programs};

use crate::approver::ApprovalArgs;
use crate::context::Context;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::finish_compilations::finish_compilations;
use crate::input;
use crate::output::{Output, has_one_stream, line};
use crate::remedies::RemedyStyle;
use crate::run_exit::RunExit;
use crate::signals::{self, Cancellable};
use crate::tool_host::{CallableTools, HostArgs};
use crate::virtual_env;

/// Call a tool as a model would
///
/// A call that started a program has the exit codes of `skills run`, and `exit` in its JSON
/// document.
#[derive(Debug, Args)]
pub(crate) struct Call {
    /// Tool name
    tool: String,

    /// Arguments of the tool: JSON, @FILE, or - for standard input
    #[arg(value_name = "JSON|@FILE|-", default_value = "{}")]
    arguments: String,

    #[command(flatten)]
    host: HostArgs,

    #[command(flatten)]
    approval: ApprovalArgs,
}

impl Call {
    pub(crate) fn run(&self, context: &Context) -> anyhow::Result<Exit> {
        let interpreters = virtual_env::interpreters(&self.host.programs, context)?;
        let interpreters = if starts_programs(&self.tool) {
            interpreters.ask(context)
        } else {
            interpreters.chosen
        };
        let approver = self.approval.approver();
        let builder = context.builder(&interpreters)?;
        // Hooks use the approver of the runtime.
        let builder = approver.iter().cloned().fold(builder, Builder::approver);
        let given = input::read_json(&self.arguments, "the tool arguments")?;
        let CallableTools { tools, executor } = self.host.callable_tools(
            builder,
            ToolGroup::ALL.to_vec(),
            RemedyStyle::Call,
            context,
        )?;
        let caller = approver
            .into_iter()
            .fold(CallContext::default(), CallContext::approver);
        let cancellation = CancellationToken::new();
        let caller = caller.cancellation(cancellation.clone());
        let grace = self.host.programs.grace(context)?;
        let called = tools.call(&self.tool, given, &caller);
        let Cancellable {
            output: called,
            signal,
        } = signals::run_until_cancelled(&cancellation, grace, called)?;
        let called = called.transpose();
        let called = called.map_err(|error| CommandError::not_found(error.to_string()))?;
        let Some(result) = called else {
            return Err(CommandError::interrupted(&self.tool, self.interrupted(signal)).into());
        };
        let exit = match (&result.exit_status, signal) {
            (Some(status), None) => Exit::Run(program_exit(&result, status)),
            (Some(_), Some(signal)) => Exit::Run(RunExit::Interrupted(signal)),
            // The audit record of its end could not be written.
            (None, None) if result.started_program => Exit::Run(RunExit::Failed),
            (None, Some(signal)) if result.started_program => {
                Exit::Run(RunExit::Interrupted(signal))
            }
            (None, None) => exit_status(&result),
            (None, Some(_)) => Exit::Interrupted,
        };
        let printed = print_result(&result, exit, context.output);
        printed.map_err(|error| print_error(error, exit))?;
        if signal.is_some() {
            return Ok(exit);
        }
        finish_compilations(&executor, exit, context.output)
    }

    /// Returns the exit code of a call without a result, which may have started a program.
    fn interrupted(&self, signal: Option<StopSignal>) -> Exit {
        match signal.filter(|_| starts_programs(&self.tool)) {
            Some(signal) => Exit::Run(RunExit::Interrupted(signal)),
            None => Exit::Interrupted,
        }
    }
}

/// Returns the exit code of a call that started a program. A call that failed although its program
/// succeeded, such as one with a result to which a hook objects, has failed itself.
fn program_exit(result: &ToolOutput, status: &ExecutionStatus) -> RunExit {
    if result.is_error && status.is_success() {
        RunExit::Failed
    } else {
        RunExit::from_status(status)
    }
}

/// Converts the error of a result that was not printed. Its exit code is that of a failed run if
/// the call started a program.
fn print_error(error: anyhow::Error, exit: Exit) -> anyhow::Error {
    match exit {
        Exit::Run(_) => CommandError::of_run(&error).into(),
        _ => error,
    }
}

fn print_result(result: &ToolOutput, exit: Exit, output: Output) -> anyhow::Result<()> {
    if output.is_json() {
        let mut document = json!({
            "text": result.text(),
            "structured": result.structured,
            "is_error": result.is_error,
            "files": result.files,
        });
        if let Exit::Run(exit) = exit {
            document["exit"] = exit.to_json();
        }
        return output.print_json(&document);
    }
    for note in &result.notes {
        output.status(&format!("note: {}", line(note)));
    }
    if let Some(hint) = result.structured["error"]["hint"].as_str()
        // The text is what a model reads, so it can contain the hint already.
        && !result.own_text().contains(hint)
    {
        output.status(&format!("help: {hint}"));
    }
    if result.is_error {
        output.status_lines(&result.text());
        return Ok(());
    }
    // Two readers need no line between the parts.
    if result.started_program && !has_one_stream() {
        if !result.own_text().is_empty() {
            output.status_lines(result.own_text());
        }
        let printed = result.program_output();
        return output
            .lines(printed.map(|text| text.strip_suffix('\n').unwrap_or(text).to_owned()));
    }
    let text = result.text();
    output.lines([text.strip_suffix('\n').unwrap_or(&text).to_owned()])
}

fn exit_status(result: &ToolOutput) -> Exit {
    const CODES: [(ToolErrorCode, Exit); 5] = [
        (ToolErrorCode::InvalidArguments, Exit::Usage),
        (ToolErrorCode::DeniedByPolicy, Exit::Denied),
        (ToolErrorCode::ApprovalRequired, Exit::Denied),
        (ToolErrorCode::SandboxUnavailable, Exit::Denied),
        (ToolErrorCode::TimedOut, Exit::Timeout),
    ];
    if !result.is_error {
        return Exit::Success;
    }
    let found = CODES.into_iter().find(|(code, _)| result.has_code(*code));
    found.map_or(Exit::Failed, |(_, exit)| exit)
}
