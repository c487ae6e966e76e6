//! Prints the result of a run as text or JSON.

use serde_json::{Value, json};
use skills_runtime::{
    CapturedOutput, ExecutionArtifacts, ExecutionStatus, ExplanationWords, Termination,
};

use super::Run;
use super::denial_hints::denial_hints;
use crate::output::{Output, line};
use crate::remedies::RemedyDescriptions;
use crate::suggested_command::complete_commands;

impl Run {
    /// Prints everything but the output of the program, which was printed while it ran.
    pub(super) fn print_result(
        &self,
        artifacts: &ExecutionArtifacts,
        remedies: &RemedyDescriptions,
        output: Output,
    ) {
        self.print_status(artifacts, output);
        print_files(artifacts, output);
        let explanation = artifacts
            .explanation
            .words(|remedy| remedies.describe(remedy));
        for (label, lines) in [
            ("refused", &explanation.refused),
            ("note", &explanation.notes),
            ("help", &explanation.help),
        ] {
            for text in lines {
                output.status(&format!("{label}: {}", line(text)));
            }
        }
        for note in &artifacts.notes {
            output.status(&format!("note: {}", complete_commands(note)));
        }
        if self.explain {
            for decision in &artifacts.decisions {
                output.status(&format!("note: {decision}"));
            }
        }
        if self.verbose || self.explain {
            print_explanation(artifacts, output);
        }
    }

    /// Prints how a run failed, with hints. Prints nothing if it succeeded.
    fn print_status(&self, artifacts: &ExecutionArtifacts, output: Output) {
        let name = &artifacts.skill;
        match &artifacts.exit_status {
            ExecutionStatus::Success => {}
            ExecutionStatus::Failed {
                termination: Termination::Cancelled,
            } => output.status(&format!("error: `{name}` was interrupted")),
            ExecutionStatus::Failed { termination } => {
                output.status(&format!("error: `{name}` failed: {termination}"));
                if matches!(termination, Termination::DiskLimit(_)) {
                    output.status("help: `--scratch` raises the quota, as far as `scratch-mib` in the policy allows");
                }
            }
            ExecutionStatus::Timeout { limit_ms } => {
                // Says who set a limit below the requested one, which would otherwise look like a
                // bug.
                let is_lowered = self
                    .what
                    .programs
                    .timeout
                    .is_some_and(|requested| requested > *limit_ms);
                let lowered = if is_lowered {
                    ", the limit of the policy"
                } else {
                    ""
                };
                let limit_ms = *limit_ms;
                let termination = Termination::TimedOut { limit_ms };
                output.status(&format!("error: `{name}` {termination}{lowered}"));
            }
            ExecutionStatus::PermissionDenied { denial } => {
                output.status(&format!("error: cannot run `{name}`: {denial}"));
                for hint in denial_hints(denial, name) {
                    output.status(&format!("help: {hint}"));
                }
            }
            other => output.status(&format!("error: `{name}` failed: {other:?}")),
        }
    }
}

/// Reports the streams that a JSON document contains only in part. Returns true if there are any.
pub(super) fn report_cut_streams(artifacts: &ExecutionArtifacts, output: Output) -> bool {
    let streams = [
        ("standard output", &artifacts.stdout),
        ("standard error", &artifacts.stderr),
    ];
    let cut = streams
        .into_iter()
        .filter(|(_, captured)| captured.is_truncated());
    let mut is_cut = false;
    for (stream, captured) in cut {
        let total = captured.total_bytes();
        let kept = total - captured.dropped_bytes();
        output.status(&format!(
            "error: {stream} is cut in the JSON document: {kept} of {total} bytes"
        ));
        is_cut = true;
    }
    if is_cut {
        output.status(
            "help: run without `--json` to get all bytes, or raise `output-kib` in the policy",
        );
    }
    is_cut
}

fn print_files(artifacts: &ExecutionArtifacts, output: Output) {
    for file in &artifacts.output_files.files {
        let change = if file.is_created {
            "created"
        } else {
            "changed"
        };
        output.status(&format!("{change} {} ({} bytes)", file.path, file.bytes));
    }
    for omitted in &artifacts.output_files.omitted {
        output.status(&format!("omitted: {omitted}"));
    }
}

fn print_explanation(artifacts: &ExecutionArtifacts, output: Output) {
    if let Some(report) = &artifacts.enforcement {
        let milliseconds = artifacts.duration.as_millis();
        output.status(&format!(
            "note: ran {} in {milliseconds} ms",
            artifacts.mode.program()
        ));
        output.status(&format!("note: sandbox {}", report.backend()));
        for row in report.to_lines() {
            output.status(&format!("note:   {row}"));
        }
    }
}

pub(super) fn to_json(
    artifacts: &ExecutionArtifacts,
    explanation: &ExplanationWords,
    not_saved: &[String],
) -> Value {
    let notes = explanation.notes.iter().chain(&artifacts.notes);
    let notes: Vec<String> = notes.map(|note| complete_commands(note)).collect();
    json!({
        "skill": artifacts.skill,
        "mode": artifacts.mode,
        "status": artifacts.exit_status,
        "output": artifacts.output,
        "stdout": stream_to_json(&artifacts.stdout),
        "stderr": stream_to_json(&artifacts.stderr),
        "permissions_used": artifacts.permissions_used,
        // Milliseconds are counted in 128 bits, which JSON readers do not support.
        "duration_ms": u64::try_from(artifacts.duration.as_millis()).unwrap_or(u64::MAX),
        "sandbox": artifacts.enforcement,
        "decisions": artifacts.decisions,
        "files": artifacts.output_files,
        "not_saved": not_saved,
        "notes": notes,
        "help": explanation.help,
        "explanation": artifacts.explanation,
    })
}

fn stream_to_json(captured: &CapturedOutput) -> Value {
    json!({"text": captured.text(), "bytes": captured.total_bytes(), "truncated": captured.is_truncated()})
}
