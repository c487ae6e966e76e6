//! Scans of 1,000 and 10,000 skills of 4 KiB, and as a lower bound a bare walk on one thread that
//! opens each `SKILL.md` and reads 2 KiB.
//!
//! The `collection` benches scan the directory in `SKILLS_BENCH_ROOT`, or else generated skills in
//! the notations of published ones; `collection_floor` is their lower bound:
//!
//! ```text
//! SKILLS_BENCH_ROOT=/path/to/collection cargo bench -p skills-discovery --bench scan -- collection
//! ```

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a bench makes its own files and fails by panicking"
)]

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use divan::{Bencher, black_box};
use skills_discovery::{Discovery, HiddenDirectories, Root, ScanLimits, Scope};
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

/// The directory that the `collection` benches scan.
struct Collection {
    path: PathBuf,
    /// Keeps generated files until the end of a bench.
    _generated: Option<TempDir>,
}

impl Collection {
    fn open() -> Self {
        match std::env::var_os("SKILLS_BENCH_ROOT") {
            Some(path) => Self {
                path: PathBuf::from(path).canonicalize().unwrap(),
                _generated: None,
            },
            None => {
                let generated = published_tree();
                Self {
                    path: generated.path().canonicalize().unwrap(),
                    _generated: Some(generated),
                }
            }
        }
    }

    fn discovery(&self) -> Discovery {
        let mut limits = ScanLimits::default();
        (limits.max_directories, limits.max_entries) = (200_000, 2_000_000);
        let root = Root::new(&self.path, Scope::Custom).hidden(HiddenDirectories::Search);
        Discovery::new([root]).limits(limits)
    }
}

/// Frontmatter in the notations of published skills; `@` is the number of the skill.
const NOTATIONS: [&str; 8] = [
    "name: skill-@\ndescription: Does the thing number @ when asked for it.\nversion: 1.0.0\n",
    "name: skill-@\ndescription: \"Does: the thing \\\"@\\\"\"\ntags: [one, two, three]\n",
    "name: skill-@\ndescription: >-\n  Does the thing\n  number @.\nmetadata:\n  author: a\n  version: \"1.0\"\n",
    "name: skill-@\ndescription: Does it\n  on two lines.\nallowed-tools: [Read, Bash(git:*)]\n",
    "name: skill-@\ndescription: Does it.\nmetadata: {\"openclaw\":{\"emoji\":\"x\",\"requires\":{\"bins\":[\"jq\"]}}}\n",
    "name: skill-@\ndescription: 'It''s number @'\nlicense: MIT\n",
    "name: skill-@\ndescription: |\n  One.\n\n  Two.\nhomepage: https://a.b/c\n",
    "name: skill-@\ndescription: Does it.\nmetadata:\n  openclaw:\n    requires:\n      bins:\n        - jq\n",
];

fn published_tree() -> TempDir {
    let root = tempfile::tempdir().unwrap();
    for index in 0..2_000 {
        let directory = root
            .path()
            .join(format!("author-{:03}", index / 20))
            .join(format!("skill-{index}"));
        fs::create_dir_all(directory.join("scripts")).unwrap();
        let notation = NOTATIONS[index % NOTATIONS.len()].replace('@', &index.to_string());
        let body = "Line of the body.\n".repeat(230);
        fs::write(
            directory.join("SKILL.md"),
            format!("---\n{notation}---\n{body}"),
        )
        .unwrap();
    }
    root
}

#[divan::bench(sample_count = 20)]
fn collection_one_thread(bencher: Bencher<'_, '_>) {
    let collection = Collection::open();
    let discovery = collection.discovery().threads(1);
    bencher.bench_local(|| black_box(&discovery).scan());
}

#[divan::bench(sample_count = 20)]
fn collection_all_threads(bencher: Bencher<'_, '_>) {
    let collection = Collection::open();
    let discovery = collection.discovery();
    bencher.bench_local(|| black_box(&discovery).scan());
}

#[divan::bench(sample_count = 20)]
fn collection_floor(bencher: Bencher<'_, '_>) {
    let collection = Collection::open();
    let mut buffer = vec![0; 2048];
    bencher.bench_local(|| bare_walk(black_box(&collection.path), 0, &mut buffer));
}

/// Reads the first 2 KiB of each `SKILL.md`, or `skill.md`, and lists only directories without a
/// `SKILL.md` and the root; returns how many there are.
fn bare_walk(directory: &Path, depth: usize, buffer: &mut [u8]) -> usize {
    let mut count = 0;
    if let Ok(mut file) = File::open(directory.join("SKILL.md")) {
        count += usize::from(file.read(buffer).is_ok());
        if depth > 0 {
            return count;
        }
    }
    if depth >= 7 {
        return count;
    }
    for entry in fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name();
        if name.eq_ignore_ascii_case("SKILL.md") && name != "SKILL.md" {
            let mut file = File::open(entry.path()).unwrap();
            count += usize::from(file.read(buffer).is_ok());
        } else if entry.file_type().unwrap().is_dir() && name != ".git" && name != "node_modules" {
            count += bare_walk(&entry.path(), depth + 1, buffer);
        }
    }
    count
}
