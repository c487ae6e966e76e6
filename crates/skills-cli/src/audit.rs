//! `skills audit`: shows and verifies the audit log.

use std::path::PathBuf;

use serde_json::{Value, json};
use skills_runtime::audit::{AuditLog, Event, Line, read, tail, verify_since};

use crate::arguments::{Audit, AuditCommand, Verify};
use crate::directories;
use crate::exit::Exit;
use crate::input::InputError;
use crate::output::{Output, line};

pub(crate) fn audit(arguments: &Audit, output: &Output) -> anyhow::Result<Exit> {
    let path = arguments.log.clone().or_else(directories::audit_log_path);
    let path = path.ok_or_else(|| {
        InputError::new("cannot find the audit log: no home directory")
            .with_help("set `XDG_STATE_HOME` or pass `--log FILE`")
    })?;
    let shown = path.display().to_string();
    let mut files = AuditLog::reader(path).files()?;
    files.retain(|file| file.is_file());
    if files.is_empty() {
        let error = InputError::new(format!("cannot open the audit log `{shown}`: not found"));
        let error = match arguments.log {
            Some(_) => error,
            None => error.with_help("the first run of a skill creates it"),
        };
        return Err(error.into());
    }
    match &arguments.command {
        AuditCommand::Tail(arguments) => print_tail(&tail(&files, arguments.lines)?, output),
        AuditCommand::Show(arguments) => print_record(&files, arguments.number, output),
        AuditCommand::Verify(arguments) => verify_log(&files, arguments, output),
    }
}

fn print_tail(lines: &[Line], output: &Output) -> anyhow::Result<Exit> {
    if output.is_json() {
        let records: Vec<Value> = lines.iter().map(to_json).collect();
        output.print_json(&json!({"records": records}))?;
        return Ok(Exit::Success);
    }
    let text: String = lines
        .iter()
        .map(|record| format!("{}\n", line(&render_row(record))))
        .collect();
    output.text(&text)?;
    Ok(Exit::Success)
}

fn render_row(record: &Line) -> String {
    match record {
        Line::Record {
            sequence, event, ..
        } => {
            let decision = serde_json::to_value(event.disposition).ok();
            let decision = decision
                .as_ref()
                .and_then(Value::as_str)
                .unwrap_or_default();
            let text = |field: &Option<String>| field.clone().unwrap_or_default();
            let Event {
                time,
                skill,
                program,
                termination: outcome,
                ..
            } = event.as_ref();
            format!(
                "{sequence:>6}  {time}  {decision:<7}  {skill}  {}  {}",
                text(program),
                text(outcome)
            )
        }
        Line::Malformed { line } => {
            format!("{:>6}  line {line} is not a record: torn or edited", "?")
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
            let mut document = serde_json::to_value(event).unwrap_or_default();
            if let Value::Object(map) = &mut document {
                map.insert("sequence".to_owned(), json!(sequence));
                map.insert("hash".to_owned(), json!(hash));
            }
            document
        }
        Line::Malformed { line } => json!({"broken": line}),
        _ => Value::Null,
    }
}

fn print_record(files: &[PathBuf], number: u64, output: &Output) -> anyhow::Result<Exit> {
    for file in files {
        let is_it =
            |record: &Line| matches!(record, Line::Record { sequence, .. } if *sequence == number);
        if let Some(record) = read(file)?.find(is_it) {
            output.print_json(&to_json(&record))?;
            return Ok(Exit::Success);
        }
    }
    output.status(&format!("error: audit record {number} not found"));
    Ok(Exit::Failed)
}

fn verify_log(files: &[PathBuf], arguments: &Verify, output: &Output) -> anyhow::Result<Exit> {
    let verified = verify_since(files, arguments.last.as_deref())?;
    // A truncated log is a valid chain. Only a hash that was kept elsewhere shows what is missing.
    let is_truncated = arguments.last.is_some() && verified.records_since.is_none();
    let mut problems: Vec<String> = verified.problems.iter().map(ToString::to_string).collect();
    if is_truncated {
        problems.push(
            "no record has the given hash: the end of the log was truncated or rewritten"
                .to_owned(),
        );
    }
    if output.is_json() {
        output.print_json(&json!({
            "records": verified.records, "first": verified.first_sequence, "last_hash": verified.last_hash, "since": verified.records_since, "problems": problems,
        }))?;
    } else {
        let chain = if problems.is_empty() {
            "the hash chain is intact"
        } else {
            "the hash chain is broken"
        };
        let first = verified.first_sequence.unwrap_or(1);
        let missing = if first > 1 {
            format!(", records before {first} are not in the log")
        } else {
            String::new()
        };
        let mut text = format!("{} records, {chain}{missing}\n", verified.records);
        problems
            .iter()
            .for_each(|problem| text.push_str(&format!("  {}\n", line(problem))));
        if let Some(since) = verified.records_since {
            text.push_str(&format!("{since} records after the given hash\n"));
        }
        if let Some(hash) = &verified.last_hash {
            text.push_str(&format!("last hash {hash}\n"));
        }
        output.text(&text)?;
    }
    Ok(if problems.is_empty() {
        Exit::Success
    } else {
        Exit::Failed
    })
}
