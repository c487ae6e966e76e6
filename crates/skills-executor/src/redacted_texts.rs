//! Redacts all texts of a result that explain the run.

use skills_sandbox::Termination;

use crate::redaction::Redactor;
use crate::{ExecutionArtifacts, ExecutionStatus};

impl ExecutionArtifacts {
    /// Redacts the values of secrets in all texts of a complete result, except its streams and its
    /// output, which are redacted before anything is read from them.
    ///
    /// The last step: notes and explanations quote names of files, hosts and packages, which a program
    /// can choose.
    pub(crate) fn redact_texts(&mut self, redactor: &Redactor) {
        if redactor.is_empty() {
            return;
        }
        if let ExecutionStatus::Failed { termination } = &mut self.exit_status {
            redact_termination(termination, redactor);
        }
        redactor.redact_all(&mut self.notes);
        redactor.redact_all(&mut self.output_files.omitted);
        for file in &mut self.output_files.files {
            redact(&mut file.path, redactor);
        }
        for skill in &mut self.unreadable_skills {
            redact(&mut skill.reason, redactor);
        }
        self.explanation.redact(redactor);
    }
}

/// Redacts messages of traps and panics, which can quote data of the program.
pub(crate) fn redact_termination(termination: &mut Termination, redactor: &Redactor) {
    match termination {
        Termination::Trapped { reason, frames } => {
            redact(reason, redactor);
            redactor.redact_all(frames);
        }
        Termination::HostPanic { message } => redact(message, redactor),
        _ => {}
    }
}

fn redact(text: &mut String, redactor: &Redactor) {
    *text = redactor.redact_text(text);
}
