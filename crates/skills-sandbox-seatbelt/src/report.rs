//! Says which walls stood.

use skills_policy::Spawn;
use skills_sandbox::egress::Log;
use skills_sandbox::interpreter::Interpreters;
use skills_sandbox::{Quota, Report, ScriptKind, Status};

use crate::plan::Plan;
use crate::profile::Network;

const NO_NETWORK: &str = "none, sockets of this machine included";

/// `sandbox-exec` starts nothing unless the whole profile was accepted, so what it says stood; what
/// is partial is so by the nature of this backend. `log` is that of the proxy.
pub(crate) fn report(plan: &Plan, quotas: &[Quota], log: Option<&Log>) -> Report {
    let profile = plan.profile();
    let accepted = format!(
        "sandbox-exec accepted {} rules and {} paths",
        profile.rules().len(),
        profile.parameters().len()
    );
    let network = match plan.network() {
        Network::None => NO_NETWORK.to_owned(),
        Network::LocalPort(port) => {
            let seen = log
                .map(|log| format!("; {}", log.summary()))
                .unwrap_or_default();
            format!("nothing but a proxy at port {port} of this machine{seen}")
        }
    };
    let base = files(Report::new("seatbelt").layer("profile", Status::Enforced, accepted)).layer(
        "network",
        Status::Enforced,
        network,
    );
    let processes = match plan.spawn() {
        Spawn::None => base.layer("processes", Status::Enforced, "no second process"),
        Spawn::Programs(names) => {
            let names = names
                .iter()
                .map(String::as_str)
                .collect::<Vec<_>>()
                .join(", ");
            base.layer(
                "processes",
                Status::Partial,
                format!("programs: {names}; neither their number nor what they load is limited"),
            )
        }
        Spawn::Any => base.layer(
            "processes",
            Status::Partial,
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
    let time = processes.layer("time", Status::Partial, time);
    let scratch = Quota::bounds(plan.limits().scratch_bytes);
    let disk = unlimited(time).layer(
        "scratch",
        Status::Partial,
        format!("a private directory of at most {scratch}"),
    );
    let workspaces = quotas.iter().fold(disk, |report, quota| {
        report.layer(
            "workspace",
            Status::Partial,
            format!("private, at most {}", Quota::bounds(quota.max_bytes())),
        )
    });
    workspaces.layer(
        "environment",
        Status::Enforced,
        "declared variables only, no terminal",
    )
}

/// What would stand around any run.
pub(crate) fn expected(interpreters: &Interpreters) -> Report {
    let base = files(Report::new("seatbelt"))
        .layer(
            "network",
            Status::Enforced,
            format!("{NO_NETWORK}; granted hosts through a proxy"),
        )
        .layer(
            "processes",
            Status::Partial,
            "none but what a grant names; their number is not limited",
        );
    ScriptKind::ALL
        .into_iter()
        .fold(unlimited(base), |report, kind| {
            match interpreters.find(kind) {
                Ok(found) => report.layer(
                    kind.as_str(),
                    Status::Enforced,
                    format!("scripts run with {}", found.name.display()),
                ),
                Err(error) => report.layer(kind.as_str(), Status::Unavailable, error.to_string()),
            }
        })
}

fn files(report: Report) -> Report {
    report
        .layer(
            "files",
            Status::Partial,
            "nothing outside the grants is read, written or loaded, but names in the top directory can be seen; the skill's own directory is never written",
        )
        .layer("temporary", Status::Partial, "/tmp is shared with all programs; HOME and TMPDIR are private")
}

fn unlimited(report: Report) -> Report {
    report
        .layer("memory", Status::Unavailable, "no limit on macOS")
        .layer(
            "disk",
            Status::Unavailable,
            "neither the size of files nor the number of open ones is limited",
        )
}
