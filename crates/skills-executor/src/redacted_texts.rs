//! Redacts all texts of a result that explain the run.

use std::path::{Path, PathBuf};

use skills_sandbox::Termination;

use crate::failure_cause::FailureCause;
use crate::findings::RunFinding;
use crate::redaction::Redactor;
use crate::{ExecutionArtifacts, ExecutionStatus};

impl ExecutionArtifacts {
    /// Redacts the values of secrets in all texts of a complete result, except its streams and its
    /// output, which are redacted before anything is read from them.
    ///
    /// The last step: notes and findings quote names of files, hosts and packages, which a program
    /// can choose.
    pub(crate) fn redact_texts(&mut self, redactor: &Redactor) {
        if redactor.is_empty() {
            return;
        }
        redact_status(&mut self.exit_status, redactor);
        redact_all(&mut self.notes, redactor);
        redact_all(&mut self.likely_rules, redactor);
        redact_all(&mut self.output_files.omitted, redactor);
        for file in &mut self.output_files.files {
            redact(&mut file.path, redactor);
        }
        for skill in &mut self.unreadable_skills {
            redact(&mut skill.reason, redactor);
        }
        for finding in &mut self.findings {
            redact_finding(finding, redactor);
        }
        self.failure_cause
            .iter_mut()
            .for_each(|cause| redact_cause(cause, redactor));
        let refusals = std::mem::take(&mut self.refusals);
        self.refusals = refusals.map_text(|text| redactor.redact_text(text));
    }
}

/// Messages of traps and panics can quote data of the program.
fn redact_status(status: &mut ExecutionStatus, redactor: &Redactor) {
    match status {
        ExecutionStatus::Failed {
            termination: Termination::Trapped { reason, frames },
        } => {
            redact(reason, redactor);
            redact_all(frames, redactor);
        }
        ExecutionStatus::Failed {
            termination: Termination::HostPanic { message },
        } => redact(message, redactor),
        _ => {}
    }
}

fn redact_finding(finding: &mut RunFinding, redactor: &Redactor) {
    match finding {
        RunFinding::ReadOnlyPaths { paths, .. } | RunFinding::WithheldKeys { paths, .. } => {
            for path in paths {
                *path = redact_path(path, redactor);
            }
        }
        RunFinding::ChangedKeyLinks { links, .. } => {
            for link in links {
                link.link = redact_path(&link.link, redactor);
                link.target = redact_path(&link.target, redactor);
            }
        }
        RunFinding::PrivateHome {
            files, directories, ..
        } => {
            redact_all(files, redactor);
            redact_all(directories, redactor);
        }
        RunFinding::IgnoredProxy { hosts } => redact_all(hosts, redactor),
        RunFinding::ExecutedFiles { programs, .. } => {
            let names = programs
                .iter_mut()
                .flat_map(|program| &mut program.examples);
            redact_all(names, redactor);
        }
        RunFinding::SkillIsReadOnly { .. } => {}
    }
}

fn redact_cause(cause: &mut FailureCause, redactor: &Redactor) {
    if let FailureCause::MissingPackage {
        package,
        package_name,
        acceptable,
        ..
    } = cause
    {
        redact(package, redactor);
        redact_all(package_name, redactor);
        redact_all(acceptable, redactor);
    }
}

fn redact_all<'a>(texts: impl IntoIterator<Item = &'a mut String>, redactor: &Redactor) {
    for text in texts {
        redact(text, redactor);
    }
}

fn redact(text: &mut String, redactor: &Redactor) {
    *text = redactor.redact_text(text);
}

/// A path that shows no secret stays as it is, also if it is not UTF-8.
fn redact_path(path: &Path, redactor: &Redactor) -> PathBuf {
    let text = path.to_string_lossy();
    let redacted = redactor.redact_text(&text);
    if redacted == text {
        path.to_owned()
    } else {
        redacted.into()
    }
}
