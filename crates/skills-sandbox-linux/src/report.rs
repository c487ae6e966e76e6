//! Says which walls stood.

use nix::sys::utsname::uname;
use skills_policy::SpawnGrant;
use skills_sandbox::egress::ProxyLog;
use skills_sandbox::interpreter::{MemoryRlimit, ProgramFinder};
use skills_sandbox::{EnforcementReport, EnforcementStatus, Quota, ScriptType};

use crate::cgroup::{self, Cgroup};
use crate::hints;
use crate::host_support::{HostSupport, probe_network};
use crate::isolation::{IsolationLevel, IsolationMode};
use crate::plan::Plan;
use crate::rlimits::has_own_process_count;
use crate::seccomp::denied_calls;

/// The first of the protected names.
const FIRST_PROTECTED_NAME: &str = ".git, .claude, .vscode, .envrc and others";
const NO_RESTRICTIONS: &str = "the host asked for no walls: scripts can do whatever the host can";

/// What a report is made from. Every step succeeded, or there would be no run to report on.
pub(crate) struct ReportInput<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) host_support: &'a HostSupport,
    pub(crate) cgroup: Option<&'a Cgroup>,
    pub(crate) isolation_mode: IsolationMode,
    /// What the proxy saw.
    pub(crate) log: Option<&'a ProxyLog>,
    /// Whether nothing outlives a host that is killed.
    pub(crate) has_watchdog: bool,
    /// Whether the resident memory of each process is watched.
    pub(crate) has_resident_limit: bool,
}

impl ReportInput<'_> {
    pub(crate) fn report(&self) -> EnforcementReport {
        let (plan, limits) = (self.plan, &self.plan.limits);
        let memory = limits.memory_bytes >> 20;
        let counted = self.cgroup.is_some_and(|group| group.counts_memory);
        let base = host_fields(self.host_support, plan.isolation, self.isolation_mode)
            .field(
                "memory",
                if counted {
                    format!("{memory} MiB in all")
                } else {
                    format!("{memory} MiB of {}", self.memory_detail())
                },
            )
            .field("processes", limits.processes.to_string())
            .field("open-files", limits.open_files.to_string())
            .field("file", format!("{} MiB", limits.file_bytes >> 20))
            .field("time", format!("{} ms", limits.wall_time.as_millis()))
            .field(
                "network",
                if plan.listener.is_some() {
                    "listed hosts, through a proxy"
                } else {
                    "none"
                },
            );
        if plan.isolation == IsolationLevel::None {
            return base.restriction("all", EnforcementStatus::Unavailable, NO_RESTRICTIONS);
        }
        let base = add_restrictions(base, self.host_support, plan.isolation);
        let base = match &plan.listener {
            None => base.restriction(
                "network",
                EnforcementStatus::Enforced,
                "no sockets but connected local pairs (seccomp)",
            ),
            Some(port) => {
                let seen = self
                    .log
                    .map(|log| format!("; {}", log.summary()))
                    .unwrap_or_default();
                base.restriction(
                    "network",
                    EnforcementStatus::Enforced,
                    format!("a network of its own with nothing but a proxy at port {port}{seen}"),
                )
            }
        };
        let base = self.add_processes(base);
        let base = add_protected(base, plan);
        let base = base
            .restriction(
                "privileges",
                EnforcementStatus::Enforced,
                "no_new_privs, all capabilities dropped",
            )
            .restriction(
                "system-calls",
                EnforcementStatus::Enforced,
                format!("{} refused (seccomp)", denied_calls()),
            );
        let base = match counted {
            true => base.restriction(
                "memory",
                EnforcementStatus::Enforced,
                format!("{memory} MiB for all processes together (control group)"),
            ),
            false => base.restriction(
                "memory",
                EnforcementStatus::Partial,
                self.per_process_memory_detail(),
            ),
        };
        let base = match plan.isolation {
            IsolationLevel::Namespaces => base.restriction(
                "scratch",
                EnforcementStatus::Enforced,
                format!("{} MiB in memory", limits.scratch_bytes >> 20),
            ),
            _ => base.restriction(
                "scratch",
                EnforcementStatus::Partial,
                format!(
                    "a private directory of at most {}",
                    Quota::describe_limit(limits.scratch_bytes)
                ),
            ),
        };
        let base = self.add_workspace(base);
        let tree = if plan.isolation == IsolationLevel::Namespaces {
            "every process of its own"
        } else {
            "the whole process group"
        };
        let base = base.restriction(
            "time",
            EnforcementStatus::Enforced,
            format!("{} ms, then {tree} dies", limits.wall_time.as_millis()),
        );
        let base = match self.has_watchdog {
            true => base.restriction(
                "host-death",
                EnforcementStatus::Enforced,
                format!("when the host is killed, {tree} dies"),
            ),
            false => base.restriction(
                "host-death",
                EnforcementStatus::Partial,
                "when the host is killed, programs that the script started live on",
            ),
        };
        base.restriction(
            "environment",
            EnforcementStatus::Enforced,
            "declared variables only, no inherited descriptors, no terminal",
        )
    }

    /// What is limited of each process where no control group counts all of them.
    fn memory_detail(&self) -> &'static str {
        match (self.plan.memory, self.has_resident_limit) {
            (MemoryRlimit::Data, true) => "resident memory per process",
            (MemoryRlimit::Data, false) => "private writable memory per process",
            _ => "address space per process",
        }
    }

    fn per_process_memory_detail(&self) -> String {
        let (mebibytes, counted) = (self.plan.limits.memory_bytes >> 20, self.memory_detail());
        let uncounted = match (self.plan.memory, self.has_resident_limit) {
            (MemoryRlimit::Data, true) => {
                "page tables, what is taken and given back within 25 ms, "
            }
            (MemoryRlimit::Data, false) => {
                "memory made read-only after it was written, mapped files, page tables, "
            }
            _ => "",
        };
        format!(
            "{mebibytes} MiB of {counted}; not counted: {uncounted}buffers of the kernel, all processes together"
        )
    }

    /// Says how a private workspace is bounded, where the run has one.
    fn add_workspace(&self, base: EnforcementReport) -> EnforcementReport {
        self.plan.quotas.iter().fold(base, |base, quota| {
            base.restriction(
                "workspace",
                EnforcementStatus::Partial,
                format!(
                    "private, at most {}",
                    Quota::describe_limit(quota.max_bytes())
                ),
            )
        })
    }

    fn add_processes(&self, base: EnforcementReport) -> EnforcementReport {
        let what = match &self.plan.spawn {
            SpawnGrant::None => "no second process".to_owned(),
            SpawnGrant::Programs(names) => {
                let names = names
                    .iter()
                    .map(String::as_str)
                    .collect::<Vec<_>>()
                    .join(", ");
                format!("programs: {names}; what they load is not limited")
            }
            SpawnGrant::Any => "any program of the system".to_owned(),
        };
        let most = self.plan.limits.processes;
        let is_counted = has_own_process_count(self.plan.isolation)
            || self.cgroup.is_some_and(|group| group.counts_processes);
        let is_list = matches!(self.plan.spawn, SpawnGrant::Programs(_));
        match (is_counted, is_list) {
            (true, false) => base.restriction(
                "processes",
                EnforcementStatus::Enforced,
                format!("{what}; at most {most} processes and threads"),
            ),
            (true, true) => base.restriction(
                "processes",
                EnforcementStatus::Partial,
                format!("{what}; at most {most} processes and threads"),
            ),
            (false, _) => base.restriction(
                "processes",
                EnforcementStatus::Partial,
                format!("{what}; the number of processes and threads is not limited"),
            ),
        }
    }
}

/// What would stand around any run.
pub(crate) fn probe_report(
    machine: &HostSupport,
    tier: IsolationLevel,
    isolation: IsolationMode,
    interpreters: &ProgramFinder,
) -> EnforcementReport {
    let base = host_fields(machine, tier, isolation);
    let base = if tier == IsolationLevel::None {
        base.restriction("all", EnforcementStatus::Unavailable, NO_RESTRICTIONS)
    } else {
        base_restrictions(base, machine, tier)
    };
    ScriptType::ALL.into_iter().fold(base, |report, kind| {
        match interpreters.find_interpreter(kind) {
            Ok(found) => report.restriction(
                kind.as_str(),
                EnforcementStatus::Enforced,
                format!("scripts run with {}", found.executable.display()),
            ),
            Err(error) => report.restriction(
                kind.as_str(),
                EnforcementStatus::Unavailable,
                error.to_string(),
            ),
        }
    })
}

fn base_restrictions(
    base: EnforcementReport,
    machine: &HostSupport,
    tier: IsolationLevel,
) -> EnforcementReport {
    let (memory, processes) = cgroup::available_controllers();
    let processes = processes || has_own_process_count(tier);
    let counted = |is: bool, yes: &'static str, no: &'static str| {
        if is {
            (EnforcementStatus::Enforced, yes)
        } else {
            (EnforcementStatus::Partial, no)
        }
    };
    let base = add_restrictions(base, machine, tier);
    let (status, detail) = counted(
        memory,
        "counted for all processes together",
        "limited for each process; all together are not counted",
    );
    let base = base.restriction("memory", status, detail);
    let (status, detail) = counted(
        processes,
        "none without a grant; counted",
        "none without a grant; with one, not counted",
    );
    let base = base.restriction("processes", status, detail);
    let base = base.restriction(
        "system-calls",
        EnforcementStatus::Enforced,
        format!("{} refused (seccomp)", denied_calls()),
    );
    base.restriction(
        "network",
        EnforcementStatus::Enforced,
        format!("none without a grant; granted hosts {}", hosts_detail(tier)),
    )
}

/// What becomes of granted hosts.
fn hosts_detail(tier: IsolationLevel) -> String {
    if tier != IsolationLevel::Namespaces {
        return "are refused: they take a network of the program's own, and that user namespaces"
            .to_owned();
    }
    match probe_network() {
        Ok(Ok(())) => "are reached through a proxy".to_owned(),
        Ok(Err(failure)) => format!("are refused: {failure}"),
        Err(error) => format!("are refused: {error}"),
    }
}

fn host_fields(
    machine: &HostSupport,
    tier: IsolationLevel,
    isolation: IsolationMode,
) -> EnforcementReport {
    let kernel = uname()
        .map(|name| name.release().to_string_lossy().into_owned())
        .unwrap_or_default();
    let landlock = machine
        .landlock
        .as_ref()
        .map_or_else(Clone::clone, |version| version.0.to_string());
    let kill = match tier {
        IsolationLevel::Namespaces => "process table of its own",
        IsolationLevel::Landlock => "process group that nobody can leave",
        IsolationLevel::None => "process group",
    };
    let base = EnforcementReport::new("linux")
        .field("tier", tier.to_string())
        .field("kernel", kernel)
        .field("landlock-abi", landlock)
        .field("kill", kill)
        .field(
            "host-user",
            if nix::unistd::geteuid().is_root() {
                "root"
            } else {
                "unprivileged"
            },
        );
    let weaknesses = weaknesses(machine, tier, isolation);
    let hinted = weaknesses
        .iter()
        .filter_map(|(_, hint)| *hint)
        .fold(base, EnforcementReport::hint);
    let reasons: Vec<String> = weaknesses.into_iter().map(|(reason, _)| reason).collect();
    if reasons.is_empty() {
        hinted
    } else {
        hinted.degraded(reasons.join("; "))
    }
}

/// Why the walls are weaker than they could be, and what to do about it.
fn weaknesses(
    machine: &HostSupport,
    tier: IsolationLevel,
    isolation: IsolationMode,
) -> Vec<(String, Option<&'static str>)> {
    let mut found = Vec::new();
    match (tier, isolation, &machine.namespaces) {
        (IsolationLevel::None, ..) => {
            return vec![("the host asked for no walls".to_owned(), None)];
        }
        (IsolationLevel::Landlock, IsolationMode::LandlockOnly, _) => {
            found.push(("the host asked for this tier".to_owned(), None))
        }
        (IsolationLevel::Landlock, _, Err(failure)) => {
            found.push((
                format!("user namespaces do not work here: {failure}"),
                Some(hints::namespaces_hint(failure)),
            ));
        }
        (IsolationLevel::Namespaces, _, Ok(Err(failure))) => {
            found.push((
                format!("there is no /proc inside: {failure}"),
                Some(hints::PROC_MOUNT_HINT),
            ));
        }
        _ => {}
    }
    match &machine.landlock {
        Err(_) => found.push((
            "there is no second wall: the kernel has no Landlock".to_owned(),
            Some("add `landlock` to the kernel's `lsm=` list"),
        )),
        Ok(version) if tier == IsolationLevel::Landlock && !version.has_scoping() => {
            found.push((
                format!("Landlock ABI {} lets signals out", version.0),
                Some("use Linux 6.12 or newer"),
            ));
        }
        Ok(_) => {}
    }
    found
}

/// The walls around files, other processes and signals.
fn add_restrictions(
    base: EnforcementReport,
    machine: &HostSupport,
    tier: IsolationLevel,
) -> EnforcementReport {
    let second = match &machine.landlock {
        Ok(version) => format!("Landlock ABI {}", version.0),
        Err(_) => "no Landlock".to_owned(),
    };
    match tier {
        IsolationLevel::Namespaces => base
            .restriction(
                "files",
                EnforcementStatus::Enforced,
                format!("a file tree of its own with granted paths only, and {second}"),
            )
            .restriction(
                "metadata",
                EnforcementStatus::Enforced,
                "other files do not exist inside",
            )
            .restriction(
                "signals",
                EnforcementStatus::Enforced,
                "other processes do not exist inside",
            ),
        _ => {
            let scoped = machine
                .landlock
                .as_ref()
                .is_ok_and(|version| version.has_scoping());
            let base = base
                .restriction("files", EnforcementStatus::Enforced, format!("{second}: reading, writing and starting files outside the grants refused"))
                .restriction(
                    "metadata",
                    EnforcementStatus::Partial,
                    "changes refused or ignored (seccomp); names, sizes and attributes of other files can be seen",
                );
            if scoped {
                base.restriction(
                    "signals",
                    EnforcementStatus::Enforced,
                    "only to processes inside (Landlock)",
                )
            } else {
                base.restriction(
                    "signals",
                    EnforcementStatus::Partial,
                    "this kernel lets signals reach other processes of the same user",
                )
            }
        }
    }
}

/// What stays read-only in writable directories.
fn add_protected(base: EnforcementReport, plan: &Plan) -> EnforcementReport {
    if !plan.has_writable_grants() {
        return base;
    }
    match plan.isolation {
        IsolationLevel::Namespaces => {
            let detail = format!("existing protected paths ({FIRST_PROTECTED_NAME}) are read-only; new ones are reported after the run");
            base.restriction("protected", EnforcementStatus::Partial, detail)
        }
        _ => base.restriction(
            "protected",
            EnforcementStatus::Unavailable,
            format!(
                "Landlock cannot take protected paths ({FIRST_PROTECTED_NAME}) or an interpreter out of a writable directory; changes are reported after the run"
            ),
        ),
    }
}
