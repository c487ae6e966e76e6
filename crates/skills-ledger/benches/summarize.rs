//! The summary of a million events of 300 skills. The floor reads the lines of the same files.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a bench makes its own files and fails by panicking"
)]

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::time::Duration;

use divan::Bencher;
use skills_ledger::{
    Activity, Assessment, Digest, Event, Ledger, Rotation, SessionHash, SkillFacts, Timestamp,
};

const EVENTS: u64 = 1_000_000;
const SKILLS: u64 = 300;

fn main() {
    divan::main();
}

fn now() -> Timestamp {
    Timestamp::from_millis(1_764_000_000_000)
}

/// Two years of events: most of them offers, with sessions and contents as in use.
fn events() -> impl Iterator<Item = Event<'static>> {
    let activities: Vec<Activity> = Activity::all().collect();
    let mut random = 27_u64;
    (0..EVENTS).map(move |number| {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let pick = |from: u64, shift: u32| (random >> shift) % from;
        let activity = match pick(4, 20) {
            0 => activities[pick(activities.len() as u64, 24) as usize],
            _ => Activity::Offered,
        };
        let skill = pick(SKILLS, 33);
        let age = (EVENTS - number) * 63;
        let time = now().minus(Duration::from_secs(age));
        // Ten contents of each skill, one after another.
        let content = (skill + number * 10 / EVENTS) as u8;
        Event::new(format!("skill-number-{skill}"), "user", activity, time)
            .digest(Digest::from_content_digest(&[content; 32]))
            .session(SessionHash::new(&(number / 200).to_string()))
    })
}

fn ledger(directory: &tempfile::TempDir) -> Ledger {
    let unlimited = Rotation {
        max_bytes: u64::MAX,
        max_age: Duration::from_secs(u64::MAX / 4_000),
        ..Rotation::default()
    };
    let ledger = Ledger::new(directory.path().join("ledger")).rotation(unlimited);
    let events: Vec<_> = events().collect();
    for batch in events.chunks(10_000) {
        ledger.append(batch).unwrap();
    }
    ledger
}

#[divan::bench(sample_count = 10, sample_size = 1)]
fn summarize(bencher: Bencher<'_, '_>) {
    let directory = tempfile::tempdir().unwrap();
    let ledger = ledger(&directory);
    bencher.bench_local(|| {
        let summary = ledger.summarize(now()).unwrap();
        assert_eq!(summary.events, EVENTS);
        summary
    });
}

/// The summary, and with it the verdicts of all skills.
#[divan::bench(sample_count = 10, sample_size = 1)]
fn summarize_and_judge(bencher: Bencher<'_, '_>) {
    let directory = tempfile::tempdir().unwrap();
    let ledger = ledger(&directory);
    bencher.bench_local(|| {
        let summary = ledger.summarize(now()).unwrap();
        let judge = |skill: &skills_ledger::SkillUsage| {
            Assessment::new(&SkillFacts::new(&*skill.name, &*skill.scope), &summary)
        };
        summary.skills.iter().map(judge).collect::<Vec<_>>()
    });
}

#[divan::bench(sample_count = 10, sample_size = 1)]
fn floor(bencher: Bencher<'_, '_>) {
    let directory = tempfile::tempdir().unwrap();
    let ledger = ledger(&directory);
    bencher.bench_local(|| {
        let mut lines = 0;
        for name in ["offers.jsonl", "uses.jsonl"] {
            lines += count_lines(&ledger, name);
        }
        assert_eq!(lines, EVENTS);
        lines
    });
}

fn count_lines(ledger: &Ledger, name: &str) -> u64 {
    let file = File::open(ledger.directory().join(name)).unwrap();
    let mut reader = BufReader::new(file);
    let mut line = Vec::new();
    let mut lines = 0;
    while reader.read_until(b'\n', &mut line).unwrap() > 0 {
        lines += 1;
        line.clear();
    }
    lines
}
