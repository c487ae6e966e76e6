//! The catalog of skills, their content and requirements.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, Weak};
use std::time::SystemTime;

use skills_discovery::{Catalog, Discovery, Entry, Generations, Lookup, SkillFiles};
#[cfg(feature = "watch")]
use skills_discovery::{CatalogChange, RootWatcher, WatchOptions};
use skills_ledger::Ledger;
use skills_manifest::Requirements;
use skills_prompt::{InstalledServers, ListingMode, ListingModes, MissingRequirements};

use crate::catalog_cache::{CatalogCache, CatalogSnapshot, ScanResult};
use crate::content_digests::ContentDigests;
use crate::error::LibraryError;
use crate::opened_skill::{OpenedSkill, open_files};
use crate::program_search::{Finders, ProgramSearch};
#[cfg(feature = "search")]
use crate::reference_search::{self, ReferenceSearch};
use crate::requirements::{RunHost, read_requirements};
use crate::secrets::Secrets;
use crate::skill::{LoadedSkill, SkillDescriptor};
#[cfg(feature = "search")]
use crate::skill_index::{self, SkillIndex};
use crate::usage::UsageRecorder;

/// The catalog, the skills in it, and their requirements.
///
/// The roots are scanned on first use and the catalog is cached; [`refresh`](Self::refresh) scans
/// again, and `watch` keeps it current. Cheap to clone; clones share the catalog. All methods are synchronous and can read
/// the file system.
#[derive(Clone)]
pub struct Library(Arc<Shared>);

struct Shared {
    cache: CatalogCache,
    modes: ListingModes,
    secrets: Secrets,
    digests: Arc<ContentDigests>,
    usage: UsageRecorder,
    /// Where programs that skills require are searched.
    finders: Finders,
    #[cfg(feature = "search")]
    indexes: skill_index::IndexCache,
    #[cfg(feature = "search")]
    references: reference_search::ReferenceCache,
    on_new_catalog: Option<OnNewCatalog>,
}

/// The configuration of a [`Library`].
pub struct LibraryConfig {
    /// How each skill is listed and activated.
    pub modes: ListingModes,
    /// Variables that programs of skills can get.
    pub secrets: Secrets,
    /// Where programs that skills require are searched.
    pub finders: Finders,
    /// The directory of the caches of indexes. Default (`None`): none are kept.
    pub search_cache: Option<PathBuf>,
    /// Where uses are recorded. Default (`None`): nowhere.
    pub ledger: Option<Ledger>,
    /// The digests of unchanged files, for an executor that shares them. Default: own ones.
    pub digests: Arc<ContentDigests>,
    /// Returns the time of a use. Default: the clock of the system.
    pub clock: fn() -> SystemTime,
    /// Called for each new catalog.
    pub on_new_catalog: Option<OnNewCatalog>,
}

impl Default for LibraryConfig {
    fn default() -> Self {
        Self {
            modes: ListingModes::default(),
            secrets: Secrets::default(),
            finders: Finders::default(),
            search_cache: None,
            ledger: None,
            digests: Arc::default(),
            clock: SystemTime::now,
            on_new_catalog: None,
        }
    }
}

/// Called after each scan that found another catalog than the one before.
pub type OnNewCatalog = Box<dyn Fn(&Library, &Arc<Catalog>) + Send + Sync>;

impl Library {
    /// Creates a library over the roots of a discovery. Nothing is read before it is needed.
    #[must_use]
    pub fn new(discovery: Discovery, config: LibraryConfig) -> Self {
        let LibraryConfig {
            modes,
            secrets,
            finders,
            search_cache,
            ledger,
            digests,
            clock,
            on_new_catalog,
        } = config;
        #[cfg(feature = "search")]
        let indexes = skill_index::IndexCache::new(search_cache, discovery.roots());
        #[cfg(not(feature = "search"))]
        let _ = search_cache;
        Self(Arc::new(Shared {
            cache: CatalogCache::new(discovery),
            modes,
            secrets,
            finders,
            #[cfg(feature = "search")]
            indexes,
            #[cfg(feature = "search")]
            references: reference_search::ReferenceCache::default(),
            usage: UsageRecorder::new(ledger, clock, &digests),
            digests,
            on_new_catalog,
        }))
    }

    /// Scans the roots and returns the metadata of each active skill.
    pub fn discover_skills(&self) -> Vec<SkillDescriptor> {
        self.refresh()
            .entries()
            .iter()
            .map(SkillDescriptor::new)
            .collect()
    }

    /// Reads a skill's instructions and lists its files.
    ///
    /// # Errors
    /// Fails if the skill is not found, ambiguous or inactive, or if its files cannot be read.
    pub fn get_skill(&self, name: &str) -> Result<LoadedSkill, LibraryError> {
        LoadedSkill::read(OpenedSkill::find(&self.catalog(), name)?)
    }

    /// Returns the catalog of the last scan. Scans the roots on first use; after that it does not
    /// access the file system and does not change until the next scan.
    pub fn catalog(&self) -> Arc<Catalog> {
        Arc::clone(&self.snapshot().catalog)
    }

    /// Scans the roots and returns the catalog. If nothing changed, this only reads the metadata of
    /// each file and returns the same catalog.
    pub fn refresh(&self) -> Arc<Catalog> {
        self.publish_scan(self.0.cache.scan())
    }

    /// Returns the catalog of the last scan if it is of the current
    /// [generation](Self::generations), and scans otherwise. Without a watcher each call scans.
    pub fn current_catalog(&self) -> Arc<Catalog> {
        self.publish_scan(self.0.cache.current())
    }

    /// Returns the generations of the skills on disk, for callers that cache what they read from
    /// skills, that watch the skills themselves, or that write skills.
    #[must_use]
    pub fn generations(&self) -> &Arc<Generations> {
        &self.0.cache.generations
    }

    /// Watches the roots on a background thread and keeps the [catalog](Self::catalog) current
    /// until the watcher is dropped. The thread calls `on_scan` after each scan: when the watches
    /// are established, after events below the roots, and periodically. It gets the change of the
    /// catalog, if there is one; [`catalog`](Self::catalog) has the result of the scan by then.
    ///
    /// Scans are debounced: between an event and its scan, the catalog is out of date for the quiet
    /// period of the options, and for at most ten times that while files keep changing. Runs always
    /// use the files at the time of the run.
    ///
    /// # Errors
    /// Fails if the system does not start the thread.
    #[cfg(feature = "watch")]
    pub fn watch(
        &self,
        options: WatchOptions,
        mut on_scan: impl FnMut(Option<CatalogChange>) + Send + 'static,
    ) -> std::io::Result<RootWatcher> {
        let library = self.clone();
        let on_scan = move |change: Option<CatalogChange>| {
            // Another call may have scanned in the meantime. Scanning again lets `refresh` order
            // the results; publishing the catalog of this event could replace a newer one.
            library.refresh();
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

    /// Returns the discovery configuration.
    pub fn discovery(&self) -> &Discovery {
        &self.0.cache.discovery
    }

    /// Returns true if a model can activate a skill by itself: neither the skill nor its
    /// [mode](LibraryConfig::modes) forbids it.
    #[must_use]
    pub fn is_model_invocable(&self, entry: &Entry) -> bool {
        entry.is_model_invocable() && self.modes().get(entry).is_listed()
    }

    /// Returns true if a user can invoke a skill by its name: neither the skill nor its
    /// [mode](LibraryConfig::modes) forbids it.
    #[must_use]
    pub fn is_user_invocable(&self, entry: &Entry) -> bool {
        entry.manifest().user_invocable() && self.modes().get(entry) != ListingMode::Off
    }

    /// Reads the files of a skill that a source lists, so that [`Entry::open`] does not wait for the
    /// source as long as the caller keeps them. For callers that must not block; call it on a
    /// blocking thread. Returns `None` for other skills, and for names of none or of several.
    ///
    /// # Errors
    /// Fails as opening the skill does.
    pub fn read_from_source(&self, name: &str) -> Result<Option<SkillFiles>, LibraryError> {
        match self.catalog().find(name) {
            Lookup::Found(entry) if !entry.has_directory() => open_files(entry).map(Some),
            _ => Ok(None),
        }
    }

    /// Returns the index over the skills of the [current catalog](Self::current_catalog).
    ///
    /// It is prepared on first use, once per catalog, and shared by all callers. Of a new catalog
    /// only the skills are read whose files changed since the last index, in this process or, with a
    /// [search cache](LibraryConfig::search_cache), in an earlier one.
    #[cfg(feature = "search")]
    #[must_use]
    pub fn search_index(&self) -> Arc<SkillIndex> {
        self.current_catalog();
        let snapshot = self.snapshot();
        let build = || self.0.indexes.index(&snapshot.catalog);
        Arc::clone(snapshot.search.get_or_init(build))
    }

    /// Returns the active skills with almost the same text as another one, as pairs of places in the
    /// current catalog. Reads all skills.
    #[cfg(feature = "search")]
    #[must_use]
    pub fn near_duplicates(&self) -> Vec<skills_search::NearDuplicate> {
        skill_index::near_duplicates(&self.catalog())
    }

    /// Searches the sections of the text files in `references/`, and of the instructions, of one
    /// skill or of all that a model can activate. Returns sections with the names of their skills,
    /// best first.
    ///
    /// The files of one skill are read by each search. The index of all skills is prepared on first
    /// use; a search compares the metadata of every file, unless that was done in the current
    /// [generation](Self::generations), and then analyzes the sections that changed.
    #[cfg(feature = "search")]
    #[must_use]
    pub fn search_references(
        &self,
        search: ReferenceSearch<'_>,
    ) -> Vec<(String, skills_search::Span)> {
        if let Some(entry) = search.skill {
            return reference_search::search_skill(entry, search.query, search.limit);
        }
        let catalog = self.current_catalog();
        let accepts = |entry: &Entry| self.is_model_invocable(entry);
        let references = &self.0.references;
        references.search(&catalog, self.generations(), accepts, search)
    }

    /// Returns true if a non-empty value for a variable is configured. This does not mean that a
    /// program is granted it.
    #[must_use]
    pub fn has_variable(&self, name: &str) -> bool {
        self.secrets()
            .get(name)
            .is_some_and(|value| !value.expose_secret().is_empty())
    }

    /// Returns the variables that a skill declares, required or not: `requires.env`, those of the
    /// OpenClaw block, and the `env_var` tools of `agents/openai.yaml`.
    ///
    /// # Errors
    /// Same as [`get_skill`](Self::get_skill).
    pub fn declared_variables(&self, name: &str) -> Result<BTreeSet<String>, LibraryError> {
        let catalog = self.catalog();
        let skill = OpenedSkill::find(&catalog, name)?;
        Ok(read_requirements(skill.manifest(), &skill.files).variable_names())
    }

    /// Returns the requirements that runs of `entries` with default options would miss: programs
    /// that runs do not find, required variables without a value in the
    /// [secrets](LibraryConfig::secrets), and other operating systems.
    ///
    /// A run checks the same, with the variables of its options. A run has no MCP servers, so all
    /// declared ones are listed; settings of the client count as present.
    /// [`MissingRequirements::collect`] takes the probe of a client, which knows both, and
    /// [`PromptRenderer::prepare_turn`](crate::PromptRenderer::prepare_turn) its servers.
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
        let servers = InstalledServers::default();
        self.check_requirements_of_client(skill, declared, &servers, &|_| false, missing);
    }

    /// Adds to `missing` what a client with these servers and additional variables lacks.
    pub(crate) fn check_requirements_of_client(
        &self,
        skill: &str,
        declared: &Requirements,
        servers: &InstalledServers,
        has_variable: &dyn Fn(&str) -> bool,
        missing: &mut MissingRequirements,
    ) {
        let has_variable = |name: &str| self.has_variable(name) || has_variable(name);
        let host = RunHost {
            servers,
            has_variable: &has_variable,
            finder: Some(self.finder(skill)),
        };
        missing.add(skill, declared, &host);
    }

    /// Returns the recorder of how skills are used.
    #[must_use]
    pub fn usage(&self) -> &UsageRecorder {
        &self.0.usage
    }

    /// Returns the finder for the programs of a skill.
    pub fn finder(&self, skill: &str) -> &ProgramSearch {
        self.0.finders.for_skill(skill)
    }

    pub(crate) fn modes(&self) -> &ListingModes {
        &self.0.modes
    }

    pub(crate) fn digests(&self) -> &ContentDigests {
        &self.0.digests
    }

    fn secrets(&self) -> &Secrets {
        &self.0.secrets
    }

    pub(crate) fn snapshot(&self) -> Arc<CatalogSnapshot> {
        self.0.cache.latest().unwrap_or_else(|| {
            let result = self.0.cache.scan();
            let snapshot = Arc::clone(&result.snapshot);
            self.publish_scan(result);
            snapshot
        })
    }

    /// Returns a function that returns the library until it is dropped, for threads that must not
    /// keep it.
    pub fn downgrade(&self) -> impl Fn() -> Option<Self> + use<> {
        let shared: Weak<Shared> = Arc::downgrade(&self.0);
        move || shared.upgrade().map(Self)
    }

    fn publish_scan(&self, result: ScanResult) -> Arc<Catalog> {
        let catalog = &result.snapshot.catalog;
        if let Some(on_new_catalog) = self.0.on_new_catalog.as_ref().filter(|_| result.is_new) {
            on_new_catalog(self, catalog);
        }
        Arc::clone(catalog)
    }
}
