//! What this host supports, found by trying it.
//!
//! Reading the kernel's version or settings would not be enough: a container or a hardened host may
//! deny any single step. So a run assumes the strongest level, and its own setup is the first
//! attempt. Only if that fails, or for a report, a child process goes through all setup steps and
//! exits where it would execute its program.

use std::sync::OnceLock;

use skills_sandbox::SandboxError;

use crate::child_setup::{ChildOptions, ChildSetup};
use crate::isolation::{IsolationLevel, IsolationMode};
use crate::landlock_abi::LandlockAbi;
use crate::path_rule::PlanContext;
use crate::plan::Plan;
use crate::run_network::RunNetwork;
use crate::setup_slot::EarlySetup;
use crate::setup_step::{SetupStep, StepFailure};
use crate::spawn::SpawnError;
use crate::spawner::Spawner;

/// Whether namespaces are supported; and if so, whether `/proc` can be mounted in them.
pub(crate) type NamespaceSupport = Result<Result<(), StepFailure>, StepFailure>;

/// What the host supports. Each fact is stored when a run or a probe has found it, and then holds
/// for the whole process.
#[derive(Debug)]
pub(crate) struct HostSupport {
    pub(crate) landlock: Result<LandlockAbi, String>,
    namespaces: OnceLock<NamespaceSupport>,
    /// Whether the restrictions without namespaces are supported.
    landlock_only: OnceLock<Result<(), StepFailure>>,
    /// Whether a network namespace can be set up. Probed only when a run needs one, since creating
    /// it takes the kernel longer than all other steps together.
    network: OnceLock<Result<(), StepFailure>>,
}

/// Returns what is known about this host. Of the kernel it only asks for the Landlock ABI.
pub(crate) fn host_support() -> &'static HostSupport {
    static HOST_SUPPORT: OnceLock<HostSupport> = OnceLock::new();
    HOST_SUPPORT.get_or_init(|| HostSupport {
        landlock: LandlockAbi::detect().map_err(|error| error.to_string()),
        namespaces: OnceLock::new(),
        landlock_only: OnceLock::new(),
        network: OnceLock::new(),
    })
}

/// A host without any sandbox support, for tests.
#[cfg(feature = "fault-injection")]
pub(crate) fn unsupported() -> &'static HostSupport {
    static UNSUPPORTED: OnceLock<HostSupport> = OnceLock::new();
    let no_process = || StepFailure::new(None, libc::EPERM);
    UNSUPPORTED.get_or_init(|| HostSupport {
        landlock: Err("not supported".to_owned()),
        namespaces: Err(no_process()).into(),
        landlock_only: Err(StepFailure::new(Some(SetupStep::Landlock), libc::ENOSYS)).into(),
        network: Err(no_process()).into(),
    })
}

impl HostSupport {
    /// Returns the isolation level that a mode selects on this host, and probes what is not known
    /// yet, which takes a few milliseconds.
    ///
    /// # Errors
    /// Fails if the host does not support what the mode requires; a level with fewer
    /// restrictions than the mode allows is not used. Also if no process can be created at all.
    pub(crate) fn isolation_level(
        &self,
        mode: IsolationMode,
    ) -> Result<IsolationLevel, SandboxError> {
        match mode {
            IsolationMode::DangerouslyDisabled => Ok(IsolationLevel::None),
            IsolationMode::Namespaces => self.require_namespaces()?,
            IsolationMode::LandlockOnly => self.require_landlock_only(),
            IsolationMode::BestAvailable => self.require_namespaces()?.or_else(|no_namespaces| {
                self.require_landlock_only().map_err(|no_landlock| {
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

    /// Returns the strongest level that the mode allows and that is not known to be unsupported.
    /// Probes nothing, so the setup of a run at this level may fail; see
    /// [`probe_level`](Self::probe_level).
    ///
    /// # Errors
    /// Those of [`isolation_level`](Self::isolation_level).
    pub(crate) fn assumed_level(
        &self,
        mode: IsolationMode,
    ) -> Result<IsolationLevel, SandboxError> {
        let level = match mode {
            IsolationMode::DangerouslyDisabled => IsolationLevel::None,
            IsolationMode::LandlockOnly => IsolationLevel::Landlock,
            IsolationMode::Namespaces => IsolationLevel::Namespaces,
            IsolationMode::BestAvailable if self.lacks_namespaces() => IsolationLevel::Landlock,
            IsolationMode::BestAvailable => IsolationLevel::Namespaces,
        };
        let is_unsupported = match level {
            IsolationLevel::Namespaces => self.lacks_namespaces(),
            // The kernel accepts a ruleset of any ABI, so the setup would not fail by itself.
            IsolationLevel::Landlock => {
                matches!(self.landlock_only.get(), Some(Err(_))) || check_landlock_abi().is_err()
            }
            IsolationLevel::None => false,
        };
        if is_unsupported {
            self.isolation_level(mode)
        } else {
            Ok(level)
        }
    }

    /// Returns true if `/proc` is mounted in namespaces, unless it is known to be impossible.
    pub(crate) fn mounts_proc(&self) -> bool {
        self.missing_proc().is_none()
    }

    /// Returns why `/proc` cannot be mounted in namespaces, as far as it is known.
    pub(crate) fn missing_proc(&self) -> Option<&StepFailure> {
        self.namespaces.get()?.as_ref().ok()?.as_ref().err()
    }

    /// Returns why there are no namespaces, as far as it is known.
    pub(crate) fn missing_namespaces(&self) -> Option<&StepFailure> {
        self.namespaces.get()?.as_ref().err()
    }

    /// Returns true if runs get network namespaces, unless they are known to be impossible.
    pub(crate) fn has_network(&self) -> bool {
        self.missing_network().is_none()
    }

    /// Returns why there are no network namespaces, as far as it is known.
    pub(crate) fn missing_network(&self) -> Option<&StepFailure> {
        self.network.get()?.as_ref().err()
    }

    /// Stores what the successful setup of a plan shows.
    pub(crate) fn confirm(&self, plan: &Plan) {
        match plan.isolation {
            IsolationLevel::Namespaces => {
                // A plan without /proc exists only if its absence is known.
                self.namespaces.get_or_init(|| Ok(Ok(())));
                if plan.network.is_separate() {
                    self.network.get_or_init(|| Ok(()));
                }
            }
            IsolationLevel::Landlock => {
                self.landlock_only.get_or_init(|| Ok(()));
            }
            IsolationLevel::None => {}
        }
    }

    /// Probes what the setup at a level needs, as far as it is not known.
    pub(crate) fn probe_level(&self, level: IsolationLevel) -> Result<(), SandboxError> {
        match level {
            IsolationLevel::Namespaces => self.namespaces().map(drop),
            IsolationLevel::Landlock => self.landlock_only().map(drop),
            IsolationLevel::None => Ok(()),
        }
    }

    /// Returns true if a network namespace can be set up, and probes it if that is not known.
    pub(crate) fn network(&self) -> Result<&Result<(), StepFailure>, SandboxError> {
        known_or_probed(&self.network, || {
            // Without /proc, whose mount is probed separately and is not needed for a network.
            let context = probe_context(IsolationLevel::Namespaces);
            self.try_setup(&Plan::probe(
                &context,
                RunNetwork::Proxy(skills_egress::PROXY_PORT),
            ))
        })
    }

    fn namespaces(&self) -> Result<&NamespaceSupport, SandboxError> {
        known_or_probed(&self.namespaces, || {
            match self.try_namespaces(&with_proc())? {
                Ok(()) => Ok(Ok(Ok(()))),
                // The kernel allows no new /proc where parts of the host's are masked, as in most
                // containers; runs then have none.
                Err(failure) if failure.step == Some(SetupStep::Proc) => Ok(self
                    .try_namespaces(&probe_context(IsolationLevel::Namespaces))?
                    .map(|()| Err(failure))),
                Err(failure) => Ok(Err(failure)),
            }
        })
    }

    fn landlock_only(&self) -> Result<&Result<(), StepFailure>, SandboxError> {
        known_or_probed(&self.landlock_only, || match self.landlock {
            Ok(_) => {
                let context = probe_context(IsolationLevel::Landlock);
                self.try_setup(&Plan::probe(&context, RunNetwork::None))
            }
            Err(_) => Ok(Err(StepFailure::new(
                Some(SetupStep::Landlock),
                libc::ENOSYS,
            ))),
        })
    }

    fn lacks_namespaces(&self) -> bool {
        self.missing_namespaces().is_some()
    }

    /// The outer error is about the probe itself, the inner one about the host.
    fn require_namespaces(&self) -> Result<Result<IsolationLevel, SandboxError>, SandboxError> {
        Ok(match self.namespaces()? {
            Ok(_) => Ok(IsolationLevel::Namespaces),
            Err(failure) => Err(namespaces_error(failure)),
        })
    }

    fn require_landlock_only(&self) -> Result<IsolationLevel, SandboxError> {
        check_landlock_abi()?;
        self.landlock_only()?
            .clone()
            .map(|()| IsolationLevel::Landlock)
            .map_err(SandboxError::from)
    }

    fn try_namespaces(
        &self,
        context: &PlanContext,
    ) -> Result<Result<(), StepFailure>, SandboxError> {
        self.try_setup(&Plan::probe(context, RunNetwork::None))
    }

    /// Runs all setup steps of a plan in a child process and returns the step that failed, if any.
    fn try_setup(&self, plan: &Plan) -> Result<Result<(), StepFailure>, SandboxError> {
        let options = ChildOptions {
            landlock: self.landlock.as_ref().ok().copied(),
            ..ChildOptions::default()
        };
        let early = EarlySetup::of_plan(plan)?;
        let (setup, parent_ends) = ChildSetup::new(plan, options)?;
        match Spawner::shared()?.spawn_blocking(early, setup, parent_ends)? {
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
}

/// Returns a fact, and probes it if it is not known. An error is not stored: it is about the
/// moment, such as a lack of descriptors.
fn known_or_probed<T>(
    fact: &OnceLock<T>,
    probe: impl FnOnce() -> Result<T, SandboxError>,
) -> Result<&T, SandboxError> {
    if let Some(known) = fact.get() {
        return Ok(known);
    }
    let probed = probe()?;
    Ok(fact.get_or_init(|| probed))
}

fn check_landlock_abi() -> Result<(), SandboxError> {
    LandlockAbi::detect()?.check_standalone()
}

/// Converts a failed probe of namespaces. A failed step that has nothing to do with namespaces,
/// such as seccomp, keeps its own message and hint.
fn namespaces_error(failure: &StepFailure) -> SandboxError {
    let is_about_namespaces = failure.step.is_none_or(|step| {
        matches!(
            step,
            SetupStep::Identity
                | SetupStep::Descriptors
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

/// Returns the context of a probe without a file system of processes, which not all hosts allow.
pub(crate) fn probe_context(isolation: IsolationLevel) -> PlanContext {
    PlanContext {
        isolation,
        scratch_path: if isolation == IsolationLevel::Namespaces {
            "/tmp".into()
        } else {
            "/".into()
        },
        mount_proc: false,
        own_network: false,
    }
}

/// Returns the context of a probe that mounts a file system of processes.
fn with_proc() -> PlanContext {
    PlanContext {
        mount_proc: true,
        ..probe_context(IsolationLevel::Namespaces)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unknown_host() -> HostSupport {
        HostSupport {
            landlock: LandlockAbi::detect().map_err(|error| error.to_string()),
            namespaces: OnceLock::new(),
            landlock_only: OnceLock::new(),
            network: OnceLock::new(),
        }
    }

    fn no_namespaces() -> NamespaceSupport {
        Err(StepFailure::new(None, libc::EPERM))
    }

    #[test]
    fn the_strongest_level_is_assumed_until_it_is_known_to_be_missing() {
        let host = unknown_host();
        let level = |mode| host.assumed_level(mode).map_err(|error| error.to_string());
        assert_eq!(
            level(IsolationMode::BestAvailable),
            Ok(IsolationLevel::Namespaces)
        );
        assert!(host.mounts_proc());
        host.namespaces.set(no_namespaces()).unwrap();
        let fallback = level(IsolationMode::BestAvailable);
        match check_landlock_abi() {
            Ok(()) => assert_eq!(fallback, Ok(IsolationLevel::Landlock)),
            Err(_) => assert!(fallback.is_err()),
        }
        insta::assert_snapshot!(
            level(IsolationMode::Namespaces).unwrap_err(),
            @"cannot run in a sandbox: a user namespace is unavailable: creating the process: Operation not permitted (os error 1)"
        );
    }

    #[test]
    fn a_level_that_is_missing_is_an_error_also_without_a_probe() {
        let host = unknown_host();
        host.namespaces.set(no_namespaces()).unwrap();
        let denied = StepFailure::new(Some(SetupStep::Seccomp), libc::EPERM);
        host.landlock_only.set(Err(denied)).unwrap();
        for mode in [IsolationMode::BestAvailable, IsolationMode::LandlockOnly] {
            assert!(host.assumed_level(mode).is_err());
        }
        assert_eq!(
            host.assumed_level(IsolationMode::DangerouslyDisabled).ok(),
            Some(IsolationLevel::None)
        );
    }

    #[test]
    fn a_host_without_proc_still_has_namespaces() {
        let host = unknown_host();
        let denied = StepFailure::new(Some(SetupStep::Proc), libc::EPERM);
        host.namespaces.set(Ok(Err(denied))).unwrap();
        assert_eq!(
            host.assumed_level(IsolationMode::BestAvailable).ok(),
            Some(IsolationLevel::Namespaces)
        );
        assert!(!host.mounts_proc());
    }

    #[test]
    fn a_successful_setup_proves_only_what_it_used() {
        let host = unknown_host();
        let context = with_proc();
        host.confirm(&Plan::probe(&context, RunNetwork::None));
        assert!(host.missing_namespaces().is_none() && host.namespaces.get().is_some());
        assert!(host.network.get().is_none() && host.landlock_only.get().is_none());
        host.confirm(&Plan::probe(&context, RunNetwork::Loopback));
        assert!(host.has_network());
    }
}
