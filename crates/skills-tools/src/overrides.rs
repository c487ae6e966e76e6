//! What administrators change about the tools of scripts.
#![expect(clippy::disallowed_methods, reason = "the file is the host's own, not a skill's")]

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use skills_runtime::{Catalog, Entry};

/// The version of the file that is written; a newer one is not touched.
const VERSION: u32 = 1;

/// What administrators change about the tools of scripts, in a file or in memory.
///
/// A change belongs to the skill's root and name and to the script's file name. It stays when the skill is read anew, when its content changes, when the
/// process ends, and when the script goes away and comes back.
#[derive(Debug, Default)]
pub struct Overrides {
    path: Option<PathBuf>,
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
    Syntax { path: PathBuf, source: serde_json::Error },
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
        Self { enabled: Some(true), ..Self::default() }
    }

    /// Turns the tool off.
    #[must_use]
    pub fn off() -> Self {
        Self { enabled: Some(false), ..Self::default() }
    }
}

impl Identity {
    /// The root counts by where it really lies, however it was spelled.
    pub(crate) fn of(catalog: &Catalog, entry: &Entry, script: &str) -> Self {
        Self { source: catalog.root_of(entry).to_owned(), skill: entry.name().to_string(), script: script.to_owned() }
    }
}

impl OverrideError {
    pub(crate) fn unknown(name: &str) -> Self {
        Repr::Unknown { name: name.to_owned() }.into()
    }
}

impl Overrides {
    /// Keeps changes in this file, which only its owner may read or write; it and its directory are made when there is something to keep. Several
    /// processes may use it.
    #[must_use]
    pub fn in_file(path: impl Into<PathBuf>) -> Self {
        Self { path: Some(path.into()), memory: Mutex::default() }
    }

    /// Keeps changes for as long as the process lives.
    #[must_use]
    pub fn in_memory() -> Self {
        Self::default()
    }

    /// Returns all that was changed, once for a look at many scripts.
    pub(crate) fn all(&self) -> Result<Known, OverrideError> {
        match &self.path {
            Some(path) => read(path).map(Known),
            None => Ok(Known(self.memory.lock().unwrap_or_else(PoisonError::into_inner).clone())),
        }
    }

    /// Forgets what was changed; says whether there was anything.
    pub(crate) fn forget(&self, identity: &Identity) -> Result<bool, OverrideError> {
        let without = |all: &mut Vec<Entered>| {
            let before = all.len();
            all.retain(|known| known.identity != *identity);
            all.len() != before
        };
        let Some(path) = &self.path else {
            return Ok(without(&mut self.memory.lock().unwrap_or_else(PoisonError::into_inner)));
        };
        let failed = |source| Repr::Io { path: path.clone(), source };
        let _lock = lock(path).map_err(failed)?;
        let mut entered = read(path)?;
        let is_changed = without(&mut entered);
        if is_changed {
            write(path, entered).map_err(failed)?;
        }
        Ok(is_changed)
    }

    /// Changes what `change` says, and leaves the rest of what was changed before.
    pub(crate) fn set(&self, identity: Identity, change: Override) -> Result<(), OverrideError> {
        if change.timeout_ms == Some(0) {
            return Err(Repr::NoTime.into());
        }
        let Some(path) = &self.path else {
            enter(&mut self.memory.lock().unwrap_or_else(PoisonError::into_inner), identity, change);
            return Ok(());
        };
        let failed = |source| Repr::Io { path: path.clone(), source };
        let _lock = lock(path).map_err(failed)?;
        let mut entered = read(path)?;
        enter(&mut entered, identity, change);
        Ok(write(path, entered).map_err(failed)?)
    }
}

/// What was changed at one moment.
pub(crate) struct Known(Vec<Entered>);

impl Known {
    pub(crate) fn of(&self, identity: &Identity) -> Override {
        self.0.iter().find(|entered| entered.identity == *identity).map(|entered| entered.change.clone()).unwrap_or_default()
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

fn read(path: &Path) -> Result<Vec<Entered>, OverrideError> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(Repr::Io { path: path.to_owned(), source }.into()),
    };
    let content: Content = serde_json::from_str(&text).map_err(|source| Repr::Syntax { path: path.to_owned(), source })?;
    if content.version > VERSION {
        return Err(Repr::Newer { path: path.to_owned(), version: content.version }.into());
    }
    Ok(content.overrides)
}

/// Replaces the file as a whole.
fn write(path: &Path, overrides: Vec<Entered>) -> io::Result<()> {
    let text = serde_json::to_string_pretty(&Content { version: VERSION, overrides })?;
    let next = beside(path, "next");
    match fs::remove_file(&next) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut options = OpenOptions::new();
    options.create_new(true).write(true);
    owner_only(&mut options);
    let mut file = options.open(&next)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&next, path)
}

/// One writer at a time; the lock goes with the file handle.
fn lock(path: &Path) -> io::Result<File> {
    if let Some(parent) = path.parent() {
        make_private(parent)?;
    }
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).write(true);
    owner_only(&mut options);
    let file = options.open(beside(path, "lock"))?;
    file.lock()?;
    Ok(file)
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(ending);
    PathBuf::from(name)
}

#[cfg(unix)]
fn make_private(directory: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)
}

#[cfg(not(unix))]
fn make_private(directory: &Path) -> io::Result<()> {
    fs::create_dir_all(directory)
}

#[cfg(unix)]
fn owner_only(options: &mut OpenOptions) {
    use std::os::unix::fs::OpenOptionsExt;
    options.mode(0o600);
}

#[cfg(not(unix))]
fn owner_only(_options: &mut OpenOptions) {}
