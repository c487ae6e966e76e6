//! Operations that restrictions stopped during a run, observed by the backend or reported in the
//! output.

use std::path::Path;

use skills_policy::{Grants, NetworkGrant};
use skills_sandbox::{Evidence, Refusal, Refusals, RefusedOperation, RunOutput, ScriptType};

use super::ended_run::EndedRun;
use super::facts::{Fact, FactKind, RefusedFact};
use super::outside::OutsideLink;
use super::paths::{ProgramPaths, is_granted};
use super::printed::{end_of, is_not_permitted, parse_messages, parse_read_only_messages};

/// The most hosts in a fact.
const MAX_HOSTS: usize = 4;
/// Returns what was refused. If the program failed, its output is read too: a path outside of what
/// it sees looks like a missing file to it, which no restriction can report. After a success only
/// writes to read-only directories are read from it, since such a result lacks files.
///
/// Whether a path exists on the host is not checked: a skill could otherwise learn that by printing
/// names.
pub(super) fn refusals(run: &EndedRun<'_>) -> Refusals {
    let (output, grants, paths) = (run.output, run.grants(), &run.paths);
    let mut refusals = with_lookups(output, grants, paths);
    let parse = if output.termination.is_success() {
        parse_read_only_messages
    } else {
        parse_messages
    };
    let current_dir = paths.current_dir.to_string_lossy();
    let claims =
        [&output.stderr, &output.stdout].map(|captured| parse(&end_of(captured), &current_dir));
    for operation in claims.into_iter().flatten() {
        let operation = paths.on_host(operation, output);
        // An unknown host is one that was observed or named before.
        let is_known = matches!(operation, RefusedOperation::Connect { host: None })
            && refusals.list().iter().any(is_connection);
        let is_explained = |link: &OutsideLink| {
            matches!(
                operation,
                RefusedOperation::Read { .. } | RefusedOperation::Write { .. }
            ) && operation
                .object()
                .is_some_and(|path| link.explains(Path::new(path)))
        };
        let is_known = is_known || run.outside.as_ref().is_some_and(is_explained);
        if !is_known && paths.lacks_grant(&operation, grants, output) {
            refusals.add(Refusal::new(operation, Evidence::ProgramOutput));
        }
    }
    // A shell script starts far more programs than its skill lists.
    if run.script_type == Some(ScriptType::Shell) {
        refusals
    } else {
        name_programs(refusals, run.dropped_programs)
    }
}

/// Returns a refused operation with what would allow it.
pub(super) fn fact(run: &EndedRun<'_>, refusal: &Refusal) -> Fact {
    let caution = run.paths.caution(refusal, run.rules.workspace);
    Fact {
        observer: refusal.evidence,
        is_relevant: is_relevant(run, &refusal.operation),
        kind: FactKind::Refused(RefusedFact {
            operation: refusal.operation.clone(),
            count: refusal.count,
            allowed_by: run.rules.allowance(&refusal.operation, caution),
        }),
    }
}

/// Returns true if a refused operation is likely to explain the result. Many programs open a socket
/// without a need, and libraries try calls that they do without.
fn is_relevant(run: &EndedRun<'_>, operation: &RefusedOperation) -> bool {
    match operation {
        RefusedOperation::NeverAllowed(never) if never.is_probed => {
            let streams = [&run.output.stderr, &run.output.stdout];
            run.is_failure() && streams.iter().any(|text| is_not_permitted(&end_of(text)))
        }
        operation => run.is_failure() || operation.target().is_some(),
    }
}

/// Returns what the backend observed, with the hosts whose names the program tried to resolve. They
/// say more than the socket that it opened for that.
fn with_lookups(output: &RunOutput, grants: &Grants, paths: &ProgramPaths<'_>) -> Refusals {
    let refused = output.lookups.iter().filter_map(|lookup| {
        let host = Some(lookup.host.clone());
        let operation = RefusedOperation::Connect { host };
        let is_refused =
            operation.target().is_some() && paths.lacks_grant(&operation, grants, output);
        is_refused.then_some((operation, lookup.count))
    });
    let refused: Vec<_> = refused.collect();
    let mut refusals = output.refusals.clone();
    if !refused.is_empty() {
        let is_unknown = |refusal: &Refusal| {
            matches!(refusal.operation, RefusedOperation::Connect { host: None })
        };
        refusals = refusals.replace(is_unknown, |_| Vec::new());
    }
    for (operation, count) in refused {
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        refusals.add(Refusal::new(operation, Evidence::Proxy).count(count));
    }
    refusals
}

/// Returns the granted hosts whose names a failed program tried to resolve: one that uses the proxy
/// does not.
pub(super) fn ignored_proxy(output: &RunOutput, grants: &Grants) -> Option<FactKind> {
    let NetworkGrant::Hosts(hosts) = grants.network() else {
        return None;
    };
    let names = output.lookups.iter().map(|lookup| &lookup.host);
    let names = names.filter(|host| is_granted(hosts, host));
    let hosts: Vec<String> = names.take(MAX_HOSTS).cloned().collect();
    let is_failure = !output.termination.is_success();
    (is_failure && !hosts.is_empty()).then_some(FactKind::IgnoredProxy { hosts })
}

fn is_connection(refusal: &Refusal) -> bool {
    matches!(refusal.operation, RefusedOperation::Connect { .. })
}

/// Names the programs of a refused process: those that the skill requires and that were not granted.
/// The hint is then for them, and not for any program.
fn name_programs(refusals: Refusals, dropped: &[String]) -> Refusals {
    let is_process = |refusal: &Refusal| refusal.operation == RefusedOperation::StartProcess;
    if dropped.is_empty() || !refusals.list().iter().any(is_process) {
        return refusals;
    }
    refusals.replace(is_process, |refusal| {
        let programs = dropped
            .iter()
            .map(|name| RefusedOperation::StartProgram { name: name.clone() });
        programs
            .map(|operation| Refusal::new(operation, refusal.evidence).count(refusal.count))
            .collect()
    })
}
