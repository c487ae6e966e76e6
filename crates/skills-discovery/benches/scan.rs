//! Scans of 1,000 and 10,000 skills of 4 KiB, and as a lower bound a bare walk on one thread that
//! opens each `SKILL.md` and reads 2 KiB.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a bench makes its own files and fails by panicking"
)]

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use divan::{Bencher, black_box};
use skills_discovery::{Discovery, Root, ScanLimits, Scope};
use tempfile::TempDir;

const SIZES: [usize; 2] = [1_000, 10_000];

fn main() {
    divan::main();
}

fn tree(skills: usize) -> TempDir {
    let root = tempfile::tempdir().unwrap();
    for index in 0..skills {
        let directory = root.path().join(format!("skill-{index:05}"));
        fs::create_dir(&directory).unwrap();
        let head = format!(
            "---\nname: skill-{index:05}\ndescription: Does the thing number {index} when asked for it. Use when the user names it.\n\
             license: MIT\n---\n"
        );
        fs::write(
            directory.join("SKILL.md"),
            format!("{head}{}", "Line of the body.\n".repeat(230)),
        )
        .unwrap();
    }
    root
}

fn discovery(tree: &TempDir) -> Discovery {
    let mut limits = ScanLimits::default();
    (limits.max_directories, limits.max_entries) = (100_000, 100_000);
    Discovery::new([Root::new(tree.path(), Scope::Repo)]).limits(limits)
}

#[divan::bench(args = SIZES, sample_count = 10)]
fn one_thread(bencher: Bencher<'_, '_>, skills: usize) {
    let tree = tree(skills);
    let discovery = discovery(&tree).threads(1);
    bencher.bench_local(|| black_box(&discovery).scan());
}

#[divan::bench(args = SIZES, sample_count = 10)]
fn all_threads(bencher: Bencher<'_, '_>, skills: usize) {
    let tree = tree(skills);
    let discovery = discovery(&tree);
    bencher.bench_local(|| black_box(&discovery).scan());
}

#[divan::bench(args = SIZES, sample_count = 10)]
fn rescan_unchanged(bencher: Bencher<'_, '_>, skills: usize) {
    let tree = tree(skills);
    let discovery = discovery(&tree);
    let mut catalog = discovery.scan();
    // Until all stamps are settled, a rescan reads files again.
    while let Some(next) = discovery.rescan(&catalog) {
        catalog = next;
    }
    bencher.bench_local(|| assert!(black_box(&discovery).rescan(&catalog).is_none()));
}

#[divan::bench(args = SIZES, sample_count = 10)]
fn floor(bencher: Bencher<'_, '_>, skills: usize) {
    let tree = tree(skills);
    bencher.bench_local(|| assert_eq!(walk(black_box(tree.path())), skills));
}

fn walk(root: &Path) -> usize {
    let mut buffer = vec![0; 2048];
    let directories = fs::read_dir(root)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    directories
        .filter(|directory| {
            let mut file = File::open(directory.join("SKILL.md")).unwrap();
            file.read(&mut buffer).unwrap() > 0
        })
        .count()
}
