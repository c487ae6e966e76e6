//! The comparison of all entries of writable directories with those before a run.
//!
//! Directories are opened below the granted ones, so that a symlink that a program created leads
//! nowhere.

use std::collections::HashMap;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::io::Errno;
use skills_policy::{Access, FileGrant, Grants};
use skills_sandbox::{ChangedEntries, ChangedFile};

use super::found_entry::FoundEntry;
use super::{MAX_DEPTH, MAX_OTHER_ENTRIES, ProtectedEntries, SearchedDirectory};
use crate::entry_state::EntryState;
use crate::open_directory::{EntryType, ListedEntry, OpenDirectory};

/// The entries from which on a second thread takes less time than it costs.
const MIN_SHARED_ENTRIES: usize = 2_000;

/// An entry that changed, and its state after the run.
type ChangedEntry<'a> = (&'a FoundEntry, EntryState);

/// What changed since a search.
#[derive(Default)]
pub(super) struct Comparison<'a> {
    pub(super) entries: ChangedEntries,
    /// The directories with the same entries as before, and the ordinary ones among them that
    /// changed.
    same: HashMap<&'a Path, Vec<ChangedEntry<'a>>>,
    /// New directories.
    new: Vec<PathBuf>,
}

/// A granted directory, open.
struct Root<'a> {
    path: &'a Path,
    opened: io::Result<OpenDirectory>,
}

/// The state before the run, and the directories in which it is compared.
struct Walk<'a> {
    before: &'a ProtectedEntries,
    roots: Vec<Root<'a>>,
    /// Maximum entries of new directories.
    max_new: usize,
}

impl<'a> Comparison<'a> {
    /// Compares all entries of the writable directories.
    pub(super) fn new(before: &'a ProtectedEntries, grants: &'a Grants) -> Self {
        Self::of_walk(Walk::new(before, grants, MAX_OTHER_ENTRIES))
    }

    fn of_walk(walk: Walk<'a>) -> Self {
        let before = walk.before;
        let mut all = walk.compare_known();
        let unlisted = before.unlisted.iter().cloned();
        all.new.extend(unlisted);
        walk.add_new(&mut all);
        all.add_limits(before);
        all.entries.files.sort_unstable();
        all.entries.special.sort_unstable();
        all.entries.unexamined.sort_unstable();
        all
    }

    /// Returns the ordinary entries that changed in a directory that has the same ones as before;
    /// `None` for other directories.
    pub(super) fn changed_in(&self, directory: &Path) -> Option<Vec<ChangedEntry<'a>>> {
        self.same.get(directory).cloned()
    }

    fn add(&mut self, other: Self) {
        self.entries.files.extend(other.entries.files);
        self.entries.special.extend(other.entries.special);
        self.entries.unexamined.extend(other.entries.unexamined);
        self.entries.has_other_changes |= other.entries.has_other_changes;
        self.same.extend(other.same);
        self.new.extend(other.new);
    }

    fn add_limits(&mut self, before: &ProtectedEntries) {
        self.entries.limits.extend(before.other_limit);
        if before.was_clock_set() {
            let unknown = "changed files: the system clock was set during the run";
            self.entries.limits.push(unknown);
            self.entries.has_other_changes = true;
        }
    }

    /// Adds what could not be examined. Something may have been removed there.
    fn add_unexamined(&mut self, path: PathBuf, error: &io::Error) {
        self.entries.has_other_changes = true;
        self.entries.unexamined.push((path, error.to_string()));
    }

    /// Adds a file or a special entry that did not exist before.
    fn add_created(&mut self, path: PathBuf, entry_type: EntryType, state: &EntryState) {
        let kind = match entry_type {
            EntryType::File => {
                let file = ChangedFile::created(path, state.bytes());
                return self.entries.files.push(file);
            }
            EntryType::Symlink => "a symlink",
            EntryType::Directory | EntryType::Special | EntryType::Unknown => "not a regular file",
        };
        self.entries.has_other_changes = true;
        self.entries.special.push((path, kind));
    }
}

impl<'a> Walk<'a> {
    fn new(before: &'a ProtectedEntries, grants: &'a Grants, max_new: usize) -> Self {
        let granted = grants.files().iter();
        let writable = granted.filter(|file| file.access() == Access::ReadWrite);
        let paths: Vec<&Path> = writable.map(FileGrant::path).collect();
        let is_inner = |path: &Path| {
            let mut others = paths.iter();
            others.any(|other| *other != path && path.starts_with(other))
        };
        let outer = paths.iter().filter(|path| !is_inner(path));
        let roots = outer.map(|path| Root {
            path,
            opened: OpenDirectory::for_lookups(path),
        });
        Self {
            before,
            roots: roots.collect(),
            max_new,
        }
    }

    /// Compares the directories that were found before the run, on two threads if there are many.
    fn compare_known(&self) -> Comparison<'a> {
        let known: Vec<_> = self.before.directories.iter().collect();
        let next = AtomicUsize::new(0);
        let work = || {
            let mut compared = Comparison::default();
            while let Some((path, searched)) = known.get(next.fetch_add(1, Ordering::Relaxed)) {
                self.compare(path, searched, &mut compared);
            }
            compared
        };
        let entries: usize = known.iter().map(|(_, known)| known.entries.len()).sum();
        let helpers = usize::from(entries >= MIN_SHARED_ENTRIES);
        std::thread::scope(|scope| {
            let threads = skills_threads::spawn_scoped(scope, helpers, work);
            let mut all = work();
            for thread in threads {
                match thread.join() {
                    Ok(compared) => all.add(compared),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            all
        })
    }

    /// Opens a directory without following symlinks.
    fn open(&self, path: &Path) -> io::Result<OpenDirectory> {
        let mut roots = self.roots.iter();
        let root = roots.find(|root| path.starts_with(root.path));
        let root = root.ok_or(ErrorKind::NotFound)?;
        let opened = root.opened.as_ref().map_err(|error| error.kind())?;
        let relative = path.strip_prefix(root.path).map_err(io::Error::other)?;
        opened.below(relative)
    }

    fn compare(
        &self,
        path: &'a Path,
        searched: &'a SearchedDirectory,
        compared: &mut Comparison<'a>,
    ) {
        if searched.entries.iter().any(FoundEntry::is_granted_file) {
            return self.compare_granted_file(path, searched, compared);
        }
        let opened = self.open(path);
        let opened = opened.and_then(|opened| Ok((opened.state()?, opened)));
        match opened {
            Ok((state, opened)) if searched.settled_state.as_ref() == Some(&state) => {
                let changed = self.compare_same(path, searched, &opened, compared);
                compared.same.insert(path, changed);
            }
            Ok((_, opened)) => {
                compared.entries.has_other_changes |= searched.device.is_none();
                self.compare_listed(path, searched, &opened, compared);
            }
            // It was not there before either.
            Err(error) if error.kind() == ErrorKind::NotFound && searched.device.is_none() => {}
            Err(error) => compared.add_unopened(path, &error),
        }
    }

    /// Compares the entries of a directory in which none was added, removed or renamed. Returns the
    /// ordinary ones that changed.
    fn compare_same(
        &self,
        path: &Path,
        searched: &'a SearchedDirectory,
        opened: &OpenDirectory,
        compared: &mut Comparison<'a>,
    ) -> Vec<ChangedEntry<'a>> {
        let clock = self.before.clock.as_ref();
        let mut changed = Vec::new();
        for entry in &searched.entries {
            if matches!(entry.entry_type, EntryType::Directory | EntryType::Unknown) {
                continue;
            }
            let own = match opened.entry(&entry.name) {
                Ok(own) => own,
                Err(error) => {
                    compared.add_unexamined(path.join(&entry.name), &error);
                    continue;
                }
            };
            let is_own_changed = entry.is_own_changed(&own, searched.device, clock);
            if is_own_changed {
                compared.add_changed(path, entry, &own);
            }
            if !entry.is_ordinary {
                continue;
            }
            let content = if entry.entry_type == EntryType::Symlink {
                opened.content(&entry.name).unwrap_or(own)
            } else {
                own
            };
            if entry.is_changed(&content, searched.device, clock) {
                changed.push((entry, content));
            }
        }
        changed
    }

    /// Compares a directory that is listed again.
    fn compare_listed(
        &self,
        path: &Path,
        searched: &SearchedDirectory,
        opened: &OpenDirectory,
        compared: &mut Comparison<'_>,
    ) {
        let listed = match opened.entries() {
            Ok(listed) => listed,
            Err(error) => return compared.add_unopened(path, &error),
        };
        let mut remaining = 0;
        for listed in listed {
            let before = searched.entry(&listed.name);
            let before = before.filter(|before| before.entry_type == listed.entry_type);
            remaining += usize::from(before.is_some());
            self.compare_entry(path, (searched, before), &listed, opened, compared);
        }
        compared.entries.has_other_changes |= remaining < searched.entries.len();
    }

    /// Compares an entry of a directory with the one of the same name and type before the run.
    fn compare_entry(
        &self,
        path: &Path,
        (searched, before): (&SearchedDirectory, Option<&FoundEntry>),
        listed: &ListedEntry,
        opened: &OpenDirectory,
        compared: &mut Comparison<'_>,
    ) {
        let entry_path = || path.join(&listed.name);
        if listed.entry_type == EntryType::Directory {
            compared.entries.has_other_changes |= before.is_none();
            // Another directory in place of one that was not searched is a new one.
            let is_new = before.is_none_or(|before| before.is_other_directory(listed.inode));
            if is_new && !self.before.directories.contains_key(&entry_path()) {
                compared.new.push(entry_path());
            }
            return;
        }
        match (opened.entry(&listed.name), before) {
            (Ok(own), Some(before)) => {
                let clock = self.before.clock.as_ref();
                if before.is_own_changed(&own, searched.device, clock) {
                    compared.add_changed(path, before, &own);
                }
            }
            (Ok(own), None) => compared.add_created(entry_path(), listed.entry_type, &own),
            // It was removed since.
            (Err(error), None) if error.kind() == ErrorKind::NotFound => {}
            (Err(error), _) => compared.add_unexamined(entry_path(), &error),
        }
    }

    fn compare_granted_file(
        &self,
        path: &Path,
        searched: &SearchedDirectory,
        compared: &mut Comparison<'_>,
    ) {
        for entry in &searched.entries {
            match path.symlink_metadata() {
                Ok(now) => {
                    let now = EntryState::from_metadata(&now);
                    if entry.is_own_changed(&now, searched.device, None) {
                        compared.add_changed(path, entry, &now);
                    }
                }
                Err(error) => compared.add_unopened(path, &error),
            }
        }
    }

    /// Adds the entries of new directories and of those below them.
    fn add_new(&self, compared: &mut Comparison<'_>) {
        let mut remaining = self.max_new;
        let mut queue: Vec<_> = std::mem::take(&mut compared.new);
        queue.sort_unstable();
        queue.dedup();
        let mut queue: Vec<_> = queue.into_iter().map(|path| (path, 0)).collect();
        while let Some((path, depth)) = queue.pop() {
            let opened = self.open(&path);
            let listed = opened.and_then(|opened| Ok((opened.entries()?, opened)));
            let (listed, opened) = match listed {
                Ok(listed) => listed,
                Err(error) => {
                    compared.add_unopened(&path, &error);
                    continue;
                }
            };
            for entry in listed {
                remaining -= 1;
                if remaining == 0 {
                    let limit = "entries beyond the first 200,000 new ones";
                    return compared.entries.limits.push(limit);
                }
                let entry_path = path.join(&entry.name);
                if entry.entry_type != EntryType::Directory {
                    // Entries that were removed since are skipped.
                    if let Ok(own) = opened.entry(&entry.name) {
                        compared.add_created(entry_path, entry.entry_type, &own);
                    }
                } else if depth < MAX_DEPTH {
                    queue.push((entry_path, depth + 1));
                } else {
                    let limit = "entries deeper than 64 new directories";
                    if !compared.entries.limits.contains(&limit) {
                        compared.entries.limits.push(limit);
                    }
                }
            }
        }
    }
}

impl Comparison<'_> {
    /// Adds a directory that cannot be opened. One that was removed or replaced has only other
    /// changes.
    fn add_unopened(&mut self, path: &Path, error: &io::Error) {
        let is_symlink = error.raw_os_error() == Some(Errno::LOOP.raw_os_error());
        let is_gone = matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory);
        if is_gone || is_symlink {
            self.entries.has_other_changes = true;
        } else {
            self.add_unexamined(path.to_owned(), error);
        }
    }

    /// Adds an entry with the same type as before.
    fn add_changed(&mut self, directory: &Path, before: &FoundEntry, now: &EntryState) {
        if before.entry_type == EntryType::File && now.is_file() {
            let path = directory.join(&before.name);
            let file = ChangedFile::changed(path, now.bytes());
            self.entries.files.push(file);
        } else {
            self.entries.has_other_changes = true;
        }
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
#[expect(clippy::disallowed_methods, reason = "a test creates its own files")]
mod tests {
    use std::fs::{self, File, FileTimes};
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::process::Command;
    use std::time::Duration;

    use skills_policy::{Authorization, Capability, Policy, Request, RuleSource};

    use super::super::search::{Search, unix_seconds};
    use super::*;

    /// A workspace with a directory beside it that a run cannot write.
    struct Fixture {
        _directory: tempfile::TempDir,
        workspace: PathBuf,
        grants: Grants,
    }

    impl Fixture {
        fn new(files: &[&str]) -> Self {
            let directory = tempfile::tempdir().unwrap();
            let top = directory.path().canonicalize().unwrap();
            let workspace = top.join("work");
            fs::create_dir_all(&workspace).unwrap();
            for file in files {
                let path = workspace.join(file);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, *file).unwrap();
            }
            let request = Request::new("/skills/a")
                .allowed_tool("Write", None)
                .workspace(&workspace);
            let policy = Policy::default().allow(RuleSource::User, Capability::Write);
            let Authorization::Granted(grants) = policy.authorize(&request) else {
                panic!("denied");
            };
            Self {
                _directory: directory,
                workspace,
                grants,
            }
        }

        /// Searches as in a large directory without recent changes of entries, and as in a small
        /// new one.
        fn find(&self, is_large: bool) -> ProtectedEntries {
            let at = unix_seconds() + if is_large { 60 } else { 0 };
            let search = Search::new(&self.grants, None, at).with_others();
            let search = if is_large {
                search.without_examined_files()
            } else {
                search
            };
            let found = ProtectedEntries::search_all(search, &self.grants).unwrap();
            // Older kernels set change times once in a hundredth of a second.
            std::thread::sleep(Duration::from_millis(20));
            found
        }

        /// Returns what changed, one word each: `+` for created files, `@` for new special entries,
        /// `?` for what was not examined, and whether something else changed.
        fn changes(&self, before: &ProtectedEntries) -> String {
            let below = |path: &Path| {
                let below = path.strip_prefix(&self.workspace).unwrap();
                below.display().to_string()
            };
            let entries = before.changes(&self.grants).entries;
            let sign = |file: &ChangedFile| if file.is_created { "+" } else { "" };
            let files = entries.files.iter();
            let files = files.map(|file| format!("{}{}", sign(file), below(&file.path)));
            let special = entries.special.iter();
            let special = special.map(|(path, _)| format!("@{}", below(path)));
            let unexamined = entries.unexamined.iter();
            let unexamined = unexamined.map(|(path, _)| format!("?{}", below(path)));
            let limits = entries.limits.iter().map(ToString::to_string);
            let others = entries.has_other_changes.then(|| "others".to_owned());
            let all = files.chain(special).chain(unexamined).chain(limits);
            all.chain(others).collect::<Vec<_>>().join(" ")
        }
    }

    /// Checks what is found after a program, however the entries were recorded before.
    fn check(files: &[&str], program: impl Fn(&Path), expected: &str) {
        for is_large in [false, true] {
            let fixture = Fixture::new(files);
            let before = fixture.find(is_large);
            assert_eq!(fixture.changes(&before), "", "nothing changed");
            program(&fixture.workspace);
            assert_eq!(fixture.changes(&before), expected, "{is_large}");
        }
    }

    #[test]
    fn a_change_with_the_earlier_modification_time_is_found() {
        let program = |work: &Path| {
            let path = work.join("a/x");
            let modified = path.metadata().unwrap().modified().unwrap();
            fs::write(&path, "A/X").unwrap();
            let file = File::options().write(true).open(&path).unwrap();
            let times = FileTimes::new().set_modified(modified);
            file.set_times(times).unwrap();
        };
        check(&["a/x", "a/y"], program, "a/x");
    }

    #[test]
    fn a_change_through_a_hard_link_elsewhere_is_found() {
        for is_large in [false, true] {
            let fixture = Fixture::new(&["a/x", "a/y"]);
            let link = fixture.workspace.join("../link");
            fs::hard_link(fixture.workspace.join("a/x"), &link).unwrap();
            let before = fixture.find(is_large);
            fs::write(&link, "A/X").unwrap();
            assert_eq!(fixture.changes(&before), "a/x");
        }
    }

    #[test]
    fn a_file_that_was_renamed_and_back_counts_as_changed() {
        let program = |work: &Path| {
            fs::rename(work.join("a/x"), work.join("../x")).unwrap();
            fs::rename(work.join("../x"), work.join("a/x")).unwrap();
        };
        check(&["a/x", "a/y"], program, "a/x");
    }

    #[test]
    fn a_change_through_a_mapping_is_found() {
        const SCRIPT: &str = "import mmap, sys\nfile = open(sys.argv[1], 'r+b')\nmapped = mmap.mmap(file.fileno(), 0)\nmapped[0:1] = b'A'\n";
        const TMPFS: u64 = 0x0102_1994;
        let fixture = Fixture::new(&["a/x"]);
        let is_tmpfs = rustix::fs::statfs(&fixture.workspace)
            .is_ok_and(|stat| stat.f_type.cast_unsigned() == TMPFS);
        let python = |path: &Path| {
            let mut command = Command::new("python3");
            command.args(["-c", SCRIPT]).arg(path).status()
        };
        if is_tmpfs || python(&fixture.workspace.join("a/x")).is_err() {
            return skills_test_support::skip("needs Python and a file system on a disk");
        }
        let program = |work: &Path| assert!(python(&work.join("a/x")).unwrap().success());
        check(&["a/x", "a/y"], program, "a/x");
    }

    #[test]
    fn a_directory_that_was_moved_and_back_hides_nothing() {
        let moved = |work: &Path| {
            fs::rename(work.join("a"), work.join("b")).unwrap();
            fs::rename(work.join("b"), work.join("a")).unwrap();
        };
        check(&["a/x", "a/b/y"], moved, "");
        let changed = |work: &Path| {
            fs::rename(work.join("a"), work.join("b")).unwrap();
            fs::write(work.join("b/b/y"), "A/B/Y").unwrap();
            fs::rename(work.join("b"), work.join("a")).unwrap();
        };
        check(&["a/x", "a/b/y"], changed, "a/b/y");
    }

    #[test]
    fn directories_that_changed_places_have_other_files() {
        let program = |work: &Path| {
            fs::rename(work.join("a"), work.join("c")).unwrap();
            fs::rename(work.join("b"), work.join("a")).unwrap();
            fs::rename(work.join("c"), work.join("b")).unwrap();
        };
        check(&["a/d/x", "b/d/x"], program, "a/d/x b/d/x");
        let moved = |work: &Path| fs::rename(work.join("a"), work.join("c")).unwrap();
        check(&["a/d/x", "b/x"], moved, "+c/d/x others");
    }

    #[test]
    fn an_executable_bit_alone_is_a_change() {
        let program = |work: &Path| {
            let mode = fs::Permissions::from_mode(0o755);
            fs::set_permissions(work.join("a/x"), mode).unwrap();
        };
        check(&["a/x", "a/y"], program, "a/x");
        for is_large in [false, true] {
            let fixture = Fixture::new(&["a/x", "a/y"]);
            let before = fixture.find(is_large);
            program(&fixture.workspace);
            let executed = before.changes(&fixture.grants).executed;
            assert_eq!(executed.files.len(), 1);
            assert!(executed.is_complete && !executed.files[0].is_created);
        }
    }

    #[test]
    fn a_symlink_in_place_of_a_directory_is_not_followed() {
        let program = |work: &Path| {
            fs::rename(work.join("a"), work.join("../a")).unwrap();
            symlink("../a", work.join("a")).unwrap();
        };
        check(&["a/x", "a/b/y", "z"], program, "@a others");
        // Files that are reached through it and that other programs execute are found all the same.
        for is_large in [false, true] {
            let fixture = Fixture::new(&["a/b/Makefile", "z"]);
            let before = fixture.find(is_large);
            fs::rename(fixture.workspace.join("a"), fixture.workspace.join("c")).unwrap();
            symlink("c", fixture.workspace.join("a")).unwrap();
            fs::write(fixture.workspace.join("c/b/Makefile"), "longer than before").unwrap();
            assert_eq!(fixture.changes(&before), "+c/b/Makefile @a others");
            let executed = before.changes(&fixture.grants).executed.files;
            let paths = executed.iter().map(|file| {
                let path = file.path.strip_prefix(&fixture.workspace).unwrap();
                path.display().to_string()
            });
            let paths: Vec<_> = paths.collect();
            assert_eq!(paths, ["a/b/Makefile", "c/b/Makefile"]);
        }
    }

    #[test]
    fn other_changes_are_noticed() {
        let files = ["a/x", "b/y"];
        check(
            &files,
            |work| fs::remove_file(work.join("a/x")).unwrap(),
            "others",
        );
        check(
            &files,
            |work| fs::remove_dir_all(work.join("a")).unwrap(),
            "others",
        );
        check(
            &files,
            |work| fs::create_dir(work.join("c")).unwrap(),
            "others",
        );
        check(
            &files,
            |work| fs::write(work.join("b/z"), "").unwrap(),
            "+b/z",
        );
        let directory = |work: &Path| {
            fs::remove_file(work.join("a/x")).unwrap();
            fs::create_dir(work.join("a/x")).unwrap();
        };
        check(&files, directory, "others");
        let file = |work: &Path| {
            fs::remove_dir_all(work.join("a")).unwrap();
            fs::write(work.join("a"), "").unwrap();
        };
        check(&files, file, "+a others");
        let link = |work: &Path| symlink("a", work.join("c")).unwrap();
        check(&files, link, "@c others");
        let hard_link = |work: &Path| fs::hard_link(work.join("a/x"), work.join("c")).unwrap();
        check(&files, hard_link, "a/x +c");
    }

    #[test]
    fn a_symlink_that_leads_elsewhere_is_another_change() {
        for is_large in [false, true] {
            let fixture = Fixture::new(&["a/x", "a/y"]);
            let link = fixture.workspace.join("link");
            symlink("a/x", &link).unwrap();
            let before = fixture.find(is_large);
            assert_eq!(fixture.changes(&before), "");
            fs::write(fixture.workspace.join("a/x"), "longer").unwrap();
            assert_eq!(fixture.changes(&before), "a/x");
            fs::remove_file(&link).unwrap();
            symlink("a/y", &link).unwrap();
            assert_eq!(fixture.changes(&before), "a/x others");
        }
    }

    #[test]
    fn files_of_a_repository_that_are_not_protected_are_compared() {
        let program = |work: &Path| {
            fs::write(work.join(".git/objects/ab/1"), "longer").unwrap();
            fs::write(work.join(".git/objects/ab/2"), "").unwrap();
            fs::write(work.join(".git/index"), "longer").unwrap();
        };
        let files = [".git/HEAD", ".git/index", ".git/objects/ab/1", "x"];
        check(
            &files,
            program,
            ".git/index .git/objects/ab/1 +.git/objects/ab/2",
        );
    }

    #[test]
    fn a_directory_that_becomes_unreadable_is_not_examined() {
        let fixture = Fixture::new(&["a/x", "b/x"]);
        let set_mode = |name: &str, mode| {
            let mode = fs::Permissions::from_mode(mode);
            fs::set_permissions(fixture.workspace.join(name), mode).unwrap();
        };
        let before = fixture.find(true);
        set_mode("a", 0o000);
        if fs::read_dir(fixture.workspace.join("a")).is_ok() {
            return skills_test_support::skip("root lists every directory");
        }
        assert_eq!(fixture.changes(&before), "?a others");
        set_mode("a", 0o755);
    }

    #[test]
    fn many_new_entries_hide_no_changed_one() {
        let fixture = Fixture::new(&["z/x"]);
        let before = fixture.find(true);
        let deep = fixture.workspace.join("d/".repeat(MAX_DEPTH + 4));
        fs::create_dir_all(&deep).unwrap();
        fs::write(deep.join("x"), "").unwrap();
        fs::write(fixture.workspace.join("z/x"), "longer").unwrap();
        let expected = "z/x entries deeper than 64 new directories others";
        assert_eq!(fixture.changes(&before), expected);
        let limited = Comparison::of_walk(Walk::new(&before, &fixture.grants, 10));
        assert_eq!(limited.entries.files.len(), 1);
        let limits = ["entries beyond the first 200,000 new ones"];
        assert_eq!(limited.entries.limits, limits);
        assert!(limited.entries.has_other_changes);
    }

    #[test]
    fn only_the_first_files_of_a_large_directory_are_examined() {
        let fixture = Fixture::new(&[]);
        let name = |index: usize| fixture.workspace.join(format!("a{index:04}"));
        (0..2_100).for_each(|index| fs::write(name(index), "").unwrap());
        let before = ProtectedEntries::find_all(&fixture.grants).unwrap();
        let searched = &before.directories[&fixture.workspace];
        let examined = searched.entries.iter();
        let examined = examined.filter(|entry| entry.content().is_some());
        // On other file systems all of them.
        assert_eq!(
            examined.count(),
            before.clock.as_ref().map_or(2_100, |_| 2_000)
        );
        assert_eq!(fixture.changes(&before), "");
        (0..2_100).for_each(|index| fs::write(name(index), "x").unwrap());
        let changed = before.changes(&fixture.grants).entries.files;
        assert!(changed.len() == 2_100 && changed.iter().all(|file| !file.is_created));
    }

    #[test]
    fn nothing_is_known_if_the_clock_was_set() {
        let fixture = Fixture::new(&["a/x"]);
        let mut before = fixture.find(true);
        let readable = File::open("/dev/zero").unwrap();
        let clock = before.clock.take().unwrap();
        before.clock = Some(clock.with_timer(readable));
        let expected = "changed files: the system clock was set during the run others";
        assert_eq!(fixture.changes(&before), expected);
        assert!(!before.changes(&fixture.grants).executed.is_complete);
        // Files that were examined are known.
        assert_eq!(fixture.changes(&fixture.find(false)), "");
    }
}
