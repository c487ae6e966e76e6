//! `skills audit`: shows and verifies the audit log.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use skills_runtime::audit::{
    AuditLog, ChainStatus, Disposition, Event, Line, VerifyReport, is_unfinished, read, tail,
    verify_since,
};

use crate::context::Context;
use crate::counted::counted;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::output::{Output, line};
use crate::state;

/// Show and verify the audit log
#[derive(Debug, Args)]
pub(crate) struct Audit {
    /// Audit log [default: audit.jsonl in the state directory]
    #[arg(long, value_name = "FILE", global = true)]
    log: Option<PathBuf>,

    #[command(subcommand)]
    command: AuditCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AuditCommand {
    /// Show recent audit records
    Tail(Tail),
    /// Show one audit record
    Show(ShowRecord),
    /// Verify the hash chain of the audit log
    ///
    /// Exit codes: 0 intact, 1 broken, 5 incomplete: all records are intact, but a crash left the
    /// beginning of another one, which the next record replaces.
    Verify(Verify),
}

#[derive(Debug, Args)]
pub(crate) struct Tail {
    /// Number of records
    #[arg(long, short = 'n', value_name = "NUMBER", default_value_t = 20)]
    lines: usize,
}

#[derive(Debug, Args)]
pub(crate) struct ShowRecord {
    /// Sequence number of the record
    number: u64,
}

#[derive(Debug, Args)]
pub(crate) struct Verify {
    /// Hash of a record that the log must contain
    ///
    /// Store the hash outside the log to detect truncation. Records after it are counted.
    #[arg(long, value_name = "HASH")]
    last: Option<String>,
}

impl Audit {
    pub(crate) fn run(&self, context: &Context) -> anyhow::Result<Exit> {
        let files = self.files(context)?;
        match &self.command {
            AuditCommand::Tail(tailed) => {
                print_tail(&last_attempts(&files, tailed.lines)?, context.output)
            }
            AuditCommand::Show(record) => print_record(&files, record.number, context.output),
            AuditCommand::Verify(verify) => verify_log(&files, verify, context.output),
        }
    }

    /// Returns the files of the log, which must exist.
    fn files(&self, context: &Context) -> anyhow::Result<Vec<PathBuf>> {
        let default = || state::audit_log_path(&context.environment);
        let path = self.log.clone().or_else(default).ok_or_else(|| {
            CommandError::input("cannot find the audit log: no home directory")
                .with_help("set `XDG_STATE_HOME` or pass `--log FILE`")
        })?;
        let message = format!("cannot open the audit log `{}`: not found", path.display());
        let mut files = AuditLog::reader(path).files()?;
        // What is there and is not a file is an error when it is read.
        files.retain(|file| file.symlink_metadata().is_ok());
        if files.is_empty() {
            let error = CommandError::not_found(message);
            anyhow::bail!(match self.log {
                Some(_) => error,
                None => error.with_help("the first run of a skill creates it"),
            });
        }
        Ok(files)
    }
}

/// Returns the last records, without the starts of runs whose end is recorded.
fn last_attempts(files: &[PathBuf], count: usize) -> anyhow::Result<Vec<Line>> {
    // Each start that is left out has a later end that is not.
    let lines = tail(files, count.saturating_mul(2))?;
    let is_start = |line: &Line| matches!(line, Line::Record { event, .. } if event.disposition == Disposition::Started);
    let mut shown: Vec<Line> = lines
        .iter()
        .filter(|line| !is_start(line) || is_unfinished(line, &lines))
        .cloned()
        .collect();
    shown.drain(..shown.len().saturating_sub(count));
    Ok(shown)
}

fn print_tail(lines: &[Line], output: Output) -> anyhow::Result<Exit> {
    if output.is_json() {
        let records = lines.iter().map(|line| {
            let mut record = to_json(line);
            if let Line::Record { event, .. } = line
                && event.disposition == Disposition::Started
            {
                record["termination"] = json!(unfinished_text(event));
            }
            record
        });
        let records: Vec<Value> = records.collect();
        return output.json(&json!({"records": records}));
    }
    output.lines(lines.iter().map(|record| line(&render_row(record))))?;
    Ok(Exit::Success)
}

/// How long a run can take in addition to the time of its program.
const OVERHEAD: Duration = Duration::from_secs(60);

/// Describes a run without a record of its end: the host was killed, if the run is not as recent as
/// its time limit.
fn unfinished_text(event: &Event) -> &'static str {
    let limit_ms = event.limits.get("wall_time_ms").copied().unwrap_or(0);
    let end = humantime::parse_rfc3339(&event.time)
        .ok()
        .and_then(|start| start.checked_add(Duration::from_millis(limit_ms)));
    match end.and_then(|end| end.checked_add(OVERHEAD)) {
        Some(end) if end < SystemTime::now() => "interrupted",
        _ => "running or interrupted",
    }
}

fn render_row(record: &Line) -> String {
    match record {
        Line::Record {
            sequence, event, ..
        } => {
            let decision = json!(event.disposition);
            let decision = decision.as_str().unwrap_or_default();
            let Event {
                time,
                skill,
                program,
                termination,
                attempt,
                ..
            } = event.as_ref();
            let program = program.as_deref().unwrap_or_default();
            let termination = match termination {
                _ if event.disposition == Disposition::Started => unfinished_text(event),
                termination => termination.as_deref().unwrap_or_default(),
            };
            let refused = match event.refused.len() as u64 + event.refused_omitted {
                0 => String::new(),
                refused => format!(", {refused} refused"),
            };
            let attempt = attempt.map_or_else(String::new, |number| format!(", attempt {number}"));
            format!(
                "{sequence:>6}  {time}  {decision:<7}  {skill}  {program}  {termination}{refused}{attempt}"
            )
        }
        Line::Malformed { line } => {
            format!(
                "{:>6}  line {line} is not a record: incomplete or edited",
                "?"
            )
        }
        _ => String::new(),
    }
}

fn to_json(record: &Line) -> Value {
    match record {
        Line::Record {
            sequence,
            hash,
            event,
        } => {
            let mut document = json!(event);
            document["sequence"] = json!(sequence);
            document["hash"] = json!(hash);
            document
        }
        Line::Malformed { line } => json!({"broken": line}),
        _ => Value::Null,
    }
}

fn print_record(files: &[PathBuf], number: u64, output: Output) -> anyhow::Result<Exit> {
    for file in files {
        let is_it =
            |record: &Line| matches!(record, Line::Record { sequence, .. } if *sequence == number);
        if let Some(record) = read(file)?.find(is_it) {
            return output.json(&to_json(&record));
        }
    }
    Err(CommandError::not_found(format!("audit record {number} not found")).into())
}

fn verify_log(files: &[PathBuf], arguments: &Verify, output: Output) -> anyhow::Result<Exit> {
    let verified = verify_since(files, arguments.last.as_deref())?;
    let mut problems: Vec<String> = verified.problems.iter().map(ToString::to_string).collect();
    let mut status = verified.status();
    // A log that was cut at its end is a valid chain. Only a hash that was kept elsewhere shows
    // what is missing.
    if arguments.last.is_some() && verified.records_since.is_none() {
        problems.push(
            "no record has the given hash: the end of the log was truncated or rewritten"
                .to_owned(),
        );
        status = ChainStatus::Broken;
    }
    let (word, exit) = match status {
        ChainStatus::Intact => ("intact", Exit::Success),
        ChainStatus::Incomplete => ("incomplete", Exit::Incomplete),
        _ => ("broken", Exit::Failed),
    };
    if output.is_json() {
        output.print_json(&json!({
            "status": word,
            "records": verified.records,
            "first": verified.first_sequence,
            "last_hash": verified.last_hash,
            "since": verified.records_since,
            "unfinished": verified.unfinished,
            "removed_lines": verified.removed_lines,
            "problems": problems,
        }))?;
    } else {
        output.text(&render_report(&verified, word, &problems))?;
    }
    Ok(exit)
}

fn render_report(verified: &VerifyReport, status: &str, problems: &[String]) -> String {
    let records = counted(verified.records, "record");
    let mut text = format!("{records}, the hash chain is {status}");
    if let Some(first) = verified.first_sequence.filter(|first| *first > 1) {
        text.push_str(&format!(", records before {first} are not in the log"));
    }
    text.push('\n');
    for problem in problems {
        text.push_str(&format!("  {}\n", line(problem)));
    }
    if let Some(start) = verified.unfinished.first() {
        let runs = counted(verified.unfinished.len() as u64, "run");
        text.push_str(&format!(
            "{runs} without a record of the end, from record {start}: running or interrupted\n"
        ));
    }
    if verified.removed_lines > 0 {
        let lines = counted(verified.removed_lines, "incomplete record");
        text.push_str(&format!("{lines} removed by later writers\n"));
    }
    if let Some(since) = verified.records_since {
        let records = counted(since, "record");
        text.push_str(&format!("{records} after the given hash\n"));
    }
    if let Some(hash) = &verified.last_hash {
        text.push_str(&format!("last hash {hash}\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_without_an_end_is_interrupted_after_its_time_limit() {
        let started = |time| {
            let time = humantime::format_rfc3339_millis(time).to_string();
            let mut event = Event::new(time, "one", Disposition::Started);
            event.limits.insert("wall_time_ms".to_owned(), 3_600_000);
            event
        };
        let now = SystemTime::now();
        let old = now - Duration::from_secs(7_200);
        assert_eq!(unfinished_text(&started(old)), "interrupted");
        assert_eq!(unfinished_text(&started(now)), "running or interrupted");
    }
}
