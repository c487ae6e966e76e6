//! Somebody puts a symlink where a directory was while a tool is at work.

use std::sync::atomic::{AtomicBool, Ordering};

use super::*;

/// How often a tool is called meanwhile.
const CALLS: usize = 1500;

/// Swaps `work/d`, a directory, and a symlink to the outside until told to stop; returns how often.
fn swap(top: &Dir, stop: &AtomicBool) -> usize {
    let mut swaps = 0;
    while !stop.load(Ordering::Relaxed) {
        let _ = top.rename("work/d", top, "kept");
        if top.symlink_contents("../outside", "work/d").is_ok() {
            top.remove_file("work/d").unwrap();
            swaps += 1;
        }
        // The tool may have made one while the name was free.
        let _ = top.remove_dir_all("work/d");
        let _ = top.rename("kept", top, "work/d");
    }
    swaps
}

fn while_swapping(lab: &Lab, call: impl Fn()) {
    let (stop, top) = (AtomicBool::new(false), lab.top.try_clone().unwrap());
    std::thread::scope(|scope| {
        let swapper = scope.spawn(|| swap(&top, &stop));
        for _ in 0..CALLS {
            call();
        }
        stop.store(true, Ordering::Relaxed);
        assert!(swapper.join().unwrap() > 0);
    });
}

#[test]
fn writing_never_follows_a_parent_that_became_a_link() {
    let lab = Lab::new();
    lab.top.create_dir("work/d").unwrap();
    while_swapping(&lab, || {
        for mode in ["overwrite", "append"] {
            let _ = lab.tools.write(&serde_json::from_value(json!({"path": "d/canary", "content": "dead", "mode": mode})).unwrap());
        }
    });
    assert!(lab.is_outside_untouched());
}

#[test]
fn reading_never_follows_a_parent_that_became_a_link() {
    let lab = Lab::new();
    lab.top.create_dir("work/d").unwrap();
    lab.top.write("work/d/canary", "inside").unwrap();
    while_swapping(&lab, || {
        if let Ok(outcome) = lab.tools.read(&serde_json::from_value(json!({"path": "d/canary"})).unwrap()) {
            assert_eq!(outcome.text, "inside");
        }
        if let Ok(outcome) = lab.tools.ls(&serde_json::from_value(json!({"path": "d"})).unwrap()) {
            assert!(outcome.text.contains("(6 bytes)"), "{}", outcome.text);
        }
    });
}
