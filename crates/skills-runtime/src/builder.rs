//! Puts a runtime together.

use std::path::PathBuf;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, RwLock};
use std::time::{Duration, SystemTime};

use skills_audit::AuditSink;
use skills_discovery::{ConfigRule, Discovery, Precedence, Root, ScanLimits};
use skills_policy::{ApprovalStore, Approver, PermissionManager, Policy};
use skills_prompt::ListingModes;
use skills_sandbox::Sandbox;
use tokio::sync::Semaphore;

use crate::approval_queue::ApprovalQueue;
use crate::backends::{Backends, Search, WasmChoice};
use crate::requirements::PROGRAM_DIRECTORIES;
use crate::run_record::Recorder;
use crate::runtime::Shared;
use crate::skill_copies::SkillCopyCache;
use crate::{OnMissing, Precompile, Secrets, SkillRuntime};

/// Puts a [`SkillRuntime`] together.
///
/// Defaults: no roots, the limits of Codex, rules that allow reading only, nobody to ask and no
/// approvals, five minutes for an answer, no secrets, no records, WebAssembly compiled by the first
/// run and not kept on disk, programs and interpreters in `/usr/bin`, `/bin` and `/usr/local/bin`,
/// at most 16 runs at once, scratch directories below `/tmp`, and the backends that this build and
/// this system have.
#[derive(Clone)]
#[must_use]
pub struct Builder {
    roots: Vec<Root>,
    discovery: Discovery,
    policy: Policy,
    scratch: PathBuf,
    backends: Backends,
    program_finder: Search,
    wasm: WasmChoice,
    precompile: Precompile,
    modes: ListingModes,
    approver: Option<Arc<dyn Approver>>,
    approval_store: Option<Arc<dyn ApprovalStore>>,
    approval_timeout: Duration,
    secrets: Secrets,
    recorder: Recorder,
    program_directories: Vec<PathBuf>,
    on_missing_requirements: OnMissing,
    max_concurrent_runs: usize,
    hidden_directories: Vec<PathBuf>,
}

impl Default for Builder {
    fn default() -> Self {
        Self {
            roots: Vec::new(),
            discovery: Discovery::new([]),
            policy: Policy::default(),
            scratch: PathBuf::from("/tmp"),
            backends: Backends::default(),
            program_finder: Search::default(),
            wasm: WasmChoice::default(),
            precompile: Precompile::default(),
            modes: ListingModes::default(),
            approver: None,
            approval_store: None,
            approval_timeout: Duration::from_secs(300),
            secrets: Secrets::default(),
            recorder: Recorder::default(),
            program_directories: PROGRAM_DIRECTORIES.iter().map(PathBuf::from).collect(),
            on_missing_requirements: OnMissing::default(),
            max_concurrent_runs: 16,
            hidden_directories: Vec::new(),
        }
    }
}

impl Builder {
    /// Adds a directory to look for skills in; earlier ones win when two lead to the same skill.
    pub fn root(mut self, root: Root) -> Self {
        self.roots.push(root);
        self
    }

    /// Adds several directories.
    pub fn roots(mut self, roots: impl IntoIterator<Item = Root>) -> Self {
        self.roots.extend(roots);
        self
    }

    /// Looks for skills as this says; its roots come behind those that are added one by one.
    pub fn discovery(mut self, discovery: Discovery) -> Self {
        self.discovery = discovery;
        self
    }

    /// Sets the limits of a scan.
    pub fn discovery_limits(mut self, limits: ScanLimits) -> Self {
        self.discovery = self.discovery.limits(limits);
        self
    }

    /// Sets the rules that enable and disable skills; later ones win.
    pub fn skill_rules(mut self, rules: impl IntoIterator<Item = ConfigRule>) -> Self {
        self.discovery = self.discovery.rules(rules);
        self
    }

    /// Chooses what several skills of one name mean. Default: all are kept.
    pub fn precedence(mut self, precedence: Precedence) -> Self {
        self.discovery = self.discovery.precedence(precedence);
        self
    }

    /// Names the product that the runtime is part of; skills that are for others only are left out.
    pub fn product(mut self, product: impl Into<String>) -> Self {
        self.discovery = self.discovery.product(product);
        self
    }

    /// Sets what programs may be granted.
    pub fn policy(mut self, rules: Policy) -> Self {
        self.policy = rules;
        self
    }

    /// Sets who is asked where rules and approvals leave something open. Without anybody it is
    /// denied.
    pub fn approver(mut self, approver: Arc<dyn Approver>) -> Self {
        self.approver = Some(approver);
        self
    }

    /// Sets where answers for good are kept, such as
    /// [`FileApprovalStore`](crate::FileApprovalStore).
    pub fn approval_store(mut self, store: Arc<dyn ApprovalStore>) -> Self {
        self.approval_store = Some(store);
        self
    }

    /// Sets how long an answer is awaited; after that it is no.
    pub fn approval_timeout(mut self, timeout: Duration) -> Self {
        self.approval_timeout = timeout;
        self
    }

    /// Sets the variables that programs are given when their skills declare them and somebody
    /// allows it.
    pub fn secrets(mut self, secrets: Secrets) -> Self {
        self.secrets = secrets;
        self
    }

    /// Sets where a record of every attempt to run something is kept. Without records that can be
    /// kept nothing runs.
    pub fn audit(mut self, sink: Arc<dyn AuditSink>) -> Self {
        self.recorder.sink = Some(sink);
        self
    }

    /// Sets the clock of the records.
    pub fn clock(mut self, clock: fn() -> SystemTime) -> Self {
        self.recorder.clock = clock;
        self
    }

    /// Sets where the programs are looked for that skills say they need.
    pub fn program_directories(
        mut self,
        directories: impl IntoIterator<Item = impl Into<PathBuf>>,
    ) -> Self {
        self.program_directories = directories.into_iter().map(Into::into).collect();
        self
    }

    /// Says what happens to a skill that needs what is not here. Default: it does not run.
    pub fn on_missing_requirements(mut self, unmet: OnMissing) -> Self {
        self.on_missing_requirements = unmet;
        self
    }

    /// Sets how many programs run at once, at least one; others wait for their turn, and their
    /// deadline begins with it.
    pub fn max_concurrent_runs(mut self, runs: usize) -> Self {
        self.max_concurrent_runs = runs.max(1);
        self
    }

    /// Says how skills stand in the catalogue of the model. Default: as the budget allows.
    pub fn modes(mut self, modes: ListingModes) -> Self {
        self.modes = modes;
        self
    }

    /// Sets where private scratch directories are made.
    pub fn scratch_directory(mut self, directory: impl Into<PathBuf>) -> Self {
        self.scratch = directory.into();
        self
    }

    /// Lets the built-in backend for WebAssembly keep compiled code on disk. Default: each process
    /// compiles for itself.
    #[cfg(feature = "wasm")]
    pub fn code_cache(mut self, cache: skills_sandbox_wasm::CodeCache) -> Self {
        self.wasm.cache = Some(cache);
        self
    }

    /// Sets the command by which the built-in backend for WebAssembly compiles large modules in a
    /// child process with limits. Default: none; then modules that cannot be compiled safely in
    /// this process are refused.
    #[cfg(feature = "wasm")]
    pub fn wasm_compile_command(mut self, command: skills_sandbox_wasm::CompileCommand) -> Self {
        self.wasm.compile_command = Some(command);
        self
    }

    /// Chooses how the built-in backend for WebAssembly runs programs. Default: as fast as can be.
    #[cfg(feature = "wasm")]
    pub fn wasm_profile(mut self, profile: skills_sandbox_wasm::WasmProfile) -> Self {
        self.wasm.profile = profile;
        self
    }

    /// Chooses when programs are compiled. Default: by the first run of each.
    pub fn precompile(mut self, precompile: Precompile) -> Self {
        self.precompile = precompile;
        self
    }

    /// Replaces the backend for WebAssembly.
    pub fn wasm_sandbox(mut self, sandbox: Arc<dyn Sandbox>) -> Self {
        self.backends.wasm = Some(sandbox);
        self
    }

    /// Chooses where the built-in backend for scripts looks for interpreters, and for the programs
    /// that grants name.
    #[cfg(all(feature = "native", unix))]
    pub fn program_finder(
        mut self,
        interpreters: skills_sandbox::interpreter::ProgramFinder,
    ) -> Self {
        self.program_finder = interpreters;
        self
    }

    /// Replaces the backend for scripts.
    pub fn native_sandbox(mut self, sandbox: Arc<dyn Sandbox>) -> Self {
        self.backends.native = Some(sandbox);
        self
    }

    /// Hides directories of the host from every program, even where a wider directory is granted:
    /// its state, its caches, its rules. Default: none.
    pub fn hide(mut self, directories: impl IntoIterator<Item = impl Into<PathBuf>>) -> Self {
        self.hidden_directories
            .extend(directories.into_iter().map(Into::into));
        self
    }

    /// Finishes. Nothing is read or started yet.
    #[must_use]
    pub fn build(self) -> SkillRuntime {
        let backends = self
            .backends
            .or_default(&self.scratch, &self.program_finder, self.wasm);
        let roots: Vec<Root> = self
            .roots
            .into_iter()
            .chain(self.discovery.roots().to_vec())
            .collect();
        let permissions = PermissionManager::new(self.policy);
        let permissions = self
            .approver
            .into_iter()
            .fold(permissions, PermissionManager::approver);
        let permissions = self
            .approval_store
            .into_iter()
            .fold(permissions, PermissionManager::store);
        SkillRuntime::new(Shared {
            discovery: self.discovery.with_roots(roots),
            permissions,
            backends,
            modes: self.modes,
            precompile: self.precompile,
            secrets: self.secrets,
            recorder: self.recorder,
            scratch: self.scratch,
            program_directories: self.program_directories,
            approval_timeout: self.approval_timeout,
            on_missing_requirements: self.on_missing_requirements,
            hidden_directories: self.hidden_directories,
            run_permits: Semaphore::new(self.max_concurrent_runs.min(Semaphore::MAX_PERMITS)),
            approval_queue: ApprovalQueue::default(),
            latest: RwLock::default(),
            next_scan_id: AtomicU64::default(),
            copies: SkillCopyCache::default(),
        })
    }
}
