//! What explains the result of a run to its user.

use skills_runtime::{Evidence, ExecutionArtifacts, FailureCause, Refusal, RunFinding};

use super::Remedy;

/// What explains the result of a run to its user: what restrictions stopped, what the runtime found,
/// and what the user can do.
///
/// The text of a terminal, JSON and results of tools contain the same lines, each with the labels of
/// its format. Names and paths come from programs; escape the lines before showing them in a
/// terminal.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunExplanation {
    /// The operations that restrictions stopped. What only the output of the program says is marked.
    pub refused: Vec<String>,
    /// What the runtime itself knows.
    pub notes: Vec<String>,
    /// What the user can do, in the imperative.
    pub help: Vec<String>,
}

impl RunExplanation {
    /// Explains a run. `describe` returns how the host application applies a remedy, `None` if it
    /// cannot.
    #[must_use]
    pub fn new(
        artifacts: &ExecutionArtifacts,
        describe: impl Fn(&Remedy) -> Option<String>,
    ) -> Self {
        let refused = artifacts.refusals.list().iter();
        let refused = refused.filter(|refusal| is_shown(artifacts, refusal));
        let omitted = match artifacts.refusals.omitted() {
            0 => None,
            1 => Some("1 more operation".to_owned()),
            omitted => Some(format!("{omitted} more operations")),
        };
        let cause = artifacts.failure_cause.as_ref();
        let findings = artifacts.findings.iter().map(RunFinding::to_string);
        let mut help: Vec<String> = Vec::new();
        for line in Remedy::for_run(artifacts).iter().filter_map(describe) {
            if !help.contains(&line) {
                help.push(line);
            }
        }
        Self {
            refused: refused.map(refusal_line).chain(omitted).collect(),
            notes: findings
                .chain(cause.and_then(FailureCause::describe))
                .collect(),
            help,
        }
    }
}

/// Many programs open a socket without a need, so one without a host is said of a failure only.
pub(super) fn is_shown(artifacts: &ExecutionArtifacts, refusal: &Refusal) -> bool {
    !artifacts.exit_status.is_success() || refusal.operation.target().is_some()
}

fn refusal_line(refusal: &Refusal) -> String {
    // A program can print anything, so what only its output says is not stated as a fact.
    let source = match refusal.evidence {
        Evidence::Observed => "",
        _ => " (reported by the program, not verified)",
    };
    let obstacle = match (&refusal.obstacle, &refusal.caution) {
        (Some(obstacle), _) => format!("; no option allows it: {obstacle}"),
        (None, Some(caution)) => format!("; no option is suggested: {caution}"),
        (None, None) => String::new(),
    };
    format!("{}{source}{obstacle}", refusal.operation)
}
