//! Watching for changes, with and without events of the system.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use skills_discovery::{
    CatalogChange, Discovery, Generations, MemorySkill, MemorySource, Root, RootWatcher, Scope,
    SourceRoot, TreePath, WatchOptions,
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
    watch_discovery(discovery, force_polling)
}

fn watch_discovery(discovery: Discovery, force_polling: bool) -> Watched {
    let catalog = Arc::new(discovery.scan());
    let mut options = WatchOptions::default();
    (options.debounce, options.force_polling) = (Duration::from_millis(20), force_polling);
    options.poll_interval = force_polling.then_some(Duration::from_millis(20));
    let (sender, changes) = channel();
    let on_scan = move |change: Option<CatalogChange>| {
        change
            .into_iter()
            .for_each(|change| sender.send(change).unwrap_or_default());
    };
    let watcher =
        RootWatcher::spawn_with_scans(discovery, catalog, options, Arc::default(), on_scan);
    Watched {
        changes,
        watcher: watcher.unwrap(),
    }
}

impl Watched {
    /// Waits for a catalog with exactly these skills. Catalogs in between may have any subset of
    /// the changes.
    fn wait_for(&self, names: &[&str]) {
        loop {
            let change = self.changes.recv_timeout(TIMEOUT).unwrap();
            let found: Vec<&str> = change
                .catalog
                .entries()
                .iter()
                .map(|entry| entry.name().as_str())
                .collect();
            if found == names {
                return;
            }
        }
    }
}

/// Sources have no events.
#[test]
fn a_replaced_source_is_reported() {
    let tree = Tree::new();
    let skill = |name: &str| {
        let text = format!("---\nname: {name}\ndescription: d\n---\n");
        let path = |text: &str| TreePath::new(text).unwrap();
        MemorySkill::new(path(name)).file(path("SKILL.md"), text)
    };
    let source = Arc::new(MemorySource::new("app", [skill("a")]));
    let root = SourceRoot::new(source.clone(), Scope::User, tree.path(""));
    let watched = watch_discovery(Discovery::new([]).source(root), true);
    source.replace([skill("a"), skill("b")]);
    watched.wait_for(&["a", "b"]);
}

fn check_all_changes(force_polling: bool) {
    let tree = Tree::new();
    tree.skill("skills/a", "a");
    let watched = watch(&tree, force_polling);
    tree.skill("skills/group/b", "b");
    watched.wait_for(&["a", "b"]);
    tree.file(
        "skills/a/SKILL.md",
        "---\nname: renamed\ndescription: d\n---\n",
    );
    watched.wait_for(&["b", "renamed"]);
    tree.skill("later/skills/c", "c");
    watched.wait_for(&["b", "renamed", "c"]);
    std::fs::remove_dir_all(tree.path("skills")).unwrap();
    watched.wait_for(&["c"]);
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

/// Starts a watcher of `skills` with the debounce interval of tests, which reports each scan.
fn watch_scans(
    tree: &Tree,
    mut options: WatchOptions,
) -> (
    RootWatcher,
    Arc<Generations>,
    Receiver<Option<CatalogChange>>,
) {
    let discovery = Discovery::new([Root::new(tree.path("skills"), Scope::Repo)]);
    let catalog = Arc::new(discovery.scan());
    options.debounce = Duration::from_millis(20);
    let generations = Arc::<Generations>::default();
    let (sender, scans) = channel();
    let watcher = RootWatcher::spawn_with_scans(
        discovery,
        catalog,
        options,
        Arc::clone(&generations),
        move |change| sender.send(change).unwrap_or_default(),
    )
    .unwrap();
    (watcher, generations, scans)
}

/// Starts a watcher that scans only after events, and waits until it reports all changes; `None` if
/// the system has no events.
#[track_caller]
fn watch_scans_by_events(
    tree: &Tree,
) -> Option<(
    RootWatcher,
    Arc<Generations>,
    Receiver<Option<CatalogChange>>,
)> {
    if skip_without_file_events() {
        return None;
    }
    let mut options = WatchOptions::default();
    options.poll_interval = Some(TIMEOUT * 10);
    let (watcher, generations, scans) = watch_scans(tree, options);
    assert!(watcher.is_event_driven());
    // The first scan may add watches; a later one was watched from its start.
    while generations.current().is_none() {
        scans.recv_timeout(TIMEOUT).unwrap();
    }
    Some((watcher, generations, scans))
}

/// A catalog does not depend on scripts, but callers that do learn that something changed.
#[test]
fn a_changed_script_triggers_a_scan() {
    let tree = Tree::new();
    tree.skill("skills/a", "a")
        .file("skills/a/scripts/run.py", "1");
    let Some((_watcher, generations, scans)) = watch_scans_by_events(&tree) else {
        return;
    };
    tree.file("skills/a/scripts/run.py", "22");
    assert!(scans.recv_timeout(TIMEOUT).unwrap().is_none());
    assert!(generations.current().is_some());
}

#[test]
fn a_polling_watcher_is_not_event_driven() {
    let tree = Tree::new();
    tree.skill("skills/a", "a");
    let mut options = WatchOptions::default();
    (options.poll_interval, options.force_polling) = (Some(Duration::from_millis(20)), true);
    let (watcher, generations, scans) = watch_scans(&tree, options);
    for _ in 0..2 {
        scans.recv_timeout(TIMEOUT).unwrap();
        assert_eq!(generations.current(), None);
    }
    assert!(!watcher.is_event_driven());
}

/// A recreated directory may get the inode of the previous one, but not its watch.
#[test]
fn a_recreated_root_is_still_watched() {
    let tree = Tree::new();
    tree.skill("skills/a", "a");
    let Some((_watcher, _, scans)) = watch_scans_by_events(&tree) else {
        return;
    };
    for round in 0..3 {
        std::fs::remove_dir_all(tree.path("skills")).unwrap();
        // A directory at a time: the follow-up scan could find several at once without a watch.
        for number in 0..4 {
            let name = format!("skill-{round}-{number}");
            tree.skill(&format!("skills/{name}"), &name);
            let has_skill = |change: CatalogChange| {
                change
                    .catalog
                    .entries()
                    .iter()
                    .any(|entry| entry.name().as_str() == name)
            };
            while !scans.recv_timeout(TIMEOUT).unwrap().is_some_and(has_skill) {}
        }
    }
}

#[test]
fn a_watcher_is_not_event_driven_after_a_panic() {
    let tree = Tree::new();
    tree.skill("skills/a", "a");
    let discovery = Discovery::new([Root::new(tree.path("skills"), Scope::Repo)]);
    let catalog = Arc::new(discovery.scan());
    let generations = Arc::<Generations>::default();
    let (sender, ended) = channel::<()>();
    // The thread drops the callback, and with it the sender.
    let watcher = RootWatcher::spawn_with_scans(
        discovery,
        catalog,
        WatchOptions::default(),
        Arc::clone(&generations),
        move |_| {
            let _owned = &sender;
            panic!("on purpose");
        },
    )
    .unwrap();
    assert!(ended.recv_timeout(TIMEOUT).is_err());
    assert!(!watcher.is_event_driven() && generations.current().is_none());
}

/// More directories than there are events in the queue of the kernel, by default.
const MANY: usize = 17_000;

/// Watching many directories must not cause the events that make it necessary to watch them again.
#[test]
fn a_watcher_of_more_directories_than_events_in_the_queue_settles() {
    let tree = Tree::in_memory();
    for number in 0..MANY {
        std::fs::create_dir_all(tree.path(&format!("skills/a/references/{number}"))).unwrap();
    }
    tree.skill("skills/a", "a");
    if skip_without_file_events() {
        return;
    }
    let mut options = WatchOptions::default();
    options.poll_interval = Some(TIMEOUT * 10);
    let (watcher, generations, scans) = watch_scans(&tree, options);
    let mut count = 0;
    while generations.current().is_none() {
        scans.recv_timeout(TIMEOUT).unwrap();
        count += 1;
        assert!(count < 20, "it scans again and again");
    }
    assert!(watcher.is_event_driven());
    tree.skill("skills/b", "b");
    while scans.recv_timeout(TIMEOUT).unwrap().is_none() {}
}
