//! The scripts of the skills, found again only when something changed.

use std::sync::{Arc, Mutex, PoisonError};

use skills_runtime::discovery::{InactiveEntry, InactiveReason, StampSet};
use skills_runtime::{Catalog, Entry, SkillRuntime};

use super::RegistryOptions;
use crate::MissingEnv;
use crate::catalog_cache::{CatalogCache, Generation};
use crate::overrides::ScriptId;
use crate::script::{select, spec_match, tool_name};

/// The most scripts of one skill that become tools.
const MAX_SCRIPTS: usize = 200;

/// The scripts of all skills that a model may choose, with the names of their tools; none of them
/// is read, and no change of an administrator is in it.
pub(crate) struct ScriptIndex {
    catalog: Arc<Catalog>,
    /// In the order of the catalogue.
    pub(super) scripts: Vec<IndexedScript>,
    /// What the host should know: names that others have, scripts that are no tools, variables that
    /// are missing.
    pub(super) warnings: Vec<String>,
    /// How all looked that was looked at to find them.
    stamps: StampSet,
    /// The skills of which no look at metadata can tell that their scripts are still the same, and
    /// what came of listing those.
    uncacheable: Vec<(Entry, ListedScripts)>,
    /// How often the tools themselves had changed skills.
    write_count: u64,
}

/// The files below a skill's `scripts/` with their lengths, or why they cannot be listed.
type ListedScripts = Result<Vec<(String, u64)>, String>;

/// A script and the name of its tool.
pub(super) struct IndexedScript {
    pub(super) name: String,
    pub(super) script_id: ScriptId,
    pub(super) entry: Entry,
    pub(super) file: String,
}

/// Finds the scripts of a catalogue, and keeps those of the last one.
pub(crate) struct ScriptScanner {
    runtime: SkillRuntime,
    catalog_cache: Arc<CatalogCache>,
    options: RegistryOptions,
    latest: Mutex<Option<CachedIndex>>,
}

/// The scripts that were found, and the last look that found them so.
#[derive(Clone)]
struct CachedIndex {
    index: Arc<ScriptIndex>,
    generation: Generation,
}

impl ScriptScanner {
    pub(crate) fn new(
        runtime: SkillRuntime,
        looks: Arc<CatalogCache>,
        terms: RegistryOptions,
    ) -> Self {
        Self {
            runtime,
            catalog_cache: looks,
            options: terms,
            latest: Mutex::default(),
        }
    }

    /// The scripts of a catalogue. Each file's metadata are looked at, unless somebody watches who
    /// saw nothing since the last look, which is less than a second ago.
    pub(crate) fn index(&self, catalog: &Arc<Catalog>) -> Arc<ScriptIndex> {
        let latest = self.latest();
        let is_known = |latest: &CachedIndex| {
            self.catalog_cache.is_current(latest.generation)
                && latest
                    .index
                    .is_for(catalog, self.catalog_cache.write_count())
        };
        match latest {
            Some(latest) if is_known(&latest) => latest.index,
            latest => self.scan(latest, catalog),
        }
    }

    fn latest(&self) -> Option<CachedIndex> {
        self.latest
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// The scripts of a catalogue as they are now, whoever watches.
    #[cfg(feature = "watch")]
    pub(crate) fn refresh(&self, catalog: &Arc<Catalog>) -> Arc<ScriptIndex> {
        self.scan(self.latest(), catalog)
    }

    fn scan(&self, before: Option<CachedIndex>, catalog: &Arc<Catalog>) -> Arc<ScriptIndex> {
        let (writes, sight) = (
            self.catalog_cache.write_count(),
            self.catalog_cache.generation(),
        );
        let is_current = |latest: &CachedIndex| {
            latest.index.is_for(catalog, writes) && latest.index.is_current()
        };
        let before = before.filter(is_current);
        // One at a time, so that what was found first is not kept last.
        let mut latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        let is_same = |latest: &&mut CachedIndex| {
            before
                .as_ref()
                .is_some_and(|before| Arc::ptr_eq(&before.index, &latest.index))
        };
        if let Some(latest) = latest
            .as_mut()
            .filter(|latest| is_same(latest) || is_current(latest))
        {
            latest.generation = sight;
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
            generation: sight,
        });
        scripts
    }
}

impl ScriptIndex {
    fn build(
        runtime: &SkillRuntime,
        catalog: &Arc<Catalog>,
        terms: RegistryOptions,
        writes: u64,
    ) -> Self {
        let (all, notes, stamps) = (Vec::new(), Vec::new(), StampSet::default());
        let mut scripts = Self {
            catalog: Arc::clone(catalog),
            scripts: all,
            warnings: notes,
            stamps,
            uncacheable: Vec::new(),
            write_count: writes,
        };
        let mut found: Vec<(&Entry, Vec<String>)> = Vec::with_capacity(catalog.entries().len());
        for entry in catalog.entries() {
            let is_tool = runtime.is_model_invocable(entry)
                && (!scripts.is_missing_env(runtime, entry)
                    || terms.missing_env != MissingEnv::Skip);
            found.push((
                entry,
                if is_tool {
                    scripts.list_files(entry)
                } else {
                    Vec::new()
                },
            ));
        }
        // A shadowed skill is used as soon as the other one goes, and must not get the names of its
        // tools then.
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
        let skills: Vec<tool_name::SkillScripts<'_>> = found
            .iter()
            .map(|(entry, files)| named_skill(entry, files))
            .collect();
        let names = tool_name::assign_names(&skills);
        scripts
            .warnings
            .extend(names.collisions.iter().map(ToString::to_string));
        let all = found
            .into_iter()
            .flat_map(|(entry, files)| files.into_iter().map(move |file| (entry, file)));
        let named = all.zip(names.names).map(|((entry, file), name)| {
            let identity = ScriptId::for_script(catalog, entry, &file);
            IndexedScript {
                name,
                script_id: identity,
                entry: entry.clone(),
                file,
            }
        });
        scripts.scripts = named.collect();
        scripts
    }

    fn is_for(&self, catalog: &Arc<Catalog>, writes: u64) -> bool {
        self.write_count == writes && Arc::ptr_eq(&self.catalog, catalog)
    }

    /// Whether a look at the disk says that they are still the same.
    fn is_current(&self) -> bool {
        self.stamps.is_current()
            && self
                .uncacheable
                .iter()
                .all(|(entry, before)| list_scripts(entry) == *before)
    }

    /// Whether a file of theirs looks another way than it did, was added or is gone.
    #[cfg(feature = "watch")]
    pub(crate) fn differs_from(&self, other: &Self) -> bool {
        self.stamps != other.stamps
    }

    /// The variable that a skill names as the one it needs most; the words are the script runner's
    /// own.
    fn is_missing_env(&mut self, runtime: &SkillRuntime, entry: &Entry) -> bool {
        let openclaw = entry.manifest().extensions().openclaw.as_ref();
        let missing = openclaw
            .and_then(|openclaw| openclaw.primary_env.as_deref())
            .filter(|key| !runtime.has_variable(key));
        let note = missing.map(|key| {
            format!(
                "Skill {} 缺少環境變數 {key}，script tools 可能無法正常運作",
                entry.name()
            )
        });
        self.warnings.extend(note);
        missing.is_some()
    }

    fn list_files(&mut self, entry: &Entry) -> Vec<String> {
        let (skill, specs) = (entry.name(), &entry.manifest().extensions().scripts);
        let directory = entry.directory().join("scripts");
        self.stamps.add(&directory);
        let listed = list_scripts(entry);
        let there = match &listed {
            Ok(there) => there.clone(),
            Err(error) => {
                // It may become readable without a trace in what was looked at.
                self.warnings.push(format!(
                    "the scripts of the skill {skill} cannot be listed: {error}"
                ));
                self.uncacheable.push((entry.clone(), listed));
                return Vec::new();
            }
        };
        // Of the others only the names matter.
        let mut is_sure = true;
        for (file, bytes) in there.iter().filter(|(file, _)| select::may_be_script(file)) {
            let stamp = self.stamps.add(directory.join(file));
            is_sure &= stamp.is_some_and(|stamp| stamp.bytes() == *bytes);
        }
        if !is_sure {
            self.uncacheable.push((entry.clone(), listed));
        }
        let all: Vec<String> = there.iter().map(|(file, _)| file.clone()).collect();
        self.warnings.extend(
            spec_match::unmatched_specs(specs, &all)
                .iter()
                .map(|warning| format!("{skill}: {warning}")),
        );
        let scan = select::select_scripts(&there);
        self.warnings.extend(
            scan.skipped
                .iter()
                .map(|passed| format!("{skill}: {passed}")),
        );
        let mut scripts = scan.scripts;
        if scripts.len() > MAX_SCRIPTS {
            self.warnings.push(format!(
                "{skill}: {} scripts beyond the first {MAX_SCRIPTS} are no tools",
                scripts.len() - MAX_SCRIPTS
            ));
            scripts.truncate(MAX_SCRIPTS);
        }
        scripts
    }
}

fn named_skill<'a>(entry: &'a Entry, files: &'a [String]) -> tool_name::SkillScripts<'a> {
    tool_name::SkillScripts {
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
