//! The search through writable directories.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::ffi::{OsStr, OsString};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use skills_policy::{FileGrant, Grants, ends_executed_path};

use super::found_entry::{FoundEntry, KnownState};
use super::{
    MAX_DEPTH, MAX_ENTRIES, MAX_OTHER_ENTRIES, MAX_PATHS, ProtectedEntries, SearchLimit,
    SearchedDirectory,
};
use crate::change_clock::ChangeClock;
use crate::entry_state::{DirectoryState, EntryState};
use crate::git_named_files::{self, NamedFiles};
use crate::open_directory::{EntryType, ListedEntry, OpenDirectory};

/// How far before its listing a directory must have changed last, so that its change time tells
/// later changes apart: more than any file system rounds times.
const SETTLED_SECONDS: i64 = 3;
/// The files that are examined before a run. For more of them it takes less time to wait for the
/// next tick of the clock.
const MAX_EXAMINED: usize = 2_000;
/// The entries by which git recognizes a directory as a repository without a work tree, and its
/// configuration.
const BARE_REPOSITORY: [&str; 3] = ["HEAD", "objects", "config"];

/// A search for protected paths.
pub(super) struct Search<'a> {
    grants: &'a Grants,
    /// The names of paths that are granted, protected or named by themselves, by their directory.
    own_paths: HashMap<PathBuf, HashSet<OsString>>,
    /// The state before the run, if this is a search after it. Directories that were found then are
    /// not searched below others.
    before: Option<&'a ProtectedEntries>,
    /// The time at which the search started, in seconds.
    started_at: i64,
    pub(super) queue: VecDeque<PendingDirectory>,
    remaining: usize,
    /// What the file system of each device tells.
    devices: HashMap<u64, ChangeTimes>,
    /// The number of files that are still to be examined before the run.
    to_examine: usize,
    /// The directories without protected paths that are listed at last, if all entries are to be
    /// found.
    others: Option<VecDeque<PendingDirectory>>,
    /// The directories that could not be listed.
    pub(super) unreadable: BTreeSet<PathBuf>,
    pub(super) found: ProtectedEntries,
}

/// A directory that is to be searched.
pub(super) struct PendingDirectory {
    pub(super) path: PathBuf,
    pub(super) depth: usize,
    /// Whether it is a protected path or below one.
    pub(super) is_protected: bool,
    /// Whether it is listed only to find changes.
    pub(super) is_other: bool,
    /// The program that executes all files in it, although they are not protected.
    pub(super) reader: Option<&'static str>,
}

/// What an entry is.
enum EntryKind {
    Protected,
    /// What is not protected, with the program that executes it or all files in it.
    Unprotected(Option<&'static str>),
    /// One below which the search does not continue.
    Skipped,
    /// One that is not searched, but may change with another program.
    Other,
}

/// What change times of a file system tell.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ChangeTimes {
    /// A program can set them.
    Settable,
    /// Only the kernel sets them.
    #[cfg_attr(
        not(target_os = "linux"),
        expect(dead_code, reason = "file systems are known on Linux only")
    )]
    OfKernel,
    /// Also, directories list the inode numbers of their files.
    OfKernelWithInodes,
}

impl<'a> Search<'a> {
    pub(super) fn new(
        grants: &'a Grants,
        before: Option<&'a ProtectedEntries>,
        started_at: i64,
    ) -> Self {
        let mut search = Self {
            grants,
            own_paths: HashMap::new(),
            before,
            started_at,
            queue: VecDeque::new(),
            remaining: MAX_ENTRIES,
            devices: HashMap::new(),
            to_examine: if before.is_none() {
                MAX_EXAMINED
            } else {
                usize::MAX
            },
            others: None,
            unreadable: BTreeSet::new(),
            found: ProtectedEntries::default(),
        };
        let granted = grants.files().iter().map(FileGrant::path);
        for path in granted.chain(grants.protected().iter().map(PathBuf::as_path)) {
            search.add_own_path(path);
        }
        if let Some(before) = before {
            before
                .named
                .iter()
                .for_each(|path| search.add_own_path(path));
            search.found.named.clone_from(&before.named);
        }
        search
    }

    fn add_own_path(&mut self, path: &Path) {
        if let (Some(parent), Some(name)) = (path.parent(), path.file_name()) {
            let names = self.own_paths.entry(parent.to_owned()).or_default();
            names.insert(name.to_owned());
        }
    }

    /// Lists the directories without protected paths too.
    pub(super) fn with_others(mut self) -> Self {
        self.others = Some(VecDeque::new());
        self
    }

    /// Examines no file before the run, as in a large directory.
    #[cfg(test)]
    pub(super) fn without_examined_files(mut self) -> Self {
        self.to_examine = 0;
        self
    }

    /// Searches the directories of the queue and those below them.
    pub(super) fn run(&mut self) -> Result<(), SearchLimit> {
        while let Some(mut pending) = self.queue.pop_front() {
            // It may have been queued before the configuration that names it was read.
            pending.is_protected |= self.is_named(&pending.path);
            let found = self.found.directories.get(&pending.path);
            if found.is_some_and(|found| found.is_protected >= pending.is_protected) {
                continue;
            }
            self.list_pending(pending)?;
        }
        Ok(())
    }

    /// Lists the other directories and those below them, up to their limits.
    pub(super) fn run_others(&mut self) {
        self.remaining = MAX_OTHER_ENTRIES;
        while let Some(pending) = self.others.as_mut().and_then(VecDeque::pop_front) {
            let is_known = self.found.directories.contains_key(&pending.path);
            if !is_known && let Err(limit) = self.list_pending(pending) {
                self.found.other_limit = Some(limit.0);
                return;
            }
        }
    }

    /// Returns what was found, with the time that tells later changes from earlier ones.
    pub(super) fn into_found(mut self) -> ProtectedEntries {
        if let Some(clock) = &mut self.found.clock {
            clock.wait_for_tick();
        }
        self.found
    }

    fn list_pending(&mut self, pending: PendingDirectory) -> Result<(), SearchLimit> {
        let opened = OpenDirectory::new(&pending.path)
            // Before the entries, so that a change in between is noticed.
            .and_then(|opened| Ok((opened.state()?, opened.entries()?, opened)));
        let state = opened.as_ref().ok().map(|(state, ..)| state.clone());
        let entries = match opened {
            Ok((_, entries, opened)) => {
                self.list(&pending, Ok((&opened, entries.into_iter().map(Ok))))?
            }
            Err(error) => self.list(&pending, Err::<(_, std::iter::Empty<_>), _>(error))?,
        };
        let Some(entries) = entries else {
            return Ok(());
        };
        let searched = SearchedDirectory {
            depth: pending.depth,
            is_protected: pending.is_protected,
            is_other: pending.is_other,
            reader: pending.reader,
            entries,
            device: state.as_ref().map(DirectoryState::device),
            settled_state: state.filter(|state| self.is_settled(&pending.path, state)),
        };
        self.found.directories.insert(pending.path, searched);
        Ok(())
    }

    /// Examines the entries of a directory, and returns them by name; `None` if it cannot be
    /// listed, or not to its end.
    pub(super) fn list(
        &mut self,
        directory: &PendingDirectory,
        listed: io::Result<(
            &OpenDirectory,
            impl Iterator<Item = io::Result<ListedEntry>>,
        )>,
    ) -> Result<Option<Vec<FoundEntry>>, SearchLimit> {
        let entries = match listed {
            Ok((opened, entries)) => self.search(directory, opened, entries)?,
            Err(error) => match error.kind() {
                ErrorKind::NotADirectory => Some(self.granted_file(directory)),
                // It was removed.
                ErrorKind::NotFound => Some(Vec::new()),
                _ => None,
            },
        };
        if entries.is_none() {
            self.found.unlisted.insert(directory.path.clone());
            if !directory.is_other {
                self.protect_unreadable(directory.path.clone());
            }
        }
        Ok(entries)
    }

    /// Returns a file that was granted by itself.
    fn granted_file(&self, file: &PendingDirectory) -> Vec<FoundEntry> {
        let state = EntryState::of_content(&file.path).filter(|_| !file.is_protected);
        let reader = self.grants.file_reader(&file.path);
        let found = state.map(|state| FoundEntry::of_granted_file(&file.path, state, reader));
        found.into_iter().collect()
    }

    /// Protects all of a directory that cannot be listed: it may contain protected paths.
    fn protect_unreadable(&mut self, directory: PathBuf) {
        self.found.outermost.insert(directory.clone());
        self.unreadable.insert(directory);
    }

    /// Returns true unless another change could leave the state of a directory as it is: on a file
    /// system without change times, and after a change so shortly before that both have the same.
    fn is_settled(&mut self, directory: &Path, state: &DirectoryState) -> bool {
        state.changed_seconds() < self.started_at - SETTLED_SECONDS
            && self.change_times(directory, state.device()) != ChangeTimes::Settable
    }

    fn change_times(&mut self, directory: &Path, device: u64) -> ChangeTimes {
        let known = self.devices.entry(device);
        *known.or_insert_with(|| change_times(directory))
    }

    /// Returns true if the files of a directory need not be examined before the run.
    fn defers_files(&mut self, directory: &Path, opened: &OpenDirectory) -> bool {
        let state = opened.state();
        let times = state.map(|state| self.change_times(directory, state.device()));
        if times.is_ok_and(|times| times == ChangeTimes::OfKernelWithInodes) {
            self.found.clock = self.found.clock.take().or_else(ChangeClock::start);
            return self.found.clock.is_some();
        }
        false
    }

    /// Examines the entries of a directory as [`list`](Self::list), if all of them can be listed.
    fn search(
        &mut self,
        directory: &PendingDirectory,
        opened: &OpenDirectory,
        entries: impl Iterator<Item = io::Result<ListedEntry>>,
    ) -> Result<Option<Vec<FoundEntry>>, SearchLimit> {
        let own_names = self.own_paths.get(&directory.path).cloned();
        let own_names = own_names.unwrap_or_default();
        let mut defers = None;
        let mut of_repository = HashSet::new();
        let mut found = Vec::new();
        for entry in entries {
            let Ok(entry) = entry else {
                return Ok(None);
            };
            let part = BARE_REPOSITORY
                .iter()
                .position(|part| entry.name.eq_ignore_ascii_case(part));
            of_repository.extend(part);
            let is_directory = entry.entry_type == EntryType::Directory;
            let kind = self.kind(directory, &entry, &own_names);
            let descends = is_directory && !matches!(kind, EntryKind::Skipped | EntryKind::Other);
            self.check_limits(directory, descends || (is_directory && directory.is_other))?;
            if is_directory {
                self.queue_inner(directory, &entry.name, &kind);
            }
            let is_deferred = entry.entry_type == EntryType::File
                && self.to_examine == 0
                && *defers.get_or_insert_with(|| self.defers_files(&directory.path, opened));
            let state = if is_deferred {
                Ok(KnownState::Listed)
            } else {
                KnownState::examine(opened, &entry.name, entry.entry_type)
            };
            let state = match state {
                Ok(state) => state,
                // It was removed.
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                // Such as in a directory that can be listed but not searched, which a program
                // changes.
                Err(_) => return Ok(None),
            };
            let mut entry = FoundEntry::new(entry, state);
            if !is_directory {
                self.to_examine = self.to_examine.saturating_sub(1);
                if let EntryKind::Unprotected(reader) = kind {
                    entry.is_ordinary = true;
                    entry.reader = reader;
                }
            }
            found.push(entry);
        }
        if of_repository.len() == BARE_REPOSITORY.len() && !directory.is_protected {
            name_reader_of_configuration(&mut found);
        }
        found.sort_unstable_by(|one, other| one.name.cmp(&other.name));
        Ok(Some(found))
    }

    /// Returns what an entry of a directory is, and records it if it is protected.
    fn kind(
        &mut self,
        directory: &PendingDirectory,
        entry: &ListedEntry,
        own_names: &HashSet<OsString>,
    ) -> EntryKind {
        if directory.is_other {
            return EntryKind::Other;
        }
        let path = || directory.path.join(&entry.name);
        if entry.entry_type == EntryType::Unknown {
            // It may be a directory with protected paths.
            self.protect_unreadable(path());
        }
        // Nearly all entries are neither listed nor granted by themselves.
        let needs_check = directory.is_protected
            || own_names.contains(&entry.name)
            || ends_executed_path(&entry.name);
        if needs_check {
            self.examine(&path(), entry.entry_type == EntryType::Directory)
        } else {
            EntryKind::Unprotected(directory.reader)
        }
    }

    /// Queues a directory that was found in another one, unless it was found before the run.
    fn queue_inner(&mut self, directory: &PendingDirectory, name: &OsStr, kind: &EntryKind) {
        let path = directory.path.join(name);
        let is_new = |before: &ProtectedEntries| !before.directories.contains_key(&path);
        if !self.before.is_none_or(is_new) {
            return;
        }
        let inner = PendingDirectory {
            path,
            depth: directory.depth + 1,
            is_protected: matches!(kind, EntryKind::Protected),
            is_other: matches!(kind, EntryKind::Other),
            reader: match kind {
                EntryKind::Unprotected(reader) => *reader,
                _ => None,
            },
        };
        match kind {
            EntryKind::Protected | EntryKind::Unprotected(_) => self.queue.push_back(inner),
            EntryKind::Other => {
                if let Some(others) = &mut self.others {
                    others.push_back(inner);
                }
            }
            EntryKind::Skipped => {}
        }
    }

    /// Counts an entry. `descends` says whether it is a directory that is to be searched.
    fn check_limits(
        &mut self,
        directory: &PendingDirectory,
        descends: bool,
    ) -> Result<(), SearchLimit> {
        let protected = self.found.outermost.len();
        let Some(remaining) = self.remaining.checked_sub(1).filter(|left| *left > 0) else {
            return Err(SearchLimit("200,000 files and directories"));
        };
        self.remaining = remaining;
        match (protected, directory.depth) {
            (MAX_PATHS.., _) if !directory.is_other => Err(SearchLimit("1,000 protected paths")),
            (_, MAX_DEPTH..) if descends => Err(SearchLimit("64 levels of directories")),
            _ => Ok(()),
        }
    }

    /// Records an entry if it is protected.
    fn examine(&mut self, path: &Path, is_directory: bool) -> EntryKind {
        let Some(granted) = self.grants.innermost_writable(path).map(FileGrant::path) else {
            return EntryKind::Skipped;
        };
        // A writable directory inside another one is searched by itself.
        if granted == path {
            return EntryKind::Skipped;
        }
        let by_name = self.grants.protected_in(granted, path);
        let Some(protected) = by_name.or_else(|| self.named_above(path)) else {
            return EntryKind::Unprotected(if is_directory {
                self.grants.reader_of_files_in(path)
            } else {
                self.grants.file_reader(path)
            });
        };
        let is_outermost = path.parent().is_none_or(|parent| {
            self.grants.protected_in(granted, parent).is_none() && !self.is_named(parent)
        });
        if is_outermost {
            self.found.outermost.insert(path.to_owned());
        }
        // Objects, branches and logs of a repository change with every commit, and another program
        // may commit during the run. Only entries that are protected themselves, such as `config`
        // and `hooks`, are compared.
        if protected.ends_with(".git") && !is_outermost {
            return EntryKind::Other;
        }
        let Ok(metadata) = path.symlink_metadata() else {
            return EntryKind::Protected;
        };
        if metadata.is_symlink() {
            self.protect_target(path.canonicalize().ok());
        }
        if is_outermost && protected == path && path.ends_with(".git") {
            if metadata.is_file() {
                self.protect_target(git_named_files::git_directory(path));
            }
            self.protect_named_by(path);
        }
        let state = EntryState::from_metadata(&metadata);
        self.found.entries.insert(path.to_owned(), state);
        EntryKind::Protected
    }

    /// Protects the target of a protected symlink, if it is in a writable directory.
    fn protect_target(&mut self, target: Option<PathBuf>) {
        let target = target.filter(|path| self.is_changeable(path));
        self.found.outermost.extend(target);
    }

    /// Returns true if a path is below a writable directory.
    fn is_changeable(&self, path: &Path) -> bool {
        let granted = self.grants.innermost_writable(path);
        granted.is_some_and(|file| file.path() != path)
    }

    /// Protects what the configuration of the repositories that contain a directory names: their
    /// `.git` may lie outside of it.
    pub(super) fn protect_named_by_repositories_above(&mut self, directory: &Path) {
        for above in directory.ancestors() {
            if above.ends_with(".git") {
                self.protect_named_by(above);
            }
            let dot_git = above.join(".git");
            if dot_git.symlink_metadata().is_ok() {
                self.protect_named_by(&dot_git);
            }
        }
    }

    /// Protects what the configuration of a repository names. After a run only what it named before
    /// counts, since a change of the configuration is reported itself.
    fn protect_named_by(&mut self, dot_git: &Path) {
        if self.before.is_some() {
            return;
        }
        let files = NamedFiles::of_repository(dot_git);
        self.found.unread.extend(files.unread);
        for path in &files.paths {
            self.protect_named(path);
        }
        for directory in &files.hooks {
            self.protect_named(directory);
            // A writable directory itself cannot be read-only.
            let granted = self.grants.innermost_writable(directory);
            if granted.is_some_and(|file| file.path() == directory) {
                for hook in NamedFiles::hooks_in(directory) {
                    self.protect_named(&hook);
                }
            }
        }
    }

    /// Protects a path that a configuration names, if a run could change it.
    fn protect_named(&mut self, path: &Path) {
        let Some(granted) = self.grants.innermost_writable(path).map(FileGrant::path) else {
            return;
        };
        let is_protected = || self.grants.protected_in(granted, path).is_some();
        if granted == path || is_protected() || !self.found.named.insert(path.to_owned()) {
            return;
        }
        self.add_own_path(path);
        // Its directory may have been searched already. What does not exist is reported if the run
        // creates it.
        let Ok(metadata) = path.symlink_metadata() else {
            return;
        };
        self.found.outermost.insert(path.to_owned());
        let state = EntryState::from_metadata(&metadata);
        self.found.entries.insert(path.to_owned(), state);
        if metadata.is_dir() {
            let below = path.strip_prefix(granted).map(Path::components);
            self.queue.push_back(PendingDirectory {
                path: path.to_owned(),
                depth: below.map_or(0, Iterator::count),
                is_protected: true,
                is_other: false,
                reader: None,
            });
        }
    }

    fn is_named(&self, path: &Path) -> bool {
        self.named_above(path).is_some()
    }

    /// Returns the path at or above this one that a configuration names.
    fn named_above(&self, path: &Path) -> Option<PathBuf> {
        let mut named = self.found.named.iter();
        named.find(|named| path.starts_with(named)).cloned()
    }
}

/// Names git as the reader of the configuration of a repository that no name identifies: git executes
/// what it says if it is started there.
fn name_reader_of_configuration(entries: &mut [FoundEntry]) {
    let is_configuration =
        |entry: &&mut FoundEntry| entry.is_ordinary && entry.name.eq_ignore_ascii_case("config");
    for entry in entries.iter_mut().filter(is_configuration) {
        entry.reader = Some("git");
    }
}

/// Returns whether only the kernel sets change times on a file system. Others, such as vfat and
/// some in user space, report the modification time, which a program can set.
#[cfg(target_os = "linux")]
fn change_times(directory: &Path) -> ChangeTimes {
    // The numbers of `linux/magic.h`: ext4, XFS, Btrfs, tmpfs, F2FS.
    const WITH_INODES: [u32; 5] = [0xef53, 0x5846_5342, 0x9123_683e, 0x0102_1994, 0xf2f5_2010];
    // overlayfs, of which a directory may list other inode numbers than its files have; and the
    // numbers of ZFS and bcachefs.
    const OTHERS: [u32; 3] = [0x794c_7630, 0x2fc1_2fc1, 0xca45_1a4e];
    let magic = rustix::fs::statfs(directory).map(|stat| stat.f_type as u32);
    match magic {
        Ok(magic) if WITH_INODES.contains(&magic) => ChangeTimes::OfKernelWithInodes,
        Ok(magic) if OTHERS.contains(&magic) => ChangeTimes::OfKernel,
        _ => ChangeTimes::Settable,
    }
}

#[cfg(not(target_os = "linux"))]
fn change_times(_directory: &Path) -> ChangeTimes {
    ChangeTimes::Settable
}

/// Returns the time since 1970, in seconds.
pub(super) fn unix_seconds() -> i64 {
    let elapsed = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
    elapsed.as_secs().try_into().unwrap_or(i64::MAX)
}
