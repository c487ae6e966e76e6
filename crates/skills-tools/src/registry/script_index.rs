//! Index of the scripts of all skills, rebuilt only after changes.

use std::sync::{Arc, Mutex, PoisonError};

use skills_runtime::discovery::{InactiveEntry, InactiveReason, StampSet};
use skills_runtime::{Catalog, Entry, SkillRuntime};

use super::RegistryOptions;
use crate::MissingEnv;
use crate::catalog_cache::{CatalogCache, Generation};
use crate::overrides::ScriptId;
use skills_script::{ScriptSet, assign_names, may_be_script, select_scripts, unmatched_specs};

/// Maximum number of scripts of one skill that become tools.
const MAX_SCRIPTS: usize = 200;

/// The scripts of all model-invocable skills, with the names of their tools. Contents and operator
/// overrides are not included.
pub(crate) struct ScriptIndex {
    catalog: Arc<Catalog>,
    /// In the order of the catalog.
    pub(super) scripts: Vec<IndexedScript>,
    /// Warnings for the host application: ambiguous tool names, scripts that are not tools, missing
    /// environment variables.
    pub(super) warnings: Vec<String>,
    /// Stamps of everything that was scanned.
    stamps: StampSet,
    /// Skills whose script stamps are unreliable, with the result of the last listing. They are
    /// listed on every call.
    uncacheable: Vec<(Entry, ListedScripts)>,
    /// Write count of the tools at the time of the scan.
    write_count: u64,
}

/// The files below `scripts/` with their sizes, or the reason why they cannot be listed.
type ListedScripts = Result<Vec<(String, u64)>, String>;

/// A script and the name of its tool.
pub(super) struct IndexedScript {
    pub(super) name: String,
    pub(super) script_id: ScriptId,
    pub(super) entry: Entry,
    pub(super) file: String,
}

/// Scans the scripts of a catalog, and caches the last index.
pub(crate) struct ScriptScanner {
    runtime: SkillRuntime,
    catalog_cache: Arc<CatalogCache>,
    options: RegistryOptions,
    latest: Mutex<Option<CachedIndex>>,
}

/// The last index, with the scan that it is valid for.
#[derive(Clone)]
struct CachedIndex {
    index: Arc<ScriptIndex>,
    generation: Generation,
}

impl ScriptScanner {
    pub(crate) fn new(
        runtime: SkillRuntime,
        catalog_cache: Arc<CatalogCache>,
        options: RegistryOptions,
    ) -> Self {
        Self {
            runtime,
            catalog_cache,
            options,
            latest: Mutex::default(),
        }
    }

    /// Returns the index of a catalog. Compares the metadata of every file, unless an active
    /// watcher has reported nothing since the last scan, less than a second ago.
    pub(crate) fn index(&self, catalog: &Arc<Catalog>) -> Arc<ScriptIndex> {
        let latest = self.latest();
        // Both: the catalog may be the same although a tool has written a script.
        let is_valid = |latest: &CachedIndex| {
            self.catalog_cache.is_current(latest.generation)
                && latest
                    .index
                    .is_for(catalog, self.catalog_cache.write_count())
        };
        match latest {
            Some(latest) if is_valid(&latest) => latest.index,
            latest => self.scan(latest, catalog),
        }
    }

    fn latest(&self) -> Option<CachedIndex> {
        self.latest
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Returns the current index of a catalog, independently of watchers.
    #[cfg(feature = "watch")]
    pub(crate) fn refresh(&self, catalog: &Arc<Catalog>) -> Arc<ScriptIndex> {
        self.scan(self.latest(), catalog)
    }

    fn scan(&self, previous: Option<CachedIndex>, catalog: &Arc<Catalog>) -> Arc<ScriptIndex> {
        // Taken before the scan, so that a change during the scan makes the result stale.
        let (writes, generation) = (
            self.catalog_cache.write_count(),
            self.catalog_cache.generation(),
        );
        let is_current = |latest: &CachedIndex| {
            latest.index.is_for(catalog, writes) && latest.index.is_current()
        };
        let previous = previous.filter(is_current);
        // One scan at a time, so that an older result does not replace a newer one.
        let mut latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        let is_same = |latest: &&mut CachedIndex| {
            previous
                .as_ref()
                .is_some_and(|previous| Arc::ptr_eq(&previous.index, &latest.index))
        };
        if let Some(latest) = latest
            .as_mut()
            .filter(|latest| is_same(latest) || is_current(latest))
        {
            // Another call has scanned meanwhile, or nothing has changed: the index stays, and is
            // valid for longer.
            latest.generation = generation;
            return Arc::clone(&latest.index);
        }
        let scripts = Arc::new(ScriptIndex::build(
            &self.runtime,
            catalog,
            self.options,
            writes,
        ));
        *latest = Some(CachedIndex {
            index: Arc::clone(&scripts),
            generation,
        });
        scripts
    }
}

impl ScriptIndex {
    fn build(
        runtime: &SkillRuntime,
        catalog: &Arc<Catalog>,
        options: RegistryOptions,
        writes: u64,
    ) -> Self {
        let mut index = Self {
            catalog: Arc::clone(catalog),
            scripts: Vec::new(),
            warnings: Vec::new(),
            stamps: StampSet::default(),
            uncacheable: Vec::new(),
            write_count: writes,
        };
        let found = index.collect_scripts(runtime, catalog, options);
        let skills: Vec<ScriptSet<'_>> = found
            .iter()
            .map(|(entry, files)| named_skill(entry, files))
            .collect();
        let names = assign_names(&skills);
        index
            .warnings
            .extend(names.collisions.iter().map(ToString::to_string));
        let all_files = found
            .into_iter()
            .flat_map(|(entry, files)| files.into_iter().map(move |file| (entry, file)));
        index.scripts = all_files
            .zip(names.names)
            .map(|((entry, file), name)| IndexedScript {
                name,
                script_id: ScriptId::for_script(catalog, entry, &file),
                entry: entry.clone(),
                file,
            })
            .collect();
        index
    }

    /// Returns the skills of a catalog with their script files, which are empty if the scripts are
    /// not tools. Skills without tools still take part in the assignment of names.
    fn collect_scripts<'a>(
        &mut self,
        runtime: &SkillRuntime,
        catalog: &'a Catalog,
        options: RegistryOptions,
    ) -> Vec<(&'a Entry, Vec<String>)> {
        let mut found: Vec<(&Entry, Vec<String>)> = Vec::with_capacity(catalog.entries().len());
        for entry in catalog.entries() {
            let is_tool = runtime.is_model_invocable(entry)
                && (!self.is_missing_env(runtime, entry)
                    || options.missing_env != MissingEnv::Skip);
            let files = if is_tool {
                self.list_files(entry)
            } else {
                Vec::new()
            };
            found.push((entry, files));
        }
        // A shadowed skill becomes active when the other one is removed, and must not get the other
        // one's tool names then.
        let is_shadowed = |inactive: &&InactiveEntry| {
            matches!(inactive.reason(), InactiveReason::Shadowed { .. })
        };
        found.extend(
            catalog
                .inactive()
                .iter()
                .filter(is_shadowed)
                .map(|inactive| (inactive.entry(), Vec::new())),
        );
        found
    }

    fn is_for(&self, catalog: &Arc<Catalog>, writes: u64) -> bool {
        self.write_count == writes && Arc::ptr_eq(&self.catalog, catalog)
    }

    /// Returns whether all metadata are unchanged.
    fn is_current(&self) -> bool {
        self.stamps.is_current()
            && self
                .uncacheable
                .iter()
                .all(|(entry, previous)| list_scripts(entry) == *previous)
    }

    /// Returns whether a file was changed, added or removed.
    #[cfg(feature = "watch")]
    pub(crate) fn differs_from(&self, other: &Self) -> bool {
        self.stamps != other.stamps
    }

    /// Warns if the primary environment variable of a skill is not set, and returns whether it is
    /// missing.
    fn is_missing_env(&mut self, runtime: &SkillRuntime, entry: &Entry) -> bool {
        let openclaw = entry.manifest().extensions().openclaw.as_ref();
        let missing = openclaw
            .and_then(|openclaw| openclaw.primary_env.as_deref())
            // The value itself is never read here.
            .filter(|key| !runtime.has_variable(key));
        let warning = missing.map(|key| {
            format!(
                "skill `{}`: environment variable `{key}` is not set; its script tools may fail",
                entry.name()
            )
        });
        self.warnings.extend(warning);
        missing.is_some()
    }

    fn list_files(&mut self, entry: &Entry) -> Vec<String> {
        let (skill, specs) = (entry.name(), &entry.manifest().extensions().scripts);
        let directory = entry.directory().join("scripts");
        // The directory itself, too: its stamp changes when a script is added or removed.
        self.stamps.add(&directory);
        let listed = list_scripts(entry);
        let files = match &listed {
            Ok(files) => files.clone(),
            Err(error) => {
                // The directory may become readable without a change of its metadata.
                self.warnings
                    .push(format!("skill `{skill}`: cannot list its scripts: {error}"));
                self.uncacheable.push((entry.clone(), listed));
                return Vec::new();
            }
        };
        // Of other files only the names matter.
        let mut is_cacheable = true;
        for (file, bytes) in files.iter().filter(|(file, _)| may_be_script(file)) {
            let stamp = self.stamps.add(directory.join(file));
            // A stamp that does not match the listing was taken after a change, and would hide it.
            is_cacheable &= stamp.is_some_and(|stamp| stamp.bytes() == *bytes);
        }
        if !is_cacheable {
            self.uncacheable.push((entry.clone(), listed));
        }
        let all: Vec<String> = files.iter().map(|(file, _)| file.clone()).collect();
        self.warnings.extend(
            unmatched_specs(specs, &all)
                .iter()
                .map(|warning| format!("skill `{skill}`: {warning}")),
        );
        let selection = select_scripts(&files);
        self.warnings.extend(
            selection
                .skipped
                .iter()
                .map(|skipped| format!("skill `{skill}`: {skipped}")),
        );
        let mut scripts = selection.scripts;
        if scripts.len() > MAX_SCRIPTS {
            self.warnings.push(format!(
                "skill `{skill}`: {} scripts beyond the first {MAX_SCRIPTS} are not tools",
                scripts.len() - MAX_SCRIPTS
            ));
            // Model APIs limit the number of tools; one skill must not crowd out all others.
            scripts.truncate(MAX_SCRIPTS);
        }
        scripts
    }
}

fn named_skill<'a>(entry: &'a Entry, files: &'a [String]) -> ScriptSet<'a> {
    ScriptSet {
        name: entry.name().as_str(),
        directory: entry.directory(),
        files,
    }
}

fn list_scripts(entry: &Entry) -> ListedScripts {
    let listed = entry
        .open()
        .and_then(|files| files.list_directory("scripts"))
        .map_err(|error| error.to_string())?;
    let short = |path: &str| path.strip_prefix("scripts/").unwrap_or(path).to_owned();
    Ok(listed
        .iter()
        .map(|file| (short(&file.path), file.bytes))
        .collect())
}

#[cfg(test)]
mod tests;
