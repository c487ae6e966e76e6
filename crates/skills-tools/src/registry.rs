//! The tools of all scripts that the catalogue has.

use std::time::Duration;

use skills_runtime::manifest::ScriptSpec;
use skills_runtime::{Catalog, Entry, SkillRuntime};

use crate::overrides::{Identity, Known, Override};
use crate::script::{ScriptTool, block, name, scan};
use crate::{MissingEnv, NewScripts};

/// The deadline of a script that nobody says otherwise of.
pub(crate) const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);
/// The most scripts of one skill that become tools.
const MAX_SCRIPTS: usize = 200;

/// The scripts that the catalogue has, with the names of their tools; none of them is read.
#[derive(Default)]
pub(crate) struct Registry {
    /// In the order of the catalogue, those that are turned off as well.
    pub(crate) scripts: Vec<Listed>,
    /// What the host should know: names that others have, scripts that are no tools, variables that are missing.
    pub(crate) notes: Vec<String>,
}

/// A script and the name of its tool.
pub(crate) struct Listed {
    pub(crate) name: String,
    pub(crate) identity: Identity,
    pub(crate) is_enabled: bool,
    entry: Entry,
    file: String,
    change: Override,
}

/// The tool of one script.
pub(crate) struct Registered {
    pub(crate) tool: ScriptTool,
    pub(crate) entry: Entry,
    pub(crate) timeout: Duration,
}

/// How scripts become tools.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Terms {
    pub(crate) new_scripts: NewScripts,
    pub(crate) missing_env: MissingEnv,
}

impl Registry {
    /// Lists the scripts of all skills that a model may choose.
    pub(crate) fn of(runtime: &SkillRuntime, catalog: &Catalog, known: &Known, terms: Terms) -> Self {
        let mut registry = Self::default();
        let mut found: Vec<(&Entry, String)> = Vec::new();
        for entry in catalog.entries().iter().filter(|entry| runtime.is_offered(entry)) {
            if registry.lacks_variable(runtime, entry) && terms.missing_env == MissingEnv::Skip {
                continue;
            }
            found.extend(registry.scripts_of(entry).into_iter().map(|file| (entry, file)));
        }
        let pairs: Vec<(&str, &str)> = found.iter().map(|(entry, file)| (entry.name().as_str(), file.as_str())).collect();
        let names = name::names(&pairs);
        registry.notes.extend(names.collisions.iter().map(ToString::to_string));
        let listed = found.into_iter().zip(names.names).map(|((entry, file), name)| {
            let identity = Identity::of(catalog, entry, &file);
            let change = known.of(&identity);
            let is_enabled = change.enabled.unwrap_or(terms.new_scripts == NewScripts::Enabled);
            Listed { name, identity, is_enabled, entry: entry.clone(), file, change }
        });
        registry.scripts = listed.collect();
        registry
    }

    /// Finds a tool by its name, whether it is turned off or not.
    pub(crate) fn find(&self, name: &str) -> Option<&Listed> {
        self.scripts.iter().find(|listed| listed.name == name)
    }

    /// The names of the tools that a skill's scripts became.
    pub(crate) fn of_skill(&self, skill: &str) -> impl Iterator<Item = String> {
        self.scripts.iter().filter(move |listed| listed.is_enabled && listed.identity.skill == skill).map(|listed| listed.name.clone())
    }

    /// The variable that a skill names as the one it needs most; the words are the script runner's own.
    fn lacks_variable(&mut self, runtime: &SkillRuntime, entry: &Entry) -> bool {
        let openclaw = entry.manifest().extensions().openclaw.as_ref();
        let missing = openclaw.and_then(|openclaw| openclaw.primary_env.as_deref()).filter(|key| !runtime.has_variable(key));
        let note = missing.map(|key| format!("Skill {} 缺少環境變數 {key}，script tools 可能無法正常運作", entry.name()));
        self.notes.extend(note);
        missing.is_some()
    }

    fn scripts_of(&mut self, entry: &Entry) -> Vec<String> {
        let (skill, specs) = (entry.name(), &entry.manifest().extensions().scripts);
        let listed = match entry.open().and_then(|files| files.files_in("scripts")) {
            Ok(listed) => listed,
            Err(error) => {
                self.notes.push(format!("the scripts of the skill {skill} cannot be listed: {error}"));
                return Vec::new();
            }
        };
        let short = |path: &str| path.strip_prefix("scripts/").unwrap_or(path).to_owned();
        let files_there: Vec<(String, u64)> = listed.iter().map(|file| (short(&file.path), file.bytes)).collect();
        let all: Vec<String> = files_there.iter().map(|(file, _)| file.clone()).collect();
        self.notes.extend(block::unmatched(specs, &all).iter().map(|warning| format!("{skill}: {warning}")));
        let scan = scan::scan(&files_there);
        self.notes.extend(scan.passed_over.iter().map(|passed| format!("{skill}: {passed}")));
        let mut scripts = scan.scripts;
        if scripts.len() > MAX_SCRIPTS {
            self.notes.push(format!("{skill}: {} scripts beyond the first {MAX_SCRIPTS} are no tools", scripts.len() - MAX_SCRIPTS));
            scripts.truncate(MAX_SCRIPTS);
        }
        scripts
    }
}

impl Listed {
    /// Reads the script and makes its tool; what went wrong is for the host.
    pub(crate) fn tool(&self) -> Result<Registered, String> {
        let skill = self.entry.name().as_str();
        let path = format!("scripts/{}", self.file);
        let source = self.entry.open().and_then(|files| files.read(&path, scan::MAX_SCRIPT_BYTES));
        let source = source.map_err(|error| format!("{skill}: {path} cannot be read: {error}"))?;
        let specs: &[ScriptSpec] = &self.entry.manifest().extensions().scripts;
        let mut tool = ScriptTool::new(skill, &self.file, self.name.clone(), &source, block::entry(specs, &self.file));
        if let Some(description) = &self.change.description {
            tool.description.clone_from(description);
        }
        let timeout = self.change.timeout_ms.map(Duration::from_millis).or(tool.timeout).unwrap_or(DEFAULT_TIMEOUT);
        Ok(Registered { tool, entry: self.entry.clone(), timeout })
    }
}
