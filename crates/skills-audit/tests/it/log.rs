use std::fs;
use std::io::Write;
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

use insta::assert_snapshot;
use skills_audit::{
    AuditError, AuditErrorKind, AuditLog, AuditSink, Caller, ChainStatus, ChangedFiles,
    ContentHash, Disposition, Event, Line, ReachedHost, RefusedAttempt, RestrictionStatus,
    Rotation, is_unfinished, read, tail, verify,
};
use tempfile::TempDir;

pub(crate) fn event(skill: &str) -> Event {
    Event::new("2026-11-22T08:00:00Z", skill, Disposition::Granted)
}

pub(crate) fn log() -> (TempDir, AuditLog) {
    let directory = tempfile::tempdir().unwrap();
    let log = AuditLog::open(directory.path().join("audit.jsonl")).unwrap();
    (directory, log)
}

pub(crate) fn path(directory: &TempDir) -> std::path::PathBuf {
    directory.path().join("audit.jsonl")
}

fn refused_program(name: &str) -> RefusedAttempt {
    RefusedAttempt {
        operation: "start-program".to_owned(),
        object: Some(name.to_owned()),
        evidence: "observed".to_owned(),
        count: 1,
    }
}

#[test]
fn a_start_without_an_end_is_unfinished() {
    let (_directory, log) = log();
    let started = |skill| Event::new("2026-11-22T08:00:00Z", skill, Disposition::Started);
    let killed = log.record_start(&started("killed")).unwrap();
    let finished = log.record_start(&started("finished")).unwrap();
    assert_eq!((killed, finished), (Some(1), Some(2)));
    let mut end = event("finished");
    end.start = finished;
    log.record(&end).unwrap();
    log.record(&event("another")).unwrap();
    let lines = tail(&log.files().unwrap(), 10).unwrap();
    let unfinished: Vec<bool> = lines
        .iter()
        .map(|line| is_unfinished(line, &lines))
        .collect();
    assert_eq!(unfinished, [true, false, false, false]);
    assert!(verify(&log.files().unwrap()).unwrap().problems.is_empty());
}

/// Long names of refused programs do not hide that something was refused.
#[test]
fn a_truncated_record_counts_what_was_refused() {
    let (_directory, log) = log();
    let mut long = event("a");
    long.refused = vec![refused_program(&"x".repeat(70_000)), refused_program("git")];
    long.changed_files = Some(ChangedFiles {
        count: 5,
        paths: vec!["y".repeat(70_000)],
    });
    log.record(&long).unwrap();
    let lines = tail(&log.files().unwrap(), 1).unwrap();
    let [Line::Record { event, .. }] = &lines[..] else {
        panic!("{lines:?}")
    };
    assert_eq!(event.refused_omitted, 2);
    assert_eq!(
        event.changed_files.as_ref().map(|changed| changed.count),
        Some(5)
    );
}

#[test]
fn a_record_is_one_line() {
    let (directory, log) = log();
    let mut full = Event::new("2026-11-22T08:00:00Z", "text\nstats", Disposition::Denied);
    full.digest = Some("sha256:ab".to_owned());
    full.program = Some("scripts/stats.sh".to_owned());
    full.requested = vec!["Bash(git:*)".to_owned()];
    full.rules = vec!["user".to_owned()];
    full.backend = Some("linux".to_owned());
    full.restrictions = vec![RestrictionStatus {
        name: "landlock".to_owned(),
        status: "enforced".to_owned(),
    }];
    full.limits.insert("memory_bytes".to_owned(), 256);
    full.input = Some(ContentHash::from_prefix(b"{}", 2));
    full.termination = Some("exit 0".to_owned());
    full.duration_ms = Some(12);
    let mut caller = Caller::default();
    caller.client = Some("editor".to_owned());
    caller.session = Some("0123456789ab".to_owned());
    full.caller = Some(caller);
    full.hosts = vec![ReachedHost {
        host: "a.example".to_owned(),
        count: 2,
    }];
    full.refused = vec![refused_program("git")];
    full.refused_omitted = 3;
    full.changed_files = Some(ChangedFiles {
        count: 1,
        paths: vec!["out.txt".to_owned()],
    });
    full.start = Some(7);
    log.record(&full).unwrap();
    log.record(&event("b")).unwrap();
    assert_snapshot!(fs::read_to_string(path(&directory)).unwrap());
    let lines: Vec<Line> = read(&path(&directory)).unwrap().collect();
    let Line::Record {
        sequence: 1, event, ..
    } = &lines[0]
    else {
        panic!("{lines:?}")
    };
    assert_eq!(**event, full, "the parsed event equals the recorded one");
}

/// Appends text that no writer wrote.
fn append_text(directory: &TempDir, text: &str) {
    let mut file = fs::OpenOptions::new()
        .append(true)
        .open(path(directory))
        .unwrap();
    file.write_all(text.as_bytes()).unwrap();
}

#[test]
fn an_incomplete_line_is_removed_by_the_next_record_which_says_so() {
    let (directory, log) = log();
    log.record(&event("a")).unwrap();
    append_text(&directory, "{\"sequence\":2,\"ti");
    assert_eq!(
        verify(&log.files().unwrap()).unwrap().status(),
        ChainStatus::Incomplete
    );
    log.check_writable().unwrap();
    log.record(&event("b")).unwrap();
    log.record(&event("c")).unwrap();
    let verified = verify(&log.files().unwrap()).unwrap();
    assert_eq!((verified.records, verified.removed_lines), (3, 1));
    assert_eq!(verified.problems, []);
    let text = fs::read_to_string(path(&directory)).unwrap();
    let removed: Vec<bool> = text
        .lines()
        .map(|line| line.contains("\"removed_bytes\":17,"))
        .collect();
    assert_eq!(removed, [false, true, false]);
}

/// The line of a record that was killed before its newline was written.
#[test]
fn a_record_that_lacks_its_newline_gets_it() {
    let (directory, log) = log();
    (0..2).for_each(|index| log.record(&event(&format!("skill-{index}"))).unwrap());
    let whole = fs::read_to_string(path(&directory)).unwrap();
    fs::write(path(&directory), whole.trim_end()).unwrap();
    log.record(&event("next")).unwrap();
    let text = fs::read_to_string(path(&directory)).unwrap();
    assert!(text.starts_with(&whole), "{text}");
    let verified = verify(&log.files().unwrap()).unwrap();
    assert_eq!((verified.records, verified.removed_lines), (3, 0));
    assert_eq!(verified.problems, []);
}

/// Without its newline, a record that does not match its hash is not one.
#[test]
fn an_edited_last_line_without_a_newline_is_removed() {
    let (directory, log) = log();
    (0..2).for_each(|index| log.record(&event(&format!("skill-{index}"))).unwrap());
    let whole = fs::read_to_string(path(&directory)).unwrap();
    let edited = whole.replace("skill-1", "skill-x");
    fs::write(path(&directory), edited.trim_end()).unwrap();
    let verified = verify(&log.files().unwrap()).unwrap();
    assert_eq!(verified.status(), ChainStatus::Incomplete);
    log.record(&event("next")).unwrap();
    let verified = verify(&log.files().unwrap()).unwrap();
    assert_eq!((verified.records, verified.removed_lines), (2, 1));
    assert_eq!(verified.problems, []);
}

#[test]
fn files_are_rotated_and_the_chain_continues() {
    let (_directory, log) = log();
    let log = log.rotation(Rotation {
        max_bytes: 700,
        max_files: 3,
    });
    for index in 0..20 {
        log.record(&event(&format!("skill-{index}"))).unwrap();
    }
    let files = log.files().unwrap();
    assert_eq!(files.len(), 4);
    let verified = verify(&files).unwrap();
    assert_eq!(verified.problems, []);
    assert!(
        verified.records < 20 && verified.first_sequence.is_some_and(|first| first > 1),
        "the oldest files were deleted"
    );
    assert!(
        files
            .iter()
            .all(|file| fs::metadata(file).unwrap().len() < 1_200)
    );
    let last = tail(&files, 5).unwrap();
    let numbers: Vec<u64> = last
        .iter()
        .map(|line| {
            if let Line::Record { sequence, .. } = line {
                *sequence
            } else {
                0
            }
        })
        .collect();
    assert_eq!(numbers, [16, 17, 18, 19, 20]);
}

/// A writer that is killed between two renames leaves a gap.
#[test]
fn a_gap_in_the_file_numbers_does_not_hide_older_files() {
    let (directory, log) = log();
    let log = log.rotation(Rotation {
        max_bytes: 700,
        max_files: 8,
    });
    (0..12).for_each(|index| log.record(&event(&format!("skill-{index}"))).unwrap());
    let before = log.files().unwrap().len();
    for number in (1..before).rev() {
        let rotated = |number: usize| directory.path().join(format!("audit.jsonl.{number}"));
        fs::rename(rotated(number), rotated(number + 1)).unwrap();
    }
    assert_eq!(log.files().unwrap().len(), before);
    (0..12).for_each(|index| log.record(&event(&format!("later-{index}"))).unwrap());
    let verified = verify(&log.files().unwrap()).unwrap();
    assert_eq!((verified.records, verified.problems), (24, vec![]));
}

#[test]
fn concurrent_writers_produce_one_chain() {
    let (_directory, log) = log();
    let log = log.rotation(Rotation {
        max_bytes: 20_000,
        max_files: 50,
    });
    std::thread::scope(|scope| {
        for writer in 0..8 {
            let log = log.clone();
            scope.spawn(move || {
                (0..50).for_each(|index| log.record(&event(&format!("{writer}-{index}"))).unwrap())
            });
        }
    });
    let verified = verify(&log.files().unwrap()).unwrap();
    assert_eq!((verified.records, verified.problems), (400, vec![]));
}

#[test]
fn records_have_a_maximum_size_and_logs_need_a_directory() {
    let (_directory, log) = log();
    let mut long = event(&"x".repeat(70_000));
    long.rules = vec!["\\".repeat(70_000)];
    log.record(&long).unwrap();
    let Some(Line::Record {
        event: recorded, ..
    }) = tail(&log.files().unwrap(), 1).unwrap().pop()
    else {
        panic!("the record was truncated and written")
    };
    assert_eq!(
        (recorded.skill.len(), recorded.rules),
        (
            500,
            vec!["omitted: the record exceeds the size limit".to_owned()]
        )
    );
    long.time = "x".repeat(70_000);
    assert_eq!(
        log.record(&long).unwrap_err().kind(),
        AuditErrorKind::TooLarge
    );
    assert_eq!(
        verify(&log.files().unwrap()).unwrap().records,
        1,
        "a rejected record writes nothing"
    );
    assert_eq!(
        AuditLog::open(Path::new("/nowhere/audit.jsonl"))
            .unwrap_err()
            .kind(),
        AuditErrorKind::Io
    );
}

/// Each text and list that a skill can fill is truncated separately; short fields stay.
#[test]
fn a_record_that_is_too_long_keeps_its_short_fields() {
    let long = || "x".repeat(70_000);
    let set: [fn(&mut Event, String); 6] = [
        |event, text| event.skill = text,
        |event, text| event.program = Some(text),
        |event, text| event.requested = vec![text],
        |event, text| event.rules = vec![text],
        |event, text| {
            event.restrictions = vec![RestrictionStatus {
                name: text,
                status: "enforced".to_owned(),
            }]
        },
        |event, text| event.termination = Some(text),
    ];
    for (index, set) in set.into_iter().enumerate() {
        let (_directory, log) = log();
        let mut full = event("a");
        (full.program, full.termination, full.digest) = (
            Some("run.sh".to_owned()),
            Some("exit 0".to_owned()),
            Some("sha256:ab".to_owned()),
        );
        set(&mut full, long());
        log.record(&full).unwrap();
        let Some(Line::Record {
            event: recorded, ..
        }) = tail(&log.files().unwrap(), 1).unwrap().pop()
        else {
            panic!("field {index}")
        };
        let truncate = |text: &str| text.chars().take(500).collect::<String>();
        assert_eq!(
            (recorded.skill, recorded.program),
            (truncate(&full.skill), full.program.as_deref().map(truncate)),
            "field {index}"
        );
        assert_eq!(
            (recorded.termination, recorded.digest),
            (full.termination.as_deref().map(truncate), full.digest),
            "field {index}"
        );
        assert!(
            recorded.requested.is_empty()
                && recorded.restrictions.is_empty()
                && recorded.rules.len() == 1,
            "field {index}"
        );
    }
}

#[cfg(unix)]
#[test]
fn only_the_owner_can_read_the_log() {
    use std::os::unix::fs::PermissionsExt;
    let (directory, log) = log();
    log.record(&event("a")).unwrap();
    assert_eq!(
        fs::metadata(path(&directory)).unwrap().permissions().mode() & 0o777,
        0o600
    );
}

#[test]
fn a_directory_is_not_read_as_a_log() {
    let directory = tempfile::tempdir().unwrap();
    fs::create_dir(directory.path().join("audit.jsonl")).unwrap();
    let error = read(&directory.path().join("audit.jsonl")).err().unwrap();
    assert_eq!(error.kind(), AuditErrorKind::Io);
}

#[test]
fn a_log_that_cannot_be_written_is_reported() {
    let (directory, log) = log();
    log.check_writable().unwrap();
    fs::remove_file(directory.path().join("audit.jsonl.lock")).unwrap();
    fs::create_dir(directory.path().join("audit.jsonl.lock")).unwrap();
    assert_eq!(log.check_writable().unwrap_err().kind(), AuditErrorKind::Io);
}

/// Returns the length of the last record's line, without its end.
fn last_line(directory: &TempDir) -> usize {
    fs::read_to_string(path(directory))
        .unwrap()
        .lines()
        .last()
        .unwrap()
        .len()
}

#[test]
fn a_record_of_the_maximum_size_is_not_truncated() {
    const MAX_LINE: usize = 64 * 1024;
    let (directory, log) = log();
    log.record(&event("")).unwrap();
    let base = last_line(&directory);
    log.record(&event(&"x".repeat(MAX_LINE - base))).unwrap();
    assert_eq!(last_line(&directory), MAX_LINE);
    let verified = verify(&log.files().unwrap()).unwrap();
    assert_eq!((verified.records, verified.problems), (2, vec![]));
    log.record(&event(&"x".repeat(MAX_LINE - base + 1)))
        .unwrap();
    assert!(last_line(&directory) < 1_000, "one byte more is too long");
    // A line that is longer than any record is not one, whatever it says, and hides no later
    // record.
    let text = fs::read_to_string(path(&directory)).unwrap();
    fs::write(
        path(&directory),
        text.replacen("{\"sequence\":2", "{ \"sequence\":2", 1),
    )
    .unwrap();
    let lines: Vec<Line> = read(&path(&directory)).unwrap().collect();
    assert_eq!(lines.len(), 3);
    assert_eq!(lines[1], Line::Malformed { line: 2 });
}

/// The end of a file is read in steps that grow.
#[test]
fn the_last_record_is_found_at_any_distance() {
    for bytes in [1, 4_000, 5_000, 20_000, 300_000] {
        let (directory, log) = log();
        (0..20).for_each(|index| {
            log.record(&event(&format!("{index}-{}", "x".repeat(1_000))))
                .unwrap()
        });
        append_text(&directory, &"y".repeat(bytes));
        log.record(&event("next")).unwrap();
        let verified = verify(&log.files().unwrap()).unwrap();
        assert_eq!(
            (verified.records, verified.problems),
            (21, vec![]),
            "{bytes}"
        );
        let text = fs::read_to_string(path(&directory)).unwrap();
        assert!(
            text.contains(&format!("\"removed_bytes\":{bytes},")),
            "{bytes}"
        );
    }
}

/// A sparse file of any size costs no more memory and time than its last 16 MiB.
#[test]
fn a_file_without_a_record_at_its_end_is_not_appended_to() {
    const SEARCHED_BYTES: u64 = 16 << 20;
    let (directory, log) = log();
    log.record(&event("a")).unwrap();
    let whole = fs::metadata(path(&directory)).unwrap().len();
    let file = fs::OpenOptions::new()
        .append(true)
        .open(path(&directory))
        .unwrap();
    for bytes in [SEARCHED_BYTES, 1 << 40] {
        file.set_len(whole + bytes).unwrap();
        assert_eq!(
            log.record(&event("b")).unwrap_err().kind(),
            AuditErrorKind::Io
        );
        assert_eq!(file.metadata().unwrap().len(), whole + bytes);
    }
    file.set_len(SEARCHED_BYTES).unwrap();
    log.record(&event("b")).unwrap();
    assert!(file.metadata().unwrap().len() < SEARCHED_BYTES);
}

#[test]
fn an_incomplete_line_is_removed_before_its_file_is_rotated() {
    let (directory, log) = log();
    log.record(&event("a")).unwrap();
    let bytes = fs::metadata(path(&directory)).unwrap().len();
    let full = log.clone().rotation(Rotation {
        max_bytes: bytes,
        max_files: 1,
    });
    append_text(&directory, "{\"sequence\":2,\"ti");
    // Nothing is written that would say what was removed.
    full.check_writable().unwrap();
    assert!(!directory.path().join("audit.jsonl.1").exists());
    full.record(&event("b")).unwrap();
    let text = fs::read_to_string(path(&directory)).unwrap();
    assert!(text.starts_with("{\"sequence\":2,") && text.contains("\"removed_bytes\":17,"));
    let verified = verify(&log.files().unwrap()).unwrap();
    assert_eq!((verified.records, verified.problems), (2, vec![]));
    assert!(!directory.path().join("audit.jsonl.next").exists());
}

/// The end of a file is read in steps, which may begin anywhere in a line.
#[test]
fn a_record_inside_a_malformed_line_is_ignored() {
    let (directory, forger) = log();
    (0..2).for_each(|_| forger.record(&event("")).unwrap());
    let base = last_line(&directory);
    forger.record(&event(&"x".repeat(4_095 - base))).unwrap();
    let text = fs::read_to_string(path(&directory)).unwrap();
    let forged = text.lines().last().unwrap();
    assert_eq!(forged.len() + 1, 4_096, "a step begins at its first byte");

    let (directory, log) = log();
    log.record(&event("a")).unwrap();
    let mut file = fs::OpenOptions::new()
        .append(true)
        .open(path(&directory))
        .unwrap();
    file.write_all(format!("torn{forged}\n").as_bytes())
        .unwrap();
    log.record(&event("b")).unwrap();
    let lines = tail(&log.files().unwrap(), 2).unwrap();
    assert!(
        matches!(
            lines.as_slice(),
            [
                Line::Malformed { line: 2 },
                Line::Record { sequence: 2, .. }
            ]
        ),
        "{lines:?}"
    );
}

#[test]
fn a_file_is_rotated_at_its_size_limit() {
    let (directory, log) = log();
    let rotated = |number: u32| directory.path().join(format!("audit.jsonl.{number}"));
    log.record(&event("a")).unwrap();
    let bytes = fs::metadata(path(&directory)).unwrap().len();
    let limited = |max_bytes, keep| {
        log.clone().rotation(Rotation {
            max_bytes,
            max_files: keep,
        })
    };
    let sizes = || {
        [rotated(2), rotated(1), path(&directory)]
            .map(|file| fs::metadata(file).map(|data| data.len()).ok())
    };

    // The first record of a file that continues another one names the oldest record.
    let first = bytes + "\"oldest\":1,".len() as u64;

    limited(bytes + 1, 2).check_writable().unwrap();
    assert_eq!(sizes(), [None, None, Some(bytes)]);
    limited(bytes, 2).check_writable().unwrap();
    assert_eq!(sizes(), [None, Some(bytes), Some(0)]);
    // An empty file is not rotated, and the next record follows the last one in the rotated file.
    limited(0, 2).check_writable().unwrap();
    assert_eq!(sizes(), [None, Some(bytes), Some(0)]);
    limited(0, 2).record(&event("b")).unwrap();
    assert_eq!(sizes(), [None, Some(bytes), Some(first)]);
    limited(first + 1, 2).record(&event("c")).unwrap();
    assert_eq!(sizes(), [None, Some(bytes), Some(first + bytes)]);
    limited(first + bytes, 2).record(&event("d")).unwrap();
    assert_eq!(sizes(), [Some(bytes), Some(first + bytes), Some(first)]);
    let verified = verify(&log.files().unwrap()).unwrap();
    assert_eq!((verified.records, verified.problems), (4, vec![]));
    // At least one rotated file is recorded.
    limited(bytes, 0).record(&event("e")).unwrap();
    assert_eq!(sizes(), [None, Some(first), Some(first)]);
    let verified = verify(&log.files().unwrap()).unwrap();
    assert_eq!((verified.records, verified.problems), (2, vec![]));
}

/// Files beyond the new maximum are deleted, since they would not follow from each other.
#[test]
fn lowering_the_number_of_files_leaves_no_gap() {
    let (_directory, log) = log();
    let log = log.rotation(Rotation {
        max_bytes: 1,
        max_files: 8,
    });
    (0..9).for_each(|index| log.record(&event(&format!("skill-{index}"))).unwrap());
    assert_eq!(log.files().unwrap().len(), 9);
    let log = log.rotation(Rotation {
        max_bytes: 1,
        max_files: 3,
    });
    log.record(&event("skill-9")).unwrap();
    assert_eq!(log.files().unwrap().len(), 4);
    let verified = verify(&log.files().unwrap()).unwrap();
    assert_eq!(
        (verified.records, verified.first_sequence, verified.problems),
        (4, Some(7), vec![])
    );
}

/// A line without a newline is read like any other.
#[test]
fn a_last_line_without_a_newline_is_read() {
    let (directory, log) = log();
    (0..2).for_each(|index| log.record(&event(&format!("skill-{index}"))).unwrap());
    let whole = fs::read_to_string(path(&directory)).unwrap();
    let read_with = |text: &str| {
        fs::write(path(&directory), text).unwrap();
        let kind = |line: Line| {
            if let Line::Record { sequence, .. } = line {
                format!("record {sequence}")
            } else {
                format!("{line:?}")
            }
        };
        read(&path(&directory))
            .unwrap()
            .map(kind)
            .collect::<Vec<_>>()
            .join(", ")
    };
    assert_eq!(read_with(whole.trim_end()), "record 1, record 2");
    assert_eq!(
        read_with(&whole[..whole.len() - 9]),
        "record 1, Malformed { line: 2 }"
    );
    assert_eq!(
        read_with(&format!("{whole}x")),
        "record 1, record 2, Malformed { line: 3 }"
    );
    assert_eq!(
        read_with(&format!("{whole}{}", "x".repeat(70_000))),
        "record 1, record 2, Malformed { line: 3 }"
    );
    assert_eq!(
        read_with(&format!("{}\n{whole}", "x".repeat(700_000))),
        "Malformed { line: 1 }, record 1, record 2"
    );
}

/// The lock excludes another open file of this process as it excludes another process.
#[test]
fn a_lock_that_is_not_released_fails_after_the_timeout() {
    let (directory, log) = log();
    let log = log.lock_timeout(Duration::from_millis(1));
    log.record(&event("a")).unwrap();
    let before = fs::read(path(&directory)).unwrap();
    let lock_file = directory.path().join("audit.jsonl.lock");
    let lock = fs::File::options().write(true).open(&lock_file).unwrap();
    lock.lock().unwrap();

    let (sender, receiver) = mpsc::channel();
    let writer = log.clone();
    std::thread::spawn(move || sender.send((writer.check_writable(), writer.record(&event("b")))));
    // The limit is for a writer that never returns; one that returns is not measured.
    let (ready, recorded) = receiver
        .recv_timeout(Duration::from_secs(60))
        .expect("the writer returns after the timeout");
    for error in [ready.unwrap_err(), recorded.unwrap_err()] {
        assert_eq!(error.kind(), AuditErrorKind::Locked);
        let expected = format!(
            "cannot lock the audit log: another process holds `{}` and did not release it within 1ms",
            lock_file.display()
        );
        assert_eq!(error.to_string(), expected);
    }
    assert_eq!(
        fs::read(path(&directory)).unwrap(),
        before,
        "nothing is written without the lock"
    );

    drop(lock);
    log.record(&event("b")).unwrap();
    assert_eq!(verify(&log.files().unwrap()).unwrap().records, 2);
}

#[test]
fn the_last_lines_are_read_across_files() {
    let (_directory, log) = log();
    let log = log.rotation(Rotation {
        max_bytes: 500,
        max_files: 10,
    });
    (0..7).for_each(|index| log.record(&event(&format!("skill-{index}"))).unwrap());
    let files = log.files().unwrap();
    assert!(files.len() > 2);
    for count in 0..9 {
        let lines = tail(&files, count).unwrap();
        let numbers: Vec<u64> = lines
            .iter()
            .map(|line| {
                if let Line::Record { sequence, .. } = line {
                    *sequence
                } else {
                    0
                }
            })
            .collect();
        let first = 8_u64.saturating_sub(count as u64).max(1);
        assert_eq!(numbers, (first..8).collect::<Vec<_>>(), "{count}");
    }
}

/// A log, its lock and its rotated files are regular files of bounded size, or nothing runs.
#[cfg(unix)]
#[test]
fn no_file_of_a_log_blocks_or_is_read_without_a_limit() {
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    let event = Event::new("2026-11-22T08:00:00Z", "a", Disposition::Granted);
    let cause = |error: AuditError| {
        let source = std::error::Error::source(&error).map(ToString::to_string);
        source.unwrap_or_default()
    };
    for name in ["audit.jsonl", "audit.jsonl.lock"] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("audit.jsonl");
        symlink("/dev/zero", directory.path().join(name)).unwrap();
        let error = AuditLog::open(&path).and_then(|log| log.record(&event));
        let error = cause(error.unwrap_err());
        assert!(
            error.ends_with("is a device, not a regular file"),
            "{error}"
        );
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("audit.jsonl");
    let log = AuditLog::open(&path).unwrap();
    log.record(&event).unwrap();
    let _socket = UnixListener::bind(directory.path().join("audit.jsonl.1")).unwrap();
    let error = cause(verify(&log.files().unwrap()).unwrap_err());
    assert!(
        error.ends_with("is a socket, not a regular file"),
        "{error}"
    );
    std::fs::remove_file(directory.path().join("audit.jsonl.1")).unwrap();

    let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.set_len(32 << 30).unwrap();
    for error in [
        log.record(&event).unwrap_err(),
        log.check_writable().unwrap_err(),
    ] {
        let error = cause(error);
        assert_eq!(error, "its last 16 MiB contain no record");
    }
    for error in [
        tail(&log.files().unwrap(), 1).unwrap_err(),
        verify(&log.files().unwrap()).unwrap_err(),
    ] {
        let error = cause(error);
        assert!(error.ends_with("is larger than 268435456 bytes"), "{error}");
    }
}

/// An earlier version, or other settings, let it grow.
#[test]
fn a_file_above_the_limit_is_rotated() {
    let (directory, log) = log();
    log.record(&event("a")).unwrap();
    let line = fs::read_to_string(path(&directory)).unwrap();
    let mut file = fs::OpenOptions::new()
        .append(true)
        .open(path(&directory))
        .unwrap();
    file.set_len(300 << 20).unwrap();
    write!(file, "\n{line}").unwrap();
    for skill in ["b", "c"] {
        AuditLog::open(path(&directory)).unwrap();
        log.check_writable().unwrap();
        log.record(&event(skill)).unwrap();
    }
    let verified = verify(&[path(&directory)]).unwrap();
    assert_eq!((verified.records, verified.first_sequence), (2, Some(2)));
    let rotated = directory.path().join("audit.jsonl.1");
    assert!(fs::metadata(rotated).unwrap().len() > 300 << 20);
}

#[cfg(unix)]
#[test]
fn a_log_that_others_can_change_is_not_continued() {
    use std::os::unix::fs::PermissionsExt;

    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("audit.jsonl");
    let log = AuditLog::open(&path).unwrap();
    let event = Event::new("2026-11-22T08:00:00Z", "a", Disposition::Granted);
    log.record(&event).unwrap();
    let chmod = |path: &std::path::Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    chmod(&path, 0o666);
    assert!(log.record(&event).is_err() && log.check_writable().is_err());
    chmod(&path, 0o600);
    chmod(directory.path(), 0o777);
    assert!(log.record(&event).is_err() && log.check_writable().is_err());
    // It is still verified.
    assert_eq!(verify(&log.files().unwrap()).unwrap().records, 1);
}
