//! Reviews one source file: JSON in, JSON out.
//!
//! Input comes in `SKILL_INPUT`, or on standard input when it is too long for a variable. The rules' severities and messages come from
//! `/skill/references/rules.json`.

mod check;
mod config;
mod language;
mod mask;

use std::io::Read;
use std::process::ExitCode;

use serde::{Deserialize, Serialize};

use crate::config::{Config, Severity};
use crate::language::Language;

#[derive(Deserialize)]
struct Input {
    code: String,
    #[serde(default)]
    file: String,
}

#[derive(Serialize)]
struct Output {
    review: String,
    issues: Vec<Issue>,
}

#[derive(Serialize)]
struct Issue {
    line: usize,
    severity: Severity,
    rule: &'static str,
    message: String,
}

fn main() -> ExitCode {
    match run() {
        Ok(output) => {
            println!("{output}");
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<String, String> {
    let input: Input = serde_json::from_str(&input()?).map_err(|error| format!("the input must be {{\"code\", \"file\"}}: {error}"))?;
    let config = Config::read("/skill/references/rules.json")?;
    let language = Language::of_file(&input.file);
    let mut issues: Vec<Issue> = check::run(&input.code, language, &config)
        .into_iter()
        .filter_map(|finding| config.issue(finding))
        .collect();
    issues.sort_by(|a, b| (a.line, a.rule).cmp(&(b.line, b.rule)));
    let output = Output { review: review(&input, language, &issues), issues };
    serde_json::to_string(&output).map_err(|error| error.to_string())
}

fn input() -> Result<String, String> {
    if let Ok(text) = std::env::var("SKILL_INPUT") {
        return Ok(text);
    }
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).map_err(|error| format!("no input: {error}"))?;
    Ok(text)
}

fn review(input: &Input, language: Language, issues: &[Issue]) -> String {
    let count = |severity| issues.iter().filter(|issue| issue.severity == severity).count();
    let (errors, warnings, infos) = (count(Severity::Error), count(Severity::Warning), count(Severity::Info));
    let name = if input.file.is_empty() { "the code" } else { &input.file };
    let lines = input.code.lines().count();
    let verdict = match (errors, warnings) {
        (0, 0) => "nothing stands against it",
        (0, _) => "look at the warnings before merging",
        _ => "do not merge before the errors are mended",
    };
    format!("{name} ({}, {lines} lines): {errors} errors, {warnings} warnings, {infos} notes; {verdict}.", language.name())
}
