//! The files around a skill, and paths to them.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use crate::cases::fixture::{Fixture, Generation};

/// Deeper than any directory of a test.
const UP: &str = "/../../../../../../../../../../../..";

/// A skill with a sibling, and world-readable files outside.
pub(crate) fn create_layout(generation: Generation) -> Fixture {
    let fixture = Fixture::new(generation);
    for directory in [
        "outside/home/.ssh",
        "sibling",
        "workspace/.git/hooks",
        "scratch",
    ] {
        fs::create_dir_all(fixture.path(directory)).unwrap();
    }
    for (path, text) in [
        ("outside/home/.ssh/id_rsa", "key"),
        ("sibling/SKILL.md", "sibling"),
        ("workspace/known.txt", "known"),
        ("workspace/.git/config", "config"),
    ] {
        fs::write(fixture.path(path), text).unwrap();
    }
    for (name, target) in [
        ("link", "../outside/data.txt"),
        ("shadow", "/etc/shadow"),
        ("directory", "../outside"),
        ("zero", "/dev/zero"),
    ] {
        symlink(target, fixture.path("skill").join(name)).unwrap();
    }
    fixture
}

/// Attempts on absolute paths: unchanged, and with `..` from each granted directory.
pub(crate) fn everywhere<P: AsRef<Path>>(actions: &[&str], paths: &[P]) -> Vec<Vec<String>> {
    let ways = |path: &str| {
        ["", "/skill", "/workspace", "/work"].map(|from| {
            if from.is_empty() {
                path.to_owned()
            } else {
                format!("{from}{UP}{path}")
            }
        })
    };
    let paths: Vec<String> = paths
        .iter()
        .flat_map(|path| ways(path.as_ref().to_str().unwrap()))
        .collect();
    actions
        .iter()
        .flat_map(|action| {
            paths
                .iter()
                .map(|path| vec![(*action).to_owned(), path.clone()])
        })
        .collect()
}

/// Absolute paths that are resolved in a granted directory.
pub(crate) fn asked_for<P: AsRef<Path>>(paths: &[P]) -> Vec<Vec<String>> {
    let path = |path: &P| path.as_ref().to_str().unwrap().to_owned();
    let ask = |place: &str| {
        paths
            .iter()
            .map(|wanted| vec!["open-in".to_owned(), place.to_owned(), path(wanted)])
            .collect::<Vec<_>>()
    };
    [ask("/skill"), ask("/workspace"), ask("/work")].concat()
}

/// Splits attempts into words.
pub(crate) fn words<'a>(attempts: &[&[&'a str]]) -> Vec<Vec<&'a str>> {
    attempts.iter().map(|attempt| attempt.to_vec()).collect()
}
