//! Hooks of a skill before and after `skills run`.

use std::io;

use serde_json::{Value, json};
use skills_runtime::{
    AgentEvent, DeclaredHooks, ExecutionArtifacts, ExecutionStatus, HookDecision, HookOptions,
    HookReport, PlannedRun, RunEvent, RuntimeError, Workspace, shell_quote,
};

use super::live_output::LiveOutput;
use crate::exit::Exit;
use crate::output::Output;
use crate::run_exit::RunExit;
use crate::shell::shell_word;

/// The tool that hooks see: the one with which agents run commands.
const TOOL: &str = "Bash";

/// The hooks around a run.
pub(super) struct RunHooks {
    declared: DeclaredHooks,
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
    /// Returns the hooks around a run.
    pub(super) fn new(planned: &PlannedRun) -> Self {
        let mut execution = planned.options().clone();
        let args = execution.args.iter().map(String::as_str);
        let words = std::iter::once(planned.mode().program()).chain(args);
        let words: Vec<String> = words.map(shell_quote).collect();
        // A private workspace is that of one program.
        if !matches!(execution.workspace, Workspace::Directory(_)) {
            execution.workspace = Workspace::None;
        }
        execution.current_dir = None;
        execution.env.clear();
        Self {
            declared: DeclaredHooks::of_run(planned),
            options: HookOptions {
                execution,
                ..HookOptions::default()
            },
            input: json!({"command": words.join(" ")}),
        }
    }

    async fn before(&self) -> HookReport {
        let event = AgentEvent::PreToolUse {
            tool: TOOL.to_owned(),
            input: self.input.clone(),
        };
        self.declared.run(&event, &self.options).await
    }

    async fn after(&self, artifacts: &ExecutionArtifacts) -> HookReport {
        let output = json!({"stdout": artifacts.stdout.text(), "stderr": artifacts.stderr.text()});
        let event = AgentEvent::PostToolUse {
            tool: TOOL.to_owned(),
            input: self.input.clone(),
            output,
        };
        self.declared.run(&event, &self.options).await
    }
}

/// Runs a planned program between its hooks, if there are any.
pub(super) async fn run(
    planned: PlannedRun,
    hooks: Option<RunHooks>,
    live: Option<LiveOutput>,
) -> Result<HookedRun, RuntimeError> {
    if let Some(hooks) = &hooks {
        let report = hooks.before().await;
        if let Some(reason) = objection(&report) {
            let is_denied = report
                .runs
                .iter()
                .any(|run| matches!(run.status, Ok(ExecutionStatus::PermissionDenied { .. })));
            return Ok(HookedRun::Blocked { reason, is_denied });
        }
    }
    let result = run_program(planned, live.as_ref()).await;
    // Before a hook can ask: what follows the output is from this command.
    let printed = match live {
        Some(live) => live.finish().await,
        None => Ok(()),
    };
    let artifacts = result?;
    let objection = match &hooks {
        Some(hooks) if artifacts.exit_status.is_success() => {
            objection(&hooks.after(&artifacts).await)
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
    planned: PlannedRun,
    live: Option<&LiveOutput>,
) -> Result<ExecutionArtifacts, RuntimeError> {
    let Some(live) = live else {
        return planned.execute().await;
    };
    let mut run = planned.start();
    while let Some(event) = run.next_event().await {
        if matches!(event, RunEvent::Finished(_)) {
            live.end_attempt().await;
        } else if let RunEvent::Output { stream, bytes } = event
            && !live.print(stream, bytes).await
        {
            run.close_output(stream);
        }
    }
    run.outcome().await
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
    Exit::Run(RunExit::Denied)
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
