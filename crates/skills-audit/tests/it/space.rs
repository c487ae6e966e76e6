//! Tests with little space, in file systems of processes of their own.

use std::fs;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use skills_audit::{
    AuditError, AuditLog, AuditSink, ChainStatus, Disposition, Event, Rotation, verify,
};
use skills_test_support::host_process::{self, in_filesystem, run_again};

use crate::log::event;

const RECORD_BYTES: u64 = 64 * 1024 + 1;

const SMALL: &str = "mount -t tmpfs -o size=768k,mode=700 none \"$0\"";

fn start(log: &AuditLog, skill: &str) -> Result<Option<u64>, AuditError> {
    log.record_start(&Event::new(
        "2026-11-22T08:00:00Z",
        skill,
        Disposition::Started,
    ))
}

/// The largest record of an end, almost.
fn long_end(start: Option<u64>) -> Event {
    let mut end = event("end");
    end.start = start;
    end.rules = vec!["x".repeat(64_000)];
    end
}

/// Writes a file until the disk is full.
fn fill(directory: &Path) -> PathBuf {
    let path = directory.join("fill");
    let mut file = fs::File::create(&path).unwrap();
    while file.write_all(&[0; 4_096]).is_ok() {}
    path
}

fn is_full(error: &AuditError) -> bool {
    cause(error) == Some(std::io::ErrorKind::StorageFull)
}

fn cause(error: &AuditError) -> Option<std::io::ErrorKind> {
    std::error::Error::source(error)
        .and_then(|source| source.downcast_ref::<std::io::Error>())
        .map(std::io::Error::kind)
}

#[track_caller]
fn assert_intact(log: &AuditLog, records: u64) {
    let verified = verify(&log.files().unwrap()).unwrap();
    assert_eq!(verified.problems, []);
    assert_eq!((verified.records, verified.unfinished), (records, vec![]));
}

#[test]
fn a_run_that_fills_the_disk_still_ends_with_its_record() {
    let Some(directory) = in_filesystem(
        "space::a_run_that_fills_the_disk_still_ends_with_its_record",
        SMALL,
    ) else {
        return;
    };
    let log = AuditLog::open(directory.join("audit.jsonl")).unwrap();
    let run = start(&log, "fills").unwrap();
    let filling = fill(&directory);
    log.record(&long_end(run)).unwrap();
    assert_intact(&log, 2);

    // Nothing starts without the space for its end, and nothing of it stays.
    fill(&directory);
    let before = fs::read(directory.join("audit.jsonl")).unwrap();
    let error = start(&log, "next").unwrap_err();
    assert!(is_full(&error), "{error:?}");
    assert_eq!(fs::read(directory.join("audit.jsonl")).unwrap(), before);
    assert_intact(&log, 2);

    fs::remove_file(filling).unwrap();
    let run = start(&log, "next").unwrap();
    log.record(&long_end(run)).unwrap();
    assert_intact(&log, 4);
}

/// Each of them has its own space, which other records and other processes do not take.
#[test]
fn all_open_runs_end_with_their_records() {
    let Some(directory) = in_filesystem("space::all_open_runs_end_with_their_records", SMALL)
    else {
        return;
    };
    let path = directory.join("audit.jsonl");
    let logs = [(); 3].map(|()| AuditLog::open(&path).unwrap());
    let runs = logs.each_ref().map(|log| start(log, "fills").unwrap());
    fill(&directory);
    let denied = std::iter::repeat_with(|| logs[0].record(&event("denied")));
    let error = denied.take(1_000).find_map(Result::err).unwrap();
    assert!(is_full(&error), "{error:?}");
    assert!(is_full(&start(&logs[0], "next").unwrap_err()));
    let records = verify(&logs[0].files().unwrap()).unwrap().records;
    for (log, run) in logs.iter().zip(runs) {
        log.record(&long_end(run)).unwrap();
    }
    assert_intact(&logs[0], records + 3);
}

#[test]
fn the_space_of_an_end_moves_to_the_next_file() {
    let Some(directory) = in_filesystem("space::the_space_of_an_end_moves_to_the_next_file", SMALL)
    else {
        return;
    };
    let log = AuditLog::open(directory.join("audit.jsonl"))
        .unwrap()
        .rotation(Rotation {
            max_bytes: 1,
            max_files: 8,
        });
    let run = start(&log, "fills").unwrap();
    let rotated = |number: u32| directory.join(format!("audit.jsonl.{number}"));
    log.record(&event("other")).unwrap();
    log.check_writable().unwrap();
    assert!(rotated(2).exists() && fs::metadata(rotated(1)).unwrap().blocks() <= 8);
    let filling = fill(&directory);
    // A rotation that has no space for the end leaves all as it is.
    log.record(&long_end(run)).unwrap();
    assert_intact(&log, 3);
    fs::remove_file(filling).unwrap();

    let run = start(&log, "again").unwrap();
    let filling = fill(&directory);
    let files = log.files().unwrap();
    assert!(is_full(&log.record(&event("other")).unwrap_err()));
    assert_eq!(log.files().unwrap(), files);
    log.record(&long_end(run)).unwrap();
    assert_intact(&log, 5);
    fs::remove_file(filling).unwrap();
}

/// The space of runs that ended or were killed is free again.
#[test]
fn reserved_space_is_freed_with_the_last_end() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("audit.jsonl");
    let blocks = || fs::metadata(&path).unwrap().blocks() * 512;
    let log = AuditLog::open(&path).unwrap();
    let killed = AuditLog::open(&path).unwrap();
    start(&killed, "killed").unwrap();
    let runs = [(); 2].map(|()| start(&log, "a").unwrap());
    let has_allocation = blocks() >= 4 * RECORD_BYTES;
    for run in runs {
        let mut end = event("a");
        end.start = run;
        log.record(&end).unwrap();
        assert!(
            !has_allocation || blocks() >= RECORD_BYTES,
            "`killed` is open"
        );
    }
    drop(killed);
    let run = start(&log, "b").unwrap();
    let mut end = event("b");
    end.start = run;
    log.record(&end).unwrap();
    assert!(blocks() <= 8_192, "{}", blocks());
}

/// Cutting the file frees the space after its end.
#[test]
fn open_runs_keep_their_space_when_an_incomplete_line_is_removed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("audit.jsonl");
    let metadata = || fs::metadata(&path).unwrap();
    let interrupt = || {
        let mut file = fs::OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(b"{\"incomplete").unwrap();
    };
    let log = AuditLog::open(&path).unwrap();
    let run = start(&log, "a").unwrap();
    let has_allocation = metadata().blocks() * 512 > RECORD_BYTES;
    interrupt();
    log.record(&event("denied")).unwrap();
    let is_reserved = || metadata().blocks() * 512 >= metadata().len() + RECORD_BYTES;
    assert!(!has_allocation || is_reserved());
    let mut end = event("a");
    end.start = run;
    log.record(&end).unwrap();
    assert!(!is_reserved(), "{:?}", metadata());
    interrupt();
    log.record(&event("denied")).unwrap();
    assert!(!is_reserved(), "{:?}", metadata());
}

/// It needs no space for an end.
#[test]
fn a_denied_run_is_recorded_on_an_almost_full_disk() {
    let Some(directory) = in_filesystem(
        "space::a_denied_run_is_recorded_on_an_almost_full_disk",
        SMALL,
    ) else {
        return;
    };
    let log = AuditLog::open(directory.join("audit.jsonl")).unwrap();
    log.record(&event("first")).unwrap();
    let filling = fill(&directory);
    let bytes = fs::metadata(&filling).unwrap().len();
    let file = fs::OpenOptions::new().write(true).open(&filling).unwrap();
    file.set_len(bytes - 16_384).unwrap();
    log.record(&event("denied")).unwrap();
    assert_intact(&log, 2);
    let error = start(&log, "a").unwrap_err();
    assert!(is_full(&error), "{error:?}");
}

/// The files of other runs cannot be opened, as if this process had too many open files.
#[test]
fn an_end_that_was_written_is_no_error() {
    let directory = tempfile::tempdir().unwrap();
    let log = AuditLog::open(directory.path().join("audit.jsonl")).unwrap();
    let run = start(&log, "a").unwrap();
    fs::create_dir(directory.path().join("audit.jsonl.run2")).unwrap();
    let mut end = event("a");
    end.start = run;
    log.record(&end).unwrap();
    assert_intact(&log, 2);
}

/// A file system that cannot allocate space after the end of a file.
#[test]
fn space_is_reserved_in_another_file_where_the_log_cannot_have_it() {
    let Some(directory) = in_filesystem(
        "space::space_is_reserved_in_another_file_where_the_log_cannot_have_it",
        "mount -t ramfs -o mode=700 none \"$0\"",
    ) else {
        return;
    };
    let log = AuditLog::open(directory.join("audit.jsonl")).unwrap();
    let runs = [(); 2].map(|()| start(&log, "a").unwrap());
    let reserved = || {
        [1, 2].map(|number| {
            let run = fs::metadata(directory.join(format!("audit.jsonl.run{number}"))).unwrap();
            run.len()
        })
    };
    assert_eq!(reserved(), [RECORD_BYTES; 2]);
    // Bytes that a file system could compress would take no space.
    let padding = fs::read(directory.join("audit.jsonl.run1")).unwrap();
    let different: std::collections::BTreeSet<&[u8]> = padding.chunks(4).collect();
    assert!(different.len() > 16_000, "{}", different.len());
    log.record(&long_end(runs[0])).unwrap();
    assert_eq!(reserved(), [0, RECORD_BYTES]);
    // A file is used again.
    let run = start(&log, "a").unwrap();
    assert_eq!(reserved(), [RECORD_BYTES; 2]);
    log.record(&long_end(run)).unwrap();
    log.record(&long_end(runs[1])).unwrap();
    assert_eq!(reserved(), [0; 2]);
    assert_intact(&log, 6);
}

/// At the limit of the size of files the kernel would end the process with a signal.
#[test]
fn a_log_at_the_limit_of_the_size_of_files_refuses_a_start() {
    const TEST: &str = "space::a_log_at_the_limit_of_the_size_of_files_refuses_a_start";
    let Some(task) = host_process::task() else {
        let directory = tempfile::tempdir().unwrap();
        let mut command = Command::new("sh");
        // In blocks of 512 bytes.
        command.args(["-c", "ulimit -f 400 && exec \"$@\"", "sh"]);
        return run_again(command, TEST, directory.path());
    };
    let log = AuditLog::open(Path::new(&task).join("audit.jsonl")).unwrap();
    let run = start(&log, "a").unwrap();
    let error = std::iter::repeat_with(|| log.record(&event(&"x".repeat(1_000))))
        .find_map(Result::err)
        .unwrap();
    assert_eq!(cause(&error), Some(std::io::ErrorKind::FileTooLarge));
    log.record(&long_end(run)).unwrap();
    let error = start(&log, "b").unwrap_err();
    assert_eq!(cause(&error), Some(std::io::ErrorKind::FileTooLarge));
    let verified = verify(&log.files().unwrap()).unwrap();
    assert_eq!(verified.status(), ChainStatus::Intact);
    let bytes = fs::metadata(Path::new(&task).join("audit.jsonl"))
        .unwrap()
        .len();
    assert!((100_000..=204_800).contains(&bytes), "{bytes}");
}
