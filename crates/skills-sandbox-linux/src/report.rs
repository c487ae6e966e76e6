//! Says which walls stood.

use skills_policy::Spawn;
use skills_sandbox::{Report, ScriptKind, Status};

use crate::interpreter::Interpreters;
use crate::kernel::LandlockVersion;
use crate::plan::Plan;
use crate::seccomp::denied_calls;

/// Every step succeeded, or there would be no run to report on; what is partial is so by the nature of this backend.
pub(crate) fn report(plan: &Plan, version: LandlockVersion) -> Report {
    let LandlockVersion(abi) = version;
    let memory = plan.limits.memory_bytes >> 20;
    let base = Report::new("linux")
        .layer("files", Status::Enforced, format!("Landlock ABI {abi}: reading, writing and starting files outside the grants refused"))
        .layer("metadata", Status::Partial, "changes refused or ignored (seccomp); names, sizes and attributes of other files can be seen")
        .layer("network", Status::Enforced, "no sockets but connected local pairs (seccomp), no TCP (Landlock)");
    let processes = match &plan.spawn {
        Spawn::None => base.layer("processes", Status::Partial, "no second process; the number of threads is limited by memory alone"),
        Spawn::Programs(names) => {
            let names = names.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
            base.layer("processes", Status::Partial, format!("programs: {names}; neither their number nor what they load is limited"))
        }
        Spawn::Any => base.layer("processes", Status::Partial, "any program of the system; their number is not limited"),
    };
    signals(processes, version)
        .layer("privileges", Status::Enforced, "no_new_privs, all capabilities dropped")
        .layer("system-calls", Status::Enforced, format!("{} refused (seccomp)", denied_calls()))
        .layer("memory", Status::Enforced, format!("{memory} MiB per process"))
        .layer("time", Status::Enforced, format!("{} ms, then the whole process group dies", plan.limits.wall_time.as_millis()))
        .layer("environment", Status::Enforced, "declared variables only, no inherited descriptors, no terminal")
}

/// What would stand around any run.
pub(crate) fn expected(version: LandlockVersion, interpreters: &Interpreters) -> Report {
    let LandlockVersion(abi) = version;
    let base = Report::new("linux")
        .layer("files", Status::Enforced, format!("Landlock ABI {abi}"))
        .layer("network", Status::Enforced, "no sockets but connected local pairs (seccomp)")
        .layer("processes", Status::Partial, "none but what a grant names; their number is not limited");
    let base = signals(base, version).layer("system-calls", Status::Enforced, format!("{} refused (seccomp)", denied_calls()));
    [("python", ScriptKind::Python), ("shell", ScriptKind::Shell)].into_iter().fold(base, |report, (name, kind)| {
        match interpreters.find(kind) {
            Ok(found) => report.layer(name, Status::Enforced, format!("scripts run with {}", found.path.display())),
            Err(error) => report.layer(name, Status::Unavailable, error.to_string()),
        }
    })
}

fn signals(report: Report, version: LandlockVersion) -> Report {
    if version.scopes() {
        report.layer("signals", Status::Enforced, "only to processes inside (Landlock)")
    } else {
        report.layer("signals", Status::Partial, "this kernel lets signals reach other processes of the same user")
    }
}
