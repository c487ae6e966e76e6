//! Searching, building and loading an index of 2,000 skills with bodies and one of 100,000. The
//! floor counts the words of 2,000 of the same skills.

use std::collections::HashMap;

use divan::{Bencher, black_box};
use skills_search::{Document, IndexBuilder, SearchIndex};

const SIZES: [usize; 2] = [2_000, 100_000];
const QUERY: &str = "please merge the tables of these documents and send the result to my team";

fn main() {
    divan::main();
}

/// A skill whose words have about the frequencies of real ones: few are common, most are rare.
struct Skill {
    name: String,
    description: String,
    body: String,
}

fn skills(count: usize) -> Vec<Skill> {
    // Fewer words in the larger catalog, which would not fit into the memory of small machines.
    let body_words = if count > 10_000 { 100 } else { 800 };
    let mut random = Random(27);
    (0..count)
        .map(|_| Skill {
            name: random.words(2, '-'),
            description: random.words(25, ' '),
            body: random.words(body_words, ' '),
        })
        .collect()
}

/// A linear congruential generator, so that all runs have the same skills.
struct Random(u64);

impl Random {
    fn words(&mut self, count: usize, separator: char) -> String {
        let mut text = String::new();
        for _ in 0..count {
            text.push_str(&self.word());
            text.push(separator);
        }
        text
    }

    /// Returns a word whose frequency falls with its number.
    fn word(&mut self) -> String {
        const COMMON: [&str; 8] = [
            "merge", "table", "document", "send", "team", "file", "report", "api",
        ];
        let mut unit = || {
            self.0 = self
                .0
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 40) as f64 / f64::from(1 << 24)
        };
        let number = (40_000_f64.powf(unit()) * 2.0) as usize;
        match COMMON.get(number) {
            Some(word) => (*word).to_owned(),
            None => format!("w{}", number_word(number)),
        }
    }
}

/// Spells a number with letters, since words with digits are split.
fn number_word(mut number: usize) -> String {
    let mut word = String::new();
    while number > 0 {
        word.push(char::from(b'a' + (number % 26) as u8));
        number /= 26;
    }
    word
}

fn index(count: usize) -> SearchIndex {
    build(&skills(count), IndexBuilder::new())
}

fn build(skills: &[Skill], mut builder: IndexBuilder<'_>) -> SearchIndex {
    for skill in skills {
        builder.add(&Document::new(&skill.name, &skill.description, &skill.body));
    }
    builder.build()
}

#[divan::bench(args = SIZES)]
fn search(bencher: Bencher<'_, '_>, count: usize) {
    let index = index(count);
    bencher.bench_local(|| index.search(black_box(QUERY)));
}

/// The order of all skills, to fill a budget.
#[divan::bench(args = SIZES)]
fn rank(bencher: Bencher<'_, '_>, count: usize) {
    let index = index(count);
    bencher.bench_local(|| index.rank(black_box(QUERY)));
}

#[divan::bench(args = [2_000], sample_count = 10)]
fn build_all(bencher: Bencher<'_, '_>, count: usize) {
    let skills = skills(count);
    bencher.bench_local(|| build(black_box(&skills), IndexBuilder::new()));
}

/// No skill changed since the index that is reused.
#[divan::bench(args = [2_000], sample_count = 10)]
fn build_reusing(bencher: Bencher<'_, '_>, count: usize) {
    let skills = skills(count);
    let previous = build(&skills, IndexBuilder::new());
    bencher.bench_local(|| build(black_box(&skills), IndexBuilder::reusing(&previous)));
}

#[divan::bench(args = [2_000], sample_count = 20)]
fn load(bencher: Bencher<'_, '_>, count: usize) {
    let bytes = index(count).to_bytes().unwrap_or_default();
    bencher.bench_local(|| SearchIndex::from_bytes(black_box(&bytes)));
}

#[divan::bench(args = SIZES, sample_count = 10)]
fn floor(bencher: Bencher<'_, '_>, count: usize) {
    let mut skills = skills(count);
    skills.truncate(2_000);
    bencher.bench_local(|| {
        let mut counts: HashMap<&str, u32> = HashMap::new();
        for skill in black_box(&skills) {
            for word in skill.body.split(' ') {
                *counts.entry(word).or_default() += 1;
            }
        }
        counts.len()
    });
}
