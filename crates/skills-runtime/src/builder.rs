//! Builder of a runtime.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use skills_audit::AuditSink;
use skills_discovery::{Discovery, Root, SourceRoot};
use skills_ledger::Ledger;
use skills_library::{ContentDigests, Finders, LibraryConfig, OnNewCatalog};
use skills_policy::{ApprovalStore, Approver, PermissionManager, Policy, SandboxChoice};
use skills_prompt::ListingModes;
use skills_sandbox::{Locale, Sandbox};

use crate::{Executor, Library, OnMissing, Precompile, Secrets, SkillRuntime};
use skills_egress::UpstreamProxies;
use skills_executor::{
    Backends, CopyDirectories, ExecutorConfig, NetworkConfig, Recorder, WasmConfig,
    spawn_precompile,
};

/// Configures and creates a [`SkillRuntime`].
///
/// Defaults: no roots, the scan limits of Codex, a policy that allows only reading, no approver and
/// no approval store, an approval timeout of five minutes, no secrets, no audit log, no usage
/// ledger, WebAssembly compiled on the first run without a code cache, programs and interpreters in
/// `/usr/local/bin`, `/usr/bin` and `/bin`, at most 16 concurrent runs, scratch directories in
/// `/tmp`, and the backends of this build and system.
///
/// [`build`](Self::build) does not access the file system; roots are scanned on first use.
#[derive(Clone)]
#[must_use]
pub struct Builder {
    roots: Vec<Root>,
    sources: Vec<SourceRoot>,
    discovery: Discovery,
    policy: Policy,
    directories: CopyDirectories,
    backends: Backends,
    finders: Finders,
    wasm: WasmConfig,
    network: NetworkConfig,
    precompile: Precompile,
    modes: ListingModes,
    search_cache: Option<PathBuf>,
    approver: Option<Arc<dyn Approver>>,
    approval_store: Option<Arc<dyn ApprovalStore>>,
    approval_timeout: Duration,
    secrets: Secrets,
    recorder: Recorder,
    ledger: Option<Ledger>,
    on_missing_requirements: OnMissing,
    max_concurrent_runs: usize,
    hidden_directories: Vec<PathBuf>,
    read_only_paths: Vec<PathBuf>,
    protected_paths: Vec<PathBuf>,
    user_home: Option<PathBuf>,
    locale: Locale,
    #[cfg(all(feature = "packages", unix))]
    packages: Option<crate::PackageConfig>,
}

impl Default for Builder {
    fn default() -> Self {
        Self {
            roots: Vec::new(),
            sources: Vec::new(),
            discovery: Discovery::new([]),
            policy: Policy::default(),
            // A constant, since only the command line reads the environment, such as `TMPDIR` and
            // `PATH`.
            directories: CopyDirectories {
                scratch: PathBuf::from("/tmp"),
                memory: None,
            },
            backends: Backends::default(),
            finders: Finders::default(),
            wasm: WasmConfig::default(),
            network: NetworkConfig::default(),
            precompile: Precompile::default(),
            modes: ListingModes::default(),
            search_cache: None,
            approver: None,
            approval_store: None,
            approval_timeout: Duration::from_secs(300),
            secrets: Secrets::default(),
            recorder: Recorder::default(),
            ledger: None,
            on_missing_requirements: OnMissing::default(),
            max_concurrent_runs: 16,
            hidden_directories: Vec::new(),
            read_only_paths: Vec::new(),
            protected_paths: Vec::new(),
            user_home: None,
            locale: Locale::default(),
            #[cfg(all(feature = "packages", unix))]
            packages: None,
        }
    }
}

impl Builder {
    /// Adds a root. If two roots contain the same skill directory, the earlier one takes
    /// precedence.
    pub fn root(mut self, root: Root) -> Self {
        self.roots.push(root);
        self
    }

    /// Adds a source of skills that have no directory: from memory, from an archive or from a server.
    /// Their digests, approvals and locks are those of a directory with the same files.
    ///
    /// The program of this example runs in a backend for tests, which returns the script that it
    /// gets.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use skills_runtime::discovery::{MemorySkill, MemorySource, SourceRoot, TreePath};
    /// use skills_runtime::{ExecutionOptions, Scope, SkillRuntime};
    ///
    /// # use skills_runtime::{CapturedOutput, EnforcementReport, Sandbox, Termination};
    /// # use skills_sandbox::{Job, RunFuture, RunOutput};
    /// # struct Show;
    /// # impl Sandbox for Show {
    /// #     fn name(&self) -> &'static str { "show" }
    /// #     fn run(&self, job: Job) -> RunFuture<'_> {
    /// #         let script = job.grants().files()[0].location().join("scripts/greet.sh");
    /// #         let mut stdout = CapturedOutput::default();
    /// #         stdout.push(&std::fs::read(script).unwrap_or_default(), 1_000);
    /// #         let exited = Termination::Exited { code: 0 };
    /// #         let report = EnforcementReport::new("show");
    /// #         let output = RunOutput::new(exited, stdout, CapturedOutput::default(), std::time::Duration::ZERO, report);
    /// #         Box::pin(std::future::ready(Ok(output)))
    /// #     }
    /// # }
    /// # let scratch = tempfile::tempdir()?;
    /// # tokio::runtime::Builder::new_current_thread().enable_time().build()?.block_on(async {
    /// let text = "---\nname: greet\ndescription: Says hello.\n---\nHi\n";
    /// let greet = MemorySkill::new(TreePath::new("greet")?)
    ///     .file(TreePath::new("SKILL.md")?, text)
    ///     .file(TreePath::new("scripts/greet.sh")?, "echo hello");
    /// let source = Arc::new(MemorySource::new("app", [greet]));
    /// let runtime = SkillRuntime::builder()
    ///     .source(SourceRoot::new(source, Scope::System, scratch.path()))
    ///     .scratch_directory(scratch.path())
    ///     .native_sandbox(Arc::new(Show))
    ///     .build();
    /// let skills = runtime.discover_skills();
    /// assert!(skills[0].path.ends_with("greet/SKILL.md"));
    /// assert_eq!(runtime.get_skill("greet")?.instructions, "Hi\n");
    /// let artifacts = runtime.execute_skill("greet", ExecutionOptions::default()).await?;
    /// assert_eq!(artifacts.stdout.text(), "echo hello");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn source(mut self, source: SourceRoot) -> Self {
        self.sources.push(source);
        self
    }

    /// Sets the discovery configuration: limits, rules, and roots, which come after those added
    /// with [`root`](Self::root).
    pub fn discovery(mut self, discovery: Discovery) -> Self {
        self.discovery = discovery;
        self
    }

    /// Sets the policy for permissions. Default: reading only.
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// Sets the approver for permissions that policy leaves open. Default: none; they are denied.
    pub fn approver(mut self, approver: Arc<dyn Approver>) -> Self {
        self.approver = Some(approver);
        self
    }

    /// Sets the store of permanent approvals, such as
    /// [`FileApprovalStore`](crate::FileApprovalStore). Default: none; approvals are not kept.
    pub fn approval_store(mut self, store: Arc<dyn ApprovalStore>) -> Self {
        self.approval_store = Some(store);
        self
    }

    /// Sets how long to wait for the approver; after that the request is denied. Default: five
    /// minutes.
    pub fn approval_timeout(mut self, timeout: Duration) -> Self {
        self.approval_timeout = timeout;
        self
    }

    /// Sets variables for programs whose skills declare them, if policy or an approver allows it.
    pub fn secrets(mut self, secrets: Secrets) -> Self {
        self.secrets = secrets;
        self
    }

    /// Sets the audit log. Every attempt to run something is recorded; if a record cannot be
    /// written, nothing runs.
    pub fn audit(mut self, sink: Arc<dyn AuditSink>) -> Self {
        self.recorder.sink = Some(sink);
        self
    }

    /// Sets the ledger in which the [use of skills](crate::Library::usage) is recorded, and whose
    /// prior ranks skills. Default: none; nothing is recorded. An error of the ledger never fails
    /// what it records.
    pub fn usage_ledger(mut self, ledger: impl Into<Option<Ledger>>) -> Self {
        self.ledger = ledger.into();
        self
    }

    /// Sets the clock for audit records and for the usage ledger.
    pub fn clock(mut self, clock: fn() -> SystemTime) -> Self {
        self.recorder.clock = clock;
        self
    }

    /// Sets what to do if declared requirements are missing. Default: the skill does not run
    /// without its programs and on other operating systems, and runs without its variables.
    pub fn on_missing_requirements(mut self, action: OnMissing) -> Self {
        self.on_missing_requirements = action;
        self
    }

    /// Sets the maximum number of concurrent runs, at least one. Further runs wait; their deadline
    /// starts when they are admitted. Default: 16.
    pub fn max_concurrent_runs(mut self, runs: usize) -> Self {
        // Without a permit every run would wait forever.
        self.max_concurrent_runs = runs.max(1);
        self
    }

    /// Sets how skills are listed in the skills section. Default: automatic, within the budget.
    pub fn modes(mut self, modes: ListingModes) -> Self {
        self.modes = modes;
        self
    }

    /// Sets a private directory in which the [search index](crate::Library::search_index) is kept
    /// between processes, at most eight files. Default: none; each process reads all skills for its
    /// first search.
    #[cfg(feature = "search")]
    pub fn search_cache(mut self, directory: impl Into<PathBuf>) -> Self {
        self.search_cache = Some(directory.into());
        self
    }

    /// Sets the parent directory of scratch directories and private copies. Default: `/tmp`.
    pub fn scratch_directory(mut self, directory: impl Into<PathBuf>) -> Self {
        self.directories.scratch = directory.into();
        self
    }

    /// Sets a directory in memory for private copies of skills whose files have at most 1 MiB, which
    /// are created faster there, such as
    /// [`memory_scratch_parent`](crate::memory_scratch_parent). Larger copies, those for
    /// which it has no space, and those for containers are in the [scratch
    /// directory](Self::scratch_directory). For processes that end soon: up to 64 copies stay in
    /// memory, and a system may empty such a directory when a user logs out. Default: none.
    pub fn memory_directory(mut self, directory: impl Into<PathBuf>) -> Self {
        self.directories.memory = Some(directory.into());
        self
    }

    /// Sets the home directory of the user. `HOME` of programs is a private directory; granted paths
    /// below the home directory are then also at the same place below `HOME`
    /// ([`Job::user_home`](skills_sandbox::Job::user_home)). Default: none.
    pub fn user_home(mut self, directory: impl Into<PathBuf>) -> Self {
        self.user_home = Some(directory.into());
        self
    }

    /// Sets the language and the time zone of programs. Default: [`Locale::default`].
    pub fn locale(mut self, locale: Locale) -> Self {
        self.locale = locale;
        self
    }

    /// Sets the proxies by which the built-in backends reach granted hosts, such as
    /// [`UpstreamProxies::from_variables`](crate::UpstreamProxies::from_variables). Default: none.
    /// Programs see neither them nor their credentials.
    pub fn upstream_proxies(mut self, proxies: UpstreamProxies) -> Self {
        self.network.upstream = proxies;
        self
    }

    /// Sets a file with the certificate authorities of the user in PEM, as an absolute path without
    /// symlinks. On Linux a program with granted hosts can read it, and finds it by `SSL_CERT_FILE`
    /// and the like; WebAssembly trusts them. It must have no private key. Default: those of the
    /// system.
    pub fn certificate_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.network.certificates = Some(path.into());
        self
    }

    /// Sets the on-disk code cache of the built-in WebAssembly backend. Default: none; each process
    /// compiles again.
    #[cfg(feature = "wasm")]
    pub fn code_cache(mut self, cache: skills_sandbox_wasm::CodeCache) -> Self {
        self.wasm.cache = Some(cache);
        self
    }

    /// Sets the command with which the built-in WebAssembly backend compiles modules in a
    /// resource-limited child process. Default: none; then modules of up to 256 KiB are compiled in
    /// this process without limits of time and memory, and larger ones are rejected. Set it if anyone
    /// else writes the skills.
    #[cfg(feature = "wasm")]
    pub fn wasm_compile_command(mut self, command: skills_sandbox_wasm::CompileCommand) -> Self {
        self.wasm.compile_command = Some(command);
        self
    }

    /// Sets the profile of the built-in WebAssembly backend. Default: maximum speed.
    #[cfg(feature = "wasm")]
    pub fn wasm_profile(mut self, profile: skills_sandbox_wasm::WasmProfile) -> Self {
        self.wasm.profile = profile;
        self
    }

    /// Sets when WebAssembly is compiled. Default: on the first run of each program.
    pub fn precompile(mut self, precompile: Precompile) -> Self {
        self.precompile = precompile;
        self
    }

    /// Replaces the WebAssembly backend.
    pub fn wasm_sandbox(mut self, sandbox: Arc<dyn Sandbox>) -> Self {
        self.backends.wasm = Some(sandbox);
        self
    }

    /// Sets how the built-in backend for scripts finds interpreters and granted programs.
    #[cfg(all(feature = "native", unix))]
    pub fn program_finder(mut self, finder: skills_process::ProgramFinder) -> Self {
        self.finders.default = finder;
        self
    }

    /// Sets how the built-in backend finds the interpreters for the scripts of one skill, instead
    /// of [`program_finder`](Self::program_finder).
    #[cfg(all(feature = "native", unix))]
    pub fn skill_program_finder(
        mut self,
        skill: impl Into<String>,
        finder: skills_process::ProgramFinder,
    ) -> Self {
        self.finders.by_skill.insert(skill.into(), finder);
        self
    }

    /// Replaces the backend for scripts.
    pub fn native_sandbox(mut self, sandbox: Arc<dyn Sandbox>) -> Self {
        self.backends.native = Some(sandbox);
        self
    }

    /// Sets the backend for containers. Programs run in it if [`sandbox`](Self::sandbox) or a policy
    /// selects it. Default: none.
    pub fn container_sandbox(mut self, sandbox: Arc<dyn Sandbox>) -> Self {
        self.backends.container = Some(sandbox);
        self
    }

    /// Sets the preferred sandbox for all programs, also those of skills that had one of their own. A
    /// policy can require another one; if the preferred one contradicts that, nothing runs. Default:
    /// [`SandboxChoice::Auto`].
    pub fn sandbox(mut self, choice: SandboxChoice) -> Self {
        self.backends.preferred = choice;
        self.backends.preferred_by_skill.clear();
        self
    }

    /// Sets the preferred sandbox for the programs of one skill, instead of
    /// [`sandbox`](Self::sandbox).
    pub fn skill_sandbox(mut self, skill: impl Into<String>, choice: SandboxChoice) -> Self {
        self.backends
            .preferred_by_skill
            .insert(skill.into(), choice);
        self
    }

    /// Hides directories of the host application from every program, even inside a granted
    /// directory: state, caches, policy. Default: none.
    pub fn hide(mut self, directories: impl IntoIterator<Item = impl Into<PathBuf>>) -> Self {
        self.hidden_directories
            .extend(directories.into_iter().map(Into::into));
        self
    }

    /// Makes files and directories of the host application read-only for every run, whatever rules
    /// allow: write access to them, to a path in them and to a directory around them is denied. The
    /// same applies to each symlink that leads to them, and to its target. The setup of packages may
    /// write its own. Default: the store of [`packages`](Self::packages).
    pub fn read_only(mut self, paths: impl IntoIterator<Item = impl Into<PathBuf>>) -> Self {
        self.read_only_paths
            .extend(paths.into_iter().map(Into::into));
        self
    }

    /// Protects files, the symlinks that lead to them and their targets: they stay read-only in a
    /// wider writable directory, unless a rule or an approval is for the path itself. Default: none.
    pub fn protect(mut self, paths: impl IntoIterator<Item = impl Into<PathBuf>>) -> Self {
        self.protected_paths
            .extend(paths.into_iter().map(Into::into));
        self
    }

    /// Installs packages that skills declare and that are missing, once a rule or an approver allows
    /// it. Default: none are installed, and programs have what their interpreters have.
    #[cfg(all(feature = "packages", unix))]
    pub fn packages(mut self, config: crate::PackageConfig) -> Self {
        self.packages = Some(config);
        self
    }

    /// Creates the runtime. Nothing is read or started yet.
    #[must_use]
    pub fn build(self) -> SkillRuntime {
        let finders = self.finders.clone();
        let backends = self.backends.or_default(
            &self.directories.scratch,
            self.finders,
            self.wasm,
            &self.network,
        );
        let backends = Arc::new(backends);
        // Roots of the builder come first: an earlier root takes precedence.
        let roots: Vec<Root> = self
            .roots
            .into_iter()
            .chain(self.discovery.roots().to_vec())
            .collect();
        let discovery = self.discovery.with_roots(roots);
        let discovery = self.sources.into_iter().fold(discovery, Discovery::source);
        let permissions = PermissionManager::new(self.policy);
        let permissions = self
            .approver
            .into_iter()
            .fold(permissions, PermissionManager::approver);
        let permissions = self
            .approval_store
            .into_iter()
            .fold(permissions, PermissionManager::store);
        let digests = Arc::<ContentDigests>::default();
        let library = Library::new(
            discovery,
            LibraryConfig {
                modes: self.modes,
                secrets: self.secrets.clone(),
                finders,
                search_cache: self.search_cache,
                ledger: self.ledger,
                digests: Arc::clone(&digests),
                clock: self.recorder.clock,
                on_new_catalog: precompile_at_discovery(self.precompile, &backends),
            },
        );
        let config = ExecutorConfig {
            backends,
            secrets: self.secrets,
            digests,
            recorder: self.recorder,
            directories: self.directories,
            approval_timeout: self.approval_timeout,
            on_missing_requirements: self.on_missing_requirements,
            hidden_directories: self.hidden_directories,
            read_only_paths: self.read_only_paths,
            protected_paths: self.protected_paths,
            user_home: self.user_home,
            locale: self.locale,
            certificates: self.network.certificates,
            max_concurrent_runs: self.max_concurrent_runs,
            #[cfg(all(feature = "packages", unix))]
            packages: self.packages,
        };
        SkillRuntime::from_parts(library.clone(), Executor::new(library, permissions, config))
    }
}

fn precompile_at_discovery(when: Precompile, backends: &Arc<Backends>) -> Option<OnNewCatalog> {
    if when != Precompile::AtDiscovery {
        return None;
    }
    let backends = Arc::clone(backends);
    Some(Box::new(move |library, catalog| {
        spawn_precompile(library, &backends, catalog);
    }))
}
