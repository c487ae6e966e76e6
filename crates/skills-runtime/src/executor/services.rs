//! What all stages of runs share.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use skills_library::{ContentDigests, Library, OnMissing, Secrets};
use skills_policy::{ApprovalMode, PermissionManager, Policy};
use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};

use super::approval_queue::ApprovalQueue;
use super::backends::Backends;
use super::call_context::CallContext;
#[cfg(all(feature = "packages", unix))]
use super::packages::PackageConfig;
use super::run_record::Recorder;
use super::skill_copies::{CopyDirectories, SkillCopyCache};

/// What all stages of runs share, and the permissions of one caller. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Services {
    shared: Arc<Shared>,
    permissions: Arc<PermissionManager>,
}

struct Shared {
    library: Library,
    config: Config,
    /// Permits for concurrent runs.
    run_permits: Arc<Semaphore>,
    approval_queue: ApprovalQueue,
    copies: SkillCopyCache,
}

/// What the builder configures.
pub(crate) struct Config {
    pub(crate) backends: Arc<Backends>,
    /// Variables that programs of skills can get.
    pub(crate) secrets: Secrets,
    pub(crate) digests: Arc<ContentDigests>,
    pub(crate) recorder: Recorder,
    pub(crate) directories: CopyDirectories,
    pub(crate) approval_timeout: Duration,
    pub(crate) on_missing_requirements: OnMissing,
    /// Directories that are hidden from all programs.
    pub(crate) hidden_directories: Vec<PathBuf>,
    /// Paths that no program may write.
    pub(crate) read_only_paths: Vec<PathBuf>,
    /// Paths that programs may write only if a rule or an approval is for exactly them.
    pub(crate) protected_paths: Vec<PathBuf>,
    pub(crate) user_home: Option<PathBuf>,
    pub(crate) max_concurrent_runs: usize,
    #[cfg(all(feature = "packages", unix))]
    pub(crate) packages: Option<PackageConfig>,
}

impl Services {
    pub(crate) fn new(library: Library, permissions: PermissionManager, config: Config) -> Self {
        let copies = SkillCopyCache::new(Arc::clone(&config.digests));
        // `Semaphore::new` panics above this number.
        let permits = config.max_concurrent_runs.min(Semaphore::MAX_PERMITS);
        let shared = Shared {
            library,
            config,
            run_permits: Arc::new(Semaphore::new(permits)),
            approval_queue: ApprovalQueue::default(),
            copies,
        };
        Self {
            shared: Arc::new(shared),
            permissions: Arc::new(permissions),
        }
    }

    /// Returns services with another policy that share everything else.
    pub(crate) fn with_policy(&self, policy: Policy) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
            permissions: Arc::new(self.permissions.with_policy(policy)),
        }
    }

    pub(crate) fn library(&self) -> &Library {
        &self.shared.library
    }

    pub(crate) fn config(&self) -> &Config {
        &self.shared.config
    }

    pub(crate) fn permissions(&self) -> &PermissionManager {
        &self.permissions
    }

    /// Waits for a permit of a run.
    pub(super) async fn run_permit(&self) -> Result<OwnedSemaphorePermit, AcquireError> {
        Arc::clone(&self.shared.run_permits).acquire_owned().await
    }

    pub(super) fn copies(&self) -> &SkillCopyCache {
        &self.shared.copies
    }

    pub(super) fn approval_queue(&self) -> &ApprovalQueue {
        &self.shared.approval_queue
    }

    /// Returns true if an approver can be asked during a run.
    pub(super) fn can_ask(&self, context: &CallContext) -> bool {
        let is_strict = self.permissions.policy().mode() == ApprovalMode::Strict;
        !is_strict && self.permissions.has_approver(context.approver.as_deref())
    }

    /// Returns the directories in which private copies of skills are created.
    pub(super) fn copy_directories(&self) -> impl Iterator<Item = &Path> {
        let directories = &self.config().directories;
        let memory = directories.memory.iter();
        memory.chain([&directories.scratch]).map(PathBuf::as_path)
    }
}
