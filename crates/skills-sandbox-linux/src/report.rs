//! The enforcement report: which restrictions were in effect, and why not stronger ones.

use nix::sys::utsname::uname;
use skills_egress::ProxyLog;
use skills_policy::SpawnGrant;
use skills_process::ProgramFinder;
use skills_sandbox::{EnforcementReport, Quota, ScriptType};
use skills_store::PrivateDir;

use crate::cgroup::{self, Cgroup};
use crate::disk_limits::writes_without_quota;
use crate::hints;
use crate::host_support::HostSupport;
use crate::isolation::{IsolationLevel, IsolationMode};
use crate::plan::Plan;
use crate::rlimits::has_own_process_count;
use crate::run_network::RunNetwork;

/// Examples of protected names.
const PROTECTED_EXAMPLES: &str = ".git, .claude, .vscode, .envrc and others";
const NO_RESTRICTIONS: &str =
    "sandboxing disabled by the embedding host: scripts run with its privileges";

/// The input of a report. All setup steps succeeded, since otherwise nothing runs.
pub(crate) struct ReportInput<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) host_support: &'a HostSupport,
    pub(crate) cgroup: Option<&'a Cgroup>,
    pub(crate) isolation_mode: IsolationMode,
    /// The log of the proxy, if hosts are granted.
    pub(crate) log: Option<&'a ProxyLog>,
    /// Whether all processes are killed if the host process dies.
    pub(crate) has_watchdog: bool,
    /// Whether the resident memory of all processes is monitored.
    pub(crate) has_resident_limit: bool,
    /// Whether the host process was notified of refusals.
    pub(crate) is_observed: bool,
}

fn file_detail(file_bytes: u64) -> String {
    if file_bytes == u64::MAX {
        "not limited".to_owned()
    } else {
        format!("{} MiB", file_bytes >> 20)
    }
}

impl ReportInput<'_> {
    pub(crate) fn report(&self) -> EnforcementReport {
        let plan = self.plan;
        let report = self.add_limits(host_fields(
            self.host_support,
            plan.isolation,
            self.isolation_mode,
        ));
        if plan.isolation == IsolationLevel::None {
            return report.unavailable("all", NO_RESTRICTIONS);
        }
        let report = add_file_restrictions(report, self.host_support, plan.isolation);
        let report = self.add_network(report);
        let report = self.add_processes(report);
        let report = add_protected(report, plan)
            .enforced("privileges", "no_new_privs, all capabilities dropped")
            .enforced("system-calls", denied_calls_detail());
        let report = self.add_memory(report);
        let report = self.add_space(report);
        self.add_lifetime(report).enforced(
            "environment",
            "declared variables only, no inherited descriptors, no terminal",
        )
    }

    /// Adds the limits, which apply at every isolation level.
    fn add_limits(&self, report: EnforcementReport) -> EnforcementReport {
        let limits = &self.plan.limits;
        let memory_mib = limits.memory_bytes >> 20;
        let memory = if self.counts_memory() {
            format!("{memory_mib} MiB in total")
        } else {
            format!("{memory_mib} MiB of {}", self.memory_detail())
        };
        let network = match self.plan.network {
            RunNetwork::None => "none",
            RunNetwork::Loopback => "none but its own loopback device",
            RunNetwork::Proxy(_) => "granted hosts, through a proxy",
        };
        report
            .field("memory", memory)
            .field("processes", limits.processes.to_string())
            .field("open-files", limits.open_files.to_string())
            .field("file", file_detail(limits.file_bytes))
            .field("time", format!("{} ms", limits.wall_time.as_millis()))
            .field("network", network)
    }

    fn add_network(&self, report: EnforcementReport) -> EnforcementReport {
        let detail = match self.plan.network {
            RunNetwork::None => "no sockets except connected local pairs (seccomp)".to_owned(),
            RunNetwork::Loopback => {
                "separate network namespace with nothing but a loopback device".to_owned()
            }
            RunNetwork::Proxy(port) => {
                let summary = self
                    .log
                    .map(|log| format!("; {}", log.summary()))
                    .unwrap_or_default();
                format!(
                    "separate network namespace with nothing but a proxy on port {port}{summary}"
                )
            }
        };
        report.enforced("network", detail)
    }

    fn add_memory(&self, report: EnforcementReport) -> EnforcementReport {
        if self.counts_memory() {
            let memory_mib = self.plan.limits.memory_bytes >> 20;
            return report.enforced(
                "memory",
                format!("{memory_mib} MiB for all processes together (cgroup)"),
            );
        }
        report.partial("memory", self.measured_memory_detail())
    }

    fn counts_memory(&self) -> bool {
        self.cgroup.is_some_and(|cgroup| cgroup.counts_memory)
    }

    /// Returns what the limit applies to if no cgroup counts all processes together.
    fn memory_detail(&self) -> &'static str {
        if self.has_resident_limit {
            "resident memory of all processes together"
        } else {
            "private writable memory per process"
        }
    }

    fn measured_memory_detail(&self) -> String {
        let memory_mib = self.plan.limits.memory_bytes >> 20;
        let counted = self.memory_detail();
        let not_counted = if self.has_resident_limit {
            "memory used for less than 25 ms, files in memory, buffers of the kernel"
        } else {
            "memory made read-only after it was written, mapped files, page tables, buffers of the kernel, all processes together"
        };
        format!("{memory_mib} MiB of {counted}; not counted: {not_counted}")
    }

    /// Adds the restrictions of the scratch space and of private workspaces.
    fn add_space(&self, report: EnforcementReport) -> EnforcementReport {
        let scratch_bytes = self.plan.limits.scratch_bytes;
        let report = match self.plan.isolation {
            IsolationLevel::Namespaces => {
                report.enforced("scratch", format!("{} MiB in memory", scratch_bytes >> 20))
            }
            // A directory on a disk is measured at intervals, so a run can exceed the limit before
            // it is killed.
            IsolationLevel::Landlock | IsolationLevel::None => report.partial(
                "scratch",
                format!(
                    "private directory, at most {}",
                    Quota::describe_limit(scratch_bytes)
                ),
            ),
        };
        let report = if writes_without_quota(self.plan) {
            report.partial("disk", "1 GiB has to be left, measured during the run")
        } else {
            report
        };
        self.plan.quotas.iter().fold(report, |report, quota| {
            report.partial(
                "workspace",
                format!(
                    "private, at most {}",
                    Quota::describe_limit(quota.max_bytes())
                ),
            )
        })
    }

    fn add_lifetime(&self, report: EnforcementReport) -> EnforcementReport {
        let killed = match self.plan.isolation {
            IsolationLevel::Namespaces => "all processes are killed",
            IsolationLevel::Landlock | IsolationLevel::None => "the process group is killed",
        };
        let time_ms = self.plan.limits.wall_time.as_millis();
        let report = report.enforced("time", format!("{time_ms} ms, then {killed}"));
        if self.has_watchdog {
            report.enforced("host-death", format!("{killed} if the host process dies"))
        } else {
            report.partial(
                "host-death",
                "processes that the script started survive if the host process dies",
            )
        }
    }

    fn add_processes(&self, report: EnforcementReport) -> EnforcementReport {
        let allowed = match &self.plan.spawn {
            SpawnGrant::None => "no second process".to_owned(),
            SpawnGrant::Programs(names) if names.is_empty() => "no other program".to_owned(),
            SpawnGrant::Programs(names) => {
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                format!(
                    "programs: {}; the code that they load is not limited",
                    names.join(", ")
                )
            }
            SpawnGrant::Any => "any program of the system".to_owned(),
        };
        let is_counted = has_own_process_count(self.plan.isolation)
            || self.cgroup.is_some_and(|cgroup| cgroup.counts_processes);
        let count = if is_counted {
            let max_processes = self.plan.limits.processes;
            format!("at most {max_processes} processes and threads")
        } else {
            "the number of processes and threads is not limited".to_owned()
        };
        // An allowlist of programs is not a boundary, since a program can load any code it can
        // read.
        let is_allowlist =
            matches!(&self.plan.spawn, SpawnGrant::Programs(names) if !names.is_empty());
        let observed = if self.is_observed {
            ""
        } else {
            "; refusals are not observed on this kernel"
        };
        let detail = format!("{allowed}; {count}{observed}");
        if is_counted && !is_allowlist {
            report.enforced("processes", detail)
        } else {
            report.partial("processes", detail)
        }
    }
}

/// Removes what a run created outside of its namespaces, and adds to the report what could not be
/// removed.
pub(crate) async fn clean_up(
    report: EnforcementReport,
    cgroup: Option<Cgroup>,
    scratch: Option<PrivateDir>,
) -> EnforcementReport {
    let report = match cgroup {
        Some(cgroup) => report.cleanup_of("control-group", cgroup.remove().await),
        None => report,
    };
    match scratch {
        Some(scratch) => report.cleanup(scratch.remove()),
        None => report,
    }
}

/// Reports the restrictions that any run on this host would have, and the interpreters.
pub(crate) fn probe_report(
    host_support: &HostSupport,
    isolation: IsolationLevel,
    mode: IsolationMode,
    program_finder: &ProgramFinder,
) -> EnforcementReport {
    let report = host_fields(host_support, isolation, mode);
    let report = if isolation == IsolationLevel::None {
        report.unavailable("all", NO_RESTRICTIONS)
    } else {
        add_probed_restrictions(report, host_support, isolation)
    };
    ScriptType::ALL.into_iter().fold(report, |report, kind| {
        match program_finder.find_interpreter(kind) {
            Ok(program) => report.enforced(
                kind.as_str(),
                format!("scripts run with {}", program.executable.display()),
            ),
            Err(error) => report.unavailable(kind.as_str(), error.to_string()),
        }
    })
}

fn add_probed_restrictions(
    report: EnforcementReport,
    host_support: &HostSupport,
    isolation: IsolationLevel,
) -> EnforcementReport {
    let (counts_memory, counts_processes) = cgroup::available_controllers();
    let report = add_file_restrictions(report, host_support, isolation);
    let report = if counts_memory {
        report.enforced("memory", "limited for all processes together (cgroup)")
    } else {
        report.partial(
            "memory",
            "measured for all processes together, no cgroup available",
        )
    };
    let report = if counts_processes || has_own_process_count(isolation) {
        report.enforced(
            "processes",
            "none without a grant; with one, their number is limited",
        )
    } else {
        report.partial(
            "processes",
            "none without a grant; with one, their number is not limited",
        )
    };
    report
        .enforced("system-calls", denied_calls_detail())
        .enforced(
            "network",
            format!(
                "none without a grant; granted hosts are {}",
                granted_hosts_detail(host_support, isolation)
            ),
        )
}

fn denied_calls_detail() -> String {
    format!("{} denied (seccomp)", skills_seccomp::denied_calls())
}

/// Returns what happens to granted hosts, to follow "granted hosts are".
fn granted_hosts_detail(host_support: &HostSupport, isolation: IsolationLevel) -> String {
    if isolation != IsolationLevel::Namespaces {
        return "rejected: they need a network namespace, which needs user namespaces".to_owned();
    }
    match host_support.network() {
        Ok(Ok(())) => "reached through a proxy".to_owned(),
        Ok(Err(failure)) => format!("rejected: {failure}"),
        Err(error) => format!("rejected: {error}"),
    }
}

/// Starts a report with the facts about the host, and the reasons for a weaker isolation.
fn host_fields(
    host_support: &HostSupport,
    isolation: IsolationLevel,
    mode: IsolationMode,
) -> EnforcementReport {
    let kernel = uname()
        .map(|name| name.release().to_string_lossy().into_owned())
        .unwrap_or_default();
    let landlock = host_support
        .landlock
        .as_ref()
        .map_or_else(Clone::clone, |version| version.0.to_string());
    let kill = match isolation {
        IsolationLevel::Namespaces => "process namespace",
        IsolationLevel::Landlock => "process group that no process can leave",
        IsolationLevel::None => "process group",
    };
    let host_user = if nix::unistd::geteuid().is_root() {
        "root"
    } else {
        "unprivileged"
    };
    let report = EnforcementReport::new("linux")
        .field("isolation", isolation.to_string())
        .field("kernel", kernel)
        .field("landlock-abi", landlock)
        .field("kill", kill)
        .field("host-user", host_user);
    let weaknesses = weaknesses(host_support, isolation, mode);
    let report = weaknesses
        .iter()
        .filter_map(|(_, hint)| *hint)
        .fold(report, EnforcementReport::hint);
    if weaknesses.is_empty() {
        return report;
    }
    let reasons: Vec<String> = weaknesses.into_iter().map(|(reason, _)| reason).collect();
    report.degraded(reasons.join("; "))
}

/// A reason for a weaker isolation, and its remedy if there is one.
type Weakness = (String, Option<&'static str>);

/// Returns the reasons why the isolation is weaker than it could be.
fn weaknesses(
    host_support: &HostSupport,
    isolation: IsolationLevel,
    mode: IsolationMode,
) -> Vec<Weakness> {
    if isolation == IsolationLevel::None {
        return vec![("sandboxing disabled by the embedding host".to_owned(), None)];
    }
    let mut weaknesses = Vec::new();
    if isolation == IsolationLevel::Namespaces {
        weaknesses.extend(host_support.missing_proc().map(|failure| {
            (
                format!("programs have no /proc: {failure}"),
                Some(hints::PROC_MOUNT_HINT),
            )
        }));
        weaknesses.extend(host_support.missing_network().map(|failure| {
            (
                format!("programs have no network of their own: {failure}"),
                Some(hints::NETWORK_HINT),
            )
        }));
    } else if mode == IsolationMode::LandlockOnly {
        weaknesses.push((
            "the embedding host requested this isolation level".to_owned(),
            None,
        ));
    } else {
        weaknesses.extend(host_support.missing_namespaces().map(|failure| {
            (
                format!("user namespaces are unavailable: {failure}"),
                Some(hints::namespaces_hint(failure)),
            )
        }));
    }
    match &host_support.landlock {
        Err(_) => weaknesses.push((
            "no second restriction of files: the kernel has no Landlock".to_owned(),
            Some("add `landlock` to the kernel's `lsm=` list"),
        )),
        // With namespaces other processes are not visible, so signals cannot reach them anyway.
        Ok(version) if isolation == IsolationLevel::Landlock && !version.has_scoping() => {
            weaknesses.push((
                format!("Landlock ABI {} does not restrict signals", version.0),
                Some("use Linux 6.12 or newer"),
            ));
        }
        Ok(_) => {}
    }
    weaknesses
}

/// Adds the restrictions of files, of their metadata, and of signals.
fn add_file_restrictions(
    report: EnforcementReport,
    host_support: &HostSupport,
    isolation: IsolationLevel,
) -> EnforcementReport {
    let landlock = match &host_support.landlock {
        Ok(version) => format!("Landlock ABI {}", version.0),
        Err(_) => "no Landlock".to_owned(),
    };
    if isolation == IsolationLevel::Namespaces {
        return report
            .enforced(
                "files",
                format!("separate root file system with granted paths only, {landlock}"),
            )
            .enforced("metadata", "other files are not visible")
            .enforced("signals", "other processes are not visible");
    }
    let has_scoping = host_support
        .landlock
        .as_ref()
        .is_ok_and(|version| version.has_scoping());
    let report = report
        .enforced(
            "files",
            format!("{landlock}: reading, writing and executing files outside the grants is denied"),
        )
        .partial(
            "metadata",
            "changes are denied or ignored (seccomp); names, sizes and attributes of other files are visible",
        );
    if has_scoping {
        report.enforced("signals", "only to processes of the run (Landlock)")
    } else {
        report.partial(
            "signals",
            "this kernel lets signals reach other processes of the same user",
        )
    }
}

/// Adds what is read-only in writable directories, if there are any.
fn add_protected(report: EnforcementReport, plan: &Plan) -> EnforcementReport {
    if !plan.has_writable_grants() {
        return report;
    }
    if plan.isolation == IsolationLevel::Namespaces {
        // Partial, since a mount can only protect a path that exists.
        return report.partial("protected", format!(
                "existing protected paths ({PROTECTED_EXAMPLES}) are read-only; new ones are reported after the run"
            ),
        );
    }
    report.unavailable("protected", format!(
            "Landlock cannot exclude protected paths ({PROTECTED_EXAMPLES}) or an interpreter from a writable directory; changes are reported after the run"
        ),
    )
}
