//! Detects what this host supports by trying it: a child process goes through all setup steps and
//! exits where it would execute its program.
//!
//! Reading the kernel's version or settings would not be enough: a container or a hardened host may
//! deny any single step.

use std::sync::OnceLock;

use skills_sandbox::SandboxError;

use crate::child_setup::{ChildOptions, ChildSetup};
use crate::isolation::{IsolationLevel, IsolationMode};
use crate::landlock_abi::LandlockAbi;
use crate::path_rule::PlanContext;
use crate::plan::{PROXY_PORT, Plan};
use crate::setup_step::{SetupStep, StepFailure};
use crate::spawn::SpawnError;
use crate::spawner;

/// What the host supports, detected once per process.
#[derive(Debug, Clone)]
pub(crate) struct HostSupport {
    pub(crate) landlock: Result<LandlockAbi, String>,
    /// Whether namespaces are supported; and if so, whether `/proc` can be mounted in them.
    pub(crate) namespaces: Result<Result<(), StepFailure>, StepFailure>,
    /// Whether the restrictions without namespaces are supported.
    pub(crate) landlock_only: Result<(), StepFailure>,
}

/// Returns what the host supports; the first call takes a few milliseconds.
///
/// # Errors
/// If no process can be created at all.
pub(crate) fn host_support() -> Result<&'static HostSupport, SandboxError> {
    static HOST_SUPPORT: OnceLock<HostSupport> = OnceLock::new();
    if let Some(known) = HOST_SUPPORT.get() {
        return Ok(known);
    }
    // An error is not stored: it is about the moment, such as a lack of descriptors.
    let detected = HostSupport::detect()?;
    Ok(HOST_SUPPORT.get_or_init(|| detected))
}

/// A host without any sandbox support, for tests.
#[cfg(feature = "fault-injection")]
pub(crate) fn unsupported() -> &'static HostSupport {
    static UNSUPPORTED: OnceLock<HostSupport> = OnceLock::new();
    UNSUPPORTED.get_or_init(|| HostSupport {
        landlock: Err("not supported".to_owned()),
        namespaces: Err(StepFailure::new(None, libc::EPERM)),
        landlock_only: Err(StepFailure::new(Some(SetupStep::Landlock), libc::ENOSYS)),
    })
}

/// Returns whether a network namespace can be set up. Detected only when a run needs one, since
/// creating it takes the kernel longer than all other steps together.
pub(crate) fn probe_network() -> Result<Result<(), StepFailure>, SandboxError> {
    static NETWORK: OnceLock<Result<(), StepFailure>> = OnceLock::new();
    if let Some(known) = NETWORK.get() {
        return Ok(known.clone());
    }
    let landlock = host_support()?.landlock.clone().ok();
    // Without /proc, whose mount is probed separately and is not needed for a network.
    let plan = Plan::probe(
        &probe_context(IsolationLevel::Namespaces, false),
        Some(PROXY_PORT),
    );
    let result = try_setup(&plan, landlock)?;
    Ok(NETWORK.get_or_init(|| result).clone())
}

impl HostSupport {
    fn detect() -> Result<Self, SandboxError> {
        let landlock = LandlockAbi::detect();
        let abi = landlock.as_ref().ok().copied();
        let namespaces = match try_namespaces(true, abi)? {
            Ok(()) => Ok(Ok(())),
            // The kernel allows no new /proc where parts of the host's are masked, as in most
            // containers; runs then have none.
            Err(failure) if failure.step == Some(SetupStep::Proc) => {
                try_namespaces(false, abi)?.map(|()| Err(failure))
            }
            Err(failure) => Err(failure),
        };
        let landlock_only = match abi {
            Some(_) => try_setup(
                &Plan::probe(&probe_context(IsolationLevel::Landlock, false), None),
                abi,
            )?,
            None => Err(StepFailure::new(Some(SetupStep::Landlock), libc::ENOSYS)),
        };
        Ok(Self {
            landlock: landlock.map_err(|error| error.to_string()),
            namespaces,
            landlock_only,
        })
    }

    /// Returns the isolation level that a mode selects on this host.
    ///
    /// # Errors
    /// If the host does not support what the mode requires. There is no fallback to fewer
    /// restrictions than the mode allows.
    pub(crate) fn isolation_level(
        &self,
        mode: IsolationMode,
    ) -> Result<IsolationLevel, SandboxError> {
        match mode {
            IsolationMode::DangerouslyDisabled => Ok(IsolationLevel::None),
            IsolationMode::Namespaces => self.check_namespaces(),
            IsolationMode::LandlockOnly => self.check_landlock_only(),
            IsolationMode::BestAvailable => self.check_namespaces().or_else(|no_namespaces| {
                self.check_landlock_only().map_err(|no_landlock| {
                    let reason =
                        format!("user namespaces: {no_namespaces}; Landlock: {no_landlock}");
                    SandboxError::unavailable(
                        "isolation",
                        reason,
                        "use a skill with a WebAssembly module",
                    )
                })
            }),
        }
    }

    fn check_namespaces(&self) -> Result<IsolationLevel, SandboxError> {
        match &self.namespaces {
            Ok(_) => Ok(IsolationLevel::Namespaces),
            Err(failure) => Err(namespaces_error(failure)),
        }
    }

    fn check_landlock_only(&self) -> Result<IsolationLevel, SandboxError> {
        LandlockAbi::detect()?.check_standalone()?;
        self.landlock_only
            .clone()
            .map(|()| IsolationLevel::Landlock)
            .map_err(SandboxError::from)
    }
}

/// Converts a failed probe of namespaces. A failed step that has nothing to do with namespaces,
/// such as seccomp, keeps its own message and hint.
fn namespaces_error(failure: &StepFailure) -> SandboxError {
    let is_about_namespaces = failure.step.is_none_or(|step| {
        matches!(
            step,
            SetupStep::Identity
                | SetupStep::Root
                | SetupStep::RootFs
                | SetupStep::Proc
                | SetupStep::Pivot
        )
    });
    if !is_about_namespaces {
        return failure.clone().into();
    }
    SandboxError::unavailable(
        "a user namespace",
        failure.to_string(),
        crate::hints::namespaces_hint(failure),
    )
}

fn probe_context(isolation: IsolationLevel, mount_proc: bool) -> PlanContext {
    PlanContext {
        isolation,
        scratch_path: if isolation == IsolationLevel::Namespaces {
            "/tmp".into()
        } else {
            "/".into()
        },
        mount_proc,
    }
}

fn try_namespaces(
    mount_proc: bool,
    landlock: Option<LandlockAbi>,
) -> Result<Result<(), StepFailure>, SandboxError> {
    let context = probe_context(IsolationLevel::Namespaces, mount_proc);
    try_setup(&Plan::probe(&context, None), landlock)
}

/// Runs all setup steps of a plan in a child process and returns the step that failed, if any.
fn try_setup(
    plan: &Plan,
    landlock: Option<LandlockAbi>,
) -> Result<Result<(), StepFailure>, SandboxError> {
    let (setup, parent_ends) = ChildSetup::new(
        plan,
        ChildOptions {
            landlock,
            ..ChildOptions::default()
        },
    )?;
    match spawner::spawn_blocking(setup, parent_ends)? {
        Ok(_ended) => Ok(Ok(())),
        // A lack of memory or descriptors says nothing about what the host supports, so it must
        // not be stored as a missing restriction.
        Err(SpawnError::Failed(failure)) if failure.is_transient() => Err(SandboxError::setup(
            "detecting what the host supports",
            failure.to_io_error(),
        )),
        Err(SpawnError::Failed(failure)) => Ok(Err(failure)),
        Err(error) => Err(error.into()),
    }
}
