//! Compares installed skills with the lock file.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use skills_discovery::{ContentDigest, ContentLock, Discovery, Entry, Root, Scope, Trust};

use crate::error::InstallError;
use crate::installed::Installed;
use crate::{LockFile, LockedSkill, Store};

/// Maximum number of threads: more do not make a disk faster.
const MAX_THREADS: usize = 8;

/// The state of the skills of one directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verification {
    skills: BTreeMap<String, SkillState>,
    is_unfinished: bool,
}

/// How a skill compares with its entry in the lock file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SkillState {
    /// Its files are those that were installed.
    Unchanged,
    /// Its directory is missing.
    Missing,
    /// It has other content, or none that can be read.
    Changed {
        /// The content digest; `None` if it has none.
        actual: Option<ContentDigest>,
    },
    /// Its content is the same, but other files are executable.
    ModesChanged {
        /// The files whose mode changed, sorted.
        files: Vec<String>,
    },
    /// It is a skill that the lock file does not name.
    Unlocked,
}

impl SkillState {
    /// Returns the stable code of the state, as in JSON output.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Unchanged => "unchanged",
            Self::Missing => "missing",
            Self::Changed { .. } => "changed",
            Self::ModesChanged { .. } => "modes-changed",
            Self::Unlocked => "unlocked",
        }
    }
}

impl Verification {
    /// Compares all skills of a directory with its lock file, on several threads. Nothing is
    /// written.
    ///
    /// # Errors
    /// Fails if the directory or its lock file cannot be read.
    pub fn new(directory: &Path) -> Result<Self, InstallError> {
        let root = Root::new(directory, Scope::Custom);
        Self::of_root(&root, &Discovery::new([]))
    }

    /// Compares all skills of a root as [`new`](Self::new) does. The scan that finds skills which
    /// the lock file does not list has the options of the root and the limits of `discovery`, so
    /// that it finds what an application with these would use.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn of_root(root: &Root, discovery: &Discovery) -> Result<Self, InstallError> {
        let path = root.path();
        let handle = Dir::open_ambient_dir(path, ambient_authority())
            .map_err(|error| InstallError::io("open", path, error))?;
        let lock_file = LockFile::read_from(&handle, path)?;
        let mut skills = check_locked(path, &lock_file);
        for path in find_unlocked(root, discovery, &lock_file) {
            skills.entry(path).or_insert(SkillState::Unlocked);
        }
        Ok(Self {
            skills,
            is_unfinished: Store::has_unfinished_change(root.path()),
        })
    }

    /// Returns the state of each skill by its path below the directory, which is the name of a locked
    /// skill.
    #[must_use]
    pub fn skills(&self) -> &BTreeMap<String, SkillState> {
        &self.skills
    }

    /// Returns the number of skills that were compared with the lock file: those that it lists.
    #[must_use]
    pub fn compared(&self) -> usize {
        self.skills.len() - self.unlocked()
    }

    /// Returns the number of skills that the lock file does not list. Nothing of them was compared.
    #[must_use]
    pub fn unlocked(&self) -> usize {
        let states = self.skills.values();
        states
            .filter(|state| **state == SkillState::Unlocked)
            .count()
    }

    /// Returns true if a change of the directory was interrupted. Skills may differ from the lock
    /// file until the next [`Store::open`] completes it.
    #[must_use]
    pub fn is_unfinished(&self) -> bool {
        self.is_unfinished
    }

    /// Returns true if every skill of the directory is locked and unchanged: the strictest check,
    /// after which nothing is used that the lock file does not name.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.skills
            .values()
            .all(|state| matches!(state, SkillState::Unchanged))
    }

    /// Returns true if every locked skill is unchanged. Skills that the lock file does not name do
    /// not count.
    #[must_use]
    pub fn is_unchanged(&self) -> bool {
        self.skills
            .values()
            .all(|state| matches!(state, SkillState::Unchanged | SkillState::Unlocked))
    }
}

/// Returns the paths below a root of the skills that its lock file does not list: in its directory,
/// in one below, or behind a symlink.
fn find_unlocked(root: &Root, discovery: &Discovery, lock_file: &LockFile) -> Vec<String> {
    // The skills of untrusted roots are found, but their content is not compared.
    let root = root.clone().trust(Trust::Untrusted);
    let catalog = discovery.clone().with_roots([root]).scan();
    let unlocked = catalog.all_entries().filter_map(|entry| {
        let directory = catalog.root_of(entry);
        if is_listed(entry, directory, lock_file) {
            return None;
        }
        let path = entry.logical_path();
        let below = path.strip_prefix(directory).unwrap_or(&path);
        Some(below.to_string_lossy().into_owned())
    });
    unlocked.collect()
}

/// Returns true if the lock file of a root lists a skill, or a directory around it.
fn is_listed(entry: &Entry, root: &Path, lock_file: &LockFile) -> bool {
    entry.lock_paths().any(|path| {
        let name = path.file_name().and_then(OsStr::to_str);
        match (path.parent(), name) {
            (Some(parent), Some(name)) if parent == root => lock_file.skills().contains_key(name),
            // The lock file of a root that is a skill is beside the root.
            (Some(parent), Some(name)) if entry.directory() == root => ContentLock::read(parent)
                .is_ok_and(|lock| lock.is_some_and(|lock| lock.digest(name).is_some())),
            _ => false,
        }
    })
}

fn check_locked(root: &Path, lock_file: &LockFile) -> BTreeMap<String, SkillState> {
    let skills: Vec<(&String, &LockedSkill)> = lock_file.skills().iter().collect();
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let threads = threads.min(MAX_THREADS).min(skills.len().max(1));
    let next = AtomicUsize::new(0);
    let check = || {
        let mut states = Vec::new();
        while let Some((name, locked)) = skills.get(next.fetch_add(1, Ordering::Relaxed)) {
            states.push(((*name).clone(), check_skill(&root.join(name), locked)));
        }
        states
    };
    thread::scope(|scope| {
        let others = skills_threads::spawn_scoped(scope, threads - 1, check);
        let mut states: BTreeMap<String, SkillState> = check().into_iter().collect();
        for other in others {
            match other.join() {
                Ok(more) => states.extend(more),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        states
    })
}

fn check_skill(directory: &Path, locked: &LockedSkill) -> SkillState {
    let installed = Installed::read(directory);
    if installed.is(locked) {
        return SkillState::Unchanged;
    }
    match installed {
        Installed::Missing => SkillState::Missing,
        Installed::Other => SkillState::Changed { actual: None },
        Installed::Content(actual, executable) if actual == locked.content() => {
            let [now, before] = [&executable, &locked.executable].map(BTreeSet::from_iter);
            let changed = now.symmetric_difference(&before);
            SkillState::ModesChanged {
                files: changed.map(|path| (*path).clone()).collect(),
            }
        }
        Installed::Content(actual, _) => SkillState::Changed {
            actual: Some(actual),
        },
    }
}
