//! A directory with installed skills, its lock file, and changes of both that are all or nothing.

mod change;
mod process_lock;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use skills_discovery::{DigestCache, LOCK_FILE, SkillFiles, parallel_map};
use skills_store::PrivateDir;

use self::change::Change;
use self::process_lock::ProcessLock;
use crate::error::{InstallError, Repr};
use crate::installed::Installed;
use crate::signature::UNSIGNED;
use crate::temporary_dir::temporary_dir;
use crate::{
    Action, Fetcher, KnownSources, LocalEdits, LockFile, LockedSkill, Plan, SkillChange, SourceSpec,
};

/// Directory of fetched files.
const SCRATCH: &str = ".skills-install/scratch";
/// The directory of a project in which its skill directory is by default.
const AGENTS_DIRECTORY: &str = ".agents";

/// A directory with skills that this process alone changes.
///
/// A change is prepared beside the skills, and published by renames: of the lock file first, and then
/// of each skill. A process that is killed at any time leaves the old or the new files of each skill,
/// and the next [`open`](Self::open) drops or completes the change, so that all skills are those of
/// the lock file. On Linux and Apple systems a replaced skill is exchanged, so that one of the two is
/// in place at any time. Other systems and file systems that cannot exchange directories need two
/// renames, and a process that is killed between them leaves the skill missing until the next
/// [`open`](Self::open).
///
/// A change that was copied with its directory, as with a clone of a repository, is not completed, and
/// nothing is put in place that the lock file does not name. A program that can write the directory
/// can write the skills and the lock file as well.
///
/// ```
/// use skills_install::Store;
///
/// # let directory = tempfile::tempdir()?;
/// let store = Store::open(&directory.path().join("skills"))?;
/// assert!(store.lock_file().skills().is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Store {
    root: PathBuf,
    access: Access,
    lock_file: LockFile,
    known_sources: KnownSources,
    steps: StepObserver,
}

enum Access {
    Exclusive {
        handle: Dir,
        /// Released when the store is dropped, or by the kernel when the process ends.
        process_lock: ProcessLock,
    },
    ReadOnly {
        /// `None` if there is no such directory.
        handle: Option<Dir>,
        scratch: PrivateDir,
    },
}

/// Called before each step of a change, for tests that end the process there.
#[derive(Default)]
struct StepObserver(Option<Box<dyn FnMut() + Send + Sync>>);

impl StepObserver {
    fn step(&mut self) {
        if let Some(observer) = &mut self.0 {
            observer();
        }
    }
}

impl Store {
    /// Opens a directory, which is created if it does not exist, and completes or drops a change that
    /// a killed process left.
    ///
    /// # Errors
    /// Fails if another process has it open, if its lock file cannot be read, if files cannot be
    /// written, or if a copy of an interrupted change has the only files of a skill.
    pub fn open(root: &Path) -> Result<Self, InstallError> {
        Self::open_observed(root, StepObserver::default())
    }

    /// Opens a directory like [`open`](Self::open), and calls `observer` before each step of a
    /// change. For tests.
    #[doc(hidden)]
    pub fn open_with_observer(
        root: &Path,
        observer: Box<dyn FnMut() + Send + Sync>,
    ) -> Result<Self, InstallError> {
        Self::open_observed(root, StepObserver(Some(observer)))
    }

    fn open_observed(root: &Path, mut steps: StepObserver) -> Result<Self, InstallError> {
        let (handle, process_lock) = ProcessLock::acquire(root)?;
        let lock_file = LockFile::read_from(&handle, root)?;
        change::recover(&handle, root, &lock_file, &mut steps)?;
        Ok(Self {
            root: root.to_owned(),
            access: Access::Exclusive {
                handle,
                process_lock,
            },
            lock_file,
            known_sources: KnownSources::default(),
            steps,
        })
    }

    /// Opens a directory to plan only, as for a dry run. Nothing in it is written, created or
    /// completed, and it need not exist. Fetched files are in a new directory below `temp_dir`.
    ///
    /// Applying a plan is an error.
    ///
    /// # Errors
    /// Fails if its lock file cannot be read, an interrupted change of it is unfinished, or
    /// `temp_dir` cannot be written.
    pub fn open_read_only(root: &Path, temp_dir: &Path) -> Result<Self, InstallError> {
        let handle = match Dir::open_ambient_dir(root, ambient_authority()) {
            Ok(handle) => Some(handle),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(InstallError::io("open", root, error)),
        };
        if Self::has_unfinished_change(root) {
            return Err(Repr::UnfinishedChange(root.to_owned()).into());
        }
        let lock_file = handle
            .as_ref()
            .map(|handle| LockFile::read_from(handle, root));
        Ok(Self {
            root: root.to_owned(),
            lock_file: lock_file.transpose()?.unwrap_or_default(),
            known_sources: KnownSources::default(),
            access: Access::ReadOnly {
                handle,
                scratch: temporary_dir(temp_dir)?,
            },
            steps: StepObserver::default(),
        })
    }

    /// Returns true if a change of a directory of skills was interrupted after its lock file was
    /// replaced, so that its files may be partly those from before and partly those from after it. The
    /// next [`open`](Self::open) completes it. False for a change that was copied with the directory.
    #[must_use]
    pub fn has_unfinished_change(root: &Path) -> bool {
        let handle = Dir::open_ambient_dir(root, ambient_authority());
        handle.is_ok_and(|handle| change::is_unfinished(&handle))
    }

    /// Sets the sources and signers of skills that no lock file lists any more. Plans compare new skills
    /// with them.
    #[must_use]
    pub fn known_sources(mut self, known: KnownSources) -> Self {
        self.known_sources = known;
        self
    }

    /// Performs a plan: all of it or nothing.
    ///
    /// # Errors
    /// Fails if files cannot be written, or an installed skill changed since the plan was made.
    pub fn apply(&mut self, plan: Plan) -> Result<(), InstallError> {
        let replaces = |action| matches!(action, Action::Add | Action::Update | Action::Restore);
        let replaced: Vec<&SkillChange> = plan
            .changes
            .iter()
            .filter(|change| replaces(change.action))
            .collect();
        let checked = parallel_map(&replaced, |change| self.check_unchanged(change));
        checked.into_iter().collect::<Result<(), _>>()?;
        let mut lock_file = self.lock_file().clone();
        let mut install = Vec::new();
        for change in plan.changes {
            if change.action == Action::KeepEdited {
                continue;
            }
            if replaces(change.action) {
                install.push((change.name, change.staged));
            }
            lock_file.insert(change.locked);
        }
        if install.is_empty() && lock_file == *self.lock_file() {
            return Ok(());
        }
        self.change(lock_file, &install, &[])
    }

    /// Fails if the files of a change, or those that it replaces, are not those that were planned.
    fn check_unchanged(&self, change: &SkillChange) -> Result<(), InstallError> {
        // Edits that were made while a person was asked are not lost.
        if self.installed(&change.name) != change.installed {
            return Err(InstallError::conflict(
                &change.name,
                "the installed files changed after they were compared",
                "run the command again",
            ));
        }
        // What was shown is what is installed.
        let files = SkillFiles::open_directory(&change.staged);
        let digest = files.and_then(|files| files.digest(&mut DigestCache::default()));
        if digest.ok() != Some(change.locked.content) {
            return Err(InstallError::conflict(
                &change.name,
                "its files changed after they were checked",
                "run the command again",
            ));
        }
        Ok(())
    }

    /// Removes locked skills and their entries: all of them or none.
    ///
    /// # Errors
    /// Fails if one is not locked, or was edited and `edits` is not [`LocalEdits::Theirs`].
    pub fn remove(&mut self, names: &[String], edits: LocalEdits) -> Result<(), InstallError> {
        let mut lock_file: LockFile = self.lock_file().clone();
        for name in names {
            let locked = self.locked(name)?;
            let installed = self.installed(name);
            let is_edited = installed != Installed::Missing && !installed.is(locked);
            if is_edited && edits != LocalEdits::Theirs {
                return Err(InstallError::conflict(
                    name,
                    "it was edited since it was installed",
                    "pass `--theirs` to lose the edits",
                ));
            }
            lock_file.remove(name);
        }
        self.change(lock_file, &[], names)
    }

    /// Adds the sources and signers of skills to those that are remembered: of a plan before it is
    /// applied. What is restored or stays edited adds nothing.
    pub fn remember_plan(&self, plan: &Plan, known: &mut KnownSources) {
        let changes = plan.changes().iter();
        let agreed = changes
            .filter(|change| !matches!(change.action(), Action::Restore | Action::KeepEdited));
        for change in agreed {
            self.remember(change.locked(), known);
        }
    }

    /// Adds the sources and signers of locked skills that are not remembered, before they are removed.
    pub fn remember_locked(&self, names: &[String], known: &mut KnownSources) {
        let locked = names
            .iter()
            .filter_map(|name| self.lock_file.skills().get(name));
        for locked in locked {
            if !known.contains(locked.name()) {
                self.remember(locked, known);
            }
        }
    }

    fn remember(&self, locked: &LockedSkill, known: &mut KnownSources) {
        known.remember(locked.name(), &self.identity_of(locked), locked.signer());
    }

    /// Returns the identity of the source of a locked skill.
    pub(crate) fn identity_of(&self, locked: &LockedSkill) -> String {
        locked.source().clone().resolved_at(&self.root).identity()
    }

    /// Returns the fetcher for a source, which expects a signature if an earlier version had one.
    pub(crate) fn fetcher_for<'a>(
        &self,
        fetcher: &'a Fetcher,
        spec: &SourceSpec,
    ) -> Cow<'a, Fetcher> {
        if self.has_signer(spec) {
            Cow::Owned(fetcher.expect_signature())
        } else {
            Cow::Borrowed(fetcher)
        }
    }

    fn has_signer(&self, spec: &SourceSpec) -> bool {
        let source = spec.identity();
        let mut locked = self.lock_file().skills().values();
        let is_signed = |locked: &LockedSkill| {
            locked.signer() != UNSIGNED && self.identity_of(locked) == source
        };
        locked.any(is_signed) || self.known_sources.has_signer(&source)
    }

    pub(crate) fn locked(&self, name: &str) -> Result<&LockedSkill, InstallError> {
        let locked = self.lock_file().skills().get(name);
        locked.ok_or_else(|| Repr::NotLocked(name.to_owned()).into())
    }

    pub(crate) fn installed(&self, name: &str) -> Installed {
        Installed::read(&self.root().join(name))
    }

    pub(crate) fn known(&self) -> &KnownSources {
        &self.known_sources
    }

    /// Returns the directory.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the lock file.
    #[must_use]
    pub fn lock_file(&self) -> &LockFile {
        &self.lock_file
    }

    /// Returns a source as the lock file has it: relative to the directory, if it is in the same
    /// project, so that other checkouts of the project have it, too.
    pub(crate) fn recorded_source(&self, source: SourceSpec) -> SourceSpec {
        match project(&self.root) {
            Some(project) => source.relative_to(&self.root, project),
            None => source,
        }
    }

    /// Returns an empty directory for fetched files, on the file system of the skills if they can be
    /// changed.
    pub(crate) fn scratch(&mut self) -> Result<PathBuf, InstallError> {
        let (handle, path) = match &self.access {
            Access::Exclusive { handle, .. } => (handle.try_clone(), self.root.join(SCRATCH)),
            Access::ReadOnly { scratch, .. } => (
                Dir::open_ambient_dir(scratch.path(), ambient_authority()),
                scratch.path().join(SCRATCH),
            ),
        };
        let create = |handle: Dir| {
            remove_tree(&handle, SCRATCH)?;
            handle.create_dir_all(SCRATCH)
        };
        handle
            .and_then(create)
            .map_err(|error| InstallError::io("create", &path, error))?;
        Ok(path)
    }

    /// Returns the path of a staged directory below the root, with `/` as separator; `None` if it is
    /// elsewhere.
    fn staged_path(&self, staged: &Path) -> Option<String> {
        let below = staged.strip_prefix(&self.root).ok()?;
        let names: Option<Vec<&str>> = below
            .components()
            .map(|name| name.as_os_str().to_str())
            .collect();
        Some(names?.join("/"))
    }

    fn handle(&self) -> Option<&Dir> {
        match &self.access {
            Access::Exclusive { handle, .. } => Some(handle),
            Access::ReadOnly { handle, .. } => handle.as_ref(),
        }
    }

    /// Returns the names of the entries of the directory; none if it cannot be listed.
    pub(crate) fn entry_names(&self) -> impl Iterator<Item = String> {
        let entries = self.handle().and_then(|handle| handle.entries().ok());
        let entries = entries.into_iter().flatten();
        entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok())
    }

    /// Replaces the lock file and the given skills at once. `install` are the names and staged
    /// directories of new and changed skills, `remove` the names of skills that go.
    pub(crate) fn change(
        &mut self,
        lock_file: LockFile,
        install: &[(String, PathBuf)],
        remove: &[String],
    ) -> Result<(), InstallError> {
        let failed = |error| InstallError::io("prepare a change of", &self.root, error);
        let Access::Exclusive { handle, .. } = &self.access else {
            return Err(failed(io::Error::other("it was opened to plan only")));
        };
        // This store could not complete it.
        if change::is_unfinished(handle) {
            return Err(Repr::UnfinishedChange(self.root.clone()).into());
        }
        // Edits that were made while a person was asked are not lost.
        if LockFile::read_from(handle, &self.root)? != self.lock_file {
            let problem = "the lock file changed after it was read";
            return Err(InstallError::conflict(
                LOCK_FILE,
                problem,
                "run the command again",
            ));
        }
        let text = lock_file.render()?;
        let staged = install.iter().map(|(name, staged)| {
            let path = self.staged_path(staged)?;
            Some((name.clone(), path))
        });
        let staged: Option<Vec<(String, String)>> = staged.collect();
        let staged = staged.ok_or_else(|| failed(io::Error::other("staged elsewhere")))?;
        if is_any_nested(staged.iter().map(|(_, path)| path)) {
            let cause = "a skill is in the directory of another one: install them one by one";
            return Err(failed(io::Error::other(cause)));
        }
        let changed = Change::prepare(handle, &mut self.steps, &staged, remove, &text)
            .and_then(|change| change.publish(&staged, remove));
        let Err(error) = changed else {
            self.lock_file = lock_file;
            change::remove_ended(handle, &mut self.steps);
            return Ok(());
        };
        if !change::is_unfinished(handle) {
            // The next process does what fails here.
            let _ = change::recover(handle, &self.root, &self.lock_file, &mut self.steps);
            return Err(failed(error));
        }
        self.lock_file = lock_file;
        change::recover(handle, &self.root, &self.lock_file, &mut self.steps)?;
        let skills = self.lock_file.skills();
        let is_installed = |name: &String| {
            let installed = self.installed(name);
            skills.get(name).is_some_and(|locked| installed.is(locked))
        };
        if !install.iter().all(|(name, _)| is_installed(name)) {
            return Err(InstallError::io("complete a change of", &self.root, error));
        }
        Ok(())
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        if let Access::Exclusive {
            handle,
            process_lock,
        } = &self.access
        {
            // The next process removes what stays.
            let _ = remove_tree(handle, SCRATCH);
            process_lock.remove_unused(handle);
        }
    }
}

/// Returns true if a path is below another one, so that renaming that one would move it, too.
fn is_any_nested<'a>(paths: impl Iterator<Item = &'a String>) -> bool {
    let with_slash: BTreeSet<String> = paths.map(|path| format!("{path}/")).collect();
    let next = with_slash.iter().skip(1);
    // What starts with a path follows it directly.
    with_slash
        .iter()
        .zip(next)
        .any(|(path, next)| next.starts_with(path.as_str()))
}

/// Returns the project of a directory of skills: the repository, or else the directory with
/// [`AGENTS_DIRECTORY`].
fn project(root: &Path) -> Option<&Path> {
    let mut above = root.ancestors().skip(1);
    let repository = above.find(|directory| directory.join(".git").symlink_metadata().is_ok());
    repository.or_else(|| {
        let parent = root.parent()?;
        let is_agents = parent.file_name()? == AGENTS_DIRECTORY;
        parent.parent().filter(|_| is_agents)
    })
}

/// Removes a directory with everything in it, if it exists.
fn remove_tree(handle: &Dir, path: &str) -> io::Result<()> {
    match handle.remove_dir_all(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        result => result,
    }
}
