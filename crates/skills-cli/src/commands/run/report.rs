//! Prints the result of a run as text or JSON.

use std::io;

use serde_json::{Value, json};
use skills_runtime::{
    CapturedOutput, ExecutionArtifacts, ExecutionStatus, ExplanationWords, OutputFile, Termination,
};

use super::Run;
use super::denial_hints::denial_hints;
use super::output_files::KEEP_HELP;
use super::unseen_file::UnseenFile;
use crate::output::{Output, line};
use crate::remedies::RemedyDescriptions;
use crate::run_exit::RunExit;
use crate::suggested_command::complete_commands;

/// Maximum created files, and maximum changed files, that are listed one by one.
const MAX_LISTED_FILES: usize = 20;
/// The listed files, if there are more.
const NAMED_FILES: usize = 10;

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
            let variable = missing_variable(note);
            // The explanation names it with its option.
            if variable.is_none() || variable != artifacts.explanation.withheld_variable() {
                output.status(&format!("note: {}", complete_commands(note)));
                let help = variable.and_then(|name| remedies.pass_set_variable(name));
                help.into_iter()
                    .for_each(|help| output.status(&format!("help: {help}")));
            }
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
                if termination.exceeded_quota() {
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

/// Returns the variable that a note names as a missing requirement.
fn missing_variable(note: &str) -> Option<&str> {
    let variable = note.strip_prefix("missing requirement: variable `")?;
    variable.strip_suffix('`')
}

/// What is missing in the result of a program that ended.
pub(super) struct Losses {
    /// Output files that were not saved, one message each.
    pub(super) not_saved: Vec<String>,
    /// Whether some of them are kept nowhere.
    pub(super) loses_files: bool,
    /// Streams that a JSON document contains only in part, one message each.
    pub(super) cut_streams: Vec<String>,
    /// Why the program got only a part of its input.
    pub(super) input_error: Option<io::Error>,
    /// Why not all of its output was printed.
    pub(super) print_error: Option<io::Error>,
    /// Why a hook objects to the result.
    pub(super) objection: Option<String>,
    /// The file of an argument that a program which failed did not see.
    pub(super) unseen_file: Option<UnseenFile>,
}

impl Losses {
    /// Returns the exit code of a run with these losses. A caller must not take a part for the
    /// whole, so they come before the codes of the program, of a deadline and of a limit.
    pub(super) fn exit(&self, ended: RunExit) -> RunExit {
        match ended {
            RunExit::Denied => ended,
            _ if self.is_none() => ended,
            _ => RunExit::Failed,
        }
    }

    fn is_none(&self) -> bool {
        self.not_saved.is_empty()
            && self.cut_streams.is_empty()
            && self.input_error.is_none()
            && self.print_error.is_none()
            && self.objection.is_none()
    }

    /// Prints each of them.
    pub(super) fn print(&self, name: &str, output: Output) {
        if let Some(file) = self.unseen_file.as_ref().filter(|_| !output.is_json()) {
            output.status(&format!("help: {}", file.help()));
        }
        let cut = self.cut_streams.iter().map(String::as_str);
        cut.for_each(|cut| print_error(cut, output));
        if !self.cut_streams.is_empty() {
            output.status(
                "help: run without `--json` to get all bytes, or raise `output-kib` in the policy",
            );
        }
        if let Some(error) = &self.input_error {
            print_error(&format!("cannot read standard input: {error}"), output);
        }
        let not_saved = self.not_saved.iter().map(String::as_str);
        not_saved.for_each(|error| print_error(error, output));
        if self.loses_files {
            output.status(&format!("help: {KEEP_HELP}"));
        }
        if let Some(error) = &self.print_error {
            let message = format!("cannot print all output of the program: {error}");
            print_error(&message, output);
        }
        if let Some(reason) = &self.objection {
            let message = format!("a hook of `{name}` objects to the result: {reason}");
            print_error(&message, output);
        }
    }
}

/// Prints which exit code this one replaces, if it is not that of the program, of its deadline or
/// of its limit.
pub(super) fn print_replaced_exit(ended: RunExit, exit: RunExit, output: Output) {
    if ended == exit {
        return;
    }
    let (code, replaced) = (exit.code(), ended.code());
    if ended.is_of_program() {
        let message =
            format!("exit code {code} is from `skills`; the program ended with {replaced}");
        print_error(&message, output);
    } else if matches!(ended, RunExit::Deadline | RunExit::Limit) {
        let reason = ended.reason();
        print_error(
            &format!("exit code {code} replaces {replaced} ({reason})"),
            output,
        );
    }
}

fn print_error(message: &str, output: Output) {
    output.status(&format!("error: {message}"));
}

/// Returns a message for each stream that a JSON document contains only in part.
pub(super) fn cut_streams(artifacts: &ExecutionArtifacts) -> Vec<String> {
    let streams = [
        ("standard output", &artifacts.stdout),
        ("standard error", &artifacts.stderr),
    ];
    let cut = streams
        .into_iter()
        .filter(|(_, captured)| captured.is_truncated());
    cut.map(|(stream, captured)| {
        let total = captured.total_bytes();
        let kept = total - captured.dropped_bytes();
        format!("{stream} is cut in the JSON document: {kept} of {total} bytes")
    })
    .collect()
}

fn print_files(artifacts: &ExecutionArtifacts, output: Output) {
    for line in file_lines(&artifacts.output_files.files) {
        output.status(&line);
    }
    for omitted in &artifacts.output_files.omitted {
        output.status(&format!("omitted: {omitted}"));
    }
}

/// Returns a line for each file in order. Of more than 20 created or more than 20 changed ones, ten
/// are listed and the others counted, so that many created files hide no changed one.
fn file_lines(files: &[OutputFile]) -> Vec<String> {
    let (created, changed): (Vec<_>, Vec<_>) = files.iter().partition(|file| file.is_created);
    let groups = [("changed", changed), ("created", created)];
    let mut listed = Vec::new();
    let mut counts = Vec::new();
    for (change, group) in groups {
        let max_listed = if group.len() > MAX_LISTED_FILES {
            counts.push(format!("{change} {} more files", group.len() - NAMED_FILES));
            NAMED_FILES
        } else {
            MAX_LISTED_FILES
        };
        let group = group.into_iter().take(max_listed);
        listed.extend(group.map(|file| (change, file)));
    }
    listed.sort_by_key(|(_, file)| &file.path);
    let line = |(change, file): &(&str, &OutputFile)| {
        format!("{change} {} ({} bytes)", file.path, file.bytes)
    };
    listed.iter().map(line).chain(counts).collect()
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
    exit: RunExit,
    explanation: &ExplanationWords,
    not_saved: &[String],
) -> Value {
    let notes = explanation.notes.iter().chain(&artifacts.notes);
    let notes: Vec<String> = notes.map(|note| complete_commands(note)).collect();
    json!({
        "skill": artifacts.skill,
        "mode": artifacts.mode,
        "status": artifacts.exit_status,
        "exit": exit.to_json(),
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
