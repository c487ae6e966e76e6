//! Which walls stood around a run, and what it took.

use std::time::Duration;

use skills_policy::{Grants, Spawn};
use skills_sandbox::{Captured, Quota, Report, Status};

use crate::files::SCRATCH;
use crate::prepared::Origin;
use crate::run::Finished;

/// What a report is about.
pub(crate) struct Account<'a> {
    pub(crate) grants: &'a Grants,
    pub(crate) quotas: &'a [Quota],
    pub(crate) origin: Option<&'a Origin>,
    pub(crate) finished: Option<&'a Finished>,
    pub(crate) output: [&'a Captured; 2],
}

impl Account<'_> {
    pub(crate) fn report(&self) -> Report {
        let report = self.facts(Report::new("wasm"));
        let limits = self.grants.limits();
        let (memory, file, total) = (
            limits.memory_bytes >> 20,
            limits.file_bytes >> 20,
            limits.scratch_bytes >> 20,
        );
        let report = report
            .layer(
                "files",
                Status::Enforced,
                "granted directories only, behind handles that cannot leave them",
            )
            .layer("network", Status::Enforced, self.network())
            .layer(
                "processes",
                Status::Enforced,
                "there are none in WebAssembly",
            )
            .layer(
                "memory",
                Status::Enforced,
                format!("{memory} MiB over all memories"),
            )
            .layer(
                "disk",
                Status::Enforced,
                format!(
                    "{total} MiB written in all, {file} MiB in a file, in {SCRATCH} and elsewhere"
                ),
            )
            .layer(
                "time",
                Status::Enforced,
                format!(
                    "{} ms, in compilation, computation and host calls",
                    limits.wall_time.as_millis()
                ),
            )
            .layer("environment", Status::Enforced, "declared variables only");
        let report = self.quotas.iter().fold(report, |report, quota| {
            let mib = quota.max_bytes() >> 20;
            report.layer(
                "workspace",
                Status::Enforced,
                format!("private, {mib} MiB with what lay there before, counted as it is written"),
            )
        });
        if *self.grants.spawn() == Spawn::None {
            return report;
        }
        report.hint("the grants name programs, and WebAssembly can start none; what needs them is a script's work")
    }

    fn network(&self) -> String {
        match self.finished.and_then(|finished| finished.hosts.as_ref()) {
            None => "no sockets, no name lookup".to_owned(),
            Some(hosts) => format!("no sockets, requests to listed hosts only; {hosts}"),
        }
    }

    fn facts(&self, report: Report) -> Report {
        let report = match self.origin {
            None => report,
            Some(Origin::Memory) => report.fact("code", "of an earlier run"),
            Some(Origin::Cached) => report.fact("code", "from the cache"),
            Some(Origin::Compiled { took, troubles }) => {
                let report = match &troubles.unused {
                    None => report.fact("code", format!("compiled in {}", milliseconds(*took))),
                    Some(reason) => report.fact(
                        "code",
                        format!(
                            "compiled in {}, and not kept: {reason}",
                            milliseconds(*took)
                        ),
                    ),
                };
                match &troubles.rejected {
                    None => report,
                    // Records of runs tell of walls.
                    Some(reason) => report.layer(
                        "code-cache",
                        Status::Partial,
                        format!("what lay there was deleted and compiled anew: {reason}"),
                    ),
                }
            }
        };
        let Some(finished) = self.finished else {
            return report;
        };
        let [stdout, stderr] = self.output;
        let report = match finished.cpu {
            Some(cpu) => report.fact("cpu", milliseconds(cpu)),
            None => report,
        };
        let report = report
            .fact("memory-peak", format!("{} KiB", finished.peak_bytes >> 10))
            .fact(
                "output",
                format!("{} bytes", stdout.total_bytes() + stderr.total_bytes()),
            );
        match finished.steps {
            Some(steps) => report.fact("steps", steps.to_string()),
            None => report,
        }
    }
}

fn milliseconds(duration: Duration) -> String {
    format!(
        "{}.{:03} ms",
        duration.as_millis(),
        duration.subsec_micros() % 1_000
    )
}
