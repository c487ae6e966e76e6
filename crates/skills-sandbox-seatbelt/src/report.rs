//! The enforcement report of a run.

use std::time::Duration;

use skills_egress::ProxyLog;
use skills_policy::SpawnGrant;
use skills_process::ProgramFinder;
use skills_sandbox::{EnforcementReport, Quota, ScriptType};

use crate::plan::Plan;
use crate::profile::{Profile, ProxyAccess};

const NO_NETWORK: &str = "none, including Unix domain sockets and loopback";

/// `sandbox-exec` starts nothing unless it accepted the whole profile, so the report describes what
/// was in effect; partial restrictions are a property of this backend. `log` is that of the proxy.
pub(crate) fn report(plan: &Plan, quotas: &[Quota], log: Option<&ProxyLog>) -> EnforcementReport {
    let report = EnforcementReport::new("seatbelt").enforced("profile", accepted(plan.profile()));
    let base = add_files(report).enforced("network", network_detail(plan.network(), log));
    let processes = add_processes(base, plan.spawn());
    let time = processes.partial("time", time_detail(plan.spawn(), plan.limits().wall_time));
    // Partial, because it is measured while the program runs: between two measurements more may be
    // written.
    let scratch = Quota::describe_limit(plan.limits().scratch_bytes);
    let disk = add_unlimited(time).partial(
        "scratch",
        format!("a private directory of at most {scratch}"),
    );
    let workspaces = quotas.iter().fold(disk, |report, quota| {
        report.partial(
            "workspace",
            format!(
                "private, at most {}",
                Quota::describe_limit(quota.max_bytes())
            ),
        )
    });
    workspaces.enforced("environment", "declared variables only, no terminal")
}

fn accepted(profile: &Profile) -> String {
    let (rules, paths) = (profile.rules().len(), profile.parameters().len());
    format!("sandbox-exec accepted {rules} rules and {paths} paths")
}

fn network_detail(network: ProxyAccess, log: Option<&ProxyLog>) -> String {
    let ProxyAccess::LocalPort(port) = network else {
        return NO_NETWORK.to_owned();
    };
    let summary = log.map_or_else(String::new, |log| format!("; {}", log.summary()));
    format!("only a proxy at local port {port}{summary}")
}

fn add_processes(report: EnforcementReport, spawn: &SpawnGrant) -> EnforcementReport {
    match spawn {
        SpawnGrant::None => report.enforced("processes", "no second process"),
        SpawnGrant::Programs(names) => {
            // A program can load any code that it can read, so a list of programs is not a
            // boundary.
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let names = names.join(", ");
            report.partial(
                "processes",
                format!("programs: {names}; neither their number nor what they load is limited"),
            )
        }
        SpawnGrant::Any => report.partial(
            "processes",
            "any program of the system; their number is not limited",
        ),
    }
}

/// Describes the deadline. A program that may start others can move one out of the process group,
/// and macOS has no way to find it.
fn time_detail(spawn: &SpawnGrant, wall_time: Duration) -> String {
    let time = wall_time.as_millis();
    match spawn {
        SpawnGrant::None => {
            format!(
                "{time} ms, then it is killed; if the host is killed, it keeps running, still sandboxed"
            )
        }
        _ => format!(
            "{time} ms, then its process group is killed; processes that left the group keep running, still sandboxed; if the host is killed, all keep running, still sandboxed"
        ),
    }
}

/// Returns the restrictions of any run on this host.
pub(crate) fn probe_report(finder: &ProgramFinder) -> EnforcementReport {
    let base = add_files(EnforcementReport::new("seatbelt"))
        .enforced(
            "network",
            format!("{NO_NETWORK}; granted hosts through a proxy"),
        )
        .partial(
            "processes",
            "only granted programs; their number is not limited",
        );
    ScriptType::ALL
        .into_iter()
        .fold(add_unlimited(base), |report, kind| {
            match finder.find_interpreter(kind) {
                Ok(found) => report.enforced(
                    kind.as_str(),
                    format!("scripts run with {}", found.argv0.display()),
                ),
                Err(error) => report.unavailable(kind.as_str(), error.to_string()),
            }
        })
}

fn add_files(report: EnforcementReport) -> EnforcementReport {
    report
        .partial("files", "only granted paths can be read, written or loaded, but names in the root directory are visible; the skill directory is never writable",
        )
        .partial("temporary", "/tmp is shared with all programs; HOME and TMPDIR are private")
}

fn add_unlimited(report: EnforcementReport) -> EnforcementReport {
    report
        .unavailable("memory", "no limit on macOS")
        .unavailable(
            "disk",
            "neither the size of files nor the number of open ones is limited",
        )
}
