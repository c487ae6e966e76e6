use std::fs;
use std::io::Write;
use std::path::Path;

use insta::assert_snapshot;
use skills_audit::{AuditSink, Content, Decision, ErrorKind, Event, Layer, Line, Log, Rotation, read, tail, verify};
use tempfile::TempDir;

pub(crate) fn event(skill: &str) -> Event {
    Event::new("2026-11-22T08:00:00Z", skill, Decision::Granted)
}

pub(crate) fn log() -> (TempDir, Log) {
    let directory = tempfile::tempdir().unwrap();
    let log = Log::open(directory.path().join("audit.jsonl")).unwrap();
    (directory, log)
}

pub(crate) fn path(directory: &TempDir) -> std::path::PathBuf {
    directory.path().join("audit.jsonl")
}

#[test]
fn a_record_is_one_line() {
    let (directory, log) = log();
    let mut full = Event::new("2026-11-22T08:00:00Z", "text\nstats", Decision::Denied);
    full.digest = Some("sha256:ab".to_owned());
    full.program = Some("scripts/stats.sh".to_owned());
    full.requested = vec!["Bash(git:*)".to_owned()];
    full.rules = vec!["user".to_owned()];
    full.backend = Some("linux".to_owned());
    full.layers = vec![Layer { name: "landlock".to_owned(), status: "enforced".to_owned() }];
    full.limits.insert("memory_bytes".to_owned(), 256);
    full.input = Some(Content::of(b"{}", 2));
    full.outcome = Some("exit 0".to_owned());
    full.duration_ms = Some(12);
    log.record(&full).unwrap();
    log.record(&event("b")).unwrap();
    assert_snapshot!(fs::read_to_string(path(&directory)).unwrap());
    let lines: Vec<Line> = read(&path(&directory)).unwrap().collect();
    let Line::Record { sequence: 1, event, .. } = &lines[0] else { panic!("{lines:?}") };
    assert_eq!(**event, full, "what was put in comes out");
}

#[test]
fn a_torn_line_stays_and_the_next_record_follows_the_last_whole_one() {
    let (directory, log) = log();
    log.record(&event("a")).unwrap();
    let mut file = fs::OpenOptions::new().append(true).open(path(&directory)).unwrap();
    file.write_all(b"{\"sequence\":2,\"ti").unwrap();
    log.record(&event("b")).unwrap();
    let verified = verify(&log.files().unwrap()).unwrap();
    assert_eq!(verified.records, 2);
    assert_eq!(
        verified.problems.iter().map(ToString::to_string).map(|text| text.split(": ").nth(1).unwrap().to_owned()).collect::<Vec<_>>(),
        ["no record"]
    );
}

#[test]
fn files_are_put_aside_and_the_chain_goes_on() {
    let (_directory, log) = log();
    let log = log.rotation(Rotation { max_bytes: 700, keep: 3 });
    for index in 0..20 {
        log.record(&event(&format!("skill-{index}"))).unwrap();
    }
    let files = log.files().unwrap();
    assert_eq!(files.len(), 4);
    let verified = verify(&files).unwrap();
    assert_eq!(verified.problems, []);
    assert!(verified.records < 20 && verified.first_sequence.is_some_and(|first| first > 1), "the oldest files went");
    assert!(files.iter().all(|file| fs::metadata(file).unwrap().len() < 1_200));
    let last = tail(&files, 5).unwrap();
    let numbers: Vec<u64> = last.iter().map(|line| if let Line::Record { sequence, .. } = line { *sequence } else { 0 }).collect();
    assert_eq!(numbers, [16, 17, 18, 19, 20]);
}

/// A writer was killed between two renames.
#[test]
fn a_number_that_is_left_out_hides_no_file() {
    let (directory, log) = log();
    let log = log.rotation(Rotation { max_bytes: 700, keep: 8 });
    (0..12).for_each(|index| log.record(&event(&format!("skill-{index}"))).unwrap());
    let before = log.files().unwrap().len();
    for number in (1..before).rev() {
        let aside = |number: usize| directory.path().join(format!("audit.jsonl.{number}"));
        fs::rename(aside(number), aside(number + 1)).unwrap();
    }
    assert_eq!(log.files().unwrap().len(), before);
    (0..12).for_each(|index| log.record(&event(&format!("later-{index}"))).unwrap());
    let verified = verify(&log.files().unwrap()).unwrap();
    assert_eq!((verified.records, verified.problems), (24, vec![]));
}

#[test]
fn many_writers_make_one_chain() {
    let (_directory, log) = log();
    let log = log.rotation(Rotation { max_bytes: 20_000, keep: 50 });
    std::thread::scope(|scope| {
        for writer in 0..8 {
            let log = log.clone();
            scope.spawn(move || (0..50).for_each(|index| log.record(&event(&format!("{writer}-{index}"))).unwrap()));
        }
    });
    let verified = verify(&log.files().unwrap()).unwrap();
    assert_eq!((verified.records, verified.problems), (400, vec![]));
}

#[test]
fn records_have_a_bound_and_logs_a_directory() {
    let (_directory, log) = log();
    let mut long = event(&"x".repeat(70_000));
    long.rules = vec!["\\".repeat(70_000)];
    log.record(&long).unwrap();
    let Some(Line::Record { event: kept, .. }) = tail(&log.files().unwrap(), 1).unwrap().pop() else { panic!("it was kept") };
    assert_eq!((kept.skill.len(), kept.rules), (500, vec!["left out: the record would be too long".to_owned()]));
    long.time = "x".repeat(70_000);
    assert_eq!(log.record(&long).unwrap_err().kind(), ErrorKind::TooLarge);
    assert_eq!(verify(&log.files().unwrap()).unwrap().records, 1, "what is refused leaves nothing behind");
    assert_eq!(Log::open(Path::new("/nowhere/audit.jsonl")).unwrap_err().kind(), ErrorKind::Io);
}

#[cfg(unix)]
#[test]
fn only_the_owner_may_read() {
    use std::os::unix::fs::PermissionsExt;
    let (directory, log) = log();
    log.record(&event("a")).unwrap();
    assert_eq!(fs::metadata(path(&directory)).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn what_cannot_be_read_ends() {
    let directory = tempfile::tempdir().unwrap();
    fs::create_dir(directory.path().join("audit.jsonl")).unwrap();
    let lines: Vec<Line> = read(&directory.path().join("audit.jsonl")).unwrap().take(10).collect();
    assert_eq!(lines, [Line::Broken { line: 1 }]);
}

#[test]
fn a_log_that_could_not_be_written_is_not_ready() {
    let (directory, log) = log();
    log.ready().unwrap();
    fs::remove_file(directory.path().join("audit.jsonl.lock")).unwrap();
    fs::create_dir(directory.path().join("audit.jsonl.lock")).unwrap();
    assert_eq!(log.ready().unwrap_err().kind(), ErrorKind::Io);
}
