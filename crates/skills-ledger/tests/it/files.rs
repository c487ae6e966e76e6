use std::fs;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use skills_ledger::{ActivatedBy, Activity, Event, Ledger, Rotation, RunOutcome, SessionHash};

use super::{DAY, days_ago, digest, event, now};

const RUN: Activity = Activity::ScriptRun(RunOutcome::Succeeded);

fn ledger() -> (tempfile::TempDir, Ledger) {
    let directory = tempfile::tempdir().unwrap();
    let ledger = Ledger::new(directory.path().join("ledger"));
    (directory, ledger)
}

fn names(ledger: &Ledger) -> Vec<String> {
    let files = fs::read_dir(ledger.directory()).unwrap();
    let name = |file: fs::DirEntry| file.file_name().into_string().unwrap();
    let mut names: Vec<String> = files.map(|file| name(file.unwrap())).collect();
    names.sort();
    names
}

#[test]
fn a_line_names_the_skill_and_no_text() {
    let (_directory, ledger) = ledger();
    let run = Event::new(
        "pdf",
        "user",
        Activity::ScriptRun(RunOutcome::TimedOut),
        now(),
    )
    .digest(digest(0xab))
    .session(SessionHash::new("session"));
    let read = Event::new(
        "pdf",
        "repo",
        Activity::Activated(ActivatedBy::Model),
        now(),
    );
    ledger
        .append(&[run, read, event("pdf", Activity::Offered, 0.0)])
        .unwrap();
    let text = |name: &str| fs::read_to_string(ledger.directory().join(name)).unwrap();
    insta::assert_snapshot!(text("uses.jsonl"), @r#"
    {"t":1764000000000,"skill":"pdf","scope":"user","event":"script_run","class":"timed_out","digest":"abababababababababababababababab","session":"3f3af1ecebbd"}
    {"t":1764000000000,"skill":"pdf","scope":"repo","event":"activated","class":"model"}
    "#);
    insta::assert_snapshot!(text("offers.jsonl"), @r#"{"t":1764000000000,"skill":"pdf","scope":"user","event":"offered","digest":"01010101010101010101010101010101"}"#);
}

#[cfg(unix)]
#[test]
fn only_the_owner_can_read_a_ledger() {
    use std::os::unix::fs::PermissionsExt;
    let (_directory, ledger) = ledger();
    ledger.append(&[event("pdf", RUN, 0.0)]).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(ledger.directory()), 0o700);
    for name in names(&ledger) {
        assert_eq!(mode(&ledger.directory().join(&name)), 0o600, "{name}");
    }
}

#[test]
fn a_ledger_without_files_has_no_events() {
    let directory = tempfile::tempdir().unwrap();
    let ledger = Ledger::new(directory.path().join("missing"));
    let summary = ledger.summarize(now()).unwrap();
    assert_eq!((summary.events, summary.since), (0, None));
    assert_eq!(ledger.recent_uses(now()).unwrap(), []);
    assert!(!ledger.directory().exists(), "reading creates nothing");
    fs::write(directory.path().join("file"), "").unwrap();
    let blocked = Ledger::new(directory.path().join("file/ledger"));
    let error = blocked.append(&[event("pdf", RUN, 0.0)]).unwrap_err();
    let message = error.to_string();
    assert!(
        message.starts_with("cannot access the usage ledger `"),
        "{message}"
    );
    // A path below a file has no events either.
    assert_eq!(blocked.summarize(now()).unwrap().events, 0);
}

#[test]
fn torn_lines_and_lines_of_later_versions_are_counted_and_skipped() {
    let (_directory, ledger) = ledger();
    ledger.append(&[event("pdf", RUN, 0.0)]).unwrap();
    let path = ledger.directory().join("uses.jsonl");
    let mut file = fs::OpenOptions::new().append(true).open(&path).unwrap();
    writeln!(
        file,
        r#"{{"t":1,"skill":"pdf","scope":"user","event":"praised"}}"#
    )
    .unwrap();
    writeln!(file, "{}", "x".repeat(1_000_000)).unwrap();
    write!(file, r#"{{"t":1764000000000,"skill":"p"#).unwrap();
    ledger.append(&[event("pdf", RUN, 0.0)]).unwrap();
    let summary = ledger.summarize(now()).unwrap();
    let runs = summary
        .skill("pdf", "user")
        .unwrap()
        .counts
        .get(Activity::ScriptRun(RunOutcome::Succeeded));
    assert_eq!((summary.malformed, summary.unknown, runs), (2, 1, 2));
}

#[test]
fn a_file_of_any_bytes_is_read_to_its_end() {
    let (_directory, ledger) = ledger();
    fs::create_dir(ledger.directory()).unwrap();
    let line = r#"{"t":1764000000000,"skill":"pdf","scope":"user","event":"mentioned"}"#;
    for separator in [
        "\n",
        "\n\n",
        "\n\0\n",
        &format!("\n{}\n", " ".repeat(300_000)),
    ] {
        let text = [line; 9].join(separator);
        fs::write(ledger.directory().join("uses.jsonl"), text).unwrap();
        let summary = ledger.summarize(now()).unwrap();
        assert_eq!(
            summary.events,
            9,
            "{}",
            &separator[..separator.len().min(9)]
        );
    }
}

#[test]
fn files_are_rotated_by_size_and_the_oldest_are_deleted() {
    let (_directory, ledger) = ledger();
    let ledger = ledger.rotation(Rotation {
        max_bytes: 1_000,
        max_use_files: 3,
        ..Rotation::default()
    });
    for number in 0..100 {
        ledger
            .append(&[event(&format!("skill-{number:02}"), RUN, 0.0)])
            .unwrap();
    }
    assert_eq!(
        names(&ledger),
        [
            "lock",
            "uses.jsonl",
            "uses.jsonl.1",
            "uses.jsonl.2",
            "uses.jsonl.3"
        ]
    );
    let summary = ledger.summarize(now()).unwrap();
    // The newest events are kept, without a gap.
    let last = summary.skills.last().unwrap();
    assert_eq!((last.name.as_str(), summary.malformed), ("skill-99", 0));
    assert_eq!(
        summary.skills[0].name,
        format!("skill-{:02}", 100 - summary.events)
    );
}

#[test]
fn files_are_rotated_by_age() {
    let (_directory, ledger) = ledger();
    ledger.append(&[event("pdf", RUN, 91.0)]).unwrap();
    ledger.append(&[event("pdf", RUN, 2.0)]).unwrap();
    assert_eq!(names(&ledger), ["uses.jsonl"]);
    ledger.append(&[event("pdf", RUN, 1.0)]).unwrap();
    ledger.append(&[event("pdf", RUN, 0.0)]).unwrap();
    assert_eq!(names(&ledger), ["lock", "uses.jsonl", "uses.jsonl.1"]);
    assert_eq!(ledger.summarize(now()).unwrap().events, 4);
}

#[test]
fn lists_do_not_push_out_rare_uses() {
    let (_directory, ledger) = ledger();
    let ledger = ledger.rotation(Rotation {
        max_bytes: 10_000,
        max_offer_files: 1,
        ..Rotation::default()
    });
    ledger.append(&[event("tax", RUN, 300.0)]).unwrap();
    for _ in 0..100 {
        let offers: Vec<_> = (0..20)
            .map(|_| event("pdf", Activity::Offered, 0.0))
            .collect();
        ledger.append(&offers).unwrap();
    }
    let summary = ledger.summarize(now()).unwrap();
    assert!(summary.events < 200);
    assert!(summary.skill("tax", "user").is_some());
}

/// A writer that is killed between two renames leaves a gap.
#[test]
fn a_gap_in_the_numbers_is_read_over_and_closed() {
    let (_directory, ledger) = ledger();
    let ledger = ledger.rotation(Rotation {
        max_bytes: 1,
        ..Rotation::default()
    });
    for number in 0..4 {
        ledger
            .append(&[event(&format!("skill-{number}"), RUN, 0.0)])
            .unwrap();
    }
    let path = |name: &str| ledger.directory().join(name);
    fs::remove_file(path("uses.jsonl.2")).unwrap();
    assert_eq!(ledger.summarize(now()).unwrap().events, 3);
    ledger.append(&[event("skill-4", RUN, 0.0)]).unwrap();
    assert_eq!(ledger.summarize(now()).unwrap().events, 4);
    assert!(path("uses.jsonl.2").exists() && !path("uses.jsonl.5").exists());
}

/// A file that a rotation renames while the files are opened has two names.
#[cfg(unix)]
#[test]
fn a_file_with_two_names_counts_once() {
    let (_directory, ledger) = ledger();
    ledger.append(&[event("pdf", RUN, 0.0)]).unwrap();
    let path = |name: &str| ledger.directory().join(name);
    fs::hard_link(path("uses.jsonl"), path("uses.jsonl.1")).unwrap();
    assert_eq!(ledger.summarize(now()).unwrap().events, 1);
}

#[test]
fn several_writers_lose_nothing() {
    let (_directory, ledger) = ledger();
    let ledger = ledger.rotation(Rotation {
        max_bytes: 4_000,
        max_use_files: 1_000,
        ..Rotation::default()
    });
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let ledger = &ledger;
            scope.spawn(move || {
                for _ in 0..100 {
                    let name = format!("skill-{writer}");
                    let batch = [event(&name, RUN, 0.0), event(&name, RUN, 0.0)];
                    ledger.append(&batch).unwrap();
                }
            });
        }
    });
    let summary = ledger.summarize(now()).unwrap();
    assert_eq!(
        (summary.events, summary.malformed, summary.skills.len()),
        (800, 0, 4)
    );
}

#[test]
fn events_from_a_wrong_clock_count_as_now() {
    let (_directory, ledger) = ledger();
    let late = Event::new("pdf", "user", RUN, now().plus(Duration::from_secs(9)));
    let early = Event::new("pdf", "user", RUN, days_ago(0.0).minus(DAY * 30_000));
    ledger.append(&[late, early]).unwrap();
    let summary = ledger.summarize(now()).unwrap();
    let usage = summary.skill("pdf", "user").unwrap();
    assert_eq!((summary.from_future, usage.last), (1, now()));
    assert_eq!(
        usage.counts.get(Activity::ScriptRun(RunOutcome::Succeeded)),
        2
    );
}
