//! The runtime: the entry point of this crate.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;

use skills_discovery::{Catalog, Discovery, Entry, Generations};
#[cfg(feature = "watch")]
use skills_discovery::{CatalogChange, RootWatcher, WatchOptions};
use skills_manifest::Requirements;
use skills_policy::PermissionManager;
use skills_prompt::{ListingModes, MissingRequirements};
use skills_sandbox::{EnforcementReport, Preparation, SandboxError};

use crate::approval_queue::ApprovalQueue;
use crate::backends::Backends;
use crate::catalog::{CatalogCache, CatalogSnapshot, ScanResult};
use crate::opened_skill::{OpenedSkill, find_entry, read_error};
use crate::precompile::{precompile, spawn_precompile};
use crate::requirements::{RunHost, read_requirements};
use crate::run_record::Recorder;
use crate::skill_copies::SkillCopyCache;
use crate::{
    LoadedSkill, OnMissing, Precompile, RuntimeError, Secrets, SessionDirectory, SkillDescriptor,
};

/// Discovers, loads and runs skills.
///
/// Create one with [`SkillRuntime::builder`]. The runtime scans its roots on first use and caches
/// the catalog; [`refresh`](Self::refresh) scans again, and `watch` keeps it current. It is
/// `Send + Sync` and cheap to clone; clones share the catalog, the backends and the approvals of
/// sessions. Runs need a Tokio runtime, everything else is synchronous and reads the file system.
///
/// ```
/// use skills_runtime::{Root, Scope, SkillRuntime};
///
/// # let directory = tempfile::tempdir()?;
/// let runtime = SkillRuntime::builder()
///     .root(Root::new(directory.path(), Scope::User))
///     .build();
/// assert!(runtime.discover_skills().is_empty());
///
/// std::fs::create_dir(directory.path().join("greet"))?;
/// std::fs::write(
///     directory.path().join("greet/SKILL.md"),
///     "---\nname: greet\ndescription: Says hello.\n---\nHi\n",
/// )?;
/// assert!(runtime.catalog().entries().is_empty(), "the last scan is cached");
/// assert_eq!(runtime.refresh().entries().len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct SkillRuntime {
    pub(crate) shared: Arc<Shared>,
}

pub(crate) struct Shared {
    pub(crate) catalog_cache: Arc<CatalogCache>,
    pub(crate) permissions: PermissionManager,
    pub(crate) backends: Arc<Backends>,
    pub(crate) modes: ListingModes,
    pub(crate) precompile: Precompile,
    pub(crate) secrets: Secrets,
    pub(crate) recorder: Recorder,
    pub(crate) scratch: PathBuf,
    pub(crate) program_directories: Vec<PathBuf>,
    pub(crate) approval_timeout: Duration,
    pub(crate) on_missing_requirements: OnMissing,
    /// Directories that are hidden from all programs.
    pub(crate) hidden_directories: Vec<PathBuf>,
    /// Permits for concurrent runs.
    pub(crate) run_permits: Semaphore,
    pub(crate) approval_queue: ApprovalQueue,
    pub(crate) copies: SkillCopyCache,
}

impl SkillRuntime {
    pub(crate) fn new(shared: Shared) -> Self {
        Self {
            shared: Arc::new(shared),
        }
    }

    /// Scans the roots and lists the active skills, in the order of the catalog. Inactive and
    /// skipped entries are in [`catalog`](Self::catalog); a skill that cannot be parsed never hides
    /// the others.
    ///
    /// ```
    /// use skills_runtime::{Root, Scope, SkillRuntime};
    ///
    /// # let directory = tempfile::tempdir()?;
    /// # std::fs::create_dir(directory.path().join("greet"))?;
    /// # std::fs::write(directory.path().join("greet/SKILL.md"), "---\nname: greet\ndescription: Says hello.\n---\nHi\n")?;
    /// let runtime = SkillRuntime::builder().root(Root::new(directory.path(), Scope::User)).build();
    /// std::fs::create_dir(directory.path().join("broken"))?;
    /// std::fs::write(directory.path().join("broken/SKILL.md"), "no frontmatter")?;
    /// let skills = runtime.discover_skills();
    /// assert_eq!(skills.len(), 1);
    /// assert_eq!((skills[0].id.as_str(), skills[0].description.as_str()), ("greet", "Says hello."));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn discover_skills(&self) -> Vec<SkillDescriptor> {
        self.refresh()
            .entries()
            .iter()
            .map(SkillDescriptor::new)
            .collect()
    }

    /// Returns the catalog of the last scan. Scans the roots on first use; after that it does not
    /// access the file system and does not change until the next scan.
    pub fn catalog(&self) -> Arc<Catalog> {
        Arc::clone(&self.snapshot().catalog)
    }

    /// Scans the roots and returns the catalog. If nothing changed, this only reads the metadata of
    /// each file and returns the same catalog.
    pub fn refresh(&self) -> Arc<Catalog> {
        let result = self.shared.catalog_cache.scan();
        Arc::clone(&self.publish_scan(result).catalog)
    }

    /// Returns the catalog of the last scan if it is of the current
    /// [generation](Self::generations), and scans otherwise. Without a watcher each call scans.
    pub fn current_catalog(&self) -> Arc<Catalog> {
        let result = self.shared.catalog_cache.current();
        Arc::clone(&self.publish_scan(result).catalog)
    }

    /// Returns the generations of the skills on disk, for callers that cache what they read from
    /// skills, that watch the skills themselves, or that write skills.
    #[must_use]
    pub fn generations(&self) -> &Arc<Generations> {
        &self.shared.catalog_cache.generations
    }

    /// Watches the roots on a background thread and keeps the [catalog](Self::catalog) current
    /// until the watcher is dropped. The thread calls `on_scan` after each scan: when the watches
    /// are established, after events below the roots, and periodically. It gets the change of the
    /// catalog, if there is one; [`catalog`](Self::catalog) has the result of the scan by then.
    ///
    /// Scans are debounced: between an event and its scan, the catalog is out of date for the quiet
    /// period of the options, and for at most ten times that while files keep changing. Runs always
    /// use the files at the time of the run.
    #[cfg(feature = "watch")]
    pub fn watch(
        &self,
        options: WatchOptions,
        mut on_scan: impl FnMut(Option<CatalogChange>) + Send + 'static,
    ) -> RootWatcher {
        let runtime = self.clone();
        let on_scan = move |change: Option<CatalogChange>| {
            // Another call may have scanned in the meantime. Scanning again lets `refresh` order
            // the results; publishing the catalog of this event could replace a newer one.
            runtime.refresh();
            on_scan(change);
        };
        RootWatcher::spawn_with_scans(
            self.discovery().clone(),
            self.catalog(),
            options,
            Arc::clone(self.generations()),
            on_scan,
        )
    }

    pub(crate) fn snapshot(&self) -> Arc<CatalogSnapshot> {
        let cache = &self.shared.catalog_cache;
        cache
            .latest()
            .unwrap_or_else(|| self.publish_scan(cache.scan()))
    }

    /// Returns the discovery configuration.
    pub fn discovery(&self) -> &Discovery {
        &self.shared.catalog_cache.discovery
    }

    /// Returns true if a non-empty value for a variable is configured. This does not mean that a
    /// program is granted it.
    #[must_use]
    pub fn has_variable(&self, name: &str) -> bool {
        self.shared
            .secrets
            .get(name)
            .is_some_and(|value| !value.expose_secret().is_empty())
    }

    /// Returns the directories that are hidden from programs
    /// ([`Builder::hide`](crate::Builder::hide)), as configured.
    #[must_use]
    pub fn hidden_directories(&self) -> &[PathBuf] {
        &self.shared.hidden_directories
    }

    /// Returns the parent directory of scratch directories and private copies of skills, as
    /// configured.
    #[must_use]
    pub fn scratch_directory(&self) -> &Path {
        &self.shared.scratch
    }

    /// Removes the approvals of a [session](crate::ExecutionOptions::session). Call it when the
    /// client disconnects; approvals of other sessions and permanent approvals stay valid.
    pub fn clear_session_approvals(&self, session: &str) {
        self.shared.permissions.clear_session(session);
    }

    /// Returns the variables that a skill declares, required or not: `requires.env`, those of the
    /// OpenClaw block, and the `env_var` tools of `agents/openai.yaml`.
    ///
    /// # Errors
    /// Same as [`get_skill`](Self::get_skill).
    pub fn declared_variables(&self, name: &str) -> Result<BTreeSet<String>, RuntimeError> {
        let catalog = self.catalog();
        let skill = OpenedSkill::find(&catalog, name)?;
        Ok(read_requirements(skill.manifest(), &skill.files).variable_names())
    }

    /// Probes the backends for scripts and for WebAssembly and returns the restrictions that they
    /// would enforce on this machine. No skill runs.
    ///
    /// The names of the two results are `scripts` and `wasm`, in this order. An unavailable backend
    /// returns the same error as a run.
    ///
    /// ```
    /// use skills_runtime::SkillRuntime;
    ///
    /// let [(scripts, _), (wasm, _)] = SkillRuntime::builder().build().probe_backends();
    /// assert_eq!((scripts, wasm), ("scripts", "wasm"));
    /// ```
    pub fn probe_backends(&self) -> [(&'static str, Result<EnforcementReport, SandboxError>); 2] {
        self.shared.backends.probe()
    }

    fn publish_scan(&self, result: ScanResult) -> Arc<CatalogSnapshot> {
        match result {
            ScanResult::Known(snapshot) => snapshot,
            ScanResult::New(snapshot) => {
                if self.shared.precompile == Precompile::AtDiscovery {
                    let (cache, backends) = (&self.shared.catalog_cache, &self.shared.backends);
                    spawn_precompile(cache, backends, &snapshot.catalog);
                }
                snapshot
            }
        }
    }

    /// Reads a skill's instructions and lists its files. `name` is the name or the directory of the
    /// skill; a directory selects one of several skills of the same name. The current file is read,
    /// which can differ from the one of the scan.
    ///
    /// ```
    /// use skills_runtime::{ErrorKind, Root, Scope, SkillRuntime};
    ///
    /// # let directory = tempfile::tempdir()?;
    /// # std::fs::create_dir(directory.path().join("greet"))?;
    /// # std::fs::write(directory.path().join("greet/SKILL.md"), "---\nname: greet\ndescription: Says hello.\n---\nHi\n")?;
    /// let runtime = SkillRuntime::builder().root(Root::new(directory.path(), Scope::User)).build();
    /// let skill = runtime.get_skill("greet")?;
    /// assert_eq!(skill.manifest.description(), "Says hello.");
    /// assert_eq!(skill.instructions, "Hi\n");
    ///
    /// let error = runtime.get_skill("gret").unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::UnknownSkill);
    /// assert_eq!(error.suggestions(), ["greet"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Fails if the skill is not found, ambiguous or inactive, or if its files cannot be read.
    pub fn get_skill(&self, name: &str) -> Result<LoadedSkill, RuntimeError> {
        let catalog = self.catalog();
        let OpenedSkill {
            entry,
            files,
            document,
        } = OpenedSkill::find(&catalog, name)?;
        let resources = files.list("").map_err(|source| read_error(entry, source))?;
        Ok(LoadedSkill::new(entry, &document, resources))
    }

    /// Creates a temporary directory for the files of several runs, in the [scratch
    /// directory](Self::scratch_directory).
    ///
    /// # Errors
    /// Fails if the directory cannot be created.
    pub fn session_directory(&self) -> Result<SessionDirectory, RuntimeError> {
        SessionDirectory::new(&self.shared.scratch)
    }

    /// Returns the requirements that runs of `entries` with default options would miss: programs
    /// that are not in the [program directories](crate::Builder::program_directories), required
    /// variables without a value in the [secrets](crate::Builder::secrets), and other operating
    /// systems.
    ///
    /// A run checks the same, with the variables of its options. A run has no MCP servers, so all
    /// declared ones are listed; settings of the client count as present.
    /// [`MissingRequirements::collect`] takes the probe of a client, which knows both.
    #[must_use]
    pub fn missing_requirements<'a>(
        &self,
        entries: impl IntoIterator<Item = &'a Entry>,
    ) -> MissingRequirements {
        let mut missing = MissingRequirements::default();
        for entry in entries {
            let declared = Requirements::new(entry.manifest(), entry.openai_metadata());
            self.check_requirements(entry.name().as_str(), &declared, &mut missing);
        }
        missing
    }

    /// Adds to `missing` what a run of `skill` with default options would miss of `declared`, for
    /// skills that are not in the catalog.
    pub fn check_requirements(
        &self,
        skill: &str,
        declared: &Requirements,
        missing: &mut MissingRequirements,
    ) {
        let has_variable = |name: &str| self.has_variable(name);
        missing.add(skill, declared, &self.run_host(&has_variable));
    }

    /// Returns the host that a run finds, if it has these variables.
    pub(crate) fn run_host<'a>(&'a self, has_variable: &'a dyn Fn(&str) -> bool) -> RunHost<'a> {
        RunHost {
            program_directories: &self.shared.program_directories,
            has_variable,
        }
    }

    /// Compiles the WebAssembly of a skill, so that its first run does not have to. Does nothing
    /// for scripts.
    ///
    /// Nothing is authorized or run. Useful with an on-disk code cache, or in a long-lived process.
    ///
    /// # Errors
    /// Fails if the skill is not found, or if its program cannot be read or compiled.
    pub async fn precompile_skill(&self, name: &str) -> Result<Preparation, RuntimeError> {
        let catalog = self.catalog();
        precompile(find_entry(&catalog, name)?, &self.shared.backends).await
    }
}
