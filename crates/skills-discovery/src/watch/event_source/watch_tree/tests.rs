#![expect(clippy::disallowed_methods, reason = "tests make their own files")]

use std::fs;

use skills_test_support::skip_without_file_events;

use super::*;

/// More directories than there are events in the queue of the kernel, by default.
const MANY: usize = 17_000;

struct Fixture {
    _directory: tempfile::TempDir,
    base: PathBuf,
}

impl Fixture {
    fn new(directories: &[&str]) -> Self {
        // In memory if possible: some disks take half a minute to remove many directories.
        let directory = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
        let directory = directory.unwrap();
        let base = directory.path().canonicalize().unwrap();
        for path in directories {
            fs::create_dir_all(base.join(path)).unwrap();
        }
        Self {
            _directory: directory,
            base,
        }
    }

    fn watch(&self, tree: &mut WatchTree, paths: &[(&str, Depth)]) -> WatchState {
        let directories = paths
            .iter()
            .map(|(path, depth)| (self.base.join(path), *depth));
        tree.watch(&directories.collect::<Vec<_>>()).unwrap()
    }

    /// Returns the watched paths, relative to the base, in one line.
    fn watched(&self, tree: &WatchTree) -> String {
        let paths = tree.by_path.keys();
        let paths = paths.map(|path| path.strip_prefix(&self.base).unwrap().to_string_lossy());
        paths.collect::<Vec<_>>().join(" ")
    }

    fn rename(&self, from: &str, to: &str) {
        fs::rename(self.base.join(from), self.base.join(to)).unwrap();
    }
}

/// Handles events until there are none.
fn settle(tree: &mut WatchTree) -> Result<(), WatchProblem> {
    while tree.read_changes()? || tree.has_waiting_events() {}
    assert_eq!(tree.by_path.len(), tree.by_number.len());
    Ok(())
}

#[test]
fn directories_are_followed_when_they_are_created_moved_and_removed() {
    if skip_without_file_events() {
        return;
    }
    let fixture = Fixture::new(&["root/a/x", "root/b", "other/c/d"]);
    let mut tree = WatchTree::new().unwrap();
    let root = [("root", Depth::Tree)];
    assert_eq!(fixture.watch(&mut tree, &root), WatchState::Extended);
    assert_eq!(fixture.watch(&mut tree, &root), WatchState::Unchanged);
    assert_eq!(fixture.watched(&tree), "root root/a root/a/x root/b");
    fs::create_dir_all(fixture.base.join("root/new/deep")).unwrap();
    fixture.rename("other/c", "root/c");
    fixture.rename("root/a", "root/moved");
    fixture.rename("root/b", "other/b");
    settle(&mut tree).unwrap();
    assert_eq!(
        fixture.watched(&tree),
        "root root/c root/c/d root/moved root/moved/x root/new root/new/deep"
    );
    fs::remove_dir_all(fixture.base.join("root/moved")).unwrap();
    fs::remove_dir_all(fixture.base.join("root/new")).unwrap();
    fs::create_dir(fixture.base.join("root/new")).unwrap();
    settle(&mut tree).unwrap();
    assert_eq!(fixture.watched(&tree), "root root/c root/c/d root/new");
    fs::write(fixture.base.join("other/b/file"), "").unwrap();
    assert!(!tree.read_changes().unwrap(), "it was moved away");
    fs::write(fixture.base.join("root/new/file"), "").unwrap();
    assert!(tree.read_changes().unwrap());
}

/// The inode of a removed directory may be that of the new one, but not its watch.
#[test]
fn a_replaced_root_is_watched_again() {
    if skip_without_file_events() {
        return;
    }
    let fixture = Fixture::new(&["root/a", "next/b"]);
    let mut tree = WatchTree::new().unwrap();
    let root = [("root", Depth::Tree)];
    fixture.watch(&mut tree, &root);
    fixture.rename("root", "old");
    fixture.rename("next", "root");
    settle(&mut tree).unwrap();
    assert_eq!(fixture.watch(&mut tree, &root), WatchState::Extended);
    settle(&mut tree).unwrap();
    assert_eq!(fixture.watched(&tree), "root root/b");
    for _ in 0..3 {
        fs::remove_dir_all(fixture.base.join("root")).unwrap();
        fs::create_dir_all(fixture.base.join("root/c")).unwrap();
        settle(&mut tree).unwrap();
        assert_eq!(fixture.watch(&mut tree, &root), WatchState::Extended);
        settle(&mut tree).unwrap();
        assert_eq!(fixture.watched(&tree), "root root/c");
    }
}

#[test]
fn paths_that_are_no_longer_wanted_are_not_watched() {
    if skip_without_file_events() {
        return;
    }
    let fixture = Fixture::new(&["root/a", "target/b"]);
    let mut tree = WatchTree::new().unwrap();
    let single = [("root", Depth::Single), ("target", Depth::Tree)];
    assert_eq!(fixture.watch(&mut tree, &single), WatchState::Extended);
    assert_eq!(fixture.watched(&tree), "root target target/b");
    fixture.watch(&mut tree, &[("root", Depth::Tree)]);
    settle(&mut tree).unwrap();
    assert_eq!(fixture.watched(&tree), "root root/a");
    fixture.watch(&mut tree, &[("root", Depth::Single)]);
    settle(&mut tree).unwrap();
    assert_eq!(fixture.watched(&tree), "root");
}

/// A symlink in a skill must not lead to watches of directories outside.
#[test]
fn symlinks_are_not_followed() {
    if skip_without_file_events() {
        return;
    }
    let fixture = Fixture::new(&["root", "outside/secret"]);
    let link = |name: &str| {
        std::os::unix::fs::symlink(fixture.base.join("outside"), fixture.base.join(name)).unwrap();
    };
    link("root/before");
    let mut tree = WatchTree::new().unwrap();
    fixture.watch(&mut tree, &[("root", Depth::Tree)]);
    link("root/after");
    settle(&mut tree).unwrap();
    assert_eq!(fixture.watched(&tree), "root");
}

#[test]
fn a_directory_becomes_watched_with_the_permission_to_read_it() {
    use std::os::unix::fs::PermissionsExt;

    if skip_without_file_events() {
        return;
    }
    let fixture = Fixture::new(&["root/closed/a", "root/b"]);
    let set_mode = |mode: u32| {
        let path = fixture.base.join("root/closed");
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    set_mode(0o000);
    let mut tree = WatchTree::new().unwrap();
    let root = [("root", Depth::Tree)];
    // Nothing in it can be read, so its changes do not matter.
    assert_eq!(fixture.watch(&mut tree, &root), WatchState::Extended);
    set_mode(0o700);
    settle(&mut tree).unwrap();
    assert_eq!(
        fixture.watched(&tree),
        "root root/b root/closed root/closed/a"
    );
}

/// Each watch that is removed is an event itself. Without reading meanwhile, the queue overflows.
#[test]
fn more_directories_than_events_fit_in_the_queue_are_watched_and_moved_away() {
    if skip_without_file_events() {
        return;
    }
    let fixture = Fixture::new(&["root/group", "elsewhere"]);
    for number in 0..MANY {
        fs::create_dir(fixture.base.join(format!("root/group/{number}"))).unwrap();
    }
    let mut tree = WatchTree::new().unwrap();
    let root = [("root", Depth::Tree)];
    assert_eq!(fixture.watch(&mut tree, &root), WatchState::Extended);
    settle(&mut tree).unwrap();
    assert_eq!(tree.by_path.len(), MANY + 2);
    assert!(!tree.read_changes().unwrap(), "listing is not a change");
    fixture.rename("root/group", "elsewhere/group");
    settle(&mut tree).unwrap();
    assert_eq!(fixture.watched(&tree), "root");
    fixture.rename("elsewhere/group", "root/group");
    settle(&mut tree).unwrap();
    assert_eq!(tree.by_path.len(), MANY + 2);
    fixture.watch(&mut tree, &[("elsewhere", Depth::Tree)]);
    settle(&mut tree).unwrap();
    assert_eq!(fixture.watched(&tree), "elsewhere");
}

#[test]
fn lost_events_are_an_error() {
    if skip_without_file_events() {
        return;
    }
    let fixture = Fixture::new(&["root"]);
    let mut tree = WatchTree::new().unwrap();
    fixture.watch(&mut tree, &[("root", Depth::Tree)]);
    let limit = fs::read_to_string("/proc/sys/fs/inotify/max_queued_events");
    let limit: usize = limit.unwrap().trim().parse().unwrap();
    let file = fixture.base.join("root/file");
    // Equal events in sequence are merged; these alternate.
    for _ in 0..limit {
        fs::write(&file, "").unwrap();
        fs::remove_file(&file).unwrap();
    }
    assert_eq!(settle(&mut tree), Err(WatchProblem::TooManyChanges));
}

/// The limit of the system is shared by all programs of a user.
#[test]
fn the_number_of_watches_is_limited() {
    if skip_without_file_events() {
        return;
    }
    let fixture = Fixture::new(&["root/a", "root/b", "root/c"]);
    let mut tree = WatchTree::with_limit(3);
    let directories = [(fixture.base.join("root"), Depth::Tree)];
    assert_eq!(
        tree.watch(&directories),
        Err(WatchProblem::TooManyDirectories)
    );
    let mut tree = WatchTree::with_limit(4);
    assert_eq!(tree.watch(&directories), Ok(WatchState::Extended));
    fs::create_dir(fixture.base.join("root/a/d")).unwrap();
    assert_eq!(settle(&mut tree), Err(WatchProblem::TooManyDirectories));
}
