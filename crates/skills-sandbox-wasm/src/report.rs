//! The enforcement report of a run, with its resource use.

use std::time::Duration;

use skills_policy::{Grants, SpawnGrant};
use skills_sandbox::{CapturedOutput, EnforcementReport, Quota};

use crate::fs::SCRATCH_PATH;
use crate::prepared_component::CodeSource;
use crate::run::FinishedRun;

pub(crate) struct ReportInput<'a> {
    pub(crate) grants: &'a Grants,
    pub(crate) quotas: &'a [Quota],
    pub(crate) source: Option<&'a CodeSource>,
    pub(crate) finished: Option<&'a FinishedRun>,
    pub(crate) output: [&'a CapturedOutput; 2],
}

impl ReportInput<'_> {
    pub(crate) fn report(&self) -> EnforcementReport {
        let report = self.add_fields(EnforcementReport::new("wasm"));
        let limits = self.grants.limits();
        let memory = limits.memory_bytes >> 20;
        let total = limits.scratch_bytes >> 20;
        let file = total.min(limits.file_bytes >> 20);
        let report = report
            .enforced("files", "granted directories only, behind handles that cannot leave them",
            )
            .enforced("network", self.network_detail())
            .enforced("processes", "not available in WebAssembly",
            )
            .enforced("memory", format!("{memory} MiB over all memories"),
            )
            .enforced("disk", format!(
                    "{total} MiB written in all, {file} MiB in a file, in {SCRATCH_PATH} and elsewhere"
                ),
            )
            .enforced("time", format!(
                    "{} ms, in compilation, computation and host calls",
                    limits.wall_time.as_millis()
                ),
            )
            .enforced("environment", "declared variables only");
        let report = self.quotas.iter().fold(report, |report, quota| {
            let mib = quota.max_bytes() >> 20;
            report.enforced(
                "workspace",
                format!("private, {mib} MiB including existing files, counted when written"),
            )
        });
        if *self.grants.spawn() == SpawnGrant::None {
            return report;
        }
        report.hint(
            "the grants include programs, which WebAssembly cannot start; use a script instead",
        )
    }

    fn network_detail(&self) -> String {
        match self.finished.and_then(|finished| finished.hosts.as_ref()) {
            None => "no sockets, no name lookup".to_owned(),
            Some(hosts) => format!("no sockets, requests to granted hosts only; {hosts}"),
        }
    }

    fn add_fields(&self, report: EnforcementReport) -> EnforcementReport {
        let report = match self.source {
            None => report,
            Some(CodeSource::Memory) => report.field("code", "from an earlier run"),
            Some(CodeSource::Cached) => report.field("code", "from the cache"),
            Some(CodeSource::Compiled {
                elapsed: took,
                diagnostics: troubles,
            }) => {
                let report = match &troubles.skipped {
                    None => report.field(
                        "code",
                        format!("compiled in {}", format_milliseconds(*took)),
                    ),
                    Some(reason) => report.field(
                        "code",
                        format!(
                            "compiled in {}, not cached: {reason}",
                            format_milliseconds(*took)
                        ),
                    ),
                };
                match &troubles.rejected {
                    None => report,
                    // Audit records contain restrictions, not fields.
                    Some(reason) => report.partial(
                        "code-cache",
                        format!("an entry was deleted and compiled again: {reason}"),
                    ),
                }
            }
        };
        let Some(finished) = self.finished else {
            return report;
        };
        let [stdout, stderr] = self.output;
        let report = match finished.cpu_time {
            Some(cpu) => report.field("cpu", format_milliseconds(cpu)),
            None => report,
        };
        let report = report
            .field("memory-peak", format!("{} KiB", finished.peak_bytes >> 10))
            .field(
                "output",
                format!("{} bytes", stdout.total_bytes() + stderr.total_bytes()),
            );
        match finished.fuel_consumed {
            Some(steps) => report.field("steps", steps.to_string()),
            None => report,
        }
    }
}

fn format_milliseconds(duration: Duration) -> String {
    format!(
        "{}.{:03} ms",
        duration.as_millis(),
        duration.subsec_micros() % 1_000
    )
}
