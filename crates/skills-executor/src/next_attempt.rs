//! The refusals and the effects of an attempt, for a further one.

use skills_policy::{
    Access, Capability, EarlierAttempt, FileGrant, Policy, RaisedLimit, RunEffects, Target,
};
use skills_sandbox::{OutputStream, RunOutput, Termination};

use crate::artifacts::ExecutionArtifacts;
use crate::authorize::Authorized;
use crate::check::Checked;
use crate::explain::{Cause, EndedRun, FactKind, RunExplanation};
use crate::options::Workspace;
use crate::output_files::OutputFiles;
use crate::packages::{ImportedPackage, RunPackages};

/// The factors by which a further attempt raises a limit that was reached.
const MEMORY_FACTOR: u64 = 4;
const TIME_FACTOR: u32 = 10;

/// An attempt that failed, with what a further one could have in addition.
pub(crate) struct EndedAttempt {
    earlier: EarlierAttempt,
    /// The package that a file of the skill imports and that was not found.
    imported: Option<ImportedPackage>,
    packages: RunPackages,
}

/// What a further attempt continues, and its packages.
pub(crate) struct NextAttempt {
    pub(crate) earlier: EarlierAttempt,
    pub(crate) packages: RunPackages,
}

impl EndedAttempt {
    /// `None` if a further attempt would be the same.
    pub(crate) fn new(
        earlier: EarlierAttempt,
        imported: Option<ImportedPackage>,
        run: &Authorized,
    ) -> Option<Self> {
        let is_refused = !earlier.refused.is_empty() || earlier.raised.is_some();
        (is_refused || imported.is_some()).then(|| Self {
            earlier,
            imported,
            packages: run.packages().clone(),
        })
    }

    /// Returns what a further attempt has in addition, with the version of the package that was not
    /// found; `None` if it would be the same. The results of the attempt get a note if there is no such
    /// package.
    pub(crate) async fn next(
        self,
        checked: &Checked,
        artifacts: &mut ExecutionArtifacts,
    ) -> Option<NextAttempt> {
        let Self {
            earlier,
            imported,
            packages,
        } = self;
        let found = match imported {
            Some(imported) => {
                let request = checked.request();
                packages
                    .with_import(checked.planned(), request, imported)
                    .await
            }
            None => Ok(None),
        };
        let found = found.unwrap_or_else(|reason| {
            artifacts.explanation.withdraw_package();
            artifacts.notes.push(reason);
            None
        });
        let is_same = earlier.refused.is_empty() && earlier.raised.is_none();
        if is_same && found.is_none() {
            return None;
        }
        Some(NextAttempt {
            earlier,
            packages: found.unwrap_or(packages),
        })
    }
}

/// Returns what a failed attempt was refused, as far as the runtime itself observed it, and what it has
/// done. `None` after a success.
pub(crate) fn earlier_attempt(
    run: &Authorized,
    ended: &EndedRun<'_>,
    explanation: &RunExplanation,
    done: RunEffects,
) -> Option<EarlierAttempt> {
    let policy = run.planned().services().permissions().policy();
    let termination = &ended.output.termination;
    if termination.is_success() || *termination == Termination::Cancelled {
        return None;
    }
    let mut earlier = run.grants().attempt(&run.request_for_content());
    earlier.refused = refused(ended, explanation);
    // A file of the skill, say: the question would be larger than what was tried.
    if run.names_refused_programs() {
        let any = Target::from(Capability::Spawn);
        earlier.refused.retain(|refused| *refused != any);
    }
    earlier.raised = raised(run, ended.output, explanation, policy);
    earlier.done = done;
    earlier.add_time(ended.output.duration);
    Some(earlier)
}

/// Returns the rules that would have allowed what was refused, without those that no message suggests.
fn refused(ended: &EndedRun<'_>, explanation: &RunExplanation) -> Vec<Target> {
    let facts = explanation.facts.iter();
    let observed = facts.filter(|fact| fact.is_relevant && fact.observer.is_observed());
    let rules = observed.filter_map(|fact| match &fact.kind {
        FactKind::Refused(refused) => refused.rule(),
        _ => None,
    });
    rules.filter_map(|rule| ended.rules.target(rule)).collect()
}

/// Returns the limit that the program reached, with a higher value within the ceiling. A limit that the
/// caller chose is not raised.
fn raised(
    run: &Authorized,
    output: &RunOutput,
    explanation: &RunExplanation,
    policy: &Policy,
) -> Option<RaisedLimit> {
    let (limits, ceiling) = (run.grants().limits(), policy.ceiling());
    let options = run.planned().options();
    if matches!(output.termination, Termination::TimedOut { .. }) {
        if options.timeout_ms.is_some() {
            return None;
        }
        let from = limits.wall_time;
        let to = (from.saturating_mul(TIME_FACTOR)).min(ceiling.wall_time);
        return (from < to).then_some(RaisedLimit::WallTime { from, to });
    }
    let is_observed = matches!(
        explanation.cause,
        Some(Cause::OutOfMemory {
            is_only_reported: false,
            ..
        })
    );
    let from = limits.memory_bytes;
    let to = (from.saturating_mul(MEMORY_FACTOR)).min(ceiling.memory_bytes);
    (is_observed && options.memory_bytes.is_none() && from < to)
        .then_some(RaisedLimit::Memory { from, to })
}

/// Returns what an attempt has done that a further one would do again. What is not known counts as done.
pub(crate) fn effects(
    run: &Authorized,
    output: &RunOutput,
    files: &OutputFiles,
    is_given: bool,
) -> RunEffects {
    let options = run.planned().options();
    let mut done = RunEffects::default();
    let is_kept = !matches!(options.workspace, Workspace::Private(_));
    if is_kept {
        done.changed_files = usize::try_from(files.found).unwrap_or(usize::MAX);
    }
    // Files elsewhere are not compared.
    let is_compared = |file: &FileGrant| {
        run.workspace()
            .is_some_and(|own| file.path().starts_with(own))
    };
    let mut written = run.grants().files().iter();
    done.may_have_written = (is_kept && (files.is_truncated || files.has_other_changes))
        || written.any(|file| file.access() == Access::ReadWrite && !is_compared(file));
    done.hosts = output
        .connections
        .iter()
        .map(|host| host.host.clone())
        .collect();
    if output.connections_omitted > 0 {
        done.hosts.push("other hosts".to_owned());
    }
    let streams = [
        (OutputStream::Stdout, &output.stdout),
        (OutputStream::Stderr, &output.stderr),
    ];
    let mut kept = streams
        .iter()
        .filter(|(stream, _)| !options.shown_output.contains(stream));
    done.has_given_output = is_given && kept.any(|(_, captured)| captured.total_bytes() > 0);
    let mut input = options.input_stream.iter();
    done.has_taken_input = input.any(|input| !input.is_repeatable());
    done
}
