//! The scripts of the skills, found again only when something changed.

use std::sync::{Arc, Mutex, PoisonError};

use skills_runtime::discovery::{Inactive, InactiveReason, Stamps};
use skills_runtime::{Catalog, Entry, SkillRuntime};

use super::Terms;
use crate::MissingEnv;
use crate::looks::{Looks, Sight};
use crate::overrides::Identity;
use crate::script::{block, name, scan};

/// The most scripts of one skill that become tools.
const MAX_SCRIPTS: usize = 200;

/// The scripts of all skills that a model may choose, with the names of their tools; none of them
/// is read, and no change of an administrator is in it.
pub(crate) struct Scripts {
    catalog: Arc<Catalog>,
    /// In the order of the catalogue.
    pub(super) all: Vec<Script>,
    /// What the host should know: names that others have, scripts that are no tools, variables that
    /// are missing.
    pub(super) notes: Vec<String>,
    /// How all looked that was looked at to find them.
    stamps: Stamps,
    /// The skills of which no look at metadata can tell that their scripts are still the same, and
    /// what came of listing those.
    unsure: Vec<(Entry, Listed)>,
    /// How often the tools themselves had changed skills.
    writes: u64,
}

/// The files below a skill's `scripts/` with their lengths, or why they cannot be listed.
type Listed = Result<Vec<(String, u64)>, String>;

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
    latest: Mutex<Option<Latest>>,
}

/// The scripts that were found, and the last look that found them so.
#[derive(Clone)]
struct Latest {
    scripts: Arc<Scripts>,
    sight: Sight,
}

impl ScriptFinder {
    pub(crate) fn new(runtime: SkillRuntime, looks: Arc<Looks>, terms: Terms) -> Self {
        Self {
            runtime,
            looks,
            terms,
            latest: Mutex::default(),
        }
    }

    /// The scripts of a catalogue. Each file's metadata are looked at, unless somebody watches who
    /// saw nothing since the last look, which is less than a second ago.
    pub(crate) fn of(&self, catalog: &Arc<Catalog>) -> Arc<Scripts> {
        let latest = self.latest();
        let is_known = |latest: &Latest| {
            self.looks.holds(latest.sight) && latest.scripts.is_of(catalog, self.looks.writes())
        };
        match latest {
            Some(latest) if is_known(&latest) => latest.scripts,
            latest => self.looked(latest, catalog),
        }
    }

    fn latest(&self) -> Option<Latest> {
        self.latest
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// The scripts of a catalogue as they are now, whoever watches.
    #[cfg(feature = "watch")]
    pub(crate) fn anew(&self, catalog: &Arc<Catalog>) -> Arc<Scripts> {
        self.looked(self.latest(), catalog)
    }

    fn looked(&self, before: Option<Latest>, catalog: &Arc<Catalog>) -> Arc<Scripts> {
        let (writes, sight) = (self.looks.writes(), self.looks.sight());
        let is_current =
            |latest: &Latest| latest.scripts.is_of(catalog, writes) && latest.scripts.are_current();
        let before = before.filter(is_current);
        // One at a time, so that what was found first is not kept last.
        let mut latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        let is_same = |latest: &&mut Latest| {
            before
                .as_ref()
                .is_some_and(|before| Arc::ptr_eq(&before.scripts, &latest.scripts))
        };
        if let Some(latest) = latest
            .as_mut()
            .filter(|latest| is_same(latest) || is_current(latest))
        {
            latest.sight = sight;
            return Arc::clone(&latest.scripts);
        }
        let scripts = Arc::new(Scripts::find(&self.runtime, catalog, self.terms, writes));
        *latest = Some(Latest {
            scripts: Arc::clone(&scripts),
            sight,
        });
        scripts
    }
}

impl Scripts {
    fn find(runtime: &SkillRuntime, catalog: &Arc<Catalog>, terms: Terms, writes: u64) -> Self {
        let (all, notes, stamps) = (Vec::new(), Vec::new(), Stamps::default());
        let mut scripts = Self {
            catalog: Arc::clone(catalog),
            all,
            notes,
            stamps,
            unsure: Vec::new(),
            writes,
        };
        let mut found: Vec<(&Entry, Vec<String>)> = Vec::with_capacity(catalog.entries().len());
        for entry in catalog.entries() {
            let is_tool = runtime.is_offered(entry)
                && (!scripts.lacks_variable(runtime, entry)
                    || terms.missing_env != MissingEnv::Skip);
            found.push((
                entry,
                if is_tool {
                    scripts.files_of(entry)
                } else {
                    Vec::new()
                },
            ));
        }
        // A shadowed skill is used as soon as the other one goes, and must not get the names of its
        // tools then.
        let is_shadowed =
            |inactive: &&Inactive| matches!(inactive.reason(), InactiveReason::Shadowed { .. });
        found.extend(
            catalog
                .inactive()
                .iter()
                .filter(is_shadowed)
                .map(|inactive| (inactive.entry(), Vec::new())),
        );
        let skills: Vec<name::Skill<'_>> = found
            .iter()
            .map(|(entry, files)| skill(entry, files))
            .collect();
        let names = name::names(&skills);
        scripts
            .notes
            .extend(names.collisions.iter().map(ToString::to_string));
        let all = found
            .into_iter()
            .flat_map(|(entry, files)| files.into_iter().map(move |file| (entry, file)));
        let named = all.zip(names.names).map(|((entry, file), name)| {
            let identity = Identity::of(catalog, entry, &file);
            Script {
                name,
                identity,
                entry: entry.clone(),
                file,
            }
        });
        scripts.all = named.collect();
        scripts
    }

    fn is_of(&self, catalog: &Arc<Catalog>, writes: u64) -> bool {
        self.writes == writes && Arc::ptr_eq(&self.catalog, catalog)
    }

    /// Whether a look at the disk says that they are still the same.
    fn are_current(&self) -> bool {
        self.stamps.are_current()
            && self
                .unsure
                .iter()
                .all(|(entry, before)| listed(entry) == *before)
    }

    /// Whether a file of theirs looks another way than it did, was added or is gone.
    #[cfg(feature = "watch")]
    pub(crate) fn differ(&self, other: &Self) -> bool {
        self.stamps != other.stamps
    }

    /// The variable that a skill names as the one it needs most; the words are the script runner's
    /// own.
    fn lacks_variable(&mut self, runtime: &SkillRuntime, entry: &Entry) -> bool {
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
        self.notes.extend(note);
        missing.is_some()
    }

    fn files_of(&mut self, entry: &Entry) -> Vec<String> {
        let (skill, specs) = (entry.name(), &entry.manifest().extensions().scripts);
        let directory = entry.directory().join("scripts");
        self.stamps.add(&directory);
        let listed = listed(entry);
        let there = match &listed {
            Ok(there) => there.clone(),
            Err(error) => {
                // It may become readable without a trace in what was looked at.
                self.notes.push(format!(
                    "the scripts of the skill {skill} cannot be listed: {error}"
                ));
                self.unsure.push((entry.clone(), listed));
                return Vec::new();
            }
        };
        // Of the others only the names matter.
        let mut is_sure = true;
        for (file, bytes) in there.iter().filter(|(file, _)| scan::may_be_script(file)) {
            let stamp = self.stamps.add(directory.join(file));
            is_sure &= stamp.is_some_and(|stamp| stamp.bytes() == *bytes);
        }
        if !is_sure {
            self.unsure.push((entry.clone(), listed));
        }
        let all: Vec<String> = there.iter().map(|(file, _)| file.clone()).collect();
        self.notes.extend(
            block::unmatched(specs, &all)
                .iter()
                .map(|warning| format!("{skill}: {warning}")),
        );
        let scan = scan::scan(&there);
        self.notes.extend(
            scan.passed_over
                .iter()
                .map(|passed| format!("{skill}: {passed}")),
        );
        let mut scripts = scan.scripts;
        if scripts.len() > MAX_SCRIPTS {
            self.notes.push(format!(
                "{skill}: {} scripts beyond the first {MAX_SCRIPTS} are no tools",
                scripts.len() - MAX_SCRIPTS
            ));
            scripts.truncate(MAX_SCRIPTS);
        }
        scripts
    }
}

fn skill<'a>(entry: &'a Entry, files: &'a [String]) -> name::Skill<'a> {
    name::Skill {
        name: entry.name().as_str(),
        directory: entry.directory(),
        files,
    }
}

fn listed(entry: &Entry) -> Listed {
    let listed = entry
        .open()
        .and_then(|files| files.files_in("scripts"))
        .map_err(|error| error.to_string())?;
    let short = |path: &str| path.strip_prefix("scripts/").unwrap_or(path).to_owned();
    Ok(listed
        .iter()
        .map(|file| (short(&file.path), file.bytes))
        .collect())
}

#[cfg(test)]
mod tests;
