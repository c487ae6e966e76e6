//! Says which walls stood.

use nix::sys::utsname::uname;
use skills_policy::Spawn;
use skills_sandbox::egress::Log;
use skills_sandbox::interpreter::{Interpreters, Memory};
use skills_sandbox::{Quota, Report, ScriptKind, Status};

use crate::control_group::{self, ControlGroup};
use crate::hints;
use crate::plan::Plan;
use crate::probe::{Machine, network};
use crate::resources::counts_processes;
use crate::seccomp::denied_calls;
use crate::tier::{Isolation, Tier};

/// The first of the protected names.
const NAMES: &str = ".git, .claude, .vscode, .envrc and others";
const NO_WALLS: &str = "the host asked for no walls: scripts can do whatever the host can";

/// What a report is made from. Every step succeeded, or there would be no run to report on.
pub(crate) struct Facts<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) machine: &'a Machine,
    pub(crate) group: Option<&'a ControlGroup>,
    pub(crate) isolation: Isolation,
    /// What the proxy saw.
    pub(crate) log: Option<&'a Log>,
    /// Whether nothing outlives a host that is killed.
    pub(crate) is_guarded: bool,
    /// Whether the resident memory of each process is watched.
    pub(crate) is_watched: bool,
}

impl Facts<'_> {
    pub(crate) fn report(&self) -> Report {
        let (plan, limits) = (self.plan, &self.plan.limits);
        let memory = limits.memory_bytes >> 20;
        let counted = self.group.is_some_and(|group| group.counts_memory);
        let base = machine_facts(self.machine, plan.tier, self.isolation)
            .fact("memory", if counted { format!("{memory} MiB in all") } else { format!("{memory} MiB of {}", self.counted_memory()) })
            .fact("processes", limits.processes.to_string())
            .fact("open-files", limits.open_files.to_string())
            .fact("file", format!("{} MiB", limits.file_bytes >> 20))
            .fact("time", format!("{} ms", limits.wall_time.as_millis()))
            .fact("network", if plan.listener.is_some() { "listed hosts, through a proxy" } else { "none" });
        if plan.tier == Tier::None {
            return base.layer("all", Status::Unavailable, NO_WALLS);
        }
        let base = walls(base, self.machine, plan.tier);
        let base = match &plan.listener {
            None => base.layer("network", Status::Enforced, "no sockets but connected local pairs (seccomp)"),
            Some(port) => {
                let seen = self.log.map(|log| format!("; {}", log.summary())).unwrap_or_default();
                base.layer("network", Status::Enforced, format!("a network of its own with nothing but a proxy at port {port}{seen}"))
            }
        };
        let base = self.processes(base);
        let base = protected(base, plan);
        let base = base.layer("privileges", Status::Enforced, "no_new_privs, all capabilities dropped").layer(
            "system-calls",
            Status::Enforced,
            format!("{} refused (seccomp)", denied_calls()),
        );
        let base = match counted {
            true => base.layer("memory", Status::Enforced, format!("{memory} MiB for all processes together (control group)")),
            false => base.layer("memory", Status::Partial, self.uncounted_memory()),
        };
        let base = match plan.tier {
            Tier::Isolated => base.layer("scratch", Status::Enforced, format!("{} MiB in memory", limits.scratch_bytes >> 20)),
            _ => base.layer("scratch", Status::Partial, format!("a private directory of at most {}", Quota::bounds(limits.scratch_bytes))),
        };
        let base = self.workspace(base);
        let tree = if plan.tier == Tier::Isolated { "every process of its own" } else { "the whole process group" };
        let base = base.layer("time", Status::Enforced, format!("{} ms, then {tree} dies", limits.wall_time.as_millis()));
        let base = match self.is_guarded {
            true => base.layer("host-death", Status::Enforced, format!("when the host is killed, {tree} dies")),
            false => base.layer("host-death", Status::Partial, "when the host is killed, programs that the script started live on"),
        };
        base.layer("environment", Status::Enforced, "declared variables only, no inherited descriptors, no terminal")
    }

    /// What is limited of each process where no control group counts all of them.
    fn counted_memory(&self) -> &'static str {
        match (self.plan.memory, self.is_watched) {
            (Memory::Data, true) => "resident memory per process",
            (Memory::Data, false) => "private writable memory per process",
            _ => "address space per process",
        }
    }

    fn uncounted_memory(&self) -> String {
        let (mebibytes, counted) = (self.plan.limits.memory_bytes >> 20, self.counted_memory());
        let uncounted = match (self.plan.memory, self.is_watched) {
            (Memory::Data, true) => "page tables, what is taken and given back within 25 ms, ",
            (Memory::Data, false) => "memory made read-only after it was written, mapped files, page tables, ",
            _ => "",
        };
        format!("{mebibytes} MiB of {counted}; not counted: {uncounted}buffers of the kernel, all processes together")
    }

    /// Says how a private workspace is bounded, where the run has one.
    fn workspace(&self, base: Report) -> Report {
        self.plan.quotas.iter().fold(base, |base, quota| {
            base.layer("workspace", Status::Partial, format!("private, at most {}", Quota::bounds(quota.max_bytes())))
        })
    }

    fn processes(&self, base: Report) -> Report {
        let what = match &self.plan.spawn {
            Spawn::None => "no second process".to_owned(),
            Spawn::Programs(names) => {
                let names = names.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
                format!("programs: {names}; what they load is not limited")
            }
            Spawn::Any => "any program of the system".to_owned(),
        };
        let most = self.plan.limits.processes;
        let is_counted = counts_processes(self.plan.tier) || self.group.is_some_and(|group| group.counts_processes);
        let is_list = matches!(self.plan.spawn, Spawn::Programs(_));
        match (is_counted, is_list) {
            (true, false) => base.layer("processes", Status::Enforced, format!("{what}; at most {most} processes and threads")),
            (true, true) => base.layer("processes", Status::Partial, format!("{what}; at most {most} processes and threads")),
            (false, _) => base.layer("processes", Status::Partial, format!("{what}; the number of processes and threads is not limited")),
        }
    }
}

/// What would stand around any run.
pub(crate) fn expected(machine: &Machine, tier: Tier, isolation: Isolation, interpreters: &Interpreters) -> Report {
    let base = machine_facts(machine, tier, isolation);
    let base = if tier == Tier::None { base.layer("all", Status::Unavailable, NO_WALLS) } else { around_any(base, machine, tier) };
    ScriptKind::ALL.into_iter().fold(base, |report, kind| match interpreters.find(kind) {
        Ok(found) => report.layer(kind.as_str(), Status::Enforced, format!("scripts run with {}", found.executable.display())),
        Err(error) => report.layer(kind.as_str(), Status::Unavailable, error.to_string()),
    })
}

fn around_any(base: Report, machine: &Machine, tier: Tier) -> Report {
    let (memory, processes) = control_group::offers();
    let processes = processes || counts_processes(tier);
    let counted = |is: bool, yes: &'static str, no: &'static str| if is { (Status::Enforced, yes) } else { (Status::Partial, no) };
    let base = walls(base, machine, tier);
    let (status, detail) = counted(memory, "counted for all processes together", "limited for each process; all together are not counted");
    let base = base.layer("memory", status, detail);
    let (status, detail) = counted(processes, "none without a grant; counted", "none without a grant; with one, not counted");
    let base = base.layer("processes", status, detail);
    let base = base.layer("system-calls", Status::Enforced, format!("{} refused (seccomp)", denied_calls()));
    base.layer("network", Status::Enforced, format!("none without a grant; granted hosts {}", hosts(tier)))
}

/// What becomes of granted hosts.
fn hosts(tier: Tier) -> String {
    if tier != Tier::Isolated {
        return "are refused: they take a network of the program's own, and that user namespaces".to_owned();
    }
    match network() {
        Ok(Ok(())) => "are reached through a proxy".to_owned(),
        Ok(Err(failure)) => format!("are refused: {failure}"),
        Err(error) => format!("are refused: {error}"),
    }
}

fn machine_facts(machine: &Machine, tier: Tier, isolation: Isolation) -> Report {
    let kernel = uname().map(|name| name.release().to_string_lossy().into_owned()).unwrap_or_default();
    let landlock = machine.landlock.as_ref().map_or_else(Clone::clone, |version| version.0.to_string());
    let kill = match tier {
        Tier::Isolated => "process table of its own",
        Tier::Landlock => "process group that nobody can leave",
        Tier::None => "process group",
    };
    let base = Report::new("linux")
        .fact("tier", tier.to_string())
        .fact("kernel", kernel)
        .fact("landlock-abi", landlock)
        .fact("kill", kill)
        .fact("host-user", if nix::unistd::geteuid().is_root() { "root" } else { "unprivileged" });
    let weaknesses = weaknesses(machine, tier, isolation);
    let hinted = weaknesses.iter().filter_map(|(_, hint)| *hint).fold(base, Report::hint);
    let reasons: Vec<String> = weaknesses.into_iter().map(|(reason, _)| reason).collect();
    if reasons.is_empty() { hinted } else { hinted.degraded(reasons.join("; ")) }
}

/// Why the walls are weaker than they could be, and what to do about it.
fn weaknesses(machine: &Machine, tier: Tier, isolation: Isolation) -> Vec<(String, Option<&'static str>)> {
    let mut found = Vec::new();
    match (tier, isolation, &machine.isolated) {
        (Tier::None, ..) => return vec![("the host asked for no walls".to_owned(), None)],
        (Tier::Landlock, Isolation::Landlock, _) => found.push(("the host asked for this tier".to_owned(), None)),
        (Tier::Landlock, _, Err(failure)) => {
            found.push((format!("user namespaces do not work here: {failure}"), Some(hints::namespaces(failure))));
        }
        (Tier::Isolated, _, Ok(Err(failure))) => {
            found.push((format!("there is no /proc inside: {failure}"), Some(hints::PROCESSES)));
        }
        _ => {}
    }
    match &machine.landlock {
        Err(_) => found
            .push(("there is no second wall: the kernel has no Landlock".to_owned(), Some("add `landlock` to the kernel's `lsm=` list"))),
        Ok(version) if tier == Tier::Landlock && !version.scopes() => {
            found.push((format!("Landlock ABI {} lets signals out", version.0), Some("use Linux 6.12 or newer")));
        }
        Ok(_) => {}
    }
    found
}

/// The walls around files, other processes and signals.
fn walls(base: Report, machine: &Machine, tier: Tier) -> Report {
    let second = match &machine.landlock {
        Ok(version) => format!("Landlock ABI {}", version.0),
        Err(_) => "no Landlock".to_owned(),
    };
    match tier {
        Tier::Isolated => base
            .layer("files", Status::Enforced, format!("a file tree of its own with granted paths only, and {second}"))
            .layer("metadata", Status::Enforced, "other files do not exist inside")
            .layer("signals", Status::Enforced, "other processes do not exist inside"),
        _ => {
            let scoped = machine.landlock.as_ref().is_ok_and(|version| version.scopes());
            let base = base
                .layer("files", Status::Enforced, format!("{second}: reading, writing and starting files outside the grants refused"))
                .layer(
                    "metadata",
                    Status::Partial,
                    "changes refused or ignored (seccomp); names, sizes and attributes of other files can be seen",
                );
            if scoped {
                base.layer("signals", Status::Enforced, "only to processes inside (Landlock)")
            } else {
                base.layer("signals", Status::Partial, "this kernel lets signals reach other processes of the same user")
            }
        }
    }
}

/// What stays read-only in writable directories.
fn protected(base: Report, plan: &Plan) -> Report {
    if !plan.writes_granted() {
        return base;
    }
    match plan.tier {
        Tier::Isolated => {
            let detail = format!("existing protected paths ({NAMES}) are read-only; new ones are reported after the run");
            base.layer("protected", Status::Partial, detail)
        }
        _ => base.layer(
            "protected",
            Status::Unavailable,
            format!(
                "Landlock cannot take protected paths ({NAMES}) or an interpreter out of a writable directory; changes are reported after the run"
            ),
        ),
    }
}
