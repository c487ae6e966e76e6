//! Tests of the catalog watcher.

use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use skills_runtime::discovery::{RootWatcher, WatchOptions};
use skills_runtime::{ExecutionOptions, SkillRuntime};

use crate::fixture::Fixture;

/// Timeout of a failed test.
const PATIENCE: Duration = Duration::from_secs(30);

fn names(runtime: &SkillRuntime) -> String {
    runtime
        .library()
        .catalog()
        .entries()
        .iter()
        .map(|entry| entry.name().as_str().to_owned())
        .collect::<Vec<_>>()
        .join(" ")
}

/// Reports after each scan whether it found changes.
fn watch(runtime: &SkillRuntime, only_poll: bool) -> (RootWatcher, Receiver<bool>) {
    let mut options = WatchOptions::default();
    (options.debounce, options.force_polling) = (Duration::from_millis(20), only_poll);
    options.poll_interval = only_poll.then_some(Duration::from_millis(20));
    let (sender, looks) = channel();
    let watching = runtime.library().watch(options, move |change| {
        sender.send(change.is_some()).unwrap_or_default()
    });
    (watching.unwrap(), looks)
}

/// Waits for a scan that finds changes.
fn changed(looks: &Receiver<bool>) {
    while !looks.recv_timeout(PATIENCE).unwrap() {}
}

#[test]
fn a_watched_catalog_is_current_without_a_scan() {
    for only_poll in [false, true] {
        let fixture = Fixture::new();
        fixture.skill("first", "");
        let runtime = fixture.builder().build();
        let (watching, looks) = watch(&runtime, only_poll);
        assert!(!only_poll || !watching.is_event_driven());
        looks.recv_timeout(PATIENCE).unwrap();
        fixture.skill("second", "");
        changed(&looks);
        while names(&runtime) != "first second" {
            changed(&looks);
        }
        std::fs::remove_dir_all(fixture.path("first")).unwrap();
        changed(&looks);
        while names(&runtime) != "second" {
            changed(&looks);
        }
        drop(watching);
        while looks.try_recv().is_ok() {}
        assert_eq!(
            looks.recv_timeout(PATIENCE),
            Err(RecvTimeoutError::Disconnected),
            "its thread has ended"
        );
    }
}

/// An explicit scan is effective immediately, independent of the watcher.
#[test]
fn an_explicit_scan_is_effective_immediately() {
    let fixture = Fixture::new();
    fixture.skill("first", "");
    let runtime = fixture.builder().build();
    let mut options = WatchOptions::default();
    (options.debounce, options.poll_interval) = (PATIENCE, Some(PATIENCE * 10));
    let (sender, looks) = channel();
    let _watching = runtime
        .library()
        .watch(options, move |_| sender.send(()).unwrap_or_default())
        .unwrap();
    looks.recv_timeout(PATIENCE).unwrap();
    fixture.skill("second", "");
    assert_eq!(names(&runtime), "first");
    assert_eq!(runtime.library().refresh().entries().len(), 2);
    assert_eq!(names(&runtime), "first second");
}

/// A run uses the files at the time of the run, not those of the last scan.
#[tokio::test]
async fn a_run_uses_the_current_files() {
    let fixture = Fixture::new();
    fixture
        .skill("demo", "")
        .file("demo/scripts/run.py", "print(1)");
    let runtime = fixture.recording().build();
    let mut options = WatchOptions::default();
    (options.debounce, options.poll_interval) = (PATIENCE, Some(PATIENCE * 10));
    let (sender, looks) = channel();
    let _watching = runtime
        .library()
        .watch(options, move |_| sender.send(()).unwrap_or_default())
        .unwrap();
    looks.recv_timeout(PATIENCE).unwrap();
    fixture.skill("demo", "allowed-tools: Bash(git:*)\n");
    let artifacts = runtime
        .execute_skill("demo", ExecutionOptions::default())
        .await
        .unwrap();
    let requested = artifacts.decisions.iter().map(ToString::to_string);
    assert!(
        requested.clone().any(|text| text.contains("spawn `git`")),
        "{:?}",
        requested.collect::<Vec<_>>()
    );
    std::fs::remove_dir_all(fixture.path("demo")).unwrap();
    assert!(
        runtime
            .execute_skill("demo", ExecutionOptions::default())
            .await
            .is_err()
    );
}

/// The result of the most recently started scan is kept.
#[test]
fn concurrent_scans_keep_the_latest_state() {
    let fixture = Fixture::new();
    fixture.skill("first", "");
    let runtime = fixture.builder().build();
    for round in 0..20 {
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| runtime.library().refresh());
            }
            fixture.skill(&format!("skill-{round}"), "");
            runtime.library().refresh();
        });
        assert_eq!(runtime.library().catalog().entries().len(), round + 2);
    }
}
