//! Says which walls stood.

use skills_policy::Spawn;
use skills_sandbox::egress::ProxyLog;
use skills_sandbox::interpreter::ProgramFinder;
use skills_sandbox::{EnforcementReport, EnforcementStatus, Quota, ScriptType};

use crate::plan::Plan;
use crate::profile::ProxyAccess;

const NO_NETWORK: &str = "none, sockets of this machine included";

/// `sandbox-exec` starts nothing unless the whole profile was accepted, so what it says stood; what
/// is partial is so by the nature of this backend. `log` is that of the proxy.
pub(crate) fn report(plan: &Plan, quotas: &[Quota], log: Option<&ProxyLog>) -> EnforcementReport {
    let profile = plan.profile();
    let accepted = format!(
        "sandbox-exec accepted {} rules and {} paths",
        profile.rules().len(),
        profile.parameters().len()
    );
    let network = match plan.network() {
        ProxyAccess::None => NO_NETWORK.to_owned(),
        ProxyAccess::LocalPort(port) => {
            let seen = log
                .map(|log| format!("; {}", log.summary()))
                .unwrap_or_default();
            format!("nothing but a proxy at port {port} of this machine{seen}")
        }
    };
    let base = add_files(EnforcementReport::new("seatbelt").restriction(
        "profile",
        EnforcementStatus::Enforced,
        accepted,
    ))
    .restriction("network", EnforcementStatus::Enforced, network);
    let processes = match plan.spawn() {
        Spawn::None => base.restriction(
            "processes",
            EnforcementStatus::Enforced,
            "no second process",
        ),
        Spawn::Programs(names) => {
            let names = names
                .iter()
                .map(String::as_str)
                .collect::<Vec<_>>()
                .join(", ");
            base.restriction(
                "processes",
                EnforcementStatus::Partial,
                format!("programs: {names}; neither their number nor what they load is limited"),
            )
        }
        Spawn::Any => base.restriction(
            "processes",
            EnforcementStatus::Partial,
            "any program of the system; their number is not limited",
        ),
    };
    let time = plan.limits().wall_time.as_millis();
    let time = match plan.spawn() {
        Spawn::None => {
            format!("{time} ms, then it dies; when the host is killed, it lives on, confined")
        }
        _ => format!(
            "{time} ms, then its process group dies; who left the group lives on, confined; when the host is killed, all live on, confined"
        ),
    };
    let time = processes.restriction("time", EnforcementStatus::Partial, time);
    let scratch = Quota::describe_limit(plan.limits().scratch_bytes);
    let disk = add_unlimited(time).restriction(
        "scratch",
        EnforcementStatus::Partial,
        format!("a private directory of at most {scratch}"),
    );
    let workspaces = quotas.iter().fold(disk, |report, quota| {
        report.restriction(
            "workspace",
            EnforcementStatus::Partial,
            format!(
                "private, at most {}",
                Quota::describe_limit(quota.max_bytes())
            ),
        )
    });
    workspaces.restriction(
        "environment",
        EnforcementStatus::Enforced,
        "declared variables only, no terminal",
    )
}

/// What would stand around any run.
pub(crate) fn probe_report(interpreters: &ProgramFinder) -> EnforcementReport {
    let base = add_files(EnforcementReport::new("seatbelt"))
        .restriction(
            "network",
            EnforcementStatus::Enforced,
            format!("{NO_NETWORK}; granted hosts through a proxy"),
        )
        .restriction(
            "processes",
            EnforcementStatus::Partial,
            "none but what a grant names; their number is not limited",
        );
    ScriptType::ALL
        .into_iter()
        .fold(add_unlimited(base), |report, kind| {
            match interpreters.find_interpreter(kind) {
                Ok(found) => report.restriction(
                    kind.as_str(),
                    EnforcementStatus::Enforced,
                    format!("scripts run with {}", found.argv0.display()),
                ),
                Err(error) => report.restriction(
                    kind.as_str(),
                    EnforcementStatus::Unavailable,
                    error.to_string(),
                ),
            }
        })
}

fn add_files(report: EnforcementReport) -> EnforcementReport {
    report
        .restriction(
            "files",
            EnforcementStatus::Partial,
            "nothing outside the grants is read, written or loaded, but names in the top directory can be seen; the skill's own directory is never written",
        )
        .restriction("temporary", EnforcementStatus::Partial, "/tmp is shared with all programs; HOME and TMPDIR are private")
}

fn add_unlimited(report: EnforcementReport) -> EnforcementReport {
    report
        .restriction(
            "memory",
            EnforcementStatus::Unavailable,
            "no limit on macOS",
        )
        .restriction(
            "disk",
            EnforcementStatus::Unavailable,
            "neither the size of files nor the number of open ones is limited",
        )
}
