//! Asks whoever sits at the terminal.

use std::io::{self, BufRead, IsTerminal};
use std::sync::Arc;

use skills_runtime::policy::{Answering, Content, Question, Verdict};
use skills_runtime::{Answer, Approver};

use crate::output::{Output, line};

/// Somebody at a terminal.
struct Terminal;

/// Finds out who can be asked: whoever said `--yes` or `--deny`, else the terminal, unless the program's input comes from there; else nobody.
pub(crate) fn approver(yes: bool, deny: bool, is_input_taken: bool) -> Option<Arc<dyn Approver>> {
    if yes {
        return Some(Arc::new(Answer::Once));
    }
    if deny {
        return Some(Arc::new(Answer::Deny));
    }
    let is_terminal = io::stdin().is_terminal() && io::stderr().is_terminal() && !is_input_taken;
    is_terminal.then(|| Arc::new(Terminal) as Arc<dyn Approver>)
}

impl Approver for Terminal {
    fn ask<'a>(&'a self, question: &'a Question) -> Answering<'a> {
        let output = Output::new(false);
        output.notes(&text(question));
        output.notes("Allow it? o: once, a: always for this content, anything else: no");
        Box::pin(async {
            // The terminal is waited for aside, so that Ctrl-C still ends the command.
            let answer = tokio::task::spawn_blocking(|| {
                let mut answer = String::new();
                io::stdin().lock().read_line(&mut answer).map(|_| answer)
            });
            Ok(Some(match answer.await??.trim().to_ascii_lowercase().as_str() {
                "o" | "once" => Answer::Once,
                "a" | "always" => Answer::Always,
                _ => Answer::Deny,
            }))
        })
    }
}

/// Describes a question entirely, in lines that no text of a skill can forge.
pub(crate) fn text(question: &Question) -> String {
    let mut text = format!("{} wants to run: {}\n", line(&question.name), line(&question.command.join(" ")));
    let mut row = |label: &str, value: &str| text.push_str(&format!("  {label:<8} {}\n", line(value)));
    row("skill", &question.directory.display().to_string());
    row("content", &content(&question.content));
    if let Content::Changed { grown, shrunk } = &question.content {
        grown.iter().for_each(|permission| row("new", &permission.to_string()));
        shrunk.iter().for_each(|permission| row("gone", &permission.to_string()));
    }
    if let Some(digest) = &question.digest {
        row("digest", digest);
    }
    let what = |verdict: &Verdict| format!("{} (asked by {})", verdict.permission(), verdict.asked_by().join(", "));
    question.open.iter().for_each(|verdict| row("wants", &what(verdict)));
    question.granted.iter().for_each(|verdict| row("has", &what(verdict)));
    let limits = &question.limits;
    row("limits", &format!("{} s, {} MiB of memory", limits.wall_time.as_secs_f64(), limits.memory_bytes >> 20));
    question.notes.iter().for_each(|note| row("note", note));
    text.truncate(text.trim_end().len());
    text
}

fn content(content: &Content) -> String {
    match content {
        Content::New => "never approved before".to_owned(),
        Content::Known => "approved before, for other things".to_owned(),
        Content::Changed { .. } => "changed since it was approved".to_owned(),
        other => format!("{other:?}"),
    }
}
