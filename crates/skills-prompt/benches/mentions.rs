//! Finding mentions in a message of 4 KiB, and skills in a command of 4 KiB, among 10,000 skills.
//! The floor looks each word of the message up in a set of 10,000 names.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a benchmark creates its own files and fails by panicking"
)]

use std::collections::HashSet;
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::sync::{Arc, LazyLock};

use divan::{Bencher, black_box};
use skills_discovery::{Catalog, Discovery, Root, ScanLimits, Scope};
use skills_prompt::{CommandLine, ImplicitIndex, MentionIndex, MentionOptions, UserInput};
use tempfile::TempDir;

const SKILLS: usize = 10_000;
const BYTES: usize = 4_096;

static TREE: LazyLock<(TempDir, Arc<Catalog>)> = LazyLock::new(|| {
    let root = tempfile::tempdir().unwrap();
    for index in 0..SKILLS {
        let directory = root.path().join(format!("skill-{index:05}"));
        fs::create_dir(&directory).unwrap();
        fs::write(
            directory.join("SKILL.md"),
            format!("---\nname: skill-{index:05}\ndescription: Does it.\n---\n"),
        )
        .unwrap();
    }
    let mut limits = ScanLimits::default();
    (limits.max_directories, limits.max_entries) = (SKILLS + 1, SKILLS + 1);
    let catalog = Discovery::new([Root::new(root.path(), Scope::Repo)])
        .limits(limits)
        .scan();
    (root, Arc::new(catalog))
});

fn main() {
    divan::main();
}

/// Returns a message of `BYTES` bytes that starts with `mentions`.
fn message(prose: &str, mentions: &str) -> String {
    let mut text = mentions.to_owned();
    while text.len() < BYTES {
        text.push_str(prose);
    }
    text.truncate((BYTES..).find(|end| text.is_char_boundary(*end)).unwrap());
    text
}

const ENGLISH: &str = "Please look at the report that we wrote last week, and tell me what is wrong with it: the totals do not match, and \
                       some of the names (for example in section 2.3) are spelled differently. If you find more, list them with page numbers.\n";
const CHINESE: &str = "请看一下我们上周写的报告，告诉我哪里有问题：总数对不上，有些名字的写法也不一样。如果还有别的问题，请列出页码。\n";

fn find(bencher: Bencher<'_, '_>, text: &str, options: MentionOptions) {
    let index = MentionIndex::new(Arc::clone(&TREE.1));
    assert!(
        !index
            .find(&[UserInput::Text(text)], &options)
            .selected
            .is_empty()
    );
    bencher.bench_local(|| index.find(black_box(&[UserInput::Text(text)]), &options));
}

#[divan::bench]
fn sigils(bencher: Bencher<'_, '_>) {
    find(
        bencher,
        &message(ENGLISH, "Use $skill-00042 and $skill-09999. "),
        MentionOptions::codex(),
    );
}

#[divan::bench]
fn phrases(bencher: Bencher<'_, '_>) {
    find(
        bencher,
        &message(ENGLISH, "Use the skill-00042 skill and $skill-09999. "),
        MentionOptions::default(),
    );
}

#[divan::bench]
fn chinese_phrases(bencher: Bencher<'_, '_>) {
    find(
        bencher,
        &message(CHINESE, "用 skill-00042 技能。"),
        MentionOptions::default().unicode_names(),
    );
}

#[divan::bench]
fn implicit_use(bencher: Bencher<'_, '_>) {
    let index = ImplicitIndex::new(Arc::clone(&TREE.1));
    let root = TREE.0.path().canonicalize().unwrap();
    let mut text = format!(
        "cd {}/skill-00042 && cat SKILL.md | head -50; ",
        root.display()
    );
    for number in 0.. {
        if text.len() >= BYTES {
            break;
        }
        write!(
            text,
            "env A=\"{number}\" python3 -u tools/build.py --out 'dist/{number}' | tee log.txt && "
        )
        .unwrap();
    }
    text.push_str("true");
    assert_eq!(
        index
            .detect(CommandLine::Shell(&text), Path::new("/"))
            .len(),
        1
    );
    bencher.bench_local(|| {
        index
            .detect(CommandLine::Shell(black_box(&text)), Path::new("/"))
            .len()
    });
}

#[divan::bench]
fn floor(bencher: Bencher<'_, '_>) {
    let names: HashSet<String> = (0..SKILLS)
        .map(|index| format!("skill-{index:05}"))
        .collect();
    let text = message(ENGLISH, "");
    bencher.bench_local(|| {
        black_box(&text)
            .split_whitespace()
            .filter(|word| names.contains(*word))
            .count()
    });
}
