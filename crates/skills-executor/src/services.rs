//! What all stages of runs share.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use skills_library::{
    ContentDigests, Library, OnMissing, ProgramSearch, Secrets, with_interpreters,
};
use skills_policy::{ApprovalMode, PermissionManager, Policy};
use skills_sandbox::{Locale, ScriptType};
use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};

use crate::approval_queue::ApprovalQueue;
use crate::backends::Backends;
use crate::call_context::{CallContext, ProgressReporter};
#[cfg(all(feature = "packages", unix))]
use crate::packages::PackageConfig;
use crate::run_record::Recorder;
use crate::skill_copies::{CopyDirectories, SkillCopyCache};

/// What all stages of runs share, the permissions of one caller and the interpreters that it chose.
/// Cheap to clone.
#[derive(Clone)]
pub(crate) struct Services {
    shared: Arc<Shared>,
    permissions: Arc<PermissionManager>,
    /// In place of those that are found.
    interpreters: Arc<BTreeMap<ScriptType, PathBuf>>,
}

struct Shared {
    library: Library,
    config: ExecutorConfig,
    /// Permits for concurrent runs.
    run_permits: Arc<Semaphore>,
    approval_queue: ApprovalQueue,
    copies: SkillCopyCache,
}

/// Configures an [`Executor`](crate::Executor). [`Default`] has no backends, no audit log and no
/// packages, an approval timeout of five minutes, at most 16 concurrent runs, and private copies in
/// `/tmp`.
pub struct ExecutorConfig {
    /// The backends that run programs.
    pub backends: Arc<Backends>,
    /// Variables that programs of skills can get.
    pub secrets: Secrets,
    /// The cache of content digests, which the library can share.
    pub digests: Arc<ContentDigests>,
    /// Where attempts are recorded.
    pub recorder: Recorder,
    /// Where private copies and workspaces are created.
    pub directories: CopyDirectories,
    /// How long an approver may take to answer.
    pub approval_timeout: Duration,
    /// Whether missing requirements prevent a run.
    pub on_missing_requirements: OnMissing,
    /// Directories that are hidden from all programs.
    pub hidden_directories: Vec<PathBuf>,
    /// Paths that no program may write.
    pub read_only_paths: Vec<PathBuf>,
    /// Paths that programs may write only if a rule or an approval is for exactly them.
    pub protected_paths: Vec<PathBuf>,
    /// The home directory of the user, which messages of programs name as `~`.
    pub user_home: Option<PathBuf>,
    /// The language and the time zone of the user.
    pub locale: Locale,
    /// The file with the certificate authorities of the user; `None` for those of the system.
    pub certificates: Option<PathBuf>,
    /// The number of programs that run at the same time; others wait.
    pub max_concurrent_runs: usize,
    /// How packages that skills declare are installed; `None` if they are not.
    #[cfg(all(feature = "packages", unix))]
    pub packages: Option<PackageConfig>,
}

impl Default for ExecutorConfig {
    fn default() -> Self {
        Self {
            backends: Arc::default(),
            secrets: Secrets::default(),
            digests: Arc::default(),
            recorder: Recorder::default(),
            directories: CopyDirectories::default(),
            approval_timeout: Duration::from_secs(300),
            on_missing_requirements: OnMissing::default(),
            hidden_directories: Vec::new(),
            read_only_paths: Vec::new(),
            protected_paths: Vec::new(),
            user_home: None,
            locale: Locale::default(),
            certificates: None,
            max_concurrent_runs: 16,
            #[cfg(all(feature = "packages", unix))]
            packages: None,
        }
    }
}

impl Services {
    pub(crate) fn new(
        library: Library,
        permissions: PermissionManager,
        config: ExecutorConfig,
    ) -> Self {
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
            interpreters: Arc::default(),
        }
    }

    /// Returns services with another policy that share everything else.
    pub(crate) fn with_policy(&self, policy: Policy) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
            permissions: Arc::new(self.permissions.with_policy(policy)),
            interpreters: Arc::clone(&self.interpreters),
        }
    }

    /// Returns services with another interpreter, by its absolute path, that share everything else.
    pub(crate) fn with_interpreter(&self, script_type: ScriptType, path: PathBuf) -> Self {
        let mut interpreters = BTreeMap::clone(&self.interpreters);
        interpreters.insert(script_type, path);
        Self {
            interpreters: Arc::new(interpreters),
            ..self.clone()
        }
    }

    /// Returns the interpreters that were chosen in place of those that are found.
    pub(crate) fn interpreters(&self) -> &BTreeMap<ScriptType, PathBuf> {
        &self.interpreters
    }

    /// Returns the finder for the programs of a skill.
    pub(crate) fn finder(&self, skill: &str) -> Cow<'_, ProgramSearch> {
        with_interpreters(self.library().finder(skill), &self.interpreters)
    }

    /// Returns the interpreter of this host for scripts of a type of a skill.
    pub(crate) fn interpreter(&self, skill: &str, script_type: ScriptType) -> Option<PathBuf> {
        let backends = &self.config().backends;
        backends.interpreter(skill, script_type, &self.interpreters)
    }

    pub(crate) fn library(&self) -> &Library {
        &self.shared.library
    }

    pub(crate) fn config(&self) -> &ExecutorConfig {
        &self.shared.config
    }

    pub(crate) fn permissions(&self) -> &PermissionManager {
        &self.permissions
    }

    /// Waits for a permit of a run, and reports that it waits.
    pub(crate) async fn run_permit(
        &self,
        progress: Option<&ProgressReporter>,
    ) -> Result<OwnedSemaphorePermit, AcquireError> {
        let permits = || Arc::clone(&self.shared.run_permits);
        if let Ok(permit) = permits().try_acquire_owned() {
            return Ok(permit);
        }
        let report = |phase| progress.into_iter().for_each(|progress| progress(phase));
        report(Some("waiting for a free slot"));
        let permit = permits().acquire_owned().await;
        report(None);
        permit
    }

    pub(crate) fn copies(&self) -> &SkillCopyCache {
        &self.shared.copies
    }

    pub(crate) fn approval_queue(&self) -> &ApprovalQueue {
        &self.shared.approval_queue
    }

    /// Returns true if an approver can be asked during a run.
    pub(crate) fn can_ask(&self, context: &CallContext) -> bool {
        let is_strict = self.permissions.policy().mode() == ApprovalMode::Strict;
        !is_strict && self.permissions.has_approver(context.approver.as_deref())
    }

    /// Returns true if an approver can be asked about what a program was refused.
    pub(crate) fn can_ask_after_refusal(&self, context: &CallContext) -> bool {
        let approver = context.approver.as_deref();
        self.can_ask(context) && self.permissions.has_approver_of_refusals(approver)
    }

    /// Returns the directories in which private copies of skills are created.
    pub(crate) fn copy_directories(&self) -> impl Iterator<Item = &Path> {
        let directories = &self.config().directories;
        let memory = directories.memory.iter();
        memory.chain([&directories.scratch]).map(PathBuf::as_path)
    }
}
