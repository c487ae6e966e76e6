//! What this machine offers, found out by doing it: a child goes through all steps and ends where
//! it would start its program.

use std::sync::OnceLock;

use skills_sandbox::SandboxError;

use crate::child_setup::{ChildOptions, ChildSetup};
use crate::isolation::{IsolationLevel, IsolationMode};
use crate::landlock_abi::LandlockAbi;
use crate::plan::{PROXY_PORT, Plan, PlanContext};
use crate::setup_step::{SetupStep, StepFailure};
use crate::spawn::SpawnError;
use crate::spawner;

/// What was found out, once per process.
#[derive(Debug, Clone)]
pub(crate) struct HostSupport {
    pub(crate) landlock: Result<LandlockAbi, String>,
    /// Whether a file tree of its own can be had; and if so, whether a `/proc` in it can.
    pub(crate) namespaces: Result<Result<(), StepFailure>, StepFailure>,
    /// Whether Landlock alone can be had.
    pub(crate) landlock_only: Result<(), StepFailure>,
}

/// Looks at the machine; the first call takes a few milliseconds.
///
/// # Errors
/// When no process can be made at all.
pub(crate) fn host_support() -> Result<&'static HostSupport, SandboxError> {
    static MACHINE: OnceLock<HostSupport> = OnceLock::new();
    if let Some(machine) = MACHINE.get() {
        return Ok(machine);
    }
    let found = HostSupport::detect()?;
    Ok(MACHINE.get_or_init(|| found))
}

/// A machine that refuses everything.
#[cfg(feature = "fault-injection")]
pub(crate) fn unsupported() -> &'static HostSupport {
    static BARE: OnceLock<HostSupport> = OnceLock::new();
    let refused = |step, errno| StepFailure {
        step,
        errno,
        path: None,
    };
    BARE.get_or_init(|| HostSupport {
        landlock: Err("not supported".to_owned()),
        namespaces: Err(refused(None, libc::EPERM)),
        landlock_only: Err(refused(Some(SetupStep::Landlock), libc::ENOSYS)),
    })
}

/// Says whether a network of its own can be had; asked only when something needs one, since it
/// takes the kernel longest.
pub(crate) fn probe_network() -> Result<Result<(), StepFailure>, SandboxError> {
    static NETWORK: OnceLock<Result<(), StepFailure>> = OnceLock::new();
    if let Some(known) = NETWORK.get() {
        return Ok(known.clone());
    }
    let landlock = host_support()?.landlock.clone().ok();
    let tried = try_setup(
        &Plan::probe(
            &probe_context(IsolationLevel::Namespaces, false),
            Some(PROXY_PORT),
        ),
        landlock,
    )?;
    Ok(NETWORK.get_or_init(|| tried).clone())
}

impl HostSupport {
    fn detect() -> Result<Self, SandboxError> {
        let landlock = LandlockAbi::detect();
        let version = landlock.as_ref().ok().copied();
        let try_isolated = |processes| {
            try_setup(
                &Plan::probe(&probe_context(IsolationLevel::Namespaces, processes), None),
                version,
            )
        };
        let isolated = match try_isolated(true)? {
            Ok(()) => Ok(Ok(())),
            // Where parts of the host's /proc are hidden, nobody may mount a new one; the tree does
            // without.
            Err(failure) if failure.step == Some(SetupStep::Proc) => {
                try_isolated(false)?.map(|()| Err(failure))
            }
            Err(failure) => Err(failure),
        };
        let confined = match version {
            Some(version) => try_setup(
                &Plan::probe(&probe_context(IsolationLevel::Landlock, false), None),
                Some(version),
            )?,
            None => Err(StepFailure {
                step: Some(SetupStep::Landlock),
                errno: libc::ENOSYS,
                path: None,
            }),
        };
        Ok(Self {
            landlock: landlock.map_err(|error| error.to_string()),
            namespaces: isolated,
            landlock_only: confined,
        })
    }

    /// Chooses the walls for a run, or says why there are none.
    pub(crate) fn isolation_level(
        &self,
        wanted: IsolationMode,
    ) -> Result<IsolationLevel, SandboxError> {
        let isolated = || {
            self.namespaces
                .as_ref()
                .map(|_| IsolationLevel::Namespaces)
                .map_err(|failure| self.no_namespaces(failure))
        };
        match wanted {
            IsolationMode::DangerouslyDisabled => Ok(IsolationLevel::None),
            IsolationMode::Namespaces => isolated(),
            IsolationMode::LandlockOnly => self.check_landlock_only(),
            IsolationMode::BestAvailable => isolated().or_else(|no_namespaces| {
                self.check_landlock_only().map_err(|no_landlock| {
                    let reason =
                        format!("user namespaces: {no_namespaces}; Landlock: {no_landlock}");
                    SandboxError::unavailable(
                        "any wall",
                        reason,
                        "use a skill with a WebAssembly module",
                    )
                })
            }),
        }
    }

    fn check_landlock_only(&self) -> Result<IsolationLevel, SandboxError> {
        LandlockAbi::detect()?.check_standalone()?;
        self.landlock_only
            .clone()
            .map(|()| IsolationLevel::Landlock)
            .map_err(SandboxError::from)
    }

    fn no_namespaces(&self, failure: &StepFailure) -> SandboxError {
        let is_about_namespaces = |step| {
            matches!(
                step,
                SetupStep::Identity
                    | SetupStep::Root
                    | SetupStep::RootFs
                    | SetupStep::Proc
                    | SetupStep::Pivot
            )
        };
        if failure.step.is_some_and(|step| !is_about_namespaces(step)) {
            return failure.clone().into();
        }
        SandboxError::unavailable(
            "user namespaces",
            failure.to_string(),
            crate::hints::namespaces_hint(failure),
        )
    }
}

fn probe_context(tier: IsolationLevel, processes: bool) -> PlanContext {
    PlanContext {
        isolation: tier,
        scratch_path: if tier == IsolationLevel::Namespaces {
            "/tmp".into()
        } else {
            "/".into()
        },
        mount_proc: processes,
    }
}

fn try_setup(
    plan: &Plan,
    landlock: Option<LandlockAbi>,
) -> Result<Result<(), StepFailure>, SandboxError> {
    let (prepared, ours) = ChildSetup::new(
        plan,
        ChildOptions {
            landlock,
            ..ChildOptions::default()
        },
    )?;
    match spawner::spawn_blocking(prepared, ours)? {
        Ok(_ended) => Ok(Ok(())),
        // Nothing is learnt about the machine from a moment in which it had nothing left.
        Err(SpawnError::Failed(failure)) if failure.is_transient() => Err(SandboxError::setup(
            "looking at the machine",
            failure.to_io_error(),
        )),
        Err(SpawnError::Failed(failure)) => Ok(Err(failure)),
        Err(none) => Err(none.into()),
    }
}
