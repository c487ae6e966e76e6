//! The tools of all scripts that the catalogue has.

use std::time::Duration;

use skills_runtime::manifest::ScriptSpec;
use skills_runtime::{Catalog, Entry, SkillRuntime};

use crate::overrides::{Identity, Known, Override};
use crate::script::{ScriptTool, block, name, scan};
use crate::{MissingEnv, NewScripts};

/// The deadline of a script that nobody says otherwise of.
pub(crate) const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);

/// The tools of all scripts that the catalogue has.
#[derive(Default)]
pub(crate) struct Registry {
    /// In the order of the catalogue, those that are turned off as well.
    pub(crate) scripts: Vec<Registered>,
    /// What the host should know: names that others have, scripts that are no tools, variables that are missing.
    pub(crate) notes: Vec<String>,
}

/// The tool of one script.
pub(crate) struct Registered {
    pub(crate) tool: ScriptTool,
    pub(crate) entry: Entry,
    pub(crate) identity: Identity,
    pub(crate) is_enabled: bool,
    pub(crate) timeout: Duration,
}

/// How scripts become tools.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Terms {
    pub(crate) new_scripts: NewScripts,
    pub(crate) missing_env: MissingEnv,
}

/// A script before it is a tool.
struct Found<'a> {
    entry: &'a Entry,
    file: String,
    source: Vec<u8>,
}

impl Registry {
    /// Looks at the scripts of all skills that a model may choose.
    pub(crate) fn of(runtime: &SkillRuntime, catalog: &Catalog, known: &Known, terms: Terms) -> Self {
        let mut registry = Self::default();
        let mut found = Vec::new();
        for entry in catalog.entries().iter().filter(|entry| entry.is_offered()) {
            if registry.lacks_variable(runtime, entry) && terms.missing_env == MissingEnv::Skip {
                continue;
            }
            found.extend(registry.scripts_of(entry));
        }
        let pairs: Vec<(&str, &str)> = found.iter().map(|script| (script.entry.name().as_str(), script.file.as_str())).collect();
        let names = name::names(&pairs);
        registry.notes.extend(names.collisions.iter().map(ToString::to_string));
        for (script, name) in found.iter().zip(names.names) {
            registry.add(script, name, known, terms);
        }
        registry
    }

    /// Finds a tool by its name, whether it is turned off or not.
    pub(crate) fn find(&self, name: &str) -> Option<&Registered> {
        self.scripts.iter().find(|registered| registered.tool.name == name)
    }

    /// The variable that a skill names as the one it needs most; the words are the script runner's own.
    fn lacks_variable(&mut self, runtime: &SkillRuntime, entry: &Entry) -> bool {
        let openclaw = entry.manifest().extensions().openclaw.as_ref();
        let missing = openclaw.and_then(|openclaw| openclaw.primary_env.as_deref()).filter(|key| !runtime.has_variable(key));
        let note = missing.map(|key| format!("Skill {} 缺少環境變數 {key}，script tools 可能無法正常運作", entry.name()));
        self.notes.extend(note);
        missing.is_some()
    }

    fn scripts_of<'a>(&mut self, entry: &'a Entry) -> Vec<Found<'a>> {
        let (skill, specs) = (entry.name(), &entry.manifest().extensions().scripts);
        let listed = entry.open().and_then(|files| Ok((files.files_in("scripts")?, files)));
        let (listed, files) = match listed {
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
        let mut found = Vec::new();
        for file in scan.scripts {
            match files.read(&format!("scripts/{file}"), scan::MAX_SCRIPT_BYTES) {
                Ok(source) => found.push(Found { entry, file, source }),
                Err(error) => self.notes.push(format!("{skill}: scripts/{file} cannot be read: {error}")),
            }
        }
        found
    }

    fn add(&mut self, script: &Found<'_>, name: String, known: &Known, terms: Terms) {
        let specs: &[ScriptSpec] = &script.entry.manifest().extensions().scripts;
        let skill = script.entry.name().as_str();
        let mut tool = ScriptTool::new(skill, &script.file, name, &script.source, block::entry(specs, &script.file));
        self.notes.extend(tool.warnings.iter().map(|warning| format!("{skill}: {}: {warning}", script.file)));
        let identity = Identity::of(script.entry, &script.file);
        let Override { enabled, description, timeout_ms } = known.of(&identity);
        if let Some(description) = description {
            tool.description = description;
        }
        let timeout = timeout_ms.map(Duration::from_millis).or(tool.timeout).unwrap_or(DEFAULT_TIMEOUT);
        let is_enabled = enabled.unwrap_or(terms.new_scripts == NewScripts::Enabled);
        self.scripts.push(Registered { tool, entry: script.entry.clone(), identity, is_enabled, timeout });
    }
}
