//! Hooks of a skill before and after `skills run`.

use std::io;

use serde_json::{Value, json};
use skills_runtime::{
    AgentEvent, ErrorKind, ExecutionArtifacts, ExecutionOptions, ExecutionStatus, HookDecision,
    HookOptions, HookReport, RunEvent, RuntimeError, SkillRuntime, Workspace, shell_quote,
};

use super::live_output::LiveOutput;
use crate::exit::Exit;
use crate::output::Output;
use crate::shell::shell_word;

/// The tool that hooks see: the one with which agents run commands.
const TOOL: &str = "Bash";

/// The hooks around a run.
pub(super) struct RunHooks {
    options: HookOptions,
    /// The tool input of the events.
    input: Value,
}

/// The result of a run with hooks.
pub(super) enum HookedRun {
    /// A hook blocked the run.
    Blocked {
        reason: String,
        /// Whether the hook is not approved.
        is_denied: bool,
    },
    /// The program ran; a hook can object to its result.
    Ran {
        artifacts: Box<ExecutionArtifacts>,
        objection: Option<String>,
        /// Whether all output could be printed.
        printed: io::Result<()>,
    },
}

impl RunHooks {
    /// Creates the hooks around a run of this program with these options.
    pub(super) fn new(program: &str, options: &ExecutionOptions) -> Self {
        let words = std::iter::once(program).chain(options.args.iter().map(String::as_str));
        let words: Vec<String> = words.map(shell_quote).collect();
        let mut execution = options.clone();
        // A private workspace is that of one program.
        if !matches!(execution.workspace, Workspace::Directory(_)) {
            execution.workspace = Workspace::None;
        }
        execution.current_dir = None;
        execution.env.clear();
        Self {
            options: HookOptions {
                execution,
                ..HookOptions::default()
            },
            input: json!({"command": words.join(" ")}),
        }
    }

    async fn before(&self, runtime: &SkillRuntime, name: &str) -> Result<HookReport, RuntimeError> {
        let event = AgentEvent::PreToolUse {
            tool: TOOL.to_owned(),
            input: self.input.clone(),
        };
        runtime.run_hooks(name, &event, &self.options).await
    }

    async fn after(
        &self,
        runtime: &SkillRuntime,
        name: &str,
        artifacts: &ExecutionArtifacts,
    ) -> Result<HookReport, RuntimeError> {
        let output = json!({"stdout": artifacts.stdout.text(), "stderr": artifacts.stderr.text()});
        let event = AgentEvent::PostToolUse {
            tool: TOOL.to_owned(),
            input: self.input.clone(),
            output,
        };
        runtime.run_hooks(name, &event, &self.options).await
    }
}

/// Runs a skill between its hooks, if there are any.
pub(super) async fn run(
    runtime: &SkillRuntime,
    name: &str,
    options: ExecutionOptions,
    hooks: Option<RunHooks>,
    live: Option<LiveOutput>,
) -> Result<HookedRun, RuntimeError> {
    if let Some(hooks) = &hooks {
        let report = hooks.before(runtime, name).await?;
        if let Some(reason) = objection(&report) {
            let is_denied = report
                .runs
                .iter()
                .any(|run| matches!(run.status, Ok(ExecutionStatus::PermissionDenied { .. })));
            return Ok(HookedRun::Blocked { reason, is_denied });
        }
    }
    let result = run_program(runtime, name, options, live.as_ref()).await;
    // Before a hook can ask: what follows the output is from this command.
    let printed = match live {
        Some(live) => live.finish().await,
        None => Ok(()),
    };
    let artifacts = result?;
    let objection = match &hooks {
        Some(hooks) if artifacts.exit_status.is_success() => {
            match hooks.after(runtime, name, &artifacts).await {
                Ok(report) => objection(&report),
                // The program has a result, which is reported.
                Err(error) if error.kind() == ErrorKind::Cancelled => None,
                Err(error) => return Err(error),
            }
        }
        _ => None,
    };
    Ok(HookedRun::Ran {
        artifacts: Box::new(artifacts),
        objection,
        printed,
    })
}

/// Runs the program, and prints its output as it comes.
async fn run_program(
    runtime: &SkillRuntime,
    name: &str,
    options: ExecutionOptions,
    live: Option<&LiveOutput>,
) -> Result<ExecutionArtifacts, RuntimeError> {
    let Some(live) = live else {
        return runtime.execute_skill(name, options).await;
    };
    let mut run = runtime.executor().start(name, options);
    while let Some(event) = run.next_event().await {
        if let RunEvent::Output { stream, bytes } = event
            && !live.print(stream, bytes).await
        {
            run.close_output(stream);
        }
    }
    run.outcome().await
}

/// Prints that a hook objects to the result of the run.
pub(super) fn report_objection(name: &str, reason: &str, output: Output) -> Exit {
    output.status(&format!(
        "error: a hook of `{name}` objects to the result: {reason}"
    ));
    Exit::Failed
}

/// Prints that a hook blocked the run.
pub(super) fn report_blocked(name: &str, reason: &str, is_denied: bool, output: Output) -> Exit {
    output.status(&format!(
        "error: a hook of `{name}` blocked the run: {reason}"
    ));
    if is_denied {
        let name = shell_word(name);
        let name = name.as_deref().unwrap_or("NAME");
        output.status(&format!(
            "help: approve its hooks with `skills trust {name} --hooks`"
        ));
    }
    Exit::Denied
}

/// Returns why a hook objects. Nothing here can ask the user for a hook, so a hook that wants it
/// objects.
fn objection(report: &HookReport) -> Option<String> {
    match &report.decision {
        HookDecision::Block { reason } => Some(reason.clone()),
        HookDecision::Ask { reason } => Some(format!("it requires approval of the user: {reason}")),
        _ => None,
    }
}
