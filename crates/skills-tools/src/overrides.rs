//! Operator overrides for script tools.

use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard};

use serde::{Deserialize, Serialize};
use skills_runtime::{Catalog, Entry, PrivateFile};
use skills_threads::lock;

/// Version of the file format; files of a newer version are not changed.
const VERSION: u32 = 1;

/// Stores operator overrides for script tools, in a file or (by default) in memory.
///
/// An override belongs to the root and name of the skill and to the file name of the script. It
/// survives rescans, changes of the skill's content and, in a file, restarts. It applies again when
/// a removed script comes back.
#[derive(Debug, Default)]
pub struct OverrideStore {
    file: Option<PrivateFile>,
    memory: Mutex<Vec<OverrideRecord>>,
}

/// Contains the overrides of one script tool: enabled, description and timeout.
///
/// A field that is `None` keeps the value of the skill. Overrides are merged field by field, so
/// setting one field keeps the others.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ToolOverride {
    /// Whether the tool is listed and can be called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// The description that replaces the one of the skill.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The timeout in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
}

/// Identifies a script, independently of its content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ScriptId {
    /// The root that contains the skill.
    pub(crate) source: PathBuf,
    pub(crate) skill: String,
    /// The file name in `scripts/`.
    pub(crate) script: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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

/// Error of reading or storing overrides.
///
/// The file cannot be read or written, has an invalid or newer format, or the tool does not exist.
/// The message may contain host paths: it is meant for the host application, not for a model.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct OverrideError(#[from] Repr);

#[derive(Debug, thiserror::Error)]
enum Repr {
    #[error("cannot access {}", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("invalid tool overrides in {}", path.display())]
    Syntax {
        path: PathBuf,
        source: serde_json::Error,
    },
    #[error("unsupported version {version} of tool overrides in {}", path.display())]
    UnsupportedVersion { path: PathBuf, version: u32 },
    #[error("script tool `{}` not found", name.escape_debug())]
    UnknownTool { name: String },
    #[error("invalid timeout 0: expected at least 1 ms")]
    ZeroTimeout,
}

impl ToolOverride {
    /// Returns an override that enables the tool.
    #[must_use]
    pub fn enable() -> Self {
        Self {
            enabled: Some(true),
            ..Self::default()
        }
    }

    /// Returns an override that disables the tool.
    #[must_use]
    pub fn disable() -> Self {
        Self {
            enabled: Some(false),
            ..Self::default()
        }
    }
}

impl ScriptId {
    /// Identifies a script. The root is canonicalized, so its spelling does not matter.
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
    /// Stores overrides in a file that only its owner can access. The file and its directory are
    /// created with the first override. Several processes can share the file, which is locked while
    /// it is changed and read again for each call.
    #[must_use]
    pub fn in_file(path: impl Into<PathBuf>) -> Self {
        Self {
            file: Some(PrivateFile::new(path)),
            memory: Mutex::default(),
        }
    }

    /// Returns all overrides, read once for several lookups.
    pub(crate) fn snapshot(&self) -> Result<OverrideSnapshot, OverrideError> {
        Ok(OverrideSnapshot(match &self.file {
            Some(file) => read_file(file)?,
            None => self.lock_memory().clone(),
        }))
    }

    /// Removes the override of a script, and returns whether there was one.
    pub(crate) fn remove(&self, script_id: &ScriptId) -> Result<bool, OverrideError> {
        self.update(|records| {
            let old_len = records.len();
            records.retain(|record| record.script_id != *script_id);
            records.len() != old_len
        })
    }

    /// Merges `change` into the override of a script; fields that are `None` stay.
    pub(crate) fn merge(
        &self,
        script_id: ScriptId,
        change: ToolOverride,
    ) -> Result<(), OverrideError> {
        // It would stop each run at once, while callers may expect it to mean no timeout.
        if change.timeout_ms == Some(0) {
            return Err(Repr::ZeroTimeout.into());
        }
        self.update(|records| merge_record(records, script_id, change))
    }

    /// Changes the overrides, and stores them if they differ.
    fn update<T>(
        &self,
        change: impl FnOnce(&mut Vec<OverrideRecord>) -> T,
    ) -> Result<T, OverrideError> {
        let Some(file) = &self.file else {
            return Ok(change(&mut self.lock_memory()));
        };
        // Other processes may share the file, so it is locked from reading to replacing.
        let _lock = file.lock().map_err(|source| io_error(file, source))?;
        let before = read_file(file)?;
        let mut records = before.clone();
        let result = change(&mut records);
        if records != before {
            write_file(file, records)?;
        }
        Ok(result)
    }

    fn lock_memory(&self) -> MutexGuard<'_, Vec<OverrideRecord>> {
        lock(&self.memory)
    }
}

/// All overrides at one point in time.
pub(crate) struct OverrideSnapshot(Vec<OverrideRecord>);

impl OverrideSnapshot {
    pub(crate) fn get(&self, script_id: &ScriptId) -> ToolOverride {
        self.0
            .iter()
            .find(|record| record.script_id == *script_id)
            .map(|record| record.settings.clone())
            .unwrap_or_default()
    }
}

fn merge_record(records: &mut Vec<OverrideRecord>, script_id: ScriptId, change: ToolOverride) {
    match records
        .iter_mut()
        .find(|record| record.script_id == script_id)
    {
        Some(record) => {
            let settings = &mut record.settings;
            settings.enabled = change.enabled.or(settings.enabled);
            settings.description = change.description.or(settings.description.take());
            settings.timeout_ms = change.timeout_ms.or(settings.timeout_ms);
        }
        None => records.push(OverrideRecord {
            script_id,
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
    // Writing it back would lose fields that this version does not know, such as a restriction.
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
    // Replaced as a whole, so that a crash leaves the old or the new overrides.
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
