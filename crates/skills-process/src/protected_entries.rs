//! Protected paths that exist in writable directories: found before a run, and compared after it.
mod changes;
mod found_entry;
mod search;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};

use skills_policy::{Access, Grants};
use skills_sandbox::{ChangedEntries, ExecutedFile, ExecutedFiles};

use self::changes::Comparison;
use self::found_entry::FoundEntry;
use self::search::{PendingDirectory, Search, unix_seconds};
use crate::change_clock::ChangeClock;
use crate::entry_state::{DirectoryState, EntryState};
use crate::open_directory::EntryType;

/// Maximum directory entries that are examined before and after each run. The rest could not be
/// protected, so the run is rejected.
const MAX_ENTRIES: usize = 200_000;
/// Maximum protected paths. With namespaces each of them is a mount.
const MAX_PATHS: usize = 1_000;
/// Maximum depth of directories below a granted one.
const MAX_DEPTH: usize = 64;
/// Maximum changes that are reported one by one.
const MAX_REPORTED: usize = 20;
/// Maximum entries of directories that are not searched for protected paths, such as the objects of
/// a repository, and maximum new entries after a run.
const MAX_OTHER_ENTRIES: usize = 200_000;

/// The protected paths in the writable directories of a run, and the entries below them.
#[derive(Clone, Default)]
pub struct ProtectedEntries {
    /// The states of all entries before the run.
    entries: BTreeMap<PathBuf, EntryState>,
    /// The protected paths that are not below another one, and the targets of symlinks among them.
    outermost: BTreeSet<PathBuf>,
    /// The paths that the configuration of a repository of git names, if a run could change them.
    /// They need not exist.
    named: BTreeSet<PathBuf>,
    /// The configuration files of git that could not be read, or only in part.
    unread: BTreeSet<PathBuf>,
    /// The searched directories. Only those that changed are listed again after the run.
    directories: HashMap<PathBuf, SearchedDirectory>,
    /// The directories that could not be listed.
    unlisted: BTreeSet<PathBuf>,
    /// Tells changes of files that were not examined before the run.
    clock: Option<ChangeClock>,
    /// The limit at which the search of directories without protected paths ended.
    other_limit: Option<&'static str>,
}

/// What a run changed of the files that other programs execute or trust.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProtectedChanges {
    /// One line for each protected path that was created, changed or removed, except those in a
    /// protected directory that was created, at most 20 and the
    /// number of the others. Then at most 20 for directories that the program made unreadable, one
    /// for each configuration file of git that could not be read, and one if the program created
    /// more than [`ProtectedEntries::find`] examines.
    pub notes: Vec<String>,
    /// The other files that were created or changed and that other programs execute.
    pub executed: ExecutedFiles,
    /// All that changed, if [all entries](ProtectedEntries::find_all) were found before the run.
    pub entries: ChangedEntries,
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
    /// Whether its entries were listed only to find changes, not protected paths.
    is_other: bool,
    /// The program that executes all files in it.
    reader: Option<&'static str>,
    /// Its entries, by name.
    entries: Vec<FoundEntry>,
    /// `None` if there was no directory.
    device: Option<u64>,
    /// Its state before it was listed, unless it changed shortly before.
    settled_state: Option<DirectoryState>,
}

/// More entries than [`ProtectedEntries::find`] examines. A protected path that was not found would
/// be writable, so a backend rejects the grants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the writable directories contain more than {0}, too many to search for protected paths; grant narrower directories"
)]
pub struct SearchLimit(&'static str);

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

    /// As [`find`](Self::find), and lists all other entries too, such as the objects of
    /// repositories, so that [`changes`](Self::changes) reports each change. Of them there can be
    /// 200,000 more.
    ///
    /// # Errors
    /// As [`find`](Self::find).
    pub fn find_all(grants: &Grants) -> Result<Self, SearchLimit> {
        Self::search_all(
            Search::new(grants, None, unix_seconds()).with_others(),
            grants,
        )
    }

    fn find_at(grants: &Grants, now: i64) -> Result<Self, SearchLimit> {
        Self::search_all(Search::new(grants, None, now), grants)
    }

    fn search_all(mut search: Search<'_>, grants: &Grants) -> Result<Self, SearchLimit> {
        let granted = grants.files().iter();
        for file in granted.filter(|file| file.access() == Access::ReadWrite) {
            search.protect_named_by_repositories_above(file.path());
            search.queue.push_back(PendingDirectory {
                path: file.path().to_owned(),
                depth: 0,
                is_protected: false,
                is_other: false,
                reader: grants.reader_of_files_in(file.path()),
            });
        }
        search.run()?;
        search.run_others();
        Ok(search.into_found())
    }

    /// Returns the names in a directory with their types and inode numbers, if it was listed. Those
    /// that could not be examined are missing.
    pub(crate) fn listing(
        &self,
        directory: &Path,
    ) -> Option<impl Iterator<Item = (&OsStr, EntryType, u64)>> {
        let searched = self.directories.get(directory);
        let searched = searched.filter(|searched| searched.device.is_some())?;
        Some(searched.entries.iter().map(FoundEntry::listed))
    }

    /// Returns the protected paths that no name identifies: targets of protected symlinks, what the
    /// configuration of a repository of git names, which need not exist, and directories that
    /// cannot be listed.
    #[must_use]
    pub fn by_content(&self, grants: &Grants) -> Vec<PathBuf> {
        let is_by_name = |path: &Path| {
            let granted = grants.innermost_writable(path);
            granted.is_some_and(|file| grants.protected_in(file.path(), path).is_some())
        };
        let all = self.outermost.union(&self.named);
        all.filter(|path| !is_by_name(path)).cloned().collect()
    }

    /// Returns the paths to make read-only.
    pub fn outermost(&self) -> impl Iterator<Item = &Path> {
        self.outermost.iter().map(PathBuf::as_path)
    }

    /// Searches the directories that may have changed since the search before the run, and new ones.
    /// Returns the limit at which the search ended too, if it did.
    fn search_changed<'a>(&'a self, grants: &'a Grants) -> (Search<'a>, Option<SearchLimit>) {
        let mut search = Search::new(grants, Some(self), unix_seconds());
        let searched = self.directories.iter();
        let searched = searched.filter(|(_, searched)| !searched.is_other);
        let changed = searched.filter(|(path, searched)| {
            let now = path.symlink_metadata().ok();
            searched.settled_state.is_none()
                || searched.settled_state != now.as_ref().map(DirectoryState::from_metadata)
        });
        let mut changed: Vec<_> = changed
            .map(|(path, searched)| PendingDirectory {
                path: path.clone(),
                depth: searched.depth,
                is_protected: searched.is_protected,
                is_other: false,
                reader: searched.reader,
            })
            .collect();
        // So that a program cannot hide a change by another one at the maximum depth.
        changed.sort_by_key(|directory| directory.depth);
        search.queue.extend(changed);
        let limit = search.run().err();
        (search, limit)
    }

    /// Compares with the state after the run. This reads the disk, so call it on a blocking thread.
    pub fn changes(&self, grants: &Grants) -> ProtectedChanges {
        let comparison = Comparison::new(self, grants);
        let (search, limit) = self.search_changed(grants);
        let executed = self.changed_executed(&search.found, &comparison);
        let is_complete = limit.is_none() && !self.was_clock_set();
        ProtectedChanges {
            notes: self.notes(&search, limit),
            executed: if is_complete {
                executed
            } else {
                executed.incomplete()
            },
            entries: comparison.entries,
        }
    }

    /// Returns true if changes of files that were not examined before the run are unknown.
    fn was_clock_set(&self) -> bool {
        self.clock.as_ref().is_some_and(ChangeClock::was_set)
    }

    /// Returns the files that other programs execute and that were created or changed. All of them,
    /// so that many cannot hide one.
    fn changed_executed(&self, now: &Self, comparison: &Comparison<'_>) -> ExecutedFiles {
        let listed = now.directories.iter().flat_map(|(directory, searched)| {
            let before = self.directories.get(directory);
            searched.entries.iter().filter_map(move |entry| {
                let before = before.and_then(|before| Some((before, before.entry(&entry.name)?)));
                self.executed_change(directory, before, entry)
            })
        });
        let directories = self.directories.iter();
        let unlisted =
            directories.filter(|(directory, _)| !now.directories.contains_key(*directory));
        let unlisted = unlisted.flat_map(|(directory, searched)| {
            let changed = comparison.changed_in(directory).unwrap_or_else(|| {
                // It is reached through a symlink now.
                searched.examine_again(directory, self.clock.as_ref())
            });
            let changed = changed.into_iter();
            changed.filter_map(move |(before, now)| before.executed(Some(before), &now, directory))
        });
        let mut files: Vec<_> = listed.chain(unlisted).collect();
        files.sort_unstable();
        ExecutedFiles::of_search(files)
    }

    /// Returns what is reported of an entry that was listed after the run.
    fn executed_change(
        &self,
        directory: &Path,
        before: Option<(&SearchedDirectory, &FoundEntry)>,
        entry: &FoundEntry,
    ) -> Option<ExecutedFile> {
        let now = entry.content()?;
        let Some((searched, before)) = before.filter(|(_, before)| before.is_ordinary) else {
            return entry.executed(None, now, directory);
        };
        let is_changed = before.is_changed(now, searched.device, self.clock.as_ref());
        // What is around a file can make it an executed one.
        let is_reported = is_changed || before.program(now).is_none();
        is_reported.then(|| entry.executed(Some(before), now, directory))?
    }

    /// Returns one line for each configuration file of git that could not be read, or only in part, at
    /// most 20. [`changes`](Self::changes) includes them.
    pub fn unread_notes(&self) -> impl Iterator<Item = String> {
        self.unread.iter().take(MAX_REPORTED).map(|path| {
            format!("cannot read all of the git configuration {path:?}: files that it names may not be protected")
        })
    }

    fn notes(&self, search: &Search<'_>, limit: Option<SearchLimit>) -> Vec<String> {
        // A directory that a configuration names may have been searched before it was known.
        let named = self
            .named
            .iter()
            .filter(|path| path.symlink_metadata().is_ok());
        let created = search
            .found
            .entries
            .keys()
            .chain(named)
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
        // A new directory stands for what is in it, such as a repository that was cloned.
        let is_in_new = |(path, _): &&(&PathBuf, &str)| {
            let mut above = path.ancestors().skip(1).map(Path::to_owned);
            above.any(|above| all.contains(&(&above, "created")))
        };
        let all: BTreeSet<_> = all.iter().filter(|change| !is_in_new(change)).collect();
        let more = all.len().saturating_sub(MAX_REPORTED);
        let line = |(path, change): &&(&PathBuf, &str)| {
            let path = path.display().to_string();
            format!(
                "the protected path {path:?} was {change} during the run: check it before another program runs or reads it"
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
            .chain(self.unread_notes())
            .chain(limit.map(|SearchLimit(limit)| {
                format!("protected paths were not searched completely: the writable directories contain more than {limit}")
            }))
            .collect()
    }
}

impl SearchedDirectory {
    fn entry(&self, name: &OsStr) -> Option<&FoundEntry> {
        let entries = &self.entries;
        let index = entries.binary_search_by(|entry| entry.name.as_os_str().cmp(name));
        index.ok().map(|index| &entries[index])
    }

    /// Returns the files that changed, by their paths, and their states now.
    fn examine_again(
        &self,
        directory: &Path,
        clock: Option<&ChangeClock>,
    ) -> Vec<(&FoundEntry, EntryState)> {
        let files = self.entries.iter().filter(|entry| entry.is_ordinary);
        let examined = files.filter_map(|entry| {
            let now = EntryState::of_content(&directory.join(&entry.name))?;
            let is_changed = entry.is_changed(&now, self.device, clock);
            is_changed.then_some((entry, now))
        });
        examined.collect()
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test creates its own files")]
mod tests {
    use std::fs;
    use std::io;

    use skills_policy::{Authorization, Capability, Policy, Request, RuleSource, Target};

    use super::*;
    use crate::open_directory::OpenDirectory;

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

    fn unchanged() -> ProtectedChanges {
        ProtectedChanges {
            notes: Vec::new(),
            executed: ExecutedFiles::of_search([]),
            entries: ChangedEntries::default(),
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
        assert_eq!(before.changes(&grants), unchanged());
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
            .notes
            .join("\n")
            .replace(&workspace.display().to_string(), "");
        let changes = changes
            .replace("the protected path ", "")
            .replace(
                " during the run: check it before another program runs or reads it",
                "",
            )
            .replace(" was ", " ");
        insta::assert_snapshot!(changes, @r#"
        "/.git/config" changed
        "/.git/hooks/new" created
        "/.vscode/tasks.json" removed
        "/.zshrc" created
        "/sub/.claude" created
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
        // Fewer than the maximum of protected paths at once.
        for paths in skills_policy::protected_paths().chunks(150) {
            let directory = tempfile::tempdir().unwrap();
            let workspace = directory.path().canonicalize().unwrap();
            for (index, path) in paths.iter().enumerate() {
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
            assert!(outermost.len() > paths.len());
        }
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
        let changes = before.changes(&grants).notes;
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
        let changes = before.changes(&grants).notes.join("\n");
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
        assert_eq!(before.changes(&grants).notes.len(), 1);
    }

    #[test]
    fn a_listing_error_protects_the_whole_directory() {
        let directory = tempfile::tempdir().unwrap();
        let workspace = directory.path().canonicalize().unwrap();
        create_files(&workspace, &["a/x", "a/y"]);
        let grants = grants(&workspace);
        let pending = PendingDirectory {
            path: workspace.join("a"),
            depth: 1,
            is_protected: false,
            is_other: false,
            reader: None,
        };
        let mut search = Search::new(&grants, None, unix_seconds());
        let opened = OpenDirectory::new(&workspace.join("a")).unwrap();
        let entries = opened.entries().unwrap().into_iter().take(1).map(Ok);
        let entries = entries.chain([Err(io::Error::other("a broken directory"))]);
        let listed = search.list(&pending, Ok((&opened, entries)));
        assert!(matches!(listed, Ok(None)));
        assert_eq!(outermost_paths(&workspace, &search.found), "a");
        assert_eq!(search.found.by_content(&grants), [workspace.join("a")]);
        // So does one that appears during the run.
        assert!(search.unreadable.contains(&workspace.join("a")));
    }

    #[test]
    fn what_the_configuration_of_git_names_is_protected() {
        let directory = tempfile::tempdir().unwrap();
        let workspace = directory.path().canonicalize().unwrap();
        create_files(
            &workspace,
            &[
                ".git/HEAD",
                "hooks/pre-commit",
                "hooks/lib/x",
                "a.sh",
                "sub/.git/HEAD",
                "sub/b.sh",
                "src/x",
            ],
        );
        let config = "[core]\nhooksPath = hooks\nfsmonitor = ./a.sh\nsshCommand = tools/ssh\n[include]\npath = ../inc\n";
        fs::write(workspace.join(".git/config"), config).unwrap();
        let config = "[filter \"x\"]\nclean = ./b.sh\n";
        fs::write(workspace.join("sub/.git/config"), config).unwrap();
        let grants = grants(&workspace);
        let before = ProtectedEntries::find(&grants).unwrap();
        let expected = ".git a.sh hooks sub/.git sub/b.sh";
        assert_eq!(outermost_paths(&workspace, &before), expected);
        assert_eq!(before.changes(&grants), unchanged());
        let below = |path: &PathBuf| path.strip_prefix(&workspace).unwrap().display().to_string();
        let by_content: Vec<_> = before.by_content(&grants).iter().map(below).collect();
        assert_eq!(by_content.join(" "), "a.sh hooks inc sub/b.sh tools/ssh");
        create_files(
            &workspace,
            &["tools/ssh", "inc", "hooks/post-commit", "src/y"],
        );
        fs::write(workspace.join("hooks/lib/x"), "longer").unwrap();
        fs::write(workspace.join("sub/b.sh"), "longer").unwrap();
        let changes = before.changes(&grants).notes.join("\n");
        let changes = changes
            .replace(&workspace.display().to_string(), "")
            .replace("the protected path ", "")
            .replace(
                " during the run: check it before another program runs or reads it",
                "",
            )
            .replace(" was ", " ");
        insta::assert_snapshot!(changes, @r#"
        "/hooks/lib/x" changed
        "/hooks/post-commit" created
        "/inc" created
        "/sub/b.sh" changed
        "/tools/ssh" created
        "#);
    }

    /// The configuration need not be in the directory that a run may write.
    #[test]
    fn a_repository_above_the_workspace_names_files_in_it() {
        let directory = tempfile::tempdir().unwrap();
        let top = directory.path().canonicalize().unwrap();
        create_files(&top, &[".git/HEAD", "work/hooks/pre-commit", "work/src/x"]);
        let config = "[core]\nhooksPath = work/hooks\n";
        fs::write(top.join(".git/config"), config).unwrap();
        let workspace = top.join("work");
        let before = ProtectedEntries::find(&grants(&workspace)).unwrap();
        assert_eq!(outermost_paths(&workspace, &before), "hooks");
        // A writable directory itself cannot be read-only, but each hook in it can.
        fs::write(top.join(".git/config"), "[core]\nhooksPath = work\n").unwrap();
        create_files(&workspace, &["pre-commit"]);
        let grants = grants(&workspace);
        let before = ProtectedEntries::find(&grants).unwrap();
        assert_eq!(outermost_paths(&workspace, &before), "pre-commit");
        create_files(&workspace, &["post-merge"]);
        let changes = before.changes(&grants).notes.join("\n");
        assert!(
            changes.contains("created") && changes.contains("work/post-merge"),
            "{changes}"
        );
    }

    #[test]
    fn many_new_files_hide_no_changed_one() {
        let directory = tempfile::tempdir().unwrap();
        let workspace = directory.path().canonicalize().unwrap();
        create_files(&workspace, &["package.json"]);
        let grants = grants(&workspace);
        let before = ProtectedEntries::find(&grants).unwrap();
        fs::write(workspace.join("package.json"), "longer").unwrap();
        let names: Vec<String> = (0..1_100).map(|index| format!("!a{index}.mk")).collect();
        create_files(
            &workspace,
            &names.iter().map(String::as_str).collect::<Vec<_>>(),
        );
        let executed = before.changes(&grants).executed;
        assert!(executed.is_complete);
        assert_eq!(executed.files.len(), 1_101);
        let package = ExecutedFile::changed(workspace.join("package.json"), "npm and pnpm");
        assert!(executed.files.contains(&package));
    }

    #[test]
    fn the_configuration_of_a_bare_repository_is_found_after_a_run() {
        let directory = tempfile::tempdir().unwrap();
        let workspace = directory.path().canonicalize().unwrap();
        create_files(
            &workspace,
            &["old/HEAD", "old/objects/x", "old/refs/x", "x/config"],
        );
        let grants = grants(&workspace);
        let before = ProtectedEntries::find(&grants).unwrap();
        create_files(
            &workspace,
            &[
                "old/config",
                "new.git/HEAD",
                "new.git/objects/x",
                "new.git/config",
                "y/config",
            ],
        );
        let executed = before.changes(&grants).executed.files;
        let expected = ["new.git/config", "old/config"];
        let expected = expected.map(|path| ExecutedFile::created(workspace.join(path), "git"));
        assert_eq!(executed, expected);
    }

    #[test]
    fn files_that_other_programs_execute_are_found_after_a_run() {
        let directory = tempfile::tempdir().unwrap();
        let workspace = directory.path().canonicalize().unwrap();
        create_files(
            &workspace,
            &[
                "Makefile",
                "a/package.json",
                "a/Cargo.toml",
                "node_modules/a/package.json",
                "node_modules/b/index.js",
                ".buildkite/x",
                "src/x",
            ],
        );
        std::os::unix::fs::symlink("src/x", workspace.join("justfile")).unwrap();
        let grants = grants(&workspace);
        let before = ProtectedEntries::find_at(&grants, unix_seconds() + 60).unwrap();
        assert_eq!(outermost_paths(&workspace, &before), "");
        std::thread::sleep(std::time::Duration::from_millis(20));
        for changed in [
            "Makefile",
            "a/package.json",
            "node_modules/a/package.json",
            ".buildkite/x",
            "src/x",
        ] {
            fs::write(workspace.join(changed), "longer").unwrap();
        }
        create_files(
            &workspace,
            &[
                "b/c/conftest.py",
                "b/c/README.md",
                ".buildkite/y/z",
                "setup.py",
            ],
        );
        let changes = before.changes(&grants);
        let executed = changes.executed.files.iter().map(|file| &file.path);
        let mut executed: Vec<_> = executed
            .map(|path| path.strip_prefix(&workspace).unwrap().display().to_string())
            .collect();
        executed.sort();
        assert_eq!(
            executed.join(" "),
            ".buildkite/x .buildkite/y/z Makefile a/package.json b/c/conftest.py justfile node_modules/a/package.json setup.py"
        );
        assert_eq!(changes.notes, [""; 0]);
    }

    /// Returns the files that are reported with their programs, `+` for created ones.
    fn executed(before: &ProtectedEntries, workspace: &Path) -> Vec<String> {
        let files = before.changes(&grants(workspace)).executed.files;
        let shown = |file: &ExecutedFile| {
            let path = file.path.strip_prefix(workspace).unwrap().display();
            let sign = if file.is_created { "+" } else { "" };
            format!("{sign}{path} ({})", file.program)
        };
        let mut shown: Vec<_> = files.iter().map(shown).collect();
        shown.sort();
        shown
    }

    #[test]
    fn byte_code_and_files_of_packages_are_found_after_a_run() {
        let directory = tempfile::tempdir().unwrap();
        let workspace = directory.path().canonicalize().unwrap();
        create_files(
            &workspace,
            &[
                "helper.py",
                "a/__pycache__/old.cpython-311.pyc",
                "myenv/lib/python3.11/site-packages/req/__init__.py",
                "node_modules/ts/lib/tsc.js",
                "node_modules/ts/lib/same.js",
                "other/index.js",
            ],
        );
        let before = ProtectedEntries::find_at(&grants(&workspace), unix_seconds() + 60).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(20));
        assert_eq!(executed(&before, &workspace), [""; 0]);
        for changed in [
            "a/__pycache__/old.cpython-311.pyc",
            "myenv/lib/python3.11/site-packages/req/__init__.py",
            "node_modules/ts/lib/tsc.js",
            "helper.py",
        ] {
            fs::write(workspace.join(changed), "longer").unwrap();
        }
        create_files(
            &workspace,
            &[
                "__pycache__/helper.cpython-311.pyc",
                "helper.pyc",
                "node_modules/new/README.md",
                "vendor/autoload.php",
                "src/x.py",
            ],
        );
        // A directory with another name, and a link to one.
        fs::rename(
            workspace.join("other"),
            workspace.join("node_modules/moved"),
        )
        .unwrap();
        std::os::unix::fs::symlink("src", workspace.join("myenv/site-packages")).unwrap();
        assert_eq!(
            executed(&before, &workspace),
            [
                "+__pycache__/helper.cpython-311.pyc (Python)",
                "+helper.pyc (Python)",
                "+myenv/site-packages (Python)",
                "+node_modules/moved/index.js (installed packages of JavaScript)",
                "+node_modules/new/README.md (installed packages of JavaScript)",
                "+vendor/autoload.php (packages in a project)",
                "a/__pycache__/old.cpython-311.pyc (Python)",
                "myenv/lib/python3.11/site-packages/req/__init__.py (Python)",
                "node_modules/ts/lib/tsc.js (installed packages of JavaScript)",
            ]
        );
    }

    #[test]
    fn executable_files_are_found_after_a_run_by_their_mode() {
        use std::os::unix::fs::{PermissionsExt, symlink};

        let directory = tempfile::tempdir().unwrap();
        let workspace = directory.path().canonicalize().unwrap();
        create_files(
            &workspace,
            &[
                "myenv/bin/pip",
                "bin/x",
                "bin/same",
                "plain",
                "text",
                "no-longer",
            ],
        );
        let set_mode = |name: &str, mode| {
            fs::set_permissions(workspace.join(name), PermissionsExt::from_mode(mode)).unwrap();
        };
        for name in ["myenv/bin/pip", "bin/x", "bin/same", "no-longer"] {
            set_mode(name, 0o755);
        }
        symlink("../bin/same", workspace.join("myenv/bin/python")).unwrap();
        for find_at in [unix_seconds(), unix_seconds() + 60] {
            let before = ProtectedEntries::find_at(&grants(&workspace), find_at).unwrap();
            std::thread::sleep(std::time::Duration::from_millis(20));
            assert_eq!(executed(&before, &workspace), [""; 0]);
            fs::write(workspace.join("myenv/bin/pip"), find_at.to_string()).unwrap();
            // By a rename, and by the mode alone.
            fs::write(workspace.join("new"), "#!/bin/sh").unwrap();
            set_mode("new", 0o755);
            fs::rename(workspace.join("new"), workspace.join("bin/x")).unwrap();
            set_mode("plain", 0o610);
            fs::write(workspace.join("text"), "longer").unwrap();
            set_mode("no-longer", 0o644);
            fs::create_dir(workspace.join("empty")).unwrap();
            fs::hard_link(workspace.join("bin/x"), workspace.join("empty/link")).unwrap();
            fs::remove_file(workspace.join("myenv/bin/python")).unwrap();
            symlink("../../text", workspace.join("myenv/bin/python")).unwrap();
            symlink("/bin/sh", workspace.join("empty/sh")).unwrap();
            symlink("/usr/bin", workspace.join("empty/directory")).unwrap();
            assert_eq!(
                executed(&before, &workspace),
                [
                    "+empty/link (executable files)",
                    "+empty/sh (executable files)",
                    "bin/x (executable files)",
                    "myenv/bin/pip (executable files)",
                    "plain (executable files)",
                ]
            );
            set_mode("plain", 0o644);
            fs::remove_dir_all(workspace.join("empty")).unwrap();
            set_mode("no-longer", 0o755);
            fs::remove_file(workspace.join("myenv/bin/python")).unwrap();
            symlink("../bin/same", workspace.join("myenv/bin/python")).unwrap();
        }
    }

    #[test]
    fn a_granted_file_that_becomes_executable_is_reported() {
        use std::os::unix::fs::PermissionsExt;

        let directory = tempfile::tempdir().unwrap();
        let workspace = directory.path().canonicalize().unwrap();
        create_files(&workspace, &["tool", "notes.txt", "beside"]);
        let policy = ["tool", "notes.txt"]
            .iter()
            .fold(Policy::default(), |policy, name| {
                let target = Target::write(workspace.join(name)).unwrap();
                policy.allow(RuleSource::User, target)
            });
        let Authorization::Granted(grants) = policy.authorize(&Request::new("/skills/a")) else {
            panic!("denied");
        };
        let before = ProtectedEntries::find(&grants).unwrap();
        assert_eq!(before.changes(&grants), unchanged());
        for name in ["tool", "beside"] {
            let path = workspace.join(name);
            fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
        }
        fs::write(workspace.join("notes.txt"), "longer").unwrap();
        let executed = before.changes(&grants).executed.files;
        let expected = ExecutedFile::changed(workspace.join("tool"), "executable files");
        assert_eq!(executed, [expected]);
    }
}
