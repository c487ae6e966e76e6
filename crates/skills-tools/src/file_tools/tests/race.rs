//! Concurrent replacement of directories and files by symlinks during a tool call.

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

fn while_swapping(lab: &Lab, path: &str, target: &str, call: impl Fn()) {
    let (stop, top) = (AtomicBool::new(false), lab.top.try_clone().unwrap());
    std::thread::scope(|scope| {
        let swapper = scope.spawn(|| swap(&top, path, target, &stop));
        for _ in 0..CALLS {
            call();
        }
        stop.store(true, Ordering::Relaxed);
        assert!(swapper.join().unwrap() > 0);
    });
}

/// Writes in both modes while `at` is swapped. Each write may fail, but some must succeed and some
/// must fail.
fn write_while_swapping(lab: &Lab, at: &str, target: &str, path: &str) {
    let (written, refused) = (Cell::new(0), Cell::new(0));
    let write = |mode: &str| {
        let result = lab.tools.write(
            &serde_json::from_value(json!({"path": path, "content": "dead", "mode": mode}))
                .unwrap(),
        );
        let count = if result.is_ok() { &written } else { &refused };
        count.set(count.get() + 1);
    };
    // On a busy machine, one side may not run for some time.
    for _ in 0..20 {
        while_swapping(lab, at, target, || {
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
    let lab = Lab::new();
    lab.top.create_dir("work/d").unwrap();
    write_while_swapping(&lab, "work/d", "../outside", "d/canary");
    assert!(lab.is_outside_untouched());
}

#[test]
fn writing_never_follows_a_file_that_became_a_link() {
    let lab = Lab::new();
    lab.top.write("work/f", "inside").unwrap();
    write_while_swapping(&lab, "work/f", "../outside/canary", "f");
    assert!(lab.is_outside_untouched());
}

#[test]
fn reading_never_follows_what_became_a_link() {
    let lab = Lab::new();
    lab.top.create_dir("work/d").unwrap();
    lab.top.write("work/d/canary", "inside").unwrap();
    while_swapping(&lab, "work/d", "../outside", || {
        if let Ok(outcome) = lab
            .tools
            .read(&serde_json::from_value(json!({"path": "d/canary"})).unwrap())
        {
            assert_eq!(outcome.text, "inside");
        }
        if let Ok(outcome) = lab
            .tools
            .ls(&serde_json::from_value(json!({"path": "d"})).unwrap())
        {
            assert!(outcome.text.contains("(6 bytes)"), "{}", outcome.text);
        }
    });
}

#[test]
fn concurrent_creation_of_a_skill_succeeds_once() {
    let lab = Lab::new();
    let create = || {
        lab.tools.create(
            &serde_json::from_value(json!({"name": "new", "description": "x", "instructions": ""}))
                .unwrap(),
        )
    };
    let made = std::thread::scope(|scope| {
        let all: Vec<_> = (0..8).map(|_| scope.spawn(|| create().is_ok())).collect();
        all.into_iter()
            .map(|one| usize::from(one.join().unwrap()))
            .sum::<usize>()
    });
    assert_eq!(made, 1);
}
