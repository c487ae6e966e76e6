//! The facade.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use std::time::Duration;

use tokio::sync::Semaphore;

use skills_discovery::{Catalog, Discovery, Entry, Lookup};
use skills_policy::PermissionManager;
use skills_prompt::{ImplicitIndex, ListingModes, MentionIndex};
use skills_sandbox::{EnforcementReport, SandboxError};

use crate::approval_queue::ApprovalQueue;
use crate::backends::Backends;
use crate::error::{Repr, RuntimeError};
use crate::precompile::spawn_precompile;
use crate::requirements::declared_variables;
use crate::run_record::Recorder;
use crate::skill_copies::SkillCopyCache;
use crate::{Builder, LoadedSkill, OnMissing, Precompile, Secrets, SkillDescriptor};

/// Finds, shows, loads and runs skills.
///
/// `Send + Sync` and cheap to clone; clones share the catalogue and the backends.
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
    /// Directories that no program sees.
    pub(crate) hidden_directories: Vec<PathBuf>,
    /// So many programs run at once.
    pub(crate) run_permits: Semaphore,
    pub(crate) approval_queue: ApprovalQueue,
    pub(crate) latest: RwLock<LatestSnapshot>,
    /// How many looks at the disk have begun.
    pub(crate) next_scan_id: AtomicU64,
    pub(crate) copies: SkillCopyCache,
}

/// What the look at the disk found that began last of all that have ended.
#[derive(Default)]
pub(crate) struct LatestSnapshot {
    pub(crate) snapshot: Option<Arc<CatalogSnapshot>>,
    scan_id: u64,
}

/// A catalogue, and what was prepared for looking things up in it.
pub(crate) struct CatalogSnapshot {
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) mentions: OnceLock<Arc<MentionIndex>>,
    pub(crate) implicit: OnceLock<Arc<ImplicitIndex>>,
}

impl SkillRuntime {
    /// Starts to put a runtime together.
    pub fn builder() -> Builder {
        Builder::default()
    }

    pub(crate) fn new(shared: Shared) -> Self {
        Self {
            shared: Arc::new(shared),
        }
    }

    /// Scans the roots anew and lists what is there; what was passed over is in
    /// [`catalog`](Self::catalog).
    pub fn discover_skills(&self) -> Vec<SkillDescriptor> {
        self.scan()
            .catalog
            .entries()
            .iter()
            .map(SkillDescriptor::new)
            .collect()
    }

    /// Returns the catalogue of the last scan, and makes the first scan when there was none.
    pub fn catalog(&self) -> Arc<Catalog> {
        Arc::clone(&self.snapshot().catalog)
    }

    /// Looks at the disk again and returns the catalogue. An unchanged disk costs a look at the
    /// metadata of each file, and the catalogue stays the same.
    pub fn refresh(&self) -> Arc<Catalog> {
        Arc::clone(&self.scan().catalog)
    }

    pub(crate) fn snapshot(&self) -> Arc<CatalogSnapshot> {
        self.shared.latest_snapshot().unwrap_or_else(|| self.scan())
    }

    /// Returns how skills are looked for.
    pub fn discovery(&self) -> &Discovery {
        &self.shared.discovery
    }

    /// Says whether the host has a value for a variable, which says nothing of who may see it.
    #[must_use]
    pub fn has_variable(&self, name: &str) -> bool {
        self.shared
            .secrets
            .get(name)
            .is_some_and(|value| !value.expose_secret().is_empty())
    }

    /// Returns the directories that no program sees ([`Builder::hide`]), as the host named them.
    #[must_use]
    pub fn hidden_directories(&self) -> &[PathBuf] {
        &self.shared.hidden_directories
    }

    /// Returns the directory in which private scratch directories and private copies of skills are
    /// made, as the host named it.
    #[must_use]
    pub fn scratch_directory(&self) -> &Path {
        &self.shared.scratch
    }

    /// Forgets what was answered for a [session](crate::ExecutionOptions::session).
    pub fn clear_session_approvals(&self, session: &str) {
        self.shared.permissions.clear_session(session);
    }

    /// Lists the variables that a skill declares, whether it needs them or not: `requires.env`,
    /// those of the OpenClaw block, and the `env_var` tools of `agents/openai.yaml`.
    ///
    /// # Errors
    /// As [`get_skill`](Self::get_skill).
    pub fn declared_variables(&self, name: &str) -> Result<BTreeSet<String>, RuntimeError> {
        let catalog = self.catalog();
        let entry = find_entry(&catalog, name)?;
        let failed = |source| {
            RuntimeError::from(Repr::FileAccess {
                path: entry.location(),
                source,
            })
        };
        let files = entry.open().map_err(failed)?;
        let document = files.document().map_err(failed)?;
        Ok(declared_variables(&files, document.manifest()))
    }

    /// Asks the backends which walls would stand around a run here, for scripts and for
    /// WebAssembly; nothing runs.
    ///
    /// A backend that cannot serve here gives the error that a run would give.
    pub fn probe_backends(&self) -> [(&'static str, Result<EnforcementReport, SandboxError>); 2] {
        self.shared.backends.probe()
    }

    fn scan(&self) -> Arc<CatalogSnapshot> {
        let look = self.shared.next_scan_id.fetch_add(1, Ordering::Relaxed) + 1;
        let found = match self.shared.latest_snapshot() {
            Some(known) => match self.shared.discovery.rescan(&known.catalog) {
                Some(catalog) => Arc::new(CatalogSnapshot::new(catalog)),
                None => known,
            },
            None => Arc::new(CatalogSnapshot::new(self.shared.discovery.scan())),
        };
        let (known, is_new) = self.shared.publish_if_newer(look, found);
        if is_new && self.shared.precompile == Precompile::AtDiscovery {
            spawn_precompile(&self.shared, &known.catalog);
        }
        known
    }

    /// Reads a skill's instructions and lists its files; `name` is its name or its directory.
    ///
    /// # Errors
    /// When no or more than one skill has the name, or when its files cannot be read (any more).
    pub fn get_skill(&self, name: &str) -> Result<LoadedSkill, RuntimeError> {
        let catalog = self.catalog();
        let entry = find_entry(&catalog, name)?;
        let failed = |source| {
            RuntimeError::from(Repr::FileAccess {
                path: entry.location(),
                source,
            })
        };
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
            .unwrap_or_else(PoisonError::into_inner)
            .snapshot
            .clone()
    }

    /// Takes what a look found for what is known, unless a look that began later has ended before.
    /// Returns what counts, and whether it is new.
    fn publish_if_newer(
        &self,
        look: u64,
        found: Arc<CatalogSnapshot>,
    ) -> (Arc<CatalogSnapshot>, bool) {
        let mut latest = self.latest.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = latest.snapshot.as_ref().filter(|_| latest.scan_id > look) {
            return (Arc::clone(known), false);
        }
        let is_new = latest
            .snapshot
            .as_ref()
            .is_none_or(|known| !Arc::ptr_eq(known, &found));
        *latest = LatestSnapshot {
            snapshot: Some(Arc::clone(&found)),
            scan_id: look,
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
        Lookup::Inactive(inactive) => {
            let (path, reason) = (inactive.entry().location(), inactive.reason().clone());
            Err(Repr::InactiveSkill {
                name: name.to_owned(),
                path,
                reason,
            }
            .into())
        }
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
