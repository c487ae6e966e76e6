//! Concurrent changes of files while skills are published.

use std::collections::HashMap;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use skills_tools::PublicationErrorKind;

use super::{read, set, sha256};
use crate::fixture::Host;

/// Minimum number of captures and reads, and of changes meanwhile.
const ATTEMPTS: usize = 1_000;
const CHANGES: usize = 1_000;
/// Timeout until both happened often enough: on a busy machine, one side may not run for some time.
const PATIENCE: usize = 1_000;

/// Calls `change` repeatedly, with increasing numbers, while `look` runs.
fn while_changing(change: impl Fn(usize) + Sync, look: impl Fn()) {
    let (stop, changes) = (AtomicBool::new(false), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                change(changes.fetch_add(1, Ordering::Relaxed));
            }
        });
        let _stopping = Stopping(&stop);
        let done =
            |attempts: &usize| *attempts >= ATTEMPTS && changes.load(Ordering::Relaxed) >= CHANGES;
        let attempts = (0..ATTEMPTS * PATIENCE).inspect(|_| look()).find(done);
        assert!(
            attempts.is_some(),
            "{} changes",
            changes.load(Ordering::Relaxed)
        );
    });
}

/// Stops the changes, also if `look` panics.
struct Stopping<'a>(&'a AtomicBool);

impl Drop for Stopping<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Overwrites a file in place.
fn in_place(path: &Path, content: &str) {
    fs::OpenOptions::new()
        .write(true)
        .open(path)
        .unwrap()
        .write_all(content.as_bytes())
        .unwrap();
}

#[test]
fn every_returned_content_is_listed() {
    let host = Host::new();
    host.skill("demo", "")
        .file("skills/demo/data", "000000000")
        .file("skills/demo/still", "still");
    let set = set(&host);
    assert!(set.published_skill("demo").is_some());
    let path = host.path("skills/demo/data");
    // Usually of equal length, and sometimes truncated in between.
    let change = |round: usize| match round % 10 {
        0 => fs::write(&path, format!("{round:09}")).unwrap(),
        _ => in_place(&path, &format!("{round:09}")),
    };
    let look = || {
        match read(&set, "demo", "data") {
            Ok(_) | Err(PublicationErrorKind::Unstable) => {}
            Err(other) => panic!("{other:?}"),
        }
        // Unchanged files can be read while others change.
        assert_eq!(read(&set, "demo", "still"), Ok(b"still".to_vec()));
    };
    while_changing(change, look);
    let last = fs::read(&path).unwrap();
    assert_eq!(read(&set, "demo", "data"), Ok(last));
}

#[test]
fn a_write_right_after_a_capture_is_seen_by_the_next() {
    let host = Host::new();
    host.skill("demo", "").file("skills/demo/data", "000000000");
    let set = set(&host);
    for round in 0..300 {
        let content = format!("{round:09}");
        in_place(&host.path("skills/demo/data"), &content);
        assert_eq!(
            set.published_skill("demo")
                .unwrap()
                .file("data")
                .unwrap()
                .sha256,
            sha256(content.as_bytes()),
            "{round}"
        );
    }
}

#[test]
fn the_frontmatter_matches_the_listed_text() {
    let host = Host::new();
    let text = |round: usize| {
        format!(
            "---\nname: demo\ndescription: Round {:03}.\n---\n# Demo\n",
            round % 50
        )
    };
    let known: HashMap<String, String> = (0..50)
        .map(|round| (sha256(text(round).as_bytes()), format!("Round {round:03}.")))
        .collect();
    host.file("skills/demo/SKILL.md", text(0));
    let set = set(&host);
    let (path, beside) = (host.path("skills/demo/SKILL.md"), host.path("beside"));
    let change = |round| {
        fs::write(&beside, text(round)).unwrap();
        fs::rename(&beside, &path).unwrap();
    };
    while_changing(change, || {
        for publication in set.published_skills().skills {
            let digest = &publication.file("SKILL.md").unwrap().sha256;
            assert_eq!(
                known.get(digest).map(String::as_str),
                Some(publication.description.as_str())
            );
        }
    });
}

#[cfg(unix)]
#[test]
fn a_symlink_that_replaces_a_file_or_directory_is_not_followed() {
    let host = Host::new();
    host.skill("demo", "")
        .file("skills/demo/data", "good")
        .file("skills/demo/sub/data", "good");
    host.file("outside/data", "TOPSECRET");
    let set = set(&host);
    let at = |below: &str| host.path(&format!("skills/demo/{below}"));
    let (file, directory) = (host.path("outside/data"), host.path("outside"));
    let swap = |name: &str, target: &std::path::Path| {
        fs::rename(at(name), host.path("kept")).unwrap();
        std::os::unix::fs::symlink(target, at(name)).unwrap();
        fs::remove_file(at(name)).unwrap();
        fs::rename(host.path("kept"), at(name)).unwrap();
    };
    let change = |_| {
        swap("data", &file);
        swap("sub", &directory);
    };
    while_changing(change, || {
        for path in ["data", "sub/data"] {
            if let Ok(content) = read(&set, "demo", path) {
                assert_eq!(content, b"good");
            }
        }
    });
    assert_eq!(read(&set, "demo", "sub/data"), Ok(b"good".to_vec()));
}
