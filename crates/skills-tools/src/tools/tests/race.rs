//! Concurrent replacement of directories and files by symlinks during a tool call.

#![expect(clippy::disallowed_methods, reason = "a test fails by panicking")]

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};

use super::*;

/// Number of concurrent tool calls.
const CALLS: usize = 1500;

/// Swaps `path` with a symlink to the outside until `stop` is set; returns the number of swaps.
fn swap(top: &Dir, path: &str, target: &str, stop: &AtomicBool) -> usize {
    let mut swaps = 0;
    while !stop.load(Ordering::Relaxed) {
        let _ = top.rename(path, top, "kept");
        swaps += usize::from(top.symlink_contents(target, path).is_ok());
        // The symlink, or the file that the tool created while the name was free.
        let _ = top.remove_file(path).or_else(|_| top.remove_dir_all(path));
        let _ = top.rename("kept", top, path);
    }
    swaps
}

fn while_swapping(fixture: &Fixture, path: &str, target: &str, once: impl Fn()) {
    let (stop, top) = (AtomicBool::new(false), fixture.top.try_clone().unwrap());
    std::thread::scope(|scope| {
        let swapper = scope.spawn(|| swap(&top, path, target, &stop));
        for _ in 0..CALLS {
            once();
        }
        stop.store(true, Ordering::Relaxed);
        assert!(swapper.join().unwrap() > 0);
    });
}

/// Writes in both modes while `at` is swapped. Each write may fail, but some must succeed and some
/// must fail.
fn write_while_swapping(fixture: &Fixture, at: &str, target: &str, path: &str) {
    let (written, refused) = (Cell::new(0), Cell::new(0));
    let write = |mode: &str| {
        let arguments = json!({"path": path, "content": "dead", "mode": mode});
        let result = call(&skills_write::TOOL, &fixture.files, arguments);
        let count = if result.is_ok() { &written } else { &refused };
        count.set(count.get() + 1);
    };
    // On a busy machine, one side may not run for some time.
    for _ in 0..20 {
        while_swapping(fixture, at, target, || {
            ["overwrite", "append"].into_iter().for_each(write)
        });
        if written.get() > 0 && refused.get() > 0 {
            return;
        }
    }
    panic!(
        "{} writes were done and {} refused",
        written.get(),
        refused.get()
    );
}

#[test]
fn writing_never_follows_a_parent_that_became_a_link() {
    let fixture = Fixture::new();
    fixture.top.create_dir("work/d").unwrap();
    write_while_swapping(&fixture, "work/d", "../outside", "d/canary");
    assert!(fixture.is_outside_untouched());
}

#[test]
fn writing_never_follows_a_file_that_became_a_link() {
    let fixture = Fixture::new();
    fixture.top.write("work/f", "inside").unwrap();
    write_while_swapping(&fixture, "work/f", "../outside/canary", "f");
    assert!(fixture.is_outside_untouched());
}

#[test]
fn reading_never_follows_what_became_a_link() {
    let fixture = Fixture::new();
    fixture.top.create_dir("work/d").unwrap();
    fixture.top.write("work/d/canary", "inside").unwrap();
    while_swapping(&fixture, "work/d", "../outside", || {
        let read = call(
            &skills_read::TOOL,
            &fixture.files,
            json!({"path": "d/canary"}),
        );
        if let Ok(outcome) = read {
            assert_eq!(outcome.text(), "inside");
        }
        if let Ok(outcome) = call(&skills_ls::TOOL, &fixture.files, json!({"path": "d"})) {
            assert!(outcome.text().contains("(6 bytes)"), "{}", outcome.text());
        }
    });
}

#[test]
fn concurrent_creation_of_a_skill_succeeds_once() {
    let fixture = Fixture::new();
    let create = || {
        let arguments = json!({"name": "new", "description": "x", "instructions": ""});
        call(&skills_create::TOOL, &fixture.files, arguments)
    };
    let made = std::thread::scope(|scope| {
        let all: Vec<_> = (0..8).map(|_| scope.spawn(|| create().is_ok())).collect();
        all.into_iter()
            .map(|one| usize::from(one.join().unwrap()))
            .sum::<usize>()
    });
    assert_eq!(made, 1);
}
