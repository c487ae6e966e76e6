//! The scripts of the skills, found again only when something changed.

use std::sync::{Arc, Mutex, PoisonError};

use skills_runtime::discovery::Stamps;
use skills_runtime::{Catalog, Entry, SkillRuntime};

use super::Terms;
use crate::MissingEnv;
use crate::looks::Looks;
use crate::overrides::Identity;
use crate::script::{block, name, scan};

/// The most scripts of one skill that become tools.
const MAX_SCRIPTS: usize = 200;

/// The scripts of all skills that a model may choose, with the names of their tools; none of them is read, and no change of an administrator is in it.
pub(crate) struct Scripts {
    catalog: Arc<Catalog>,
    /// In the order of the catalogue.
    pub(super) all: Vec<Script>,
    /// What the host should know: names that others have, scripts that are no tools, variables that are missing.
    pub(super) notes: Vec<String>,
    /// How all looked that was looked at to find them.
    stamps: Stamps,
    /// Whether a look can tell that they are still the same.
    is_sure: bool,
    /// How often the tools themselves had changed skills.
    writes: u64,
}

/// A script and the name of its tool.
pub(super) struct Script {
    pub(super) name: String,
    pub(super) identity: Identity,
    pub(super) entry: Entry,
    pub(super) file: String,
}

/// Finds the scripts of a catalogue, and keeps those of the last one.
pub(crate) struct ScriptFinder {
    runtime: SkillRuntime,
    looks: Arc<Looks>,
    terms: Terms,
    latest: Mutex<Option<Arc<Scripts>>>,
}

impl ScriptFinder {
    pub(crate) fn new(runtime: SkillRuntime, looks: Arc<Looks>, terms: Terms) -> Self {
        Self { runtime, looks, terms, latest: Mutex::default() }
    }

    /// The scripts of a catalogue. Unless somebody watches, each file's metadata are looked at.
    pub(crate) fn of(&self, catalog: &Arc<Catalog>) -> Arc<Scripts> {
        match self.latest() {
            Some(latest) if self.looks.is_watched() && latest.is_of(catalog) && latest.writes == self.looks.writes() => latest,
            latest => self.looked(latest, catalog),
        }
    }

    fn latest(&self) -> Option<Arc<Scripts>> {
        self.latest.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The scripts of a catalogue as they are now, whoever watches.
    #[cfg(feature = "watch")]
    pub(crate) fn anew(&self, catalog: &Arc<Catalog>) -> Arc<Scripts> {
        self.looked(self.latest(), catalog)
    }

    fn looked(&self, latest: Option<Arc<Scripts>>, catalog: &Arc<Catalog>) -> Arc<Scripts> {
        let writes = self.looks.writes();
        let is_current = |latest: &Arc<Scripts>| latest.is_of(catalog) && latest.writes == writes && latest.stamps.are_current();
        if let Some(latest) = latest.filter(is_current) {
            return latest;
        }
        // One at a time, so that what was found first is not kept last.
        let mut latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(latest) = latest.clone().filter(is_current) {
            return latest;
        }
        let found = Arc::new(Scripts::find(&self.runtime, catalog, self.terms, writes));
        *latest = Some(Arc::clone(&found));
        found
    }
}

impl Scripts {
    fn find(runtime: &SkillRuntime, catalog: &Arc<Catalog>, terms: Terms, writes: u64) -> Self {
        let (all, notes, stamps) = (Vec::new(), Vec::new(), Stamps::default());
        let mut scripts = Self { catalog: Arc::clone(catalog), all, notes, stamps, is_sure: true, writes };
        let mut found: Vec<(&Entry, String)> = Vec::new();
        for entry in catalog.entries().iter().filter(|entry| runtime.is_offered(entry)) {
            if scripts.lacks_variable(runtime, entry) && terms.missing_env == MissingEnv::Skip {
                continue;
            }
            found.extend(scripts.files_of(entry).into_iter().map(|file| (entry, file)));
        }
        let pairs: Vec<(&str, &str)> = found.iter().map(|(entry, file)| (entry.name().as_str(), file.as_str())).collect();
        let names = name::names(&pairs);
        scripts.notes.extend(names.collisions.iter().map(ToString::to_string));
        let named = found.into_iter().zip(names.names).map(|((entry, file), name)| {
            let identity = Identity::of(catalog, entry, &file);
            Script { name, identity, entry: entry.clone(), file }
        });
        scripts.all = named.collect();
        scripts
    }

    fn is_of(&self, catalog: &Arc<Catalog>) -> bool {
        self.is_sure && Arc::ptr_eq(&self.catalog, catalog)
    }

    /// Whether a file of theirs looks another way than it did, was added or is gone.
    #[cfg(feature = "watch")]
    pub(crate) fn differ(&self, other: &Self) -> bool {
        self.stamps != other.stamps
    }

    /// The variable that a skill names as the one it needs most; the words are the script runner's own.
    fn lacks_variable(&mut self, runtime: &SkillRuntime, entry: &Entry) -> bool {
        let openclaw = entry.manifest().extensions().openclaw.as_ref();
        let missing = openclaw.and_then(|openclaw| openclaw.primary_env.as_deref()).filter(|key| !runtime.has_variable(key));
        let note = missing.map(|key| format!("Skill {} 缺少環境變數 {key}，script tools 可能無法正常運作", entry.name()));
        self.notes.extend(note);
        missing.is_some()
    }

    fn files_of(&mut self, entry: &Entry) -> Vec<String> {
        let (skill, specs) = (entry.name(), &entry.manifest().extensions().scripts);
        let directory = entry.directory().join("scripts");
        self.stamps.add(&directory);
        let listed = match entry.open().and_then(|files| files.files_in("scripts")) {
            Ok(listed) => listed,
            Err(error) => {
                // It may become readable without a trace in what was looked at.
                self.is_sure = false;
                self.notes.push(format!("the scripts of the skill {skill} cannot be listed: {error}"));
                return Vec::new();
            }
        };
        let short = |path: &str| path.strip_prefix("scripts/").unwrap_or(path).to_owned();
        let there: Vec<(String, u64)> = listed.iter().map(|file| (short(&file.path), file.bytes)).collect();
        // Of the others only the names matter.
        for (file, bytes) in there.iter().filter(|(file, _)| scan::may_be_script(file)) {
            let stamp = self.stamps.add(directory.join(file));
            self.is_sure &= stamp.is_some_and(|stamp| stamp.bytes() == *bytes);
        }
        let all: Vec<String> = there.iter().map(|(file, _)| file.clone()).collect();
        self.notes.extend(block::unmatched(specs, &all).iter().map(|warning| format!("{skill}: {warning}")));
        let scan = scan::scan(&there);
        self.notes.extend(scan.passed_over.iter().map(|passed| format!("{skill}: {passed}")));
        let mut scripts = scan.scripts;
        if scripts.len() > MAX_SCRIPTS {
            self.notes.push(format!("{skill}: {} scripts beyond the first {MAX_SCRIPTS} are no tools", scripts.len() - MAX_SCRIPTS));
            scripts.truncate(MAX_SCRIPTS);
        }
        scripts
    }
}
