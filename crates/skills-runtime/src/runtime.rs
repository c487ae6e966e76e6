//! The runtime: the entry point of this crate.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use std::time::Duration;

use tokio::sync::Semaphore;

use skills_discovery::{Catalog, Discovery, DiscoveryError, Entry, Lookup};
use skills_manifest::Manifest;
use skills_policy::PermissionManager;
use skills_prompt::{ImplicitIndex, ListingModes, MentionIndex};
use skills_sandbox::{EnforcementReport, SandboxError};

use crate::approval_queue::ApprovalQueue;
use crate::backends::Backends;
use crate::error::{Repr, RuntimeError};
use crate::precompile::spawn_precompile;
use crate::requirements::read_requirements;
use crate::run_record::Recorder;
use crate::skill_copies::SkillCopyCache;
use crate::{Builder, LoadedSkill, OnMissing, Precompile, Secrets, SkillDescriptor};

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
    pub(crate) discovery: Discovery,
    pub(crate) permissions: PermissionManager,
    pub(crate) backends: Backends,
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
    pub(crate) latest: RwLock<LatestSnapshot>,
    /// Number of scans that have started.
    pub(crate) next_scan_id: AtomicU64,
    pub(crate) copies: SkillCopyCache,
}

/// Result of the most recently started scan among those that finished.
#[derive(Default)]
pub(crate) struct LatestSnapshot {
    pub(crate) snapshot: Option<Arc<CatalogSnapshot>>,
    scan_id: u64,
}

/// A catalog with the indexes that are built from it on demand.
pub(crate) struct CatalogSnapshot {
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) mentions: OnceLock<Arc<MentionIndex>>,
    pub(crate) implicit: OnceLock<Arc<ImplicitIndex>>,
}

impl SkillRuntime {
    /// Returns a builder with default configuration.
    pub fn builder() -> Builder {
        Builder::default()
    }

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
        self.scan()
            .catalog
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
        Arc::clone(&self.scan().catalog)
    }

    pub(crate) fn snapshot(&self) -> Arc<CatalogSnapshot> {
        self.shared.latest_snapshot().unwrap_or_else(|| self.scan())
    }

    /// Returns the discovery configuration.
    pub fn discovery(&self) -> &Discovery {
        &self.shared.discovery
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

    /// Returns the directories that are hidden from programs ([`Builder::hide`]), as configured.
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
        let entry = find_entry(&catalog, name)?;
        let failed = |source| read_error(entry, source);
        let files = entry.open().map_err(failed)?;
        let document = files.document().map_err(failed)?;
        Ok(read_requirements(document.manifest(), &files).variable_names())
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

    fn scan(&self) -> Arc<CatalogSnapshot> {
        // Numbered before the scan starts: of two concurrent scans, the one that started later has
        // seen the later state, whichever finishes first.
        let scan_id = self.shared.next_scan_id.fetch_add(1, Ordering::Relaxed) + 1;
        let found = match self.shared.latest_snapshot() {
            Some(known) => match self.shared.discovery.rescan(&known.catalog) {
                // An unchanged catalog stays the same object, and its indexes stay built.
                Some(catalog) => Arc::new(CatalogSnapshot::new(catalog)),
                None => known,
            },
            None => Arc::new(CatalogSnapshot::new(self.shared.discovery.scan())),
        };
        let (known, is_new) = self.shared.publish_if_newer(scan_id, found);
        if is_new && self.shared.precompile == Precompile::AtDiscovery {
            spawn_precompile(&self.shared, &known.catalog);
        }
        known
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
        let entry = find_entry(&catalog, name)?;
        let failed = |source| read_error(entry, source);
        let files = entry.open().map_err(failed)?;
        Ok(LoadedSkill::new(
            entry,
            &files.document().map_err(failed)?,
            files.list("").map_err(failed)?,
        ))
    }
}

impl Shared {
    pub(crate) fn latest_snapshot(&self) -> Option<Arc<CatalogSnapshot>> {
        self.latest
            .read()
            // The snapshot is replaced as a whole, so it is valid even if another thread panicked.
            .unwrap_or_else(PoisonError::into_inner)
            .snapshot
            .clone()
    }

    /// Publishes the result of a scan, unless a scan that started later has already finished.
    /// Returns the current snapshot, and whether it is new.
    fn publish_if_newer(
        &self,
        scan_id: u64,
        found: Arc<CatalogSnapshot>,
    ) -> (Arc<CatalogSnapshot>, bool) {
        let mut latest = self.latest.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = latest
            .snapshot
            .as_ref()
            .filter(|_| latest.scan_id > scan_id)
        {
            return (Arc::clone(known), false);
        }
        // The same catalog again needs no new compilation.
        let is_new = latest
            .snapshot
            .as_ref()
            .is_none_or(|known| !Arc::ptr_eq(known, &found));
        *latest = LatestSnapshot {
            snapshot: Some(Arc::clone(&found)),
            scan_id,
        };
        (found, is_new)
    }
}

impl CatalogSnapshot {
    fn new(catalog: Catalog) -> Self {
        Self {
            catalog: Arc::new(catalog),
            mentions: OnceLock::new(),
            implicit: OnceLock::new(),
        }
    }
}

/// Returns the error for a file of a skill that cannot be read.
pub(crate) fn read_error(entry: &Entry, source: DiscoveryError) -> RuntimeError {
    Repr::FileAccess {
        path: entry.location(),
        source,
    }
    .into()
}

/// Rejects a skill that declares a restriction that cannot be parsed. It must not run: ignoring the
/// restriction would give it more than its author intended.
pub(crate) fn check_restrictions(entry: &Entry, manifest: &Manifest) -> Result<(), RuntimeError> {
    let fields = manifest.unparsed_restrictions();
    if fields.is_empty() {
        return Ok(());
    }
    Err(Repr::InvalidRestriction {
        skill: entry.name().to_string(),
        path: entry.location(),
        fields: fields.to_vec(),
    }
    .into())
}

/// Finds an active skill by its name or its directory.
pub(crate) fn find_entry<'a>(catalog: &'a Catalog, name: &str) -> Result<&'a Entry, RuntimeError> {
    match catalog.find(name) {
        Lookup::Found(entry) => Ok(entry),
        Lookup::Unknown(nearest) => {
            let nearest = nearest.into_iter().map(str::to_owned).collect();
            Err(Repr::UnknownSkill {
                name: name.to_owned(),
                nearest,
            }
            .into())
        }
        Lookup::Inactive(inactive) => Err(Repr::InactiveSkill {
            name: name.to_owned(),
            path: inactive.entry().location(),
            reason: inactive.reason().clone(),
        }
        .into()),
        Lookup::Ambiguous(entries) => {
            let directories = entries
                .iter()
                .map(|entry| entry.directory().display().to_string())
                .collect();
            Err(Repr::AmbiguousSkill {
                name: name.to_owned(),
                directories,
            }
            .into())
        }
    }
}
