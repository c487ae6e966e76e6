//! The search through writable directories.
#![expect(
    clippy::disallowed_methods,
    reason = "directories are only listed here; paths to mount are opened without following symlinks"
)]

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::ffi::OsString;
use std::fs::{self, DirEntry, Metadata};
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use skills_policy::{FileGrant, Grants, ends_executed_path};

use super::{
    DirectoryState, EntryState, FoundFile, MAX_DEPTH, MAX_ENTRIES, MAX_PATHS, ProtectedEntries,
    SearchLimit, SearchedDirectory,
};
use crate::git_named_files::{self, NamedFiles};

/// How far before its listing a directory must have changed last, so that its change time tells
/// later changes apart: more than any file system rounds times.
const SETTLED_SECONDS: i64 = 3;
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
    /// Whether [change times](has_change_times) of a device can be relied on.
    devices: HashMap<u64, bool>,
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

    /// Searches the directories of the queue and those below them.
    pub(super) fn run(&mut self) -> Result<(), SearchLimit> {
        while let Some(mut pending) = self.queue.pop_front() {
            // It may have been queued before the configuration that names it was read.
            pending.is_protected |= self.is_named(&pending.path);
            let found = self.found.directories.get(&pending.path);
            if found.is_some_and(|found| found.is_protected >= pending.is_protected) {
                continue;
            }
            let directory = pending.path.clone();
            let settled_state = directory
                .symlink_metadata()
                .ok()
                .and_then(|metadata| self.settled_state(&directory, &metadata));
            let Some(files) = self.list(&pending, fs::read_dir(&directory))? else {
                continue;
            };
            let searched = SearchedDirectory {
                depth: pending.depth,
                is_protected: pending.is_protected,
                reader: pending.reader,
                files,
                settled_state,
            };
            self.found.directories.insert(directory, searched);
        }
        Ok(())
    }

    /// Examines the entries of a directory, and returns its files that are not protected, by name;
    /// `None` if it cannot be listed, or not to its end.
    pub(super) fn list(
        &mut self,
        directory: &PendingDirectory,
        entries: io::Result<impl Iterator<Item = io::Result<DirEntry>>>,
    ) -> Result<Option<Vec<FoundFile>>, SearchLimit> {
        let files = match entries {
            Ok(entries) => self.search(directory, entries)?,
            Err(error) => match error.kind() {
                ErrorKind::NotADirectory => Some(self.granted_file(directory)),
                // It was removed.
                ErrorKind::NotFound => Some(Vec::new()),
                _ => None,
            },
        };
        if files.is_none() {
            self.protect_unreadable(directory.path.clone());
        }
        Ok(files)
    }

    /// Returns a file that was granted by itself.
    fn granted_file(&self, file: &PendingDirectory) -> Vec<FoundFile> {
        let state = EntryState::of_content(&file.path).filter(|_| !file.is_protected);
        let found = state.map(|state| FoundFile {
            // Joined with the path, the absolute path is the path.
            name: file.path.clone().into_os_string(),
            reader: self.grants.file_reader(&file.path),
            state,
        });
        found.into_iter().collect()
    }

    /// Protects all of a directory that cannot be listed: it may contain protected paths.
    fn protect_unreadable(&mut self, directory: PathBuf) {
        self.found.outermost.insert(directory.clone());
        self.unreadable.insert(directory);
    }

    /// Returns the state of a directory, unless another change could leave it as it is: on a file
    /// system without change times, and after a change so shortly before that both have the same.
    fn settled_state(&mut self, directory: &Path, metadata: &Metadata) -> Option<DirectoryState> {
        let is_settled = metadata.ctime() < self.started_at - SETTLED_SECONDS;
        let mut has_change_times = || {
            let known = self.devices.entry(metadata.dev());
            *known.or_insert_with(|| has_change_times(directory))
        };
        (is_settled && has_change_times()).then(|| DirectoryState::from_metadata(metadata))
    }

    /// Examines the entries of a directory as [`list`](Self::list), if all of them can be listed.
    fn search(
        &mut self,
        directory: &PendingDirectory,
        entries: impl Iterator<Item = io::Result<DirEntry>>,
    ) -> Result<Option<Vec<FoundFile>>, SearchLimit> {
        let depth = directory.depth;
        let own_names = self.own_paths.get(&directory.path).cloned();
        let own_names = own_names.unwrap_or_default();
        let mut of_repository = HashSet::new();
        let mut files = Vec::new();
        for entry in entries {
            let Ok(entry) = entry else {
                return Ok(None);
            };
            let name = entry.file_name();
            let part = BARE_REPOSITORY
                .iter()
                .position(|part| name.eq_ignore_ascii_case(part));
            of_repository.extend(part);
            let is_directory = match entry.file_type() {
                Ok(kind) => kind.is_dir(),
                Err(error) if error.kind() == ErrorKind::NotFound => false,
                // It may be a directory with protected paths.
                Err(_) => {
                    self.protect_unreadable(entry.path());
                    false
                }
            };
            // Nearly all entries are neither listed nor granted by themselves.
            let needs_check =
                directory.is_protected || own_names.contains(&name) || ends_executed_path(&name);
            let kind = if needs_check {
                self.examine(&entry.path(), is_directory)
            } else {
                EntryKind::Unprotected(directory.reader)
            };
            let descends = is_directory && !matches!(kind, EntryKind::Skipped);
            self.check_limits(depth, descends)?;
            if let EntryKind::Unprotected(reader) = kind
                && !is_directory
            {
                files.extend(found_file(&entry, name, reader));
            }
            if !descends {
                continue;
            }
            let path = entry.path();
            let is_new = |before: &ProtectedEntries| !before.directories.contains_key(&path);
            if self.before.is_none_or(is_new) {
                self.queue.push_back(PendingDirectory {
                    path,
                    depth: depth + 1,
                    is_protected: matches!(kind, EntryKind::Protected),
                    reader: match kind {
                        EntryKind::Unprotected(reader) => reader,
                        EntryKind::Protected | EntryKind::Skipped => None,
                    },
                });
            }
        }
        if of_repository.len() == BARE_REPOSITORY.len() && !directory.is_protected {
            name_reader_of_configuration(&mut files);
        }
        files.sort_unstable_by(|one, other| one.name.cmp(&other.name));
        Ok(Some(files))
    }

    /// Counts an entry. `descends` says whether it is a directory that is to be searched.
    fn check_limits(&mut self, depth: usize, descends: bool) -> Result<(), SearchLimit> {
        self.remaining -= 1;
        match (self.remaining, self.found.outermost.len(), depth) {
            (0, ..) => Err(SearchLimit("200,000 files and directories")),
            (_, MAX_PATHS.., _) => Err(SearchLimit("1,000 protected paths")),
            (.., MAX_DEPTH..) if descends => Err(SearchLimit("64 levels of directories")),
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
            return EntryKind::Skipped;
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

/// Returns what is compared of a file, through symlinks; `None` if it was removed.
fn found_file(entry: &DirEntry, name: OsString, reader: Option<&'static str>) -> Option<FoundFile> {
    // Relative to the listed directory, which saves the lookup of a long path.
    let metadata = entry.metadata().ok()?;
    let state = if metadata.is_symlink() {
        EntryState::of_content(&entry.path())?
    } else {
        EntryState::from_metadata(&metadata)
    };
    Some(FoundFile {
        name,
        reader,
        state,
    })
}

/// Names git as the reader of the configuration of a repository that no name identifies: git executes
/// what it says if it is started there.
fn name_reader_of_configuration(files: &mut [FoundFile]) {
    let is_configuration = |file: &&mut FoundFile| file.name.eq_ignore_ascii_case("config");
    for file in files.iter_mut().filter(is_configuration) {
        file.reader = Some("git");
    }
}

/// Returns true for a file system on which only the kernel sets change times. Others, such as vfat
/// and some in user space, report the modification time, which a program can set.
#[cfg(target_os = "linux")]
fn has_change_times(directory: &Path) -> bool {
    // The numbers of `linux/magic.h`: ext4, XFS, Btrfs, tmpfs, overlayfs, F2FS; and those of ZFS
    // and bcachefs.
    const KNOWN: [u32; 8] = [
        0xef53,
        0x5846_5342,
        0x9123_683e,
        0x0102_1994,
        0x794c_7630,
        0xf2f5_2010,
        0x2fc1_2fc1,
        0xca45_1a4e,
    ];
    rustix::fs::statfs(directory).is_ok_and(|stat| KNOWN.contains(&(stat.f_type as u32)))
}

#[cfg(not(target_os = "linux"))]
fn has_change_times(_directory: &Path) -> bool {
    false
}

/// Returns the time since 1970, in seconds.
pub(super) fn unix_seconds() -> i64 {
    let elapsed = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
    elapsed.as_secs().try_into().unwrap_or(i64::MAX)
}
