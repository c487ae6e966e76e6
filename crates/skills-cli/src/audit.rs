//! `skills audit`.

use std::path::PathBuf;

use serde_json::{Value, json};
use skills_runtime::audit::{Event, Line, Log, read, tail, verify};

use crate::arguments::{Audit, AuditCommand, Verify};
use crate::exit::Exit;
use crate::input::InputError;
use crate::output::{Output, line};
use crate::state;

pub(crate) fn audit(arguments: &Audit, output: &Output) -> anyhow::Result<Exit> {
    let path = arguments.log.clone().or_else(state::log);
    let path = path.ok_or_else(|| InputError::new("there is no log: set XDG_STATE_HOME, or name one with --log".to_owned()))?;
    if !path.is_file() {
        return Err(InputError::new(format!("{}: there is no log; nothing has run yet", path.display())).into());
    }
    let files = Log::at(path).files()?;
    match &arguments.command {
        AuditCommand::Tail(arguments) => show_tail(&tail(&files, arguments.lines)?, output),
        AuditCommand::Show(arguments) => show(&files, arguments.number, output),
        AuditCommand::Verify(arguments) => check(&files, arguments, output),
    }
}

fn show_tail(lines: &[Line], output: &Output) -> anyhow::Result<Exit> {
    if output.is_json() {
        let records: Vec<Value> = lines.iter().map(document).collect();
        output.document(&json!({"records": records}))?;
        return Ok(Exit::Done);
    }
    let text: String = lines.iter().map(|record| format!("{}\n", line(&row(record)))).collect();
    output.text(&text)?;
    Ok(Exit::Done)
}

fn row(record: &Line) -> String {
    match record {
        Line::Record { sequence, event, .. } => {
            let decision = serde_json::to_value(event.decision).ok();
            let decision = decision.as_ref().and_then(Value::as_str).unwrap_or_default();
            let text = |field: &Option<String>| field.clone().unwrap_or_default();
            let Event { time, skill, program, outcome, .. } = event.as_ref();
            format!("{sequence:>6}  {time}  {decision:<7}  {skill}  {}  {}", text(program), text(outcome))
        }
        Line::Broken { line } => format!("{:>6}  line {line} is no record: torn or edited", "?"),
        _ => String::new(),
    }
}

fn document(record: &Line) -> Value {
    match record {
        Line::Record { sequence, hash, event } => {
            let mut document = serde_json::to_value(event).unwrap_or_default();
            if let Value::Object(map) = &mut document {
                map.insert("sequence".to_owned(), json!(sequence));
                map.insert("hash".to_owned(), json!(hash));
            }
            document
        }
        Line::Broken { line } => json!({"broken": line}),
        _ => Value::Null,
    }
}

fn show(files: &[PathBuf], number: u64, output: &Output) -> anyhow::Result<Exit> {
    for file in files {
        let is_it = |record: &Line| matches!(record, Line::Record { sequence, .. } if *sequence == number);
        if let Some(record) = read(file)?.find(is_it) {
            output.document(&document(&record))?;
            return Ok(Exit::Done);
        }
    }
    output.note(&format!("error: no record has the number {number}"));
    Ok(Exit::Failed)
}

fn check(files: &[PathBuf], arguments: &Verify, output: &Output) -> anyhow::Result<Exit> {
    let verified = verify(files)?;
    let is_cut = arguments.last.as_ref().is_some_and(|last| verified.last_hash.as_ref() != Some(last));
    let mut problems: Vec<String> = verified.problems.iter().map(ToString::to_string).collect();
    if is_cut {
        problems.push("the last record has another hash: records were cut off or added at the end".to_owned());
    }
    if output.is_json() {
        output.document(&json!({
            "records": verified.records, "first": verified.first_sequence, "last_hash": verified.last_hash, "problems": problems,
        }))?;
    } else {
        let whole = if problems.is_empty() { "the chain is whole" } else { "the chain is broken" };
        let mut text = format!("{} records, {whole}\n", verified.records);
        problems.iter().for_each(|problem| text.push_str(&format!("  {}\n", line(problem))));
        if let Some(hash) = &verified.last_hash {
            text.push_str(&format!("last hash {hash}\n"));
        }
        output.text(&text)?;
    }
    Ok(if problems.is_empty() { Exit::Done } else { Exit::Failed })
}
