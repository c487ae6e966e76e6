//! Protected paths that exist in writable directories: found before a run, and compared after it.
#![expect(
    clippy::disallowed_methods,
    reason = "directories are only listed here; paths to mount are opened without following symlinks"
)]

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::ffi::OsStr;
use std::fmt;
use std::fs::{self, Metadata};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use skills_policy::{Access, FileGrant, Grants, ends_protected_path};

/// Maximum directory entries that are examined before and after each run. The rest could not be
/// protected, so the run is rejected.
const MAX_ENTRIES: usize = 200_000;
/// Maximum protected paths. With namespaces each of them is a mount.
const MAX_PATHS: usize = 1_000;
/// Maximum depth of directories below a granted one.
const MAX_DEPTH: usize = 64;
/// Maximum changes that are reported one by one.
const MAX_REPORTED: usize = 20;

/// How far before its listing a directory must have changed last, so that its change time tells
/// later changes apart: more than any file system rounds times.
const SETTLED_SECONDS: i64 = 3;

/// The protected paths in the writable directories of a run, and the entries below them.
#[derive(Clone, Default)]
pub struct ProtectedEntries {
    /// The states of all entries before the run.
    entries: BTreeMap<PathBuf, EntryState>,
    /// The protected paths that are not below another one, and the targets of symlinks among them.
    outermost: BTreeSet<PathBuf>,
    /// The searched directories. Only those that changed are searched after the run.
    directories: HashMap<PathBuf, SearchedDirectory>,
}

/// Compares the found paths only, not the times of the search.
impl PartialEq for ProtectedEntries {
    fn eq(&self, other: &Self) -> bool {
        (&self.entries, &self.outermost) == (&other.entries, &other.outermost)
    }
}

impl Eq for ProtectedEntries {}

impl fmt::Debug for ProtectedEntries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProtectedEntries")
            .field("entries", &self.entries)
            .field("outermost", &self.outermost)
            .finish_non_exhaustive()
    }
}

/// A directory that was searched.
#[derive(Clone)]
struct SearchedDirectory {
    depth: usize,
    is_protected: bool,
    /// Its state before it was listed, unless it changed shortly before.
    settled_state: Option<DirectoryState>,
}

/// Metadata of a directory that changes when an entry is added, removed or renamed.
#[derive(Clone, PartialEq, Eq)]
struct DirectoryState {
    /// Device and inode number.
    identity: (u64, u64),
    /// The change time, which a program cannot set on the file systems of [`has_change_times`].
    changed_at: (i64, i64),
}

/// More entries than [`ProtectedEntries::find`] examines. A protected path that was not found would
/// be writable, so a backend rejects the grants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the writable directories contain more than {0}, too many to search for protected paths; grant narrower directories"
)]
pub struct SearchLimit(&'static str);

/// Metadata of an entry that changes when it is replaced or modified.
#[derive(Debug, Clone, PartialEq, Eq)]
struct EntryState {
    /// Device and inode number.
    identity: (u64, u64),
    /// Length, change time and mode; `None` for directories, whose entries have their own states.
    /// The change time, since a program can set the modification time.
    content: Option<(u64, i64, i64, u32)>,
}

impl ProtectedEntries {
    /// Searches the writable directories, including those below protected ones. Symlinks are not
    /// followed. This reads the disk, so call it on a blocking thread.
    ///
    /// # Errors
    /// Returns the limit at which the search ended, if it could not examine everything: 200,000
    /// entries, 1,000 protected paths or 64 levels.
    pub fn find(grants: &Grants) -> Result<Self, SearchLimit> {
        Self::find_at(grants, unix_seconds())
    }

    fn find_at(grants: &Grants, now: i64) -> Result<Self, SearchLimit> {
        let mut search = Search::new(grants, None, now);
        let granted = grants.files().iter();
        search.queue.extend(
            granted
                .filter(|file| file.access() == Access::ReadWrite)
                .map(|file| (file.path().to_owned(), 0, false)),
        );
        search.run()?;
        Ok(search.found)
    }

    /// Protects the target of a protected symlink, if it is in a writable directory.
    fn protect_target(&mut self, grants: &Grants, target: Option<PathBuf>) {
        let is_changeable = |path: &PathBuf| {
            grants
                .innermost_writable(path)
                .is_some_and(|file| file.path() != path)
        };
        self.outermost.extend(target.filter(is_changeable));
    }

    /// Returns the paths to make read-only.
    pub fn outermost(&self) -> impl Iterator<Item = &Path> {
        self.outermost.iter().map(PathBuf::as_path)
    }

    /// Searches the directories that may have changed since the search before the run, and new ones.
    /// Returns the limit at which the search ended too, if it did.
    fn search_changed<'a>(&'a self, grants: &'a Grants) -> (Search<'a>, Option<SearchLimit>) {
        let mut search = Search::new(grants, Some(&self.directories), unix_seconds());
        let changed = self.directories.iter().filter(|(path, searched)| {
            let now = path.symlink_metadata().ok();
            searched.settled_state.is_none()
                || searched.settled_state != now.as_ref().map(DirectoryState::from_metadata)
        });
        let mut changed: Vec<_> = changed
            .map(|(path, searched)| (path.clone(), searched.depth, searched.is_protected))
            .collect();
        // So that a program cannot hide a change by another one at the maximum depth.
        changed.sort_by_key(|(_, depth, _)| *depth);
        search.queue.extend(changed);
        let limit = search.run().err();
        (search, limit)
    }

    /// Compares with the state after the run, and returns one line for each protected path that was
    /// created, changed or removed, at most 20 and the number of the others. Then at most 20 for
    /// directories that the program made unreadable, and one if it created more than
    /// [`find`](Self::find) examines.
    pub fn changes(&self, grants: &Grants) -> Vec<String> {
        let (search, limit) = self.search_changed(grants);
        let created = search
            .found
            .entries
            .keys()
            .filter(|path| !self.entries.contains_key(*path))
            .map(|path| (path, "created"));
        let unreadable = search.unreadable.iter();
        let unreadable = unreadable.filter(|path| !self.outermost.contains(*path));
        let changed =
            self.entries
                .iter()
                .filter_map(|(path, before)| match path.symlink_metadata() {
                    Ok(now) if EntryState::from_metadata(&now) == *before => None,
                    Ok(_) => Some((path, "changed")),
                    Err(_) => Some((path, "removed")),
                });
        let all: BTreeSet<_> = created.chain(changed).collect();
        let more = all.len().saturating_sub(MAX_REPORTED);
        let line = |(path, change): &(&PathBuf, &str)| {
            let path = path.display().to_string();
            format!(
                "the program {change} the protected path {path:?}: check it before another program runs or reads it"
            )
        };
        let lines = all.iter().take(MAX_REPORTED).map(line);
        let unreadable = unreadable.take(MAX_REPORTED).map(|path| {
            format!("the program made {path:?} unreadable: it may contain protected paths")
        });
        lines
            .chain((more > 0).then(|| {
                format!("and {more} more protected paths were created, changed or removed")
            }))
            .chain(unreadable)
            .chain(limit.map(|SearchLimit(limit)| {
                format!("protected paths were not searched completely: the writable directories contain more than {limit}")
            }))
            .collect()
    }
}

/// A search for protected paths.
struct Search<'a> {
    grants: &'a Grants,
    /// The names of paths that are granted or protected by themselves, by their directory.
    own_paths: HashMap<&'a Path, HashSet<&'a OsStr>>,
    /// The directories that an earlier search found; they are not searched below others.
    known: Option<&'a HashMap<PathBuf, SearchedDirectory>>,
    /// The time at which the search started, in seconds.
    started_at: i64,
    /// The directories to search, with their depth and whether they are protected.
    queue: VecDeque<(PathBuf, usize, bool)>,
    remaining: usize,
    /// Whether [change times](has_change_times) of a device can be relied on.
    devices: HashMap<u64, bool>,
    /// The directories that could not be listed.
    unreadable: BTreeSet<PathBuf>,
    found: ProtectedEntries,
}

impl<'a> Search<'a> {
    fn new(
        grants: &'a Grants,
        known: Option<&'a HashMap<PathBuf, SearchedDirectory>>,
        started_at: i64,
    ) -> Self {
        let mut own_paths: HashMap<&Path, HashSet<&OsStr>> = HashMap::new();
        let granted = grants.files().iter().map(FileGrant::path);
        for path in granted.chain(grants.protected().iter().map(PathBuf::as_path)) {
            if let (Some(parent), Some(name)) = (path.parent(), path.file_name()) {
                own_paths.entry(parent).or_default().insert(name);
            }
        }
        Self {
            grants,
            own_paths,
            known,
            started_at,
            queue: VecDeque::new(),
            remaining: MAX_ENTRIES,
            devices: HashMap::new(),
            unreadable: BTreeSet::new(),
            found: ProtectedEntries::default(),
        }
    }

    /// Searches the directories of the queue and those below them.
    fn run(&mut self) -> Result<(), SearchLimit> {
        while let Some((directory, depth, is_protected)) = self.queue.pop_front() {
            let settled_state = directory
                .symlink_metadata()
                .ok()
                .and_then(|metadata| self.settled_state(&directory, &metadata));
            match fs::read_dir(&directory) {
                Ok(entries) => self.search(&directory, entries, depth, is_protected)?,
                // A file that was granted by itself, or a directory that was removed.
                Err(error)
                    if matches!(error.kind(), ErrorKind::NotADirectory | ErrorKind::NotFound) => {}
                // A directory that cannot be listed may contain protected paths, so all of it is
                // protected.
                Err(_) => {
                    self.found.outermost.insert(directory.clone());
                    self.unreadable.insert(directory);
                    continue;
                }
            }
            let searched = SearchedDirectory {
                depth,
                is_protected,
                settled_state,
            };
            self.found.directories.insert(directory, searched);
        }
        Ok(())
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

    fn search(
        &mut self,
        directory: &Path,
        entries: fs::ReadDir,
        depth: usize,
        is_protected: bool,
    ) -> Result<(), SearchLimit> {
        let own_names = self.own_paths.get(directory).cloned().unwrap_or_default();
        for entry in entries.flatten() {
            let name = entry.file_name();
            let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
            // Nearly all entries are neither protected nor granted by themselves.
            let needs_check =
                is_protected || own_names.contains(name.as_os_str()) || ends_protected_path(&name);
            let child = if needs_check {
                self.examine(&entry.path())
            } else {
                Some(false)
            };
            let child = child.filter(|_| is_directory);
            self.check_limits(depth, child.is_some())?;
            let Some(is_protected) = child else { continue };
            let path = entry.path();
            if self.known.is_none_or(|known| !known.contains_key(&path)) {
                self.queue.push_back((path, depth + 1, is_protected));
            }
        }
        Ok(())
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

    /// Records an entry if it is protected. Returns whether it is, or `None` if the search does not
    /// continue below it.
    fn examine(&mut self, path: &Path) -> Option<bool> {
        let granted = self.grants.innermost_writable(path).map(FileGrant::path)?;
        // A writable directory inside another one is searched by itself.
        if granted == path {
            return None;
        }
        let Some(protected) = self.grants.protected_in(granted, path) else {
            return Some(false);
        };
        let is_outermost = path
            .parent()
            .is_none_or(|parent| self.grants.protected_in(granted, parent).is_none());
        if is_outermost {
            self.found.outermost.insert(path.to_owned());
        }
        // Objects, branches and logs of a repository change with every commit, and another program
        // may commit during the run. Only entries that are protected themselves, such as `config`
        // and `hooks`, are compared.
        if protected.ends_with(".git") && !is_outermost {
            return None;
        }
        let Ok(metadata) = path.symlink_metadata() else {
            return Some(true);
        };
        let found = &mut self.found;
        if metadata.is_symlink() {
            found.protect_target(self.grants, path.canonicalize().ok());
        } else if metadata.is_file() && is_outermost && protected == path && path.ends_with(".git")
        {
            found.protect_target(self.grants, git_directory(path));
        }
        found
            .entries
            .insert(path.to_owned(), EntryState::from_metadata(&metadata));
        Some(true)
    }
}

/// Returns true for a file system whose change times only the kernel sets. Others, such as vfat and
/// some in user space, report the modification time, which a program can set.
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
fn unix_seconds() -> i64 {
    let elapsed = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
    elapsed.as_secs().try_into().unwrap_or(i64::MAX)
}

impl DirectoryState {
    fn from_metadata(metadata: &Metadata) -> Self {
        Self {
            identity: (metadata.dev(), metadata.ino()),
            changed_at: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}

/// Returns the repository that a `.git` file refers to, as in worktrees and submodules. Its hooks
/// run like those in a `.git` directory.
fn git_directory(path: &Path) -> Option<PathBuf> {
    const MAX_BYTES: u64 = 4_096;
    let mut text = String::new();
    fs::File::open(path)
        .ok()?
        .take(MAX_BYTES)
        .read_to_string(&mut text)
        .ok()?;
    path.parent()?
        .join(text.strip_prefix("gitdir:")?.trim())
        .canonicalize()
        .ok()
}

impl EntryState {
    fn from_metadata(metadata: &Metadata) -> Self {
        let content = (!metadata.is_dir()).then(|| {
            (
                metadata.len(),
                metadata.ctime(),
                metadata.ctime_nsec(),
                metadata.mode(),
            )
        });
        Self {
            identity: (metadata.dev(), metadata.ino()),
            content,
        }
    }
}

#[cfg(test)]
mod tests {
    use skills_policy::{Authorization, Capability, Policy, Request, RuleSource, Target};

    use super::*;

    fn grants(workspace: &Path) -> Grants {
        let hooks = Target::write(workspace.join("nested/.git")).unwrap();
        let request = Request::new("/skills/a")
            .allowed_tool("Write", None)
            .allowed_tool("Write", Some("nested/.git/**"))
            .workspace(workspace);
        let request = request.protect(workspace.join("roots/skills"));
        match Policy::default()
            .allow(RuleSource::User, Capability::Write)
            .allow(RuleSource::User, hooks)
            .authorize(&request)
        {
            Authorization::Granted(grants) => grants,
            Authorization::Denied(denial) => panic!("{denial}"),
        }
    }

    fn create_files(workspace: &Path, paths: &[&str]) {
        for path in paths {
            fs::create_dir_all(workspace.join(path).parent().unwrap()).unwrap();
            fs::write(workspace.join(path), "x").unwrap();
        }
    }

    fn outermost_paths(workspace: &Path, found: &ProtectedEntries) -> String {
        let below = |path: &Path| path.strip_prefix(workspace).unwrap().display().to_string();
        found.outermost().map(below).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn protected_paths_are_found_at_any_depth() {
        let directory = tempfile::tempdir().unwrap();
        let workspace = directory.path().canonicalize().unwrap();
        let unprotected = ["src/main.rs", ".github/FUNDING.yml", "nested/.git/HEAD"];
        create_files(
            &workspace,
            &[
                ".git/config",
                "a/b/.GIT/hooks/x",
                ".github/workflows/ci.yml",
                "a/.envrc",
                "roots/skills/x/SKILL.md",
                "nested/.git/hooks/y",
            ],
        );
        create_files(&workspace, &unprotected);
        std::os::unix::fs::symlink("dotfiles", workspace.join(".zshrc")).unwrap();
        create_files(&workspace, &["dotfiles"]);
        let found = ProtectedEntries::find(&grants(&workspace)).unwrap();
        let expected = ".git .github/workflows .zshrc a/.envrc a/b/.GIT dotfiles nested/.git/hooks roots/skills";
        assert_eq!(outermost_paths(&workspace, &found), expected);
    }

    #[test]
    fn changes_of_protected_paths_are_reported() {
        let directory = tempfile::tempdir().unwrap();
        let workspace = directory.path().canonicalize().unwrap();
        create_files(
            &workspace,
            &[
                ".git/config",
                ".git/hooks/old",
                ".git/objects/a",
                ".vscode/tasks.json",
            ],
        );
        let grants = grants(&workspace);
        let before = ProtectedEntries::find(&grants).unwrap();
        assert!(before.changes(&grants).is_empty());
        create_files(
            &workspace,
            &[
                ".git/hooks/new",
                ".git/objects/b",
                "sub/.claude/settings.json",
            ],
        );
        fs::write(workspace.join(".git/config"), "longer").unwrap();
        fs::remove_file(workspace.join(".vscode/tasks.json")).unwrap();
        // Its target is protected in the next run, and not a change itself.
        create_files(&workspace, &["dotfiles"]);
        std::os::unix::fs::symlink("dotfiles", workspace.join(".zshrc")).unwrap();
        let changes = before
            .changes(&grants)
            .join("\n")
            .replace(&workspace.display().to_string(), "");
        let changes = changes
            .replace("the program ", "")
            .replace(": check it before another program runs or reads it", "");
        insta::assert_snapshot!(changes, @r#"
        changed the protected path "/.git/config"
        created the protected path "/.git/hooks/new"
        removed the protected path "/.vscode/tasks.json"
        created the protected path "/.zshrc"
        created the protected path "/sub/.claude"
        created the protected path "/sub/.claude/settings.json"
        "#);
    }

    /// Returns the protected paths that a check of each path finds.
    fn find_all(grants: &Grants, directory: &Path, found: &mut BTreeSet<PathBuf>) {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let granted = grants.innermost_writable(&path).unwrap().path();
            if grants
                .protected_in(granted, &path)
                .is_some_and(|protected| protected == path)
            {
                found.insert(path.clone());
            }
            if path.is_dir() {
                find_all(grants, &path, found);
            }
        }
    }

    #[test]
    fn the_search_finds_what_a_check_of_each_path_finds() {
        let directory = tempfile::tempdir().unwrap();
        let workspace = directory.path().canonicalize().unwrap();
        for (index, path) in skills_policy::protected_paths().iter().enumerate() {
            let path = path.replace('*', "any");
            let upper = path.to_uppercase();
            let files = [
                format!("{index}/{path}/x"),
                format!("{index}/a/{upper}. /config"),
            ];
            create_files(&workspace, &files.each_ref().map(String::as_str));
        }
        let grants = grants(&workspace);
        let mut expected = BTreeSet::new();
        find_all(&grants, &workspace, &mut expected);
        let is_inner = |path: &&PathBuf| {
            expected
                .iter()
                .any(|outer| path != &outer && path.starts_with(outer))
        };
        let found = ProtectedEntries::find(&grants).unwrap();
        let outermost: BTreeSet<_> = expected.iter().filter(|path| !is_inner(path)).collect();
        assert_eq!(found.outermost.iter().collect::<BTreeSet<_>>(), outermost);
        assert!(expected.iter().all(|path| found.entries.contains_key(path)));
        assert!(outermost.len() > skills_policy::protected_paths().len());
    }

    #[test]
    fn a_change_is_reported_beside_one_at_the_maximum_depth() {
        let directory = tempfile::tempdir().unwrap();
        let workspace = directory.path().canonicalize().unwrap();
        let deep = "d/".repeat(MAX_DEPTH);
        create_files(&workspace, &[&format!("{deep}x"), "a/b/x"]);
        let grants = grants(&workspace);
        let before = ProtectedEntries::find(&grants).unwrap();
        create_files(&workspace, &[&format!("{deep}d/x"), "a/b/.envrc"]);
        let changes = before.changes(&grants);
        assert_eq!(changes.len(), 2);
        assert!(changes[0].contains("a/b/.envrc"));
        assert!(changes[1].ends_with("more than 64 levels of directories"));
    }

    #[test]
    fn a_directory_that_becomes_unreadable_is_reported() {
        use std::os::unix::fs::PermissionsExt;

        let directory = tempfile::tempdir().unwrap();
        let workspace = directory.path().canonicalize().unwrap();
        create_files(&workspace, &["a/x", "b/x"]);
        let set_mode = |name: &str, mode| {
            fs::set_permissions(workspace.join(name), PermissionsExt::from_mode(mode)).unwrap();
        };
        set_mode("b", 0o311);
        if fs::read_dir(workspace.join("b")).is_ok() {
            return skills_test_support::skip("root lists every directory");
        }
        let grants = grants(&workspace);
        let before = ProtectedEntries::find(&grants).unwrap();
        create_files(&workspace, &["a/new/.envrc"]);
        set_mode("a/new", 0o311);
        let changes = before.changes(&grants).join("\n");
        set_mode("a/new", 0o755);
        assert!(changes.ends_with("/a/new\" unreadable: it may contain protected paths"));
        assert_eq!(changes.lines().count(), 1);
    }

    #[test]
    fn only_changed_and_new_directories_are_searched_again() {
        let directory = tempfile::tempdir().unwrap();
        let workspace = directory.path().canonicalize().unwrap();
        create_files(
            &workspace,
            &["a/b/x", "a/c/x", "d/e/x", "f/x", "nested/.git/x"],
        );
        let grants = grants(&workspace);
        let searched_again = |before: &ProtectedEntries| {
            let (search, _) = before.search_changed(&grants);
            let paths = search
                .found
                .directories
                .keys()
                .map(|path| path.strip_prefix(&workspace).unwrap());
            let paths: BTreeSet<_> = paths.map(|path| path.display().to_string()).collect();
            paths.into_iter().collect::<Vec<_>>().join(" ")
        };
        // Directories that changed within the last seconds may change again at the same time.
        let before = ProtectedEntries::find(&grants).unwrap();
        assert_eq!(
            searched_again(&before),
            " a a/b a/c d d/e f nested nested/.git"
        );
        let before = ProtectedEntries::find_at(&grants, unix_seconds() + 60).unwrap();
        assert_eq!(searched_again(&before), "");
        // Older kernels set change times once in a hundredth of a second.
        std::thread::sleep(std::time::Duration::from_millis(20));
        create_files(&workspace, &["a/b/y/.envrc"]);
        fs::rename(workspace.join("d"), workspace.join("f/d")).unwrap();
        assert_eq!(searched_again(&before), " a/b a/b/y d d/e f f/d f/d/e");
        assert_eq!(before.changes(&grants).len(), 1);
    }
}
