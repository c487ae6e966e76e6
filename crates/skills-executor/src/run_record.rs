//! Audit records of attempts to run something.

use std::sync::Arc;
use std::time::{Instant, SystemTime};

use skills_audit::{
    self as audit, AuditError, AuditSink, Caller, ChangedFiles, ContentHash, Disposition, Event,
    RefusedAttempt, RestrictionStatus,
};
use skills_manifest::Manifest;
use skills_policy::{Decision, PermissionDecision, ResourceLimits};
use skills_sandbox::{CapturedOutput, EnforcementStatus, Evidence, Restriction, RunOutput};

use crate::error::{Repr, RuntimeError};
use crate::redaction::Redactor;
use crate::run_use::RunUse;
use crate::{CallContext, ExecutionArtifacts, ExecutionStatus, OutputFiles, RefusedFact};

/// Where attempts are recorded. Default: nowhere.
#[derive(Clone)]
pub struct Recorder {
    /// The audit log; without one that can be written nothing runs.
    pub sink: Option<Arc<dyn AuditSink>>,
    /// The clock of records.
    pub clock: fn() -> SystemTime,
}

impl Default for Recorder {
    fn default() -> Self {
        Self {
            sink: None,
            clock: SystemTime::now,
        }
    }
}

/// A pending audit record, written exactly once: by `close`, or on drop if the run was cancelled.
pub(crate) struct RunRecord {
    sink: Option<Arc<dyn AuditSink>>,
    event: Option<Event>,
    started: Instant,
    has_started: bool,
    pub(crate) redactor: Redactor,
    /// The record in the usage ledger.
    pub(crate) run_use: RunUse,
}

impl Recorder {
    pub(crate) fn is_enabled(&self) -> bool {
        self.sink.is_some()
    }

    fn now(&self) -> String {
        humantime::format_rfc3339_millis((self.clock)()).to_string()
    }

    /// Starts a record.
    ///
    /// # Errors
    /// Fails if a record could not be written; then nothing may run.
    pub(crate) fn begin(
        &self,
        skill: &str,
        context: &CallContext,
    ) -> Result<RunRecord, RuntimeError> {
        let event = match &self.sink {
            Some(sink) => {
                // Checked before the run, since a run without a record must not start.
                sink.check_writable().map_err(Repr::Audit)?;
                // Valid for every return that comes before a decision.
                let mut event = Event::new(self.now(), truncate_text(skill), Disposition::Failed);
                event.caller = caller(context);
                Some(event)
            }
            None => None,
        };
        Ok(RunRecord {
            sink: self.sink.clone(),
            event,
            started: Instant::now(),
            has_started: false,
            redactor: Redactor::default(),
            run_use: RunUse::default(),
        })
    }
}

impl RunRecord {
    /// Updates the record, if there is an audit log.
    pub(crate) fn update(&mut self, change: impl FnOnce(&mut Event)) {
        if let Some(event) = &mut self.event {
            change(event);
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
        if let Some(digest) = &digest {
            self.run_use.set_digest(digest);
        }
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
        decisions: &[PermissionDecision],
    ) {
        self.update(|event| {
            event.disposition = decision;
            // The most important decisions come first, since the list can be truncated.
            let rank = |decision: &&PermissionDecision| {
                (
                    decision.decision() != Decision::Deny,
                    !decision.permission().capability().is_privileged(),
                )
            };
            let mut decisions: Vec<&PermissionDecision> = decisions.iter().collect();
            decisions.sort_by_key(rank);
            event.rules = truncate_list(decisions.into_iter().map(ToString::to_string));
        });
    }

    pub(crate) fn record_limits(&mut self, limits: &ResourceLimits) {
        self.update(|event| {
            let milliseconds = u64::try_from(limits.wall_time.as_millis()).unwrap_or(u64::MAX);
            let named = [
                ("wall_time_ms", milliseconds),
                ("memory_bytes", limits.memory_bytes),
                ("output_bytes", limits.captured_bytes as u64),
                ("output_limit_bytes", limits.output_limit_bytes),
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

    /// Writes the record of the start, if the sink keeps such records: a host that is killed during
    /// the run leaves it behind.
    ///
    /// # Errors
    /// Fails if it cannot be written; then nothing may run.
    pub(crate) fn start(&mut self) -> Result<(), RuntimeError> {
        self.has_started = true;
        let (Some(sink), Some(event)) = (&self.sink, &mut self.event) else {
            return Ok(());
        };
        let mut started = event.clone();
        started.disposition = Disposition::Started;
        event.start = sink.record_start(&started).map_err(Repr::Audit)?;
        Ok(())
    }

    /// Records the hosts that the program connected to.
    pub(crate) fn record_connections(&mut self, output: &RunOutput) {
        let (recorded, others) = output
            .connections
            .split_at(output.connections.len().min(MAX_HOSTS));
        // A program can send a secret as a part of a host name.
        let hosts = recorded.iter().map(|host| audit::ReachedHost {
            host: truncate_text(&self.redactor.redact_text(&host.host)),
            count: host.count,
        });
        let hosts = hosts.collect();
        let omitted = others
            .iter()
            .fold(output.connections_omitted, |omitted, host| {
                omitted.saturating_add(host.count)
            });
        self.update(|event| {
            event.hosts = hosts;
            event.hosts_omitted = omitted;
        });
    }

    /// Writes the record of an attempt that another one may follow, and begins the next record of the run.
    ///
    /// # Errors
    /// Fails if the record cannot be written, with the artifacts attached to the error, or if a further
    /// one could not be; then nothing may run again.
    pub(crate) fn close_attempt(
        &mut self,
        recorder: &Recorder,
        artifacts: ExecutionArtifacts,
    ) -> Result<ExecutionArtifacts, RuntimeError> {
        let next = self.event.as_ref().map(|event| {
            let mut next = Event::new(recorder.now(), event.skill.clone(), Disposition::Failed);
            next.caller = event.caller.clone();
            next.program = event.program.clone();
            next.attempt = Some(event.attempt.unwrap_or(1) + 1);
            next.of = event.of.or(event.start);
            next
        });
        let artifacts = self.write_artifacts(artifacts)?;
        self.event = next;
        self.has_started = false;
        self.started = Instant::now();
        let writable = self
            .sink
            .as_ref()
            .map_or(Ok(()), |sink| sink.check_writable());
        match writable {
            Ok(()) => Ok(artifacts),
            Err(source) => {
                self.discard();
                Err(unrecorded(source, artifacts))
            }
        }
    }

    /// Writes that an attempt did not start, for this reason.
    ///
    /// # Errors
    /// As [`close_attempt`](Self::close_attempt).
    pub(crate) fn close_unstarted(
        &mut self,
        reason: &str,
        artifacts: ExecutionArtifacts,
    ) -> Result<ExecutionArtifacts, RuntimeError> {
        // Granted means that it started.
        self.update(|event| {
            if event.disposition == Disposition::Granted {
                event.disposition = Disposition::Failed;
            }
        });
        match self.write(reason.to_owned()) {
            Ok(()) => Ok(artifacts),
            Err(source) => Err(unrecorded(source, artifacts)),
        }
    }

    /// Returns true if the program was about to start.
    pub(crate) fn has_started(&self) -> bool {
        self.has_started
    }

    /// Drops the record: nothing was asked and nothing ran.
    pub(crate) fn discard(&mut self) {
        self.event = None;
    }

    /// Writes the record.
    ///
    /// # Errors
    /// Returns the error of the run if it failed. Otherwise fails if the record cannot be written,
    /// with the artifacts attached to the error.
    pub(crate) fn close(
        mut self,
        result: Result<ExecutionArtifacts, RuntimeError>,
    ) -> Result<ExecutionArtifacts, RuntimeError> {
        self.run_use.close(&result);
        // Written before the result is returned.
        match result {
            Ok(artifacts) => self.write_artifacts(artifacts),
            Err(error) => Err(self.fail(error)),
        }
    }

    fn write_artifacts(
        &mut self,
        artifacts: ExecutionArtifacts,
    ) -> Result<ExecutionArtifacts, RuntimeError> {
        self.record_artifacts(&artifacts);
        match self.write(termination_text(&artifacts.exit_status)) {
            Ok(()) => Ok(artifacts),
            Err(source) => Err(unrecorded(source, artifacts)),
        }
    }

    /// Writes the record of a run that failed, and returns its error, also if the record cannot be
    /// written.
    pub(crate) fn fail(&mut self, error: RuntimeError) -> RuntimeError {
        self.update(|event| event.disposition = Disposition::Failed);
        let _ = self.write(error_text(&error));
        error
    }

    fn record_artifacts(&mut self, artifacts: &ExecutionArtifacts) {
        self.update(|event| {
            // A denied run has no output and no backend.
            let Some(report) = &artifacts.enforcement else {
                return;
            };
            // Sizes and hashes only, since a record contains no content.
            event.stdout = Some(hash_output(&artifacts.stdout));
            event.stderr = Some(hash_output(&artifacts.stderr));
            event.backend = Some(report.backend().to_owned());
            event.restrictions = report
                .restrictions()
                .iter()
                .map(restriction_status)
                .collect();
            let explanation = &artifacts.explanation;
            let refused = explanation.refused();
            // The C library opens local sockets for each lookup of a name.
            let refused = refused.filter(|(refused, _)| !refused.operation.is_probed());
            event.refused = refused.map(refused_attempt).collect();
            event.refused_omitted = explanation.omitted.into();
            event.changed_files = changed_files(&artifacts.output_files);
        });
    }

    fn write(&mut self, termination: String) -> Result<(), AuditError> {
        // Taken, so that `drop` does not write a second record.
        let (Some(sink), Some(mut event)) = (&self.sink, self.event.take()) else {
            return Ok(());
        };
        // Errors and traps can quote output of the program, and with it a secret.
        event.termination = Some(truncate_text(&self.redactor.redact_text(&termination)));
        event.duration_ms =
            Some(u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX));
        sink.record(&event)
    }
}

impl Drop for RunRecord {
    fn drop(&mut self) {
        // The run was dropped, so there is no caller to report an error to.
        let _ = self.write("cancelled".to_owned());
    }
}

/// Returns the error of a record that cannot be written. The program has run; its results must not
/// be lost with the record.
fn unrecorded(source: AuditError, artifacts: ExecutionArtifacts) -> RuntimeError {
    let artifacts = Box::new(artifacts);
    Repr::AuditAfterRun { source, artifacts }.into()
}

/// Returns how an attempt ended that failed before its program ran.
pub(crate) fn error_text(error: &RuntimeError) -> String {
    let (code, message) = (error.kind().code(), error.message_with_sources());
    format!("error {code}: {message}")
}

/// Returns the caller, if anything is known about it.
fn caller(context: &CallContext) -> Option<Caller> {
    let mut caller = Caller::default();
    if let Some((name, version)) = &context.client {
        caller.client = Some(truncate_text(name));
        caller.client_version = Some(truncate_text(version));
    }
    caller.principal = context.principal.as_deref().map(truncate_text);
    // Enough to correlate records, too little to use the session.
    caller.session = context.session.as_ref().map(|session| {
        let digest = ContentHash::new(session.as_bytes()).sha256;
        digest.chars().take(SESSION_DIGITS).collect()
    });
    (caller != Caller::default()).then_some(caller)
}

/// The names of the program were redacted with its output.
fn refused_attempt((refused, observer): (&RefusedFact, Evidence)) -> RefusedAttempt {
    let evidence = if observer.is_observed() {
        "observed"
    } else {
        "program-output"
    };
    RefusedAttempt {
        operation: refused.operation.kind().to_owned(),
        object: refused.operation.object().map(truncate_text),
        evidence: evidence.to_owned(),
        count: refused.count.into(),
    }
}

/// Returns the number of files and the first paths, which were redacted. `None` without files.
fn changed_files(files: &OutputFiles) -> Option<ChangedFiles> {
    let mut remaining = MAX_PATHS_BYTES;
    let paths = files.files.iter().map(|file| truncate_text(&file.path));
    let paths = paths.take_while(|path| {
        let length = json_length(path);
        let fits = length <= remaining;
        remaining = remaining.saturating_sub(length);
        fits
    });
    (!files.files.is_empty()).then(|| ChangedFiles {
        count: files.found,
        paths: paths.collect(),
    })
}

/// Maximum number of hosts in a record.
const MAX_HOSTS: usize = 16;
/// Maximum size of all paths of changed files in a record, in bytes of JSON.
const MAX_PATHS_BYTES: usize = 4 * 1024;
/// How much of the digest of a session id is recorded.
const SESSION_DIGITS: usize = 12;
/// Maximum size of a list in a record, in bytes of JSON. Skills control the length of these lists.
const MAX_LIST_BYTES: usize = 16 * 1024;
/// Maximum size of a text in a record, in bytes of JSON.
const MAX_TEXT_BYTES: usize = 600;

fn truncate_list(entries: impl Iterator<Item = String>) -> Vec<String> {
    let mut kept = Vec::new();
    let mut omitted = 0_usize;
    let mut remaining = MAX_LIST_BYTES;
    for entry in entries {
        let text = truncate_text(&entry);
        let length = json_length(&text);
        // A shorter entry after an omitted one is omitted too: the list stays a prefix, in the
        // order of importance.
        if length > remaining || omitted > 0 {
            omitted += 1;
            continue;
        }
        remaining -= length;
        kept.push(text);
    }
    kept.extend((omitted > 0).then(|| format!("and {omitted} more")));
    kept
}

fn truncate_text(text: &str) -> String {
    // Control characters would take six bytes each in JSON.
    let clean: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    if json_length(&clean) <= MAX_TEXT_BYTES {
        return clean;
    }
    // Without control characters, escaping at most doubles the length.
    format!(
        "{}… ({} bytes)",
        &clean[..clean.floor_char_boundary(MAX_TEXT_BYTES / 2)],
        text.len()
    )
}

/// Returns the length of a text in JSON.
fn json_length(text: &str) -> usize {
    text.len() + text.bytes().filter(|b| matches!(b, b'"' | b'\\')).count()
}

fn hash_output(captured: &CapturedOutput) -> ContentHash {
    let bytes = [captured.head(), &captured.tail()].concat();
    ContentHash::from_prefix(&bytes, captured.total_bytes())
}

fn restriction_status(restriction: &Restriction) -> RestrictionStatus {
    RestrictionStatus {
        name: restriction.name().to_owned(),
        status: status_word(restriction.status()).to_owned(),
    }
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
        ExecutionStatus::Failed { termination } => termination.to_string(),
        ExecutionStatus::Timeout { limit_ms } => format!("timed out after {limit_ms} ms"),
        ExecutionStatus::PermissionDenied { denial } => denial.to_string(),
    }
}
