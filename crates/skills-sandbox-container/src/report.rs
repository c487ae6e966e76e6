//! The enforcement report.

use std::time::Duration;

use skills_egress::ProxyLog;
use skills_policy::SpawnGrant;
use skills_sandbox::{EnforcementReport, Job, Quota};

use crate::connect::Engine;
use crate::engine::{BACKEND, EngineFacts, Product};
use crate::launcher;
use crate::namespace::MountCheck;
use crate::plan::RunPlan;

/// Reports the restrictions that the engine accepted for a run.
pub(crate) fn report(
    engine: &Engine,
    plan: &RunPlan,
    job: &Job,
    mounts: &MountCheck,
    log: Option<&ProxyLog>,
) -> EnforcementReport {
    let runtime = plan.container.runtime.as_deref();
    let report = host_fields(&engine.facts, &engine.image.id, runtime);
    let report = add_files(report, mounts);
    let report = report.enforced("network", network_detail(plan, log));
    let report = add_processes(report, plan, job.grants().spawn());
    let limits = &plan.container.limits;
    let report = add_fixed(report)
        .enforced(
            "memory",
            format!(
                "{} MiB for all processes together",
                limits.memory_bytes >> 20
            ),
        )
        .enforced("time", time_detail(limits.wall_time))
        .enforced(
            "scratch",
            format!("{} MiB in memory", limits.scratch_bytes >> 20),
        )
        .partial(
            "host-death",
            format!(
                "if the host process dies, the container ends after {} s",
                plan.container.max_seconds
            ),
        );
    let report = report.partial(
        "termination",
        "the end by a signal is reported as exit code 128 plus its number",
    );
    let report = add_protected(report, plan);
    let report = add_variables(report, engine.facts.product, job);
    let uncounted = match mounts {
        MountCheck::Verified => "",
        MountCheck::NotVisible(_) => "; deleted files that are still open do not count",
    };
    job.quotas().iter().fold(report, |report, quota| {
        // Partial, since it is measured while the program runs.
        report.partial(
            "workspace",
            format!(
                "private, at most {}{uncounted}",
                Quota::describe_limit(quota.max_bytes())
            ),
        )
    })
}

/// Reports the restrictions that any run would have.
pub(crate) fn probe_report(engine: &Engine, runtime: Option<&str>) -> EnforcementReport {
    let report = host_fields(&engine.facts, &engine.image.id, runtime)
        .enforced("files", "the image, read-only, and granted paths")
        .enforced(
            "network",
            "none without a grant; granted hosts are reached through a proxy",
        )
        .enforced("memory", "limited for all processes together")
        .partial(
            "processes",
            "any program of the image; their number is limited",
        );
    add_fixed(report)
}

fn host_fields(facts: &EngineFacts, image: &str, runtime: Option<&str>) -> EnforcementReport {
    let user = if facts.is_rootless {
        "rootless"
    } else {
        "root"
    };
    EnforcementReport::new(BACKEND)
        .field("engine", facts.version.clone())
        .field("engine-user", user)
        .field("runtime", runtime.unwrap_or(&facts.default_runtime))
        .field("image", image)
}

fn add_files(report: EnforcementReport, mounts: &MountCheck) -> EnforcementReport {
    const FILES: &str = "the image, read-only, and granted paths";
    match mounts {
        MountCheck::Verified => report.enforced("files", FILES),
        MountCheck::NotVisible(reason) => report.partial(
            "files",
            format!("{FILES}; the mounts could not be verified: {reason}"),
        ),
    }
}

/// Adds what does not depend on the run.
fn add_fixed(report: EnforcementReport) -> EnforcementReport {
    let count = launcher::denied_calls();
    report
        .enforced("privileges", "no capabilities, and programs cannot get any")
        .enforced(
            "system-calls",
            format!("{count} denied (seccomp), and the engine's seccomp profile"),
        )
        .enforced("signals", "other processes are not visible")
        .enforced("cpu", "one processor")
}

fn network_detail(plan: &RunPlan, log: Option<&ProxyLog>) -> String {
    let Some(endpoint) = &plan.endpoint else {
        return "separate network namespace with nothing but a loopback device".to_owned();
    };
    let summary = log.map_or_else(String::new, |log| format!("; {}", log.summary()));
    format!(
        "separate network namespace with nothing but a proxy on port {}{summary}",
        endpoint.port
    )
}

/// Reports processes. The programs of the image are not restricted by name: they reach no more than the
/// program of the run does.
fn add_processes(
    report: EnforcementReport,
    plan: &RunPlan,
    spawn: &SpawnGrant,
) -> EnforcementReport {
    let count = format!(
        "at most {} processes and threads",
        plan.container.max_processes()
    );
    match spawn {
        SpawnGrant::Any => {
            report.enforced("processes", format!("any program of the image; {count}"))
        }
        SpawnGrant::Programs(_) | SpawnGrant::None => report.partial(
            "processes",
            format!("programs of the image can be started without a grant; {count}"),
        ),
    }
}

fn time_detail(wall_time: Duration) -> String {
    format!(
        "{} ms, then all processes are killed",
        wall_time.as_millis()
    )
}

/// Reports that Podman keeps what starts a program, if that includes values of granted variables.
fn add_variables(report: EnforcementReport, product: Product, job: &Job) -> EnforcementReport {
    let has_values = !job.grants().variables().is_empty();
    if product != Product::Podman || !has_values {
        return report;
    }
    report.partial(
        "variables",
        "Podman writes their values to its private database on the disk of its user",
    )
}

fn add_protected(report: EnforcementReport, plan: &RunPlan) -> EnforcementReport {
    if !plan.container.mounts.iter().any(|mount| mount.is_writable) {
        return report;
    }
    // Partial, since a mount can only protect a path that exists.
    report.partial(
        "protected",
        "existing protected paths are read-only; new ones are reported after the run",
    )
}
