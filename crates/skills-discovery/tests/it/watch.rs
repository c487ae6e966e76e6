//! Live changes, with and without events of the system.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use skills_discovery::{
    CatalogChange, CatalogWatcher, Discovery, Root, ScanEvent, Scope, WatchOptions,
};
use skills_test_support::skip_without_file_events;

use crate::tree::Tree;

/// Nothing waits this long but a test that fails.
const PATIENCE: Duration = Duration::from_secs(30);

struct Watched {
    changes: Receiver<CatalogChange>,
    watcher: CatalogWatcher,
}

fn watch(tree: &Tree, only_poll: bool) -> Watched {
    let discovery = Discovery::new([
        Root::new(tree.path("skills"), Scope::Repo),
        Root::new(tree.path("later/skills"), Scope::User),
    ]);
    let known = Arc::new(discovery.scan());
    let mut options = WatchOptions::default();
    (options.debounce, options.force_polling) = (Duration::from_millis(20), only_poll);
    options.poll_interval = only_poll.then_some(Duration::from_millis(20));
    let (sender, changes) = channel();
    let watcher = CatalogWatcher::spawn(discovery, known, options, move |change| {
        sender.send(change).unwrap_or_default()
    });
    Watched { changes, watcher }
}

impl Watched {
    /// Waits for a catalogue with exactly these skills; what comes in between may be any part of
    /// the way.
    fn until(&self, names: &[&str]) -> CatalogChange {
        loop {
            let change = self.changes.recv_timeout(PATIENCE).unwrap();
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

fn follows_all_changes(only_poll: bool) {
    let tree = Tree::new();
    tree.skill("skills/a", "a");
    let watched = watch(&tree, only_poll);
    tree.skill("skills/group/b", "b");
    assert!(
        watched
            .until(&["a", "b"])
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
            .until(&["b", "renamed"])
            .diff
            .changed
            .iter()
            .any(|path| path.ends_with("a"))
    );
    tree.skill("later/skills/c", "c");
    watched.until(&["b", "renamed", "c"]);
    std::fs::remove_dir_all(tree.path("skills")).unwrap();
    assert!(!watched.until(&["c"]).diff.removed.is_empty());
    tree.skill("skills/back", "back");
    watched.until(&["back", "c"]);
}

#[test]
fn events_lead_to_a_correct_catalogue() {
    if skip_without_file_events() {
        return;
    }
    assert!(watch(&Tree::new(), false).watcher.is_event_driven());
    follows_all_changes(false);
}

#[test]
fn polling_leads_to_a_correct_catalogue() {
    follows_all_changes(true);
}

#[test]
fn a_dropped_watcher_ends() {
    let tree = Tree::new();
    let Watched { changes, watcher } = watch(&tree, true);
    drop(watcher);
    assert!(
        changes.recv_timeout(PATIENCE).is_err(),
        "its thread is gone and has closed the channel"
    );
}

/// A root that another directory was put in the place of is watched anew.
#[test]
fn a_replaced_root_is_watched_on() {
    if skip_without_file_events() {
        return;
    }
    let tree = Tree::new();
    tree.skill("skills/a", "a").skill("next/b", "b");
    let watched = watch(&tree, false);
    assert!(watched.watcher.is_event_driven());
    std::fs::rename(tree.path("skills"), tree.path("old")).unwrap();
    std::fs::rename(tree.path("next"), tree.path("skills")).unwrap();
    watched.until(&["b"]);
    tree.skill("skills/c", "c");
    watched.until(&["b", "c"]);
}

/// What no catalogue is made of changes the catalogue of nobody, and whoever wants to know of it is
/// told that it was looked.
#[test]
fn a_look_is_told_when_a_script_changes() {
    if skip_without_file_events() {
        return;
    }
    let tree = Tree::new();
    tree.skill("skills/a", "a")
        .file("skills/a/scripts/run.py", "1");
    let discovery = Discovery::new([Root::new(tree.path("skills"), Scope::Repo)]);
    let known = Arc::new(discovery.scan());
    let mut options = WatchOptions::default();
    (options.debounce, options.poll_interval) = (Duration::from_millis(20), Some(PATIENCE * 10));
    let (sender, looks) = channel();
    let watcher = CatalogWatcher::spawn_with_scans(discovery, known, options, move |look| {
        sender.send(look).unwrap_or_default()
    });
    assert!(watcher.is_event_driven());
    // The first look may find watches that are new; one of the next knows that all stood before it.
    while !looks.recv_timeout(PATIENCE).unwrap().is_event_driven {}
    tree.file("skills/a/scripts/run.py", "22");
    let look = looks.recv_timeout(PATIENCE).unwrap();
    assert!(look.change.is_none() && look.is_event_driven);
}

#[test]
fn who_only_polls_is_told_that_nothing_is_reported() {
    let tree = Tree::new();
    tree.skill("skills/a", "a");
    let discovery = Discovery::new([Root::new(tree.path("skills"), Scope::Repo)]);
    let known = Arc::new(discovery.scan());
    let mut options = WatchOptions::default();
    (options.poll_interval, options.force_polling) = (Some(Duration::from_millis(20)), true);
    let (sender, looks) = channel();
    let watcher = CatalogWatcher::spawn_with_scans(discovery, known, options, move |look| {
        sender.send(look).unwrap_or_default()
    });
    assert!(
        !looks.recv_timeout(PATIENCE).unwrap().is_event_driven
            && !looks.recv_timeout(PATIENCE).unwrap().is_event_driven
    );
    assert!(!watcher.is_event_driven());
}

/// Watches with hardly any look but those that events lead to; nothing where the system reports
/// none.
#[track_caller]
fn by_events(tree: &Tree) -> Option<(CatalogWatcher, Receiver<ScanEvent>)> {
    if skip_without_file_events() {
        return None;
    }
    let discovery = Discovery::new([Root::new(tree.path("skills"), Scope::Repo)]);
    let known = Arc::new(discovery.scan());
    let mut options = WatchOptions::default();
    (options.debounce, options.poll_interval) = (Duration::from_millis(20), Some(PATIENCE * 10));
    let (sender, looks) = channel();
    let watcher = CatalogWatcher::spawn_with_scans(discovery, known, options, move |look| {
        sender.send(look).unwrap_or_default()
    });
    assert!(watcher.is_event_driven());
    Some((watcher, looks))
}

/// A directory that was made again may get the number of the one before, but not its watch.
#[test]
fn a_root_that_was_made_again_is_watched_on() {
    let tree = Tree::new();
    tree.skill("skills/a", "a");
    let Some((_watcher, looks)) = by_events(&tree) else {
        return;
    };
    while !looks.recv_timeout(PATIENCE).unwrap().is_event_driven {}
    for round in 0..3 {
        std::fs::remove_dir_all(tree.path("skills")).unwrap();
        // Of what comes at once some may be found by the look that follows any other.
        for number in 0..4 {
            let name = format!("skill-{round}-{number}");
            tree.skill(&format!("skills/{name}"), &name);
            let is_there = |look: &ScanEvent| {
                look.change.as_ref().is_some_and(|change| {
                    change
                        .catalog
                        .entries()
                        .iter()
                        .any(|entry| entry.name().as_str() == name)
                })
            };
            while !is_there(&looks.recv_timeout(PATIENCE).unwrap()) {}
        }
    }
}

#[test]
fn what_is_reported_counts_before_it_is_looked_at() {
    let tree = Tree::new();
    tree.skill("skills/a", "a");
    let Some((_watcher, looks)) = by_events(&tree) else {
        return;
    };
    let look = std::iter::repeat_with(|| looks.recv_timeout(PATIENCE).unwrap())
        .find(|look| look.is_event_driven)
        .unwrap();
    let before = look.event_count.get();
    tree.file("skills/a/scripts/run.py", "1");
    let end = Instant::now() + PATIENCE;
    while look.event_count.get() == before {
        assert!(Instant::now() < end, "nothing is reported");
        std::thread::yield_now();
    }
}

#[test]
fn nothing_is_reported_once_the_thread_has_ended() {
    let tree = Tree::new();
    tree.skill("skills/a", "a");
    let discovery = Discovery::new([Root::new(tree.path("skills"), Scope::Repo)]);
    let known = Arc::new(discovery.scan());
    let (sender, ended) = channel::<()>();
    // What the thread owns goes with it.
    let watcher =
        CatalogWatcher::spawn_with_scans(discovery, known, WatchOptions::default(), move |_| {
            let _owned = &sender;
            panic!("on purpose");
        });
    assert!(ended.recv_timeout(PATIENCE).is_err());
    assert!(!watcher.is_event_driven());
}
