//! Index of the scripts of all skills, rebuilt only after changes.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, OnceLock};

use skills_runtime::discovery::{
    DiscoveryError, Generation, InactiveEntry, InactiveReason, StampSet,
};
use skills_runtime::{Catalog, Entry, Library};

use super::skill_scripts::{ListedScripts, list_scripts, omitted_scripts, select};
use crate::overrides::ScriptId;
use skills_script::{
    MAX_SCRIPT_BYTES, ScriptSet, ScriptTool, assign_names, find_spec, may_be_script,
    unmatched_specs,
};
use skills_threads::lock;

/// Maximum number of scripts of one skill that become tools.
const MAX_SCRIPTS: usize = 200;

/// The scripts of all model-invocable skills, with the names of their tools. Operator overrides are
/// not included.
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
}

/// A script and the name of its tool.
pub(super) struct IndexedScript {
    pub(super) name: String,
    pub(super) script_id: ScriptId,
    pub(super) entry: Entry,
    pub(super) file: String,
    /// The tool of a script of a source, which cannot change in this catalog.
    listed_tool: OnceLock<ScriptTool>,
}

impl IndexedScript {
    /// Returns the tool of the script. A script in a directory is read on every call: the index
    /// compares metadata only, and the content may have changed.
    pub(super) fn tool(&self) -> Result<ScriptTool, DiscoveryError> {
        if let Some(tool) = self.listed_tool.get() {
            return Ok(tool.clone());
        }
        let (entry, file) = (&self.entry, &self.file);
        let files = entry.open()?;
        let source = files.read(&format!("scripts/{file}"), MAX_SCRIPT_BYTES)?;
        let spec = find_spec(&entry.manifest().extensions().scripts, file);
        let tool = ScriptTool::new(
            entry.name().as_str(),
            file,
            self.name.clone(),
            &source,
            spec,
        );
        if !entry.has_directory() {
            // Another caller can have stored the same tool.
            let _ = self.listed_tool.set(tool.clone());
        }
        Ok(tool)
    }
}

/// Scans the scripts of a catalog, and caches the last index.
pub(crate) struct ScriptScanner {
    library: Library,
    latest: Mutex<Option<CachedIndex>>,
    /// The first index that was made.
    #[cfg(feature = "watch")]
    first: OnceLock<Arc<ScriptIndex>>,
}

/// The last index, with the generation in which its files were last compared.
struct CachedIndex {
    index: Arc<ScriptIndex>,
    generation: Option<Generation>,
}

impl ScriptScanner {
    pub(crate) fn new(library: Library) -> Self {
        Self {
            library,
            latest: Mutex::default(),
            #[cfg(feature = "watch")]
            first: OnceLock::new(),
        }
    }

    /// Returns the first index that was made; `None` if none was.
    #[cfg(feature = "watch")]
    pub(crate) fn first(&self) -> Option<Arc<ScriptIndex>> {
        self.first.get().cloned()
    }

    /// Returns the index of a catalog. Compares the metadata of every file, unless that was done in
    /// the current generation.
    pub(crate) fn index(&self, catalog: &Arc<Catalog>) -> Arc<ScriptIndex> {
        // Taken before the files are compared, so that a change meanwhile makes the result stale.
        let generation = self.library.generations().current();
        // One comparison at a time, so that an older index does not replace a newer one.
        let mut latest = lock(&self.latest);
        if let Some(latest) = latest.as_mut()
            // The catalog decides about skills, whose scripts can be unchanged.
            && Arc::ptr_eq(&latest.index.catalog, catalog)
        {
            let is_compared = generation.is_some() && latest.generation == generation;
            if is_compared || latest.index.is_current() {
                latest.generation = generation;
                return Arc::clone(&latest.index);
            }
        }
        let index = Arc::new(ScriptIndex::build(&self.library, catalog));
        #[cfg(feature = "watch")]
        self.first.get_or_init(|| Arc::clone(&index));
        *latest = Some(CachedIndex {
            index: Arc::clone(&index),
            generation,
        });
        index
    }
}

impl ScriptIndex {
    fn build(library: &Library, catalog: &Arc<Catalog>) -> Self {
        let mut index = Self {
            catalog: Arc::clone(catalog),
            scripts: Vec::new(),
            warnings: Vec::new(),
            stamps: StampSet::default(),
            uncacheable: Vec::new(),
        };
        let found = index.collect_scripts(library, catalog);
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
                listed_tool: OnceLock::new(),
            })
            .collect();
        index
    }

    /// Returns the skills of a catalog with their script files, which are empty if the scripts are
    /// not tools. Skills without tools still take part in the assignment of names.
    fn collect_scripts<'a>(
        &mut self,
        library: &Library,
        catalog: &'a Catalog,
    ) -> Vec<(&'a Entry, Vec<String>)> {
        let mut found: Vec<(&Entry, Vec<String>)> = Vec::with_capacity(catalog.entries().len());
        for entry in catalog.entries() {
            let files = if library.is_model_invocable(entry) {
                self.warn_missing_env(library, entry);
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

    /// Returns true if all metadata are unchanged.
    fn is_current(&self) -> bool {
        self.stamps.is_current()
            && self
                .uncacheable
                .iter()
                .all(|(entry, previous)| list_scripts(entry) == *previous)
    }

    /// Returns true if a file was changed, added or removed.
    #[cfg(feature = "watch")]
    pub(crate) fn differs_from(&self, other: &Self) -> bool {
        self.stamps != other.stamps
    }

    /// Warns if the primary environment variable of a skill is not set.
    fn warn_missing_env(&mut self, library: &Library, entry: &Entry) {
        let openclaw = entry.manifest().extensions().openclaw.as_ref();
        let missing = openclaw
            .and_then(|openclaw| openclaw.primary_env.as_deref())
            // The value itself is never read here.
            .filter(|key| !library.has_variable(key));
        self.warnings.extend(missing.map(|key| {
            format!(
                "skill `{}`: environment variable `{key}` is not set; its script tools may fail",
                entry.name()
            )
        }));
    }

    fn list_files(&mut self, entry: &Entry) -> Vec<String> {
        let (skill, specs) = (entry.name(), &entry.manifest().extensions().scripts);
        let directory = entry.directory().join("scripts");
        // The directories, too: their stamps change when a script is added or removed.
        self.stamps.add(&directory);
        let listed = list_scripts(entry);
        self.warnings.extend(omitted_scripts(entry));
        for subdirectory in subdirectories(listed.as_deref().unwrap_or_default()) {
            self.stamps.add(directory.join(subdirectory));
        }
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
        // A skill of a source has no stamps, and other files of it are another entry of the catalog.
        if !is_cacheable && entry.has_directory() {
            self.uncacheable.push((entry.clone(), listed));
        }
        let all: Vec<String> = files.iter().map(|(file, _)| file.clone()).collect();
        self.warnings.extend(
            unmatched_specs(specs, &all)
                .iter()
                .map(|warning| format!("skill `{skill}`: {warning}")),
        );
        let selection = select(entry, &files);
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

/// Returns the directories of files, relative to `scripts/`.
fn subdirectories(files: &[(String, u64)]) -> BTreeSet<&str> {
    let mut found = BTreeSet::new();
    for (file, _) in files {
        let mut path = file.as_str();
        while let Some((directory, _)) = path.rsplit_once('/') {
            found.insert(directory);
            path = directory;
        }
    }
    found
}

#[cfg(test)]
mod tests;
