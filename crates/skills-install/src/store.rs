//! A directory with installed skills, its lock file, and changes of both that are all or nothing.

mod journal;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, TryLockError};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions};
use skills_discovery::{INSTALL_DIRECTORY, LOCK_FILE};

use self::journal::Journal;
use crate::error::{InstallError, Repr};
use crate::private_directory::PrivateDirectory;
use crate::signature::UNSIGNED;
use crate::{Action, Fetcher, KnownSources, LockFile, LockedSkill, Plan, SourceSpec};

/// The directory of a change, in the install directory: the fetched files with the new skills in
/// `new`, replaced skills in `old`, and the new lock file.
const CHANGE: &str = ".skills-install/change";
/// Directory of fetched files.
const SCRATCH: &str = ".skills-install/scratch";
/// The directory of a project in which its skill directory is by default.
const AGENTS_DIRECTORY: &str = ".agents";
/// The file that processes lock.
const PROCESS_LOCK: &str = ".skills-install/lock";

/// How long to wait for another process.
const MAX_LOCK_WAIT: Duration = Duration::from_secs(1);
/// Delay between two attempts to lock.
const LOCK_RETRY_INTERVAL: Duration = Duration::from_millis(5);

/// A directory with skills that this process alone changes.
///
/// A change is prepared beside the skills, written down, and then performed by renames. A process
/// that is killed at any time leaves the old state, or a written-down change that the next
/// [`open`](Self::open) completes. It completes no change that was copied with its directory, as
/// with a clone of a repository, and none whose skills are not those of its lock file. A program
/// that can write the directory can write the skills and the lock file as well.
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
    /// Writes the files of the last plan to disk.
    sync: Option<JoinHandle<io::Result<()>>>,
    steps: StepObserver,
}

enum Access {
    Exclusive {
        handle: Dir,
        /// Released when the store is dropped, or by the kernel when the process ends.
        _process_lock: File,
    },
    ReadOnly {
        /// `None` if there is no such directory.
        handle: Option<Dir>,
        scratch: PrivateDirectory,
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
    /// Opens a directory, which is created if it does not exist, and completes a change that a
    /// killed process left.
    ///
    /// # Errors
    /// Fails if another process has it open, if its lock file cannot be read, or if files cannot be
    /// written.
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
        std::fs::create_dir_all(root).map_err(|error| InstallError::io("create", root, error))?;
        let handle = Dir::open_ambient_dir(root, ambient_authority())
            .map_err(|error| InstallError::io("open", root, error))?;
        let failed = |error| InstallError::io("open", &root.join(INSTALL_DIRECTORY), error);
        handle.create_dir_all(INSTALL_DIRECTORY).map_err(failed)?;
        let process_lock = open_process_lock(&handle).map_err(failed)?;
        acquire(&process_lock, root)?;
        if let Some(journal) = read_journal(&handle, root)? {
            journal.check(&handle, root, CHANGE)?;
        }
        recover(&handle, root, &mut steps)?;
        let lock_file = LockFile::read_from(&handle, root)?;
        Ok(Self {
            root: root.to_owned(),
            access: Access::Exclusive {
                handle,
                _process_lock: process_lock,
            },
            lock_file,
            known_sources: KnownSources::default(),
            sync: None,
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
                scratch: PrivateDirectory::create(Some(temp_dir))?,
            },
            sync: None,
            steps: StepObserver::default(),
        })
    }

    /// Returns true if a change of a directory of skills was interrupted, so that its files may be
    /// partly those from before and partly those from after it. The next [`open`](Self::open)
    /// completes it. False for a change that was copied with the directory.
    #[must_use]
    pub fn has_unfinished_change(root: &Path) -> bool {
        let handle = Dir::open_ambient_dir(root, ambient_authority());
        let journal = handle.and_then(|handle| Journal::read(&handle, CHANGE));
        matches!(journal, Ok(Some(journal)) if journal.is_in_place())
    }

    /// Sets the sources and signers of skills that no lock file lists any more. Plans compare new skills
    /// with them.
    #[must_use]
    pub fn known_sources(mut self, known: KnownSources) -> Self {
        self.known_sources = known;
        self
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

    /// Starts to write the files of a plan to disk, while they are searched and shown. So
    /// [`change`](Self::change) waits for less.
    pub(crate) fn start_sync(&mut self, plan: &Plan) {
        if cfg!(target_os = "linux")
            && let Access::Exclusive { handle, .. } = &self.access
            && !plan.is_empty()
            && let Ok(handle) = handle.open(".")
        {
            let thread = std::thread::Builder::new().spawn(move || sync_all(&handle));
            self.sync = thread.ok();
        }
    }

    /// Returns the result of [`start_sync`](Self::start_sync): a system reports an error of writing
    /// only once.
    fn finish_sync(&mut self) -> io::Result<()> {
        match self.sync.take().map(JoinHandle::join) {
            Some(Ok(result)) => result,
            Some(Err(panic)) => std::panic::resume_unwind(panic),
            None => Ok(()),
        }
    }

    /// Returns the path of a staged directory below that of fetched files, with `/` as separator;
    /// `None` if it is elsewhere.
    fn staged_path(&self, staged: &Path) -> Option<String> {
        let below = staged.strip_prefix(self.root.join(SCRATCH)).ok()?;
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
        let synced = self.finish_sync();
        let failed = |error| InstallError::io("prepare a change of", &self.root, error);
        synced.map_err(failed)?;
        let Access::Exclusive { handle, .. } = &self.access else {
            return Err(failed(io::Error::other("it was opened to plan only")));
        };
        // Edits that were made while a person was asked are not lost.
        if LockFile::read_from(handle, &self.root)? != self.lock_file {
            return Err(Repr::Conflict {
                name: LOCK_FILE.to_owned(),
                problem: "the lock file changed after it was read".to_owned(),
                help: "run the command again",
            }
            .into());
        }
        let text = lock_file.render()?;
        let staged = install.iter().map(|(name, staged)| {
            let path = self.staged_path(staged)?;
            Some((name.clone(), path))
        });
        let staged: Option<BTreeMap<String, String>> = staged.collect();
        let staged = staged.ok_or_else(|| failed(io::Error::other("staged elsewhere")))?;
        if is_any_nested(staged.values()) {
            let cause = "a skill is in the directory of another one: install them one by one";
            return Err(failed(io::Error::other(cause)));
        }
        self.steps.step();
        handle
            .create_dir_all(format!("{CHANGE}/old"))
            .map_err(failed)?;
        if !staged.is_empty() {
            self.steps.step();
            handle
                .rename(SCRATCH, handle, format!("{CHANGE}/new"))
                .map_err(failed)?;
        }
        self.steps.step();
        let file = write_file(handle, &format!("{CHANGE}/{LOCK_FILE}"), &text);
        // What the journal says is on disk before the journal is.
        file.and_then(|file| sync_all(&file)).map_err(failed)?;
        let journal = Journal::new(staged, remove.to_vec());
        self.steps.step();
        journal.write(handle, CHANGE).map_err(failed)?;
        // From here on the change is completed, by this process or by the next.
        recover(handle, &self.root, &mut self.steps)?;
        self.lock_file = lock_file;
        Ok(())
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        if let Access::Exclusive { handle, .. } = &self.access {
            // The next process removes what stays.
            let _ = remove_tree(handle, SCRATCH);
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

/// Opens the file that processes lock, without waiting for a reader if it is a FIFO.
fn open_process_lock(handle: &Dir) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    {
        use cap_std::fs::OpenOptionsExt;
        options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
    }
    let file = handle.open_with(PROCESS_LOCK, &options)?;
    if file.metadata()?.is_file() {
        Ok(file.into_std())
    } else {
        Err(io::Error::other("not a regular file"))
    }
}

/// Locks a directory for this process. Waits a little for one that is about to end, and for programs
/// that this process starts: until they run, they hold its files.
fn acquire(file: &File, root: &Path) -> Result<(), InstallError> {
    let deadline = Instant::now() + MAX_LOCK_WAIT;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) if Instant::now() < deadline => {
                std::thread::sleep(LOCK_RETRY_INTERVAL);
            }
            Err(TryLockError::WouldBlock) => return Err(Repr::Busy(root.to_owned()).into()),
            Err(TryLockError::Error(error)) => {
                return Err(InstallError::io("lock", &root.join(PROCESS_LOCK), error));
            }
        }
    }
}

/// Completes a written-down change, and removes what is left of one that was not.
fn recover(handle: &Dir, root: &Path, steps: &mut StepObserver) -> Result<(), InstallError> {
    let failed = |error| InstallError::io("complete a change of", root, error);
    if let Some(journal) = read_journal(handle, root)? {
        journal
            .perform(handle, CHANGE, &mut || steps.step())
            .map_err(failed)?;
    }
    steps.step();
    remove_tree(handle, CHANGE).map_err(failed)
}

fn read_journal(handle: &Dir, root: &Path) -> Result<Option<Journal>, InstallError> {
    Journal::read(handle, CHANGE).map_err(|error| match error.kind() {
        ErrorKind::InvalidData => Repr::ForeignChange {
            path: root.join(CHANGE),
            problem: "its journal is not one of this version",
        }
        .into(),
        _ => InstallError::io("complete a change of", root, error),
    })
}

/// Removes a directory with everything in it, if it exists.
fn remove_tree(handle: &Dir, path: &str) -> io::Result<()> {
    match handle.remove_dir_all(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        result => result,
    }
}

/// Writes a new file and makes sure that it is on disk.
fn write_file(handle: &Dir, path: &str, text: &str) -> io::Result<cap_std::fs::File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    let mut file = handle.open_with(path, &options)?;
    io::Write::write_all(&mut file, text.as_bytes())?;
    file.sync_all()?;
    Ok(file)
}

/// Writes everything of the file system of a file to disk: one call for all files of a change.
#[cfg(target_os = "linux")]
fn sync_all(file: &cap_std::fs::File) -> io::Result<()> {
    rustix::fs::syncfs(file).map_err(io::Error::from)
}

#[cfg(not(target_os = "linux"))]
fn sync_all(_file: &cap_std::fs::File) -> io::Result<()> {
    Ok(())
}
