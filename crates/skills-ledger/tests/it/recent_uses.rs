use std::fs::OpenOptions;
use std::io::Write;

use skills_ledger::{ActivatedBy, Activity, Ledger};

use super::{DAY, event, now};

const READ: Activity = Activity::Activated(ActivatedBy::User);

fn ledger() -> (tempfile::TempDir, Ledger) {
    let directory = tempfile::tempdir().unwrap();
    let ledger = Ledger::new(directory.path().join("ledger"));
    (directory, ledger)
}

fn names(ledger: &Ledger) -> Vec<String> {
    let recent = ledger.recent_uses(now()).unwrap();
    recent.into_iter().map(|one| one.skill).collect()
}

#[test]
fn the_skills_that_were_used_last_come_first() {
    let (_directory, ledger) = ledger();
    assert!(names(&ledger).is_empty());
    let uses = [("pdf", 3.0), ("tax", 29.0), ("old", 30.0), ("pdf", 9.0)];
    for (skill, days) in uses {
        ledger.append(&[event(skill, READ, days)]).unwrap();
    }
    let read = Activity::ReferenceRead;
    ledger.append(&[event("notes", read, 4.0)]).unwrap();
    assert_eq!(names(&ledger), ["pdf", "notes", "tax"]);
    // After the clock was set back, later uses are of now.
    let earlier = now().minus(4 * DAY);
    let recent = ledger.recent_uses(earlier).unwrap();
    assert!(recent.iter().all(|one| one.time <= earlier), "{recent:?}");
    assert_eq!(recent.len(), 4, "{recent:?}");
}

/// Lists alone would keep a skill at the top of the lists.
#[test]
fn offers_are_no_use() {
    let (_directory, ledger) = ledger();
    for activity in [Activity::Offered, Activity::Searched, Activity::Mentioned] {
        ledger.append(&[event("pdf", activity, 0.0)]).unwrap();
    }
    assert!(names(&ledger).is_empty());
}

#[test]
fn only_the_end_of_a_file_is_read() {
    let (_directory, ledger) = ledger();
    ledger.append(&[event("first", READ, 1.0)]).unwrap();
    let path = ledger.directory().join("uses.jsonl");
    let mut file = OpenOptions::new().append(true).open(path).unwrap();
    file.write_all(&b"not an event\n".repeat(30_000)).unwrap();
    ledger.append(&[event("last", READ, 2.0)]).unwrap();
    assert_eq!(names(&ledger), ["last"]);
}
