//! What this machine offers, found out by doing it: a child goes through all steps and ends where it would start its program.

use std::sync::OnceLock;

use skills_sandbox::SandboxError;

use crate::kernel::LandlockVersion;
use crate::plan::{Ground, PROXY_PORT, Plan};
use crate::prepared::{Extras, Prepared};
use crate::spawn::NoChild;
use crate::spawner;
use crate::step::{Failure, Step};
use crate::tier::{Isolation, Tier};

/// What was found out, once per process.
#[derive(Debug, Clone)]
pub(crate) struct Machine {
    pub(crate) landlock: Result<LandlockVersion, String>,
    /// Whether a file tree of its own can be had; and if so, whether a `/proc` in it can.
    pub(crate) isolated: Result<Result<(), Failure>, Failure>,
    /// Whether Landlock alone can be had.
    pub(crate) confined: Result<(), Failure>,
}

/// Looks at the machine; the first call takes a few milliseconds.
///
/// # Errors
/// When no process can be made at all.
pub(crate) fn machine() -> Result<&'static Machine, SandboxError> {
    static MACHINE: OnceLock<Machine> = OnceLock::new();
    if let Some(machine) = MACHINE.get() {
        return Ok(machine);
    }
    let found = Machine::look()?;
    Ok(MACHINE.get_or_init(|| found))
}

/// A machine that refuses everything.
#[cfg(feature = "fault-injection")]
pub(crate) fn bare() -> &'static Machine {
    static BARE: OnceLock<Machine> = OnceLock::new();
    let refused = |step, errno| Failure { step, errno, path: None };
    BARE.get_or_init(|| Machine {
        landlock: Err("not supported".to_owned()),
        isolated: Err(refused(None, libc::EPERM)),
        confined: Err(refused(Some(Step::Landlock), libc::ENOSYS)),
    })
}

/// Says whether a network of its own can be had; asked only when something needs one, since it takes the kernel longest.
pub(crate) fn network() -> Result<Result<(), Failure>, SandboxError> {
    static NETWORK: OnceLock<Result<(), Failure>> = OnceLock::new();
    if let Some(known) = NETWORK.get() {
        return Ok(known.clone());
    }
    let landlock = machine()?.landlock.clone().ok();
    let tried = attempt(&Plan::probe(&ground(Tier::Isolated, false), Some(PROXY_PORT)), landlock)?;
    Ok(NETWORK.get_or_init(|| tried).clone())
}

impl Machine {
    fn look() -> Result<Self, SandboxError> {
        let landlock = LandlockVersion::detect();
        let version = landlock.as_ref().ok().copied();
        let try_isolated = |processes| attempt(&Plan::probe(&ground(Tier::Isolated, processes), None), version);
        let isolated = match try_isolated(true)? {
            Ok(()) => Ok(Ok(())),
            // Where parts of the host's /proc are hidden, nobody may mount a new one; the tree does without.
            Err(failure) if failure.step == Some(Step::Processes) => try_isolated(false)?.map(|()| Err(failure)),
            Err(failure) => Err(failure),
        };
        let confined = match version {
            Some(version) => attempt(&Plan::probe(&ground(Tier::Landlock, false), None), Some(version))?,
            None => Err(Failure { step: Some(Step::Landlock), errno: libc::ENOSYS, path: None }),
        };
        Ok(Self { landlock: landlock.map_err(|error| error.to_string()), isolated, confined })
    }

    /// Chooses the walls for a run, or says why there are none.
    pub(crate) fn tier(&self, wanted: Isolation) -> Result<Tier, SandboxError> {
        let isolated = || self.isolated.as_ref().map(|_| Tier::Isolated).map_err(|failure| self.no_namespaces(failure));
        match wanted {
            Isolation::DangerouslyNone => Ok(Tier::None),
            Isolation::Isolated => isolated(),
            Isolation::Landlock => self.landlock_alone(),
            Isolation::Strongest => isolated().or_else(|no_namespaces| {
                self.landlock_alone().map_err(|no_landlock| {
                    let reason = format!("user namespaces: {no_namespaces}; Landlock: {no_landlock}");
                    SandboxError::unavailable("any wall", reason, "use a skill with a WebAssembly module")
                })
            }),
        }
    }

    fn landlock_alone(&self) -> Result<Tier, SandboxError> {
        LandlockVersion::detect()?.enough_alone()?;
        self.confined.clone().map(|()| Tier::Landlock).map_err(SandboxError::from)
    }

    fn no_namespaces(&self, failure: &Failure) -> SandboxError {
        let is_about_namespaces = |step| matches!(step, Step::Identity | Step::Root | Step::Tree | Step::Processes | Step::Pivot);
        if failure.step.is_some_and(|step| !is_about_namespaces(step)) {
            return failure.clone().into();
        }
        SandboxError::unavailable("user namespaces", failure.to_string(), crate::hints::namespaces(failure))
    }
}

fn ground(tier: Tier, processes: bool) -> Ground {
    Ground { tier, scratch: if tier == Tier::Isolated { "/tmp".into() } else { "/".into() }, processes }
}

fn attempt(plan: &Plan, landlock: Option<LandlockVersion>) -> Result<Result<(), Failure>, SandboxError> {
    let (prepared, ours) = Prepared::new(plan, Extras { landlock, ..Extras::default() })?;
    match spawner::spawn_blocking(prepared, ours)? {
        Ok(_ended) => Ok(Ok(())),
        // Nothing is learnt about the machine from a moment in which it had nothing left.
        Err(NoChild::Failed(failure)) if failure.is_passing() => Err(SandboxError::setup("looking at the machine", failure.error())),
        Err(NoChild::Failed(failure)) => Ok(Err(failure)),
        Err(none) => Err(none.into()),
    }
}
