//! Scanning 1,000 skills of 4 KiB, beside the floor: a bare walk that opens each `SKILL.md` and reads 2 KiB.
#![expect(clippy::unwrap_used, clippy::disallowed_methods, reason = "a bench makes its own files and fails by panicking")]

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use divan::{Bencher, black_box};
use skills_discovery::{Limits, Root, Scope, discover};
use tempfile::TempDir;

const SKILLS: usize = 1_000;

fn main() {
    divan::main();
}

fn tree() -> TempDir {
    let root = tempfile::tempdir().unwrap();
    for index in 0..SKILLS {
        let directory = root.path().join(format!("skill-{index:04}"));
        fs::create_dir(&directory).unwrap();
        let head = format!("---\nname: skill-{index:04}\ndescription: Does the thing number {index} when asked for it.\n---\n");
        fs::write(directory.join("SKILL.md"), format!("{head}{}", "Line of the body.\n".repeat(230))).unwrap();
    }
    root
}

#[divan::bench(sample_count = 30)]
fn scan(bencher: Bencher<'_, '_>) {
    let tree = tree();
    let roots = [Root::new(tree.path(), Scope::Repo)];
    bencher.bench_local(|| {
        let catalog = discover(black_box(&roots), &Limits::default());
        assert_eq!(catalog.entries().len(), SKILLS);
        catalog
    });
}

#[divan::bench(sample_count = 30)]
fn floor(bencher: Bencher<'_, '_>) {
    let tree = tree();
    bencher.bench_local(|| assert_eq!(walk(black_box(tree.path())), SKILLS));
}

fn walk(root: &Path) -> usize {
    let mut buffer = vec![0; 2048];
    let directories = fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path());
    directories
        .filter(|directory| {
            let mut file = File::open(directory.join("SKILL.md")).unwrap();
            file.read(&mut buffer).unwrap() > 0
        })
        .count()
}
