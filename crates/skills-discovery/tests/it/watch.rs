//! Watching for changes, with and without events of the system.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use skills_discovery::{
    CatalogChange, Discovery, Root, RootWatcher, ScanEvent, Scope, WatchOptions,
};
use skills_test_support::skip_without_file_events;

use crate::tree::Tree;

/// Only a failing test waits this long.
const TIMEOUT: Duration = Duration::from_secs(30);

struct Watched {
    changes: Receiver<CatalogChange>,
    watcher: RootWatcher,
}

fn watch(tree: &Tree, force_polling: bool) -> Watched {
    let discovery = Discovery::new([
        Root::new(tree.path("skills"), Scope::Repo),
        Root::new(tree.path("later/skills"), Scope::User),
    ]);
    let catalog = Arc::new(discovery.scan());
    let mut options = WatchOptions::default();
    (options.debounce, options.force_polling) = (Duration::from_millis(20), force_polling);
    options.poll_interval = force_polling.then_some(Duration::from_millis(20));
    let (sender, changes) = channel();
    let watcher = RootWatcher::spawn(discovery, catalog, options, move |change| {
        sender.send(change).unwrap_or_default()
    });
    Watched { changes, watcher }
}

impl Watched {
    /// Waits for a catalog with exactly these skills. Catalogs in between may have any subset of
    /// the changes.
    fn wait_for(&self, names: &[&str]) -> CatalogChange {
        loop {
            let change = self.changes.recv_timeout(TIMEOUT).unwrap();
            let found: Vec<&str> = change
                .catalog
                .entries()
                .iter()
                .map(|entry| entry.name().as_str())
                .collect();
            if found == names {
                return change;
            }
        }
    }
}

fn check_all_changes(force_polling: bool) {
    let tree = Tree::new();
    tree.skill("skills/a", "a");
    let watched = watch(&tree, force_polling);
    tree.skill("skills/group/b", "b");
    assert!(
        watched
            .wait_for(&["a", "b"])
            .diff
            .added
            .iter()
            .any(|path| path.ends_with("b"))
    );
    tree.file(
        "skills/a/SKILL.md",
        "---\nname: renamed\ndescription: d\n---\n",
    );
    assert!(
        watched
            .wait_for(&["b", "renamed"])
            .diff
            .changed
            .iter()
            .any(|path| path.ends_with("a"))
    );
    tree.skill("later/skills/c", "c");
    watched.wait_for(&["b", "renamed", "c"]);
    std::fs::remove_dir_all(tree.path("skills")).unwrap();
    assert!(!watched.wait_for(&["c"]).diff.removed.is_empty());
    tree.skill("skills/back", "back");
    watched.wait_for(&["back", "c"]);
}

#[test]
fn events_lead_to_a_correct_catalog() {
    if skip_without_file_events() {
        return;
    }
    assert!(watch(&Tree::new(), false).watcher.is_event_driven());
    check_all_changes(false);
}

#[test]
fn polling_leads_to_a_correct_catalog() {
    check_all_changes(true);
}

#[test]
fn a_dropped_watcher_ends() {
    let tree = Tree::new();
    let Watched { changes, watcher } = watch(&tree, true);
    drop(watcher);
    assert!(
        changes.recv_timeout(TIMEOUT).is_err(),
        "its thread has ended and closed the channel"
    );
}

/// A watch stays with the directory that was moved away, so the new one needs another.
#[test]
fn a_replaced_root_is_still_watched() {
    if skip_without_file_events() {
        return;
    }
    let tree = Tree::new();
    tree.skill("skills/a", "a").skill("next/b", "b");
    let watched = watch(&tree, false);
    assert!(watched.watcher.is_event_driven());
    std::fs::rename(tree.path("skills"), tree.path("old")).unwrap();
    std::fs::rename(tree.path("next"), tree.path("skills")).unwrap();
    watched.wait_for(&["b"]);
    tree.skill("skills/c", "c");
    watched.wait_for(&["b", "c"]);
}

/// A catalog does not depend on scripts, but callers that do learn that something changed.
#[test]
fn a_changed_script_triggers_a_scan() {
    if skip_without_file_events() {
        return;
    }
    let tree = Tree::new();
    tree.skill("skills/a", "a")
        .file("skills/a/scripts/run.py", "1");
    let discovery = Discovery::new([Root::new(tree.path("skills"), Scope::Repo)]);
    let catalog = Arc::new(discovery.scan());
    let mut options = WatchOptions::default();
    (options.debounce, options.poll_interval) = (Duration::from_millis(20), Some(TIMEOUT * 10));
    let (sender, scans) = channel();
    let watcher = RootWatcher::spawn_with_scans(discovery, catalog, options, move |scan| {
        sender.send(scan).unwrap_or_default()
    });
    assert!(watcher.is_event_driven());
    // The first scan may add watches; a later one was watched from its start.
    while !scans.recv_timeout(TIMEOUT).unwrap().is_event_driven {}
    tree.file("skills/a/scripts/run.py", "22");
    let scan = scans.recv_timeout(TIMEOUT).unwrap();
    assert!(scan.change.is_none() && scan.is_event_driven);
}

#[test]
fn a_polling_watcher_is_not_event_driven() {
    let tree = Tree::new();
    tree.skill("skills/a", "a");
    let discovery = Discovery::new([Root::new(tree.path("skills"), Scope::Repo)]);
    let catalog = Arc::new(discovery.scan());
    let mut options = WatchOptions::default();
    (options.poll_interval, options.force_polling) = (Some(Duration::from_millis(20)), true);
    let (sender, scans) = channel();
    let watcher = RootWatcher::spawn_with_scans(discovery, catalog, options, move |scan| {
        sender.send(scan).unwrap_or_default()
    });
    assert!(
        !scans.recv_timeout(TIMEOUT).unwrap().is_event_driven
            && !scans.recv_timeout(TIMEOUT).unwrap().is_event_driven
    );
    assert!(!watcher.is_event_driven());
}

/// Starts a watcher that scans only after events; `None` if the system has none.
#[track_caller]
fn watch_scans_by_events(tree: &Tree) -> Option<(RootWatcher, Receiver<ScanEvent>)> {
    if skip_without_file_events() {
        return None;
    }
    let discovery = Discovery::new([Root::new(tree.path("skills"), Scope::Repo)]);
    let catalog = Arc::new(discovery.scan());
    let mut options = WatchOptions::default();
    (options.debounce, options.poll_interval) = (Duration::from_millis(20), Some(TIMEOUT * 10));
    let (sender, scans) = channel();
    let watcher = RootWatcher::spawn_with_scans(discovery, catalog, options, move |scan| {
        sender.send(scan).unwrap_or_default()
    });
    assert!(watcher.is_event_driven());
    Some((watcher, scans))
}

/// A recreated directory may get the inode of the previous one, but not its watch.
#[test]
fn a_recreated_root_is_still_watched() {
    let tree = Tree::new();
    tree.skill("skills/a", "a");
    let Some((_watcher, scans)) = watch_scans_by_events(&tree) else {
        return;
    };
    while !scans.recv_timeout(TIMEOUT).unwrap().is_event_driven {}
    for round in 0..3 {
        std::fs::remove_dir_all(tree.path("skills")).unwrap();
        // A directory at a time: the follow-up scan could find several at once without a watch.
        for number in 0..4 {
            let name = format!("skill-{round}-{number}");
            tree.skill(&format!("skills/{name}"), &name);
            let has_skill = |scan: &ScanEvent| {
                scan.change.as_ref().is_some_and(|change| {
                    change
                        .catalog
                        .entries()
                        .iter()
                        .any(|entry| entry.name().as_str() == name)
                })
            };
            while !has_skill(&scans.recv_timeout(TIMEOUT).unwrap()) {}
        }
    }
}

#[test]
fn events_are_counted_before_their_scan() {
    let tree = Tree::new();
    tree.skill("skills/a", "a");
    let Some((_watcher, scans)) = watch_scans_by_events(&tree) else {
        return;
    };
    let scan = std::iter::repeat_with(|| scans.recv_timeout(TIMEOUT).unwrap())
        .find(|scan| scan.is_event_driven)
        .unwrap();
    let before = scan.event_count.get();
    tree.file("skills/a/scripts/run.py", "1");
    let end = Instant::now() + TIMEOUT;
    while scan.event_count.get() == before {
        assert!(Instant::now() < end, "no event was counted");
        std::thread::yield_now();
    }
}

#[test]
fn a_watcher_is_not_event_driven_after_a_panic() {
    let tree = Tree::new();
    tree.skill("skills/a", "a");
    let discovery = Discovery::new([Root::new(tree.path("skills"), Scope::Repo)]);
    let catalog = Arc::new(discovery.scan());
    let (sender, ended) = channel::<()>();
    // The thread drops the callback, and with it the sender.
    let watcher =
        RootWatcher::spawn_with_scans(discovery, catalog, WatchOptions::default(), move |_| {
            let _owned = &sender;
            panic!("on purpose");
        });
    assert!(ended.recv_timeout(TIMEOUT).is_err());
    assert!(!watcher.is_event_driven());
}
