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
pub struct Overrides {
    file: Option<PrivateFile>,
    memory: Mutex<Vec<Entered>>,
}

/// What is changed about one tool. What is nothing stays as the skill says.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Override {
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
pub(crate) struct Identity {
    /// The root that the skill lies in.
    pub(crate) source: PathBuf,
    pub(crate) skill: String,
    /// The file in `scripts/`.
    pub(crate) script: String,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Entered {
    #[serde(flatten)]
    identity: Identity,
    #[serde(flatten)]
    change: Override,
}

#[derive(Serialize, Deserialize)]
struct Content {
    version: u32,
    overrides: Vec<Entered>,
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
    Newer { path: PathBuf, version: u32 },
    #[error("no script's tool is named {name:?}")]
    Unknown { name: String },
    #[error("a deadline of nothing would stop every run")]
    NoTime,
}

impl Override {
    /// Turns the tool on.
    #[must_use]
    pub fn on() -> Self {
        Self {
            enabled: Some(true),
            ..Self::default()
        }
    }

    /// Turns the tool off.
    #[must_use]
    pub fn off() -> Self {
        Self {
            enabled: Some(false),
            ..Self::default()
        }
    }
}

impl Identity {
    /// The root counts by where it really lies, however it was spelled.
    pub(crate) fn of(catalog: &Catalog, entry: &Entry, script: &str) -> Self {
        Self {
            source: catalog.root_of(entry).to_owned(),
            skill: entry.name().to_string(),
            script: script.to_owned(),
        }
    }
}

impl OverrideError {
    pub(crate) fn unknown(name: &str) -> Self {
        Repr::Unknown {
            name: name.to_owned(),
        }
        .into()
    }
}

impl Overrides {
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
    pub(crate) fn all(&self) -> Result<Known, OverrideError> {
        match &self.file {
            Some(file) => read(file).map(Known),
            None => Ok(Known(
                self.memory
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .clone(),
            )),
        }
    }

    /// Forgets what was changed; says whether there was anything.
    pub(crate) fn forget(&self, identity: &Identity) -> Result<bool, OverrideError> {
        let without = |all: &mut Vec<Entered>| {
            let before = all.len();
            all.retain(|known| known.identity != *identity);
            all.len() != before
        };
        let Some(file) = &self.file else {
            return Ok(without(
                &mut self.memory.lock().unwrap_or_else(PoisonError::into_inner),
            ));
        };
        let _lock = file.lock().map_err(|source| failed(file, source))?;
        let mut entered = read(file)?;
        let is_changed = without(&mut entered);
        if is_changed {
            write(file, entered)?;
        }
        Ok(is_changed)
    }

    /// Changes what `change` says, and leaves the rest of what was changed before.
    pub(crate) fn set(&self, identity: Identity, change: Override) -> Result<(), OverrideError> {
        if change.timeout_ms == Some(0) {
            return Err(Repr::NoTime.into());
        }
        let Some(file) = &self.file else {
            enter(
                &mut self.memory.lock().unwrap_or_else(PoisonError::into_inner),
                identity,
                change,
            );
            return Ok(());
        };
        let _lock = file.lock().map_err(|source| failed(file, source))?;
        let mut entered = read(file)?;
        enter(&mut entered, identity, change);
        write(file, entered)
    }
}

/// What was changed at one moment.
pub(crate) struct Known(Vec<Entered>);

impl Known {
    pub(crate) fn of(&self, identity: &Identity) -> Override {
        self.0
            .iter()
            .find(|entered| entered.identity == *identity)
            .map(|entered| entered.change.clone())
            .unwrap_or_default()
    }
}

fn enter(all: &mut Vec<Entered>, identity: Identity, change: Override) {
    match all.iter_mut().find(|known| known.identity == identity) {
        Some(known) => {
            let before = &mut known.change;
            before.enabled = change.enabled.or(before.enabled);
            before.description = change.description.or(before.description.take());
            before.timeout_ms = change.timeout_ms.or(before.timeout_ms);
        }
        None => all.push(Entered { identity, change }),
    }
}

fn read(file: &PrivateFile) -> Result<Vec<Entered>, OverrideError> {
    let Some(text) = file.read().map_err(|source| failed(file, source))? else {
        return Ok(Vec::new());
    };
    let content: Content = serde_json::from_str(&text).map_err(|source| Repr::Syntax {
        path: file.path().to_owned(),
        source,
    })?;
    if content.version > VERSION {
        return Err(Repr::Newer {
            path: file.path().to_owned(),
            version: content.version,
        }
        .into());
    }
    Ok(content.overrides)
}

fn write(file: &PrivateFile, overrides: Vec<Entered>) -> Result<(), OverrideError> {
    let text = serde_json::to_string_pretty(&Content {
        version: VERSION,
        overrides,
    })
    .map_err(io::Error::from);
    text.and_then(|text| file.replace(&text))
        .map_err(|source| failed(file, source))
}

fn failed(file: &PrivateFile, source: io::Error) -> OverrideError {
    Repr::Io {
        path: file.path().to_owned(),
        source,
    }
    .into()
}
