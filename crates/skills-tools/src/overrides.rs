//! What administrators change about the tools of scripts.

use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use skills_runtime::{Catalog, Entry, PrivateFile};

/// The version of the file that is written; a newer one is not touched.
const VERSION: u32 = 1;

/// What administrators change about the tools of scripts, in a file or in memory.
///
/// A change belongs to the skill's root and name and to the script's file name. It stays when the
/// skill is read anew, when its content changes, when the process ends, and when the script goes
/// away and comes back.
#[derive(Debug, Default)]
pub struct OverrideStore {
    file: Option<PrivateFile>,
    memory: Mutex<Vec<OverrideRecord>>,
}

/// What is changed about one tool. What is nothing stays as the skill says.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ToolOverride {
    /// Whether it is offered at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// What a model is told that it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Its deadline in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
}

/// A script, whatever is in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ScriptId {
    /// The root that the skill lies in.
    pub(crate) source: PathBuf,
    pub(crate) skill: String,
    /// The file in `scripts/`.
    pub(crate) script: String,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct OverrideRecord {
    #[serde(flatten)]
    script_id: ScriptId,
    #[serde(flatten)]
    settings: ToolOverride,
}

#[derive(Serialize, Deserialize)]
struct OverrideFile {
    version: u32,
    overrides: Vec<OverrideRecord>,
}

/// Why a change cannot be read or kept.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct OverrideError(#[from] Repr);

#[derive(Debug, thiserror::Error)]
enum Repr {
    #[error("cannot use {}", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("{} is no file of changes to tools", path.display())]
    Syntax {
        path: PathBuf,
        source: serde_json::Error,
    },
    #[error("{}: version {version} is newer than this program", path.display())]
    UnsupportedVersion { path: PathBuf, version: u32 },
    #[error("no script's tool is named {name:?}")]
    UnknownTool { name: String },
    #[error("a deadline of nothing would stop every run")]
    ZeroTimeout,
}

impl ToolOverride {
    /// Turns the tool on.
    #[must_use]
    pub fn enable() -> Self {
        Self {
            enabled: Some(true),
            ..Self::default()
        }
    }

    /// Turns the tool off.
    #[must_use]
    pub fn disable() -> Self {
        Self {
            enabled: Some(false),
            ..Self::default()
        }
    }
}

impl ScriptId {
    /// The root counts by where it really lies, however it was spelled.
    pub(crate) fn for_script(catalog: &Catalog, entry: &Entry, script: &str) -> Self {
        Self {
            source: catalog.root_of(entry).to_owned(),
            skill: entry.name().to_string(),
            script: script.to_owned(),
        }
    }
}

impl OverrideError {
    pub(crate) fn unknown_tool(name: &str) -> Self {
        Repr::UnknownTool {
            name: name.to_owned(),
        }
        .into()
    }
}

impl OverrideStore {
    /// Keeps changes in this file, which only its owner may read or write; it and its directory are
    /// made when there is something to keep. Several processes may use it.
    #[must_use]
    pub fn in_file(path: impl Into<PathBuf>) -> Self {
        Self {
            file: Some(PrivateFile::new(path)),
            memory: Mutex::default(),
        }
    }

    /// Keeps changes for as long as the process lives.
    #[must_use]
    pub fn in_memory() -> Self {
        Self::default()
    }

    /// Returns all that was changed, once for a look at many scripts.
    pub(crate) fn snapshot(&self) -> Result<OverrideSnapshot, OverrideError> {
        match &self.file {
            Some(file) => read_file(file).map(OverrideSnapshot),
            None => Ok(OverrideSnapshot(
                self.memory
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .clone(),
            )),
        }
    }

    /// Forgets what was changed; says whether there was anything.
    pub(crate) fn remove(&self, identity: &ScriptId) -> Result<bool, OverrideError> {
        let without = |all: &mut Vec<OverrideRecord>| {
            let before = all.len();
            all.retain(|known| known.script_id != *identity);
            all.len() != before
        };
        let Some(file) = &self.file else {
            return Ok(without(
                &mut self.memory.lock().unwrap_or_else(PoisonError::into_inner),
            ));
        };
        let _lock = file.lock().map_err(|source| io_error(file, source))?;
        let mut entered = read_file(file)?;
        let is_changed = without(&mut entered);
        if is_changed {
            write_file(file, entered)?;
        }
        Ok(is_changed)
    }

    /// Changes what `change` says, and leaves the rest of what was changed before.
    pub(crate) fn merge(
        &self,
        identity: ScriptId,
        change: ToolOverride,
    ) -> Result<(), OverrideError> {
        if change.timeout_ms == Some(0) {
            return Err(Repr::ZeroTimeout.into());
        }
        let Some(file) = &self.file else {
            merge_record(
                &mut self.memory.lock().unwrap_or_else(PoisonError::into_inner),
                identity,
                change,
            );
            return Ok(());
        };
        let _lock = file.lock().map_err(|source| io_error(file, source))?;
        let mut entered = read_file(file)?;
        merge_record(&mut entered, identity, change);
        write_file(file, entered)
    }
}

/// What was changed at one moment.
pub(crate) struct OverrideSnapshot(Vec<OverrideRecord>);

impl OverrideSnapshot {
    pub(crate) fn get(&self, identity: &ScriptId) -> ToolOverride {
        self.0
            .iter()
            .find(|entered| entered.script_id == *identity)
            .map(|entered| entered.settings.clone())
            .unwrap_or_default()
    }
}

fn merge_record(all: &mut Vec<OverrideRecord>, identity: ScriptId, change: ToolOverride) {
    match all.iter_mut().find(|known| known.script_id == identity) {
        Some(known) => {
            let before = &mut known.settings;
            before.enabled = change.enabled.or(before.enabled);
            before.description = change.description.or(before.description.take());
            before.timeout_ms = change.timeout_ms.or(before.timeout_ms);
        }
        None => all.push(OverrideRecord {
            script_id: identity,
            settings: change,
        }),
    }
}

fn read_file(file: &PrivateFile) -> Result<Vec<OverrideRecord>, OverrideError> {
    let Some(text) = file.read().map_err(|source| io_error(file, source))? else {
        return Ok(Vec::new());
    };
    let content: OverrideFile = serde_json::from_str(&text).map_err(|source| Repr::Syntax {
        path: file.path().to_owned(),
        source,
    })?;
    if content.version > VERSION {
        return Err(Repr::UnsupportedVersion {
            path: file.path().to_owned(),
            version: content.version,
        }
        .into());
    }
    Ok(content.overrides)
}

fn write_file(file: &PrivateFile, overrides: Vec<OverrideRecord>) -> Result<(), OverrideError> {
    let text = serde_json::to_string_pretty(&OverrideFile {
        version: VERSION,
        overrides,
    })
    .map_err(io::Error::from);
    text.and_then(|text| file.replace(&text))
        .map_err(|source| io_error(file, source))
}

fn io_error(file: &PrivateFile, source: io::Error) -> OverrideError {
    Repr::Io {
        path: file.path().to_owned(),
        source,
    }
    .into()
}
