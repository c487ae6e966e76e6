//! One attempt to run something, and its one record.

use std::sync::Arc;
use std::time::{Instant, SystemTime};

use skills_audit::{AuditError, AuditSink, ContentHash, Disposition, Event, RestrictionStatus};
use skills_manifest::Manifest;
use skills_policy::{Decision, PermissionDecision, ResourceLimits};
use skills_sandbox::EnforcementStatus;

use crate::error::{Repr, RuntimeError};
use crate::secrets::Redactor;
use crate::{ExecutionArtifacts, ExecutionStatus};

/// Where records go, and what time it is.
#[derive(Clone)]
pub(crate) struct Recorder {
    pub(crate) sink: Option<Arc<dyn AuditSink>>,
    pub(crate) clock: fn() -> SystemTime,
}

impl Default for Recorder {
    fn default() -> Self {
        Self {
            sink: None,
            clock: SystemTime::now,
        }
    }
}

/// An attempt under way. Exactly one record is made of it: when it is closed, or when it is dropped
/// because its future was.
pub(crate) struct RunRecord {
    sink: Option<Arc<dyn AuditSink>>,
    event: Option<Event>,
    started: Instant,
    pub(crate) redactor: Redactor,
}

impl Recorder {
    pub(crate) fn is_enabled(&self) -> bool {
        self.sink.is_some()
    }

    /// Begins an attempt.
    ///
    /// # Errors
    /// When no record could be kept: then nothing may run.
    pub(crate) fn begin(&self, skill: &str) -> Result<RunRecord, RuntimeError> {
        let event = match &self.sink {
            Some(sink) => {
                sink.check_writable().map_err(Repr::Audit)?;
                let time = humantime::format_rfc3339_millis((self.clock)()).to_string();
                Some(Event::new(time, truncate_text(skill), Disposition::Failed))
            }
            None => None,
        };
        Ok(RunRecord {
            sink: self.sink.clone(),
            event,
            started: Instant::now(),
            redactor: Redactor::default(),
        })
    }
}

impl RunRecord {
    /// Notes something, where somebody keeps records.
    pub(crate) fn update(&mut self, note: impl FnOnce(&mut Event)) {
        if let Some(event) = &mut self.event {
            note(event);
        }
    }

    pub(crate) fn set_program(&mut self, program: &str) {
        self.update(|event| event.program = Some(truncate_text(program)));
    }

    pub(crate) fn set_skill(
        &mut self,
        name: &str,
        digest: Option<String>,
        manifest: Option<&Manifest>,
    ) {
        self.update(|event| {
            event.skill = truncate_text(name);
            event.digest = digest;
            let tools = manifest.map(Manifest::allowed_tools).unwrap_or_default();
            event.requested = truncate_list(tools.iter().map(ToString::to_string));
        });
    }

    pub(crate) fn record_decision(
        &mut self,
        decision: Disposition,
        verdicts: &[PermissionDecision],
    ) {
        self.update(|event| {
            event.disposition = decision;
            // Whatever is cut, it is not what matters most.
            let rank = |verdict: &&PermissionDecision| {
                (
                    verdict.decision() != Decision::Deny,
                    !verdict.permission().capability().is_privileged(),
                )
            };
            let mut verdicts: Vec<&PermissionDecision> = verdicts.iter().collect();
            verdicts.sort_by_key(rank);
            event.rules = truncate_list(verdicts.into_iter().map(ToString::to_string));
        });
    }

    pub(crate) fn record_limits(&mut self, limits: &ResourceLimits) {
        self.update(|event| {
            let milliseconds = u64::try_from(limits.wall_time.as_millis()).unwrap_or(u64::MAX);
            let named = [
                ("wall_time_ms", milliseconds),
                ("memory_bytes", limits.memory_bytes),
                ("output_bytes", limits.captured_bytes as u64),
                ("flood_bytes", limits.output_limit_bytes),
                ("file_bytes", limits.file_bytes),
                ("open_files", limits.open_files),
                ("processes", limits.processes),
                ("scratch_bytes", limits.scratch_bytes),
            ];
            event.limits = named
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect();
        });
    }

    /// Makes the record of what came of it.
    ///
    /// # Errors
    /// That of the attempt, else when the record cannot be kept: what nobody recorded counts as
    /// failed, and the error has what came of it.
    pub(crate) fn close(
        mut self,
        result: Result<ExecutionArtifacts, RuntimeError>,
    ) -> Result<ExecutionArtifacts, RuntimeError> {
        let outcome = match &result {
            Ok(artifacts) => {
                self.record_artifacts(artifacts);
                termination_text(&artifacts.exit_status)
            }
            Err(error) => {
                self.update(|event| event.disposition = Disposition::Failed);
                format!("error {}: {}", error.kind().code(), error_chain(error))
            }
        };
        let kept = self.write(outcome);
        let artifacts = result?;
        match kept {
            Ok(()) => Ok(artifacts),
            Err(source) => Err(Repr::AuditAfterRun {
                source,
                artifacts: Box::new(artifacts),
            }
            .into()),
        }
    }

    fn record_artifacts(&mut self, artifacts: &ExecutionArtifacts) {
        self.update(|event| {
            let kept = |captured: &skills_sandbox::CapturedOutput| {
                [captured.head(), &captured.tail()].concat()
            };
            let content = |captured: &skills_sandbox::CapturedOutput| {
                Some(ContentHash::from_prefix(
                    &kept(captured),
                    captured.total_bytes(),
                ))
            };
            let Some(report) = &artifacts.enforcement else {
                return;
            };
            (event.stdout, event.stderr) = (content(&artifacts.stdout), content(&artifacts.stderr));
            event.backend = Some(report.backend().to_owned());
            let layer = |layer: &skills_sandbox::Restriction| RestrictionStatus {
                name: layer.name().to_owned(),
                status: status_word(layer.status()).to_owned(),
            };
            event.restrictions = report.restrictions().iter().map(layer).collect();
        });
    }

    fn write(&mut self, outcome: String) -> Result<(), AuditError> {
        let (Some(sink), Some(mut event)) = (&self.sink, self.event.take()) else {
            return Ok(());
        };
        event.termination = Some(truncate_text(&self.redactor.redact_text(&outcome)));
        event.duration_ms =
            Some(u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX));
        sink.record(&event)
    }
}

impl Drop for RunRecord {
    fn drop(&mut self) {
        // Whoever dropped the run is not there to be told.
        let _ = self.write("cancelled".to_owned());
    }
}

/// So many bytes of a list are recorded, as JSON writes them; a skill may write as much as it
/// likes, and a record has an end.
const MAX_LIST_BYTES: usize = 16 * 1024;
/// So many bytes of one text are recorded, as JSON writes them.
const MAX_TEXT_BYTES: usize = 600;

fn truncate_list(entries: impl Iterator<Item = String>) -> Vec<String> {
    let (mut kept, mut left, mut room) = (Vec::new(), 0_usize, MAX_LIST_BYTES);
    for entry in entries {
        let text = truncate_text(&entry);
        let length = json_length(&text);
        if length > room || left > 0 {
            left += 1;
            continue;
        }
        room -= length;
        kept.push(text);
    }
    kept.extend((left > 0).then(|| format!("and {left} more")));
    kept
}

fn truncate_text(text: &str) -> String {
    let clean: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    if json_length(&clean) <= MAX_TEXT_BYTES {
        return clean;
    }
    // Escaping makes no character longer than twice its length once controls are gone.
    format!(
        "{}… ({} bytes)",
        &clean[..clean.floor_char_boundary(MAX_TEXT_BYTES / 2)],
        text.len()
    )
}

/// How long a text is in JSON.
fn json_length(text: &str) -> usize {
    text.len() + text.bytes().filter(|b| matches!(b, b'"' | b'\\')).count()
}

/// An error with all that led to it.
fn error_chain(error: &RuntimeError) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(error) = source {
        text.push_str(&format!(": {error}"));
        source = error.source();
    }
    text
}

fn status_word(status: EnforcementStatus) -> &'static str {
    match status {
        EnforcementStatus::Enforced => "enforced",
        EnforcementStatus::Partial => "partial",
        _ => "unavailable",
    }
}

fn termination_text(status: &ExecutionStatus) -> String {
    match status {
        ExecutionStatus::Success => "exit code 0".to_owned(),
        ExecutionStatus::Failed {
            termination: ending,
        } => ending.to_string(),
        ExecutionStatus::Timeout { limit_ms } => format!("timed out after {limit_ms} ms"),
        ExecutionStatus::PermissionDenied { denial } => format!("denied: {denial}"),
    }
}
