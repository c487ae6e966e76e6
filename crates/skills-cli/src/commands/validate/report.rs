//! Prints the findings of `skills validate` in each format.

use std::collections::BTreeMap;
use std::path::Path;

use clap::ValueEnum;
use serde_json::{Value, json};

use super::collection::{Target, Targets};
use super::finding::Finding;
use super::sarif;
use crate::counted::counted;
use crate::exit::Exit;
use crate::output::{Output, line};
use crate::skill_path::SkillPath;

/// The format of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportFormat {
    /// Text for people
    Text,
    /// One JSON document, as with --json
    Json,
    /// Annotations of GitHub Actions
    Github,
    /// One SARIF 2.1.0 document, for code scanning
    Sarif,
}

/// Prints the report and returns the exit code: 1 if a path is missing or a skill has errors.
pub(super) fn print(
    targets: &Targets,
    checks: &[Vec<Finding>],
    format: ReportFormat,
) -> anyhow::Result<Exit> {
    let exit = exit_code(targets, checks);
    match format {
        ReportFormat::Text => print_text(targets, checks)?,
        ReportFormat::Json => {
            Output::Json.print_json(&document(targets, checks, exit))?;
        }
        ReportFormat::Github => Output::Text.lines(github_lines(targets, checks))?,
        ReportFormat::Sarif => Output::Json.print_json(&sarif::document(targets, checks))?,
    }
    Ok(exit)
}

fn exit_code(targets: &Targets, checks: &[Vec<Finding>]) -> Exit {
    let is_missing = targets.list.iter().any(Target::is_missing);
    Exit::success_if(!is_missing && !checks.iter().flatten().any(Finding::is_error))
}

/// The numbers of skills and findings.
struct Counts {
    valid: usize,
    invalid: usize,
    warnings: usize,
    /// The number of errors by code.
    errors: BTreeMap<&'static str, usize>,
}

impl Counts {
    fn new(targets: &Targets, checks: &[Vec<Finding>]) -> Self {
        let mut counts = Self {
            valid: 0,
            invalid: 0,
            warnings: 0,
            errors: BTreeMap::new(),
        };
        for (target, findings) in targets.list.iter().zip(checks) {
            if matches!(target, Target::Missing { .. }) {
                continue;
            }
            let is_invalid = findings.iter().any(Finding::is_error);
            counts.invalid += usize::from(is_invalid);
            counts.valid += usize::from(!is_invalid);
            for finding in findings {
                if finding.is_error() {
                    *counts.errors.entry(finding.code).or_default() += 1;
                } else {
                    counts.warnings += 1;
                }
            }
        }
        counts
    }

    fn to_line(&self) -> String {
        let errors: Vec<String> = self
            .errors
            .iter()
            .map(|(code, count)| format!("{count} {code}"))
            .collect();
        let errors = if errors.is_empty() {
            String::new()
        } else {
            format!(" ({})", errors.join(", "))
        };
        format!(
            "{} valid, {} invalid{errors}, {}",
            self.valid,
            self.invalid,
            counted(self.warnings, "warning")
        )
    }
}

/// Prints each skill; of a collection only those with errors, and the counts.
fn print_text(targets: &Targets, checks: &[Vec<Finding>]) -> anyhow::Result<()> {
    let output = Output::Text;
    for (target, findings) in targets.list.iter().zip(checks) {
        match target {
            Target::Missing { message, .. } => output.status(&format!("error: {message}")),
            Target::Skill(skill) if targets.has_collection => {
                if findings.iter().any(Finding::is_error) {
                    print_errors(skill, findings, output);
                }
            }
            Target::Skill(skill) => print_findings(skill, findings, output)?,
        }
    }
    for note in &targets.notes {
        output.status(&format!("note: {note}"));
    }
    if targets.has_collection {
        output.lines([Counts::new(targets, checks).to_line()])?;
    }
    Ok(())
}

/// Prints findings like the reference tool, with lines and warnings. Text of a skill or path is
/// escaped to one line.
fn print_findings(target: &SkillPath, findings: &[Finding], output: Output) -> anyhow::Result<()> {
    if findings.iter().any(Finding::is_error) {
        print_errors(target, findings, output);
    } else {
        output.lines([format!("Valid skill: {}", line(&target.to_string()))])?;
    }
    for finding in findings.iter().filter(|finding| !finding.is_error()) {
        let position = [finding.line, finding.column].into_iter().flatten();
        let position: String = position.map(|number| format!(":{number}")).collect();
        let message = &finding.message;
        let file = finding.file(target);
        output.status(&format!("{}{position}: warning: {message}", file.display()));
    }
    Ok(())
}

fn print_errors(target: &SkillPath, findings: &[Finding], output: Output) {
    output.status(&format!("Validation failed for {target}:"));
    for finding in findings.iter().filter(|finding| finding.is_error()) {
        let Finding {
            path,
            line,
            message,
            ..
        } = finding;
        let position = match (path, line) {
            (Some(path), Some(line)) => format!("{path}:{line}: "),
            (None, Some(line)) => format!("line {line}: "),
            _ => String::new(),
        };
        output.status(&format!("  - {position}{message}"));
    }
}

fn document(targets: &Targets, checks: &[Vec<Finding>], exit: Exit) -> Value {
    let results: Vec<Value> = targets
        .list
        .iter()
        .zip(checks)
        .map(|(target, findings)| match target {
            Target::Skill(skill) => to_json(skill, findings),
            Target::Missing { path, message } => missing_path_to_json(path, message.clone()),
        })
        .collect();
    let mut document = json!({"valid": exit == Exit::Success, "results": results});
    if targets.has_collection {
        let counts = Counts::new(targets, checks);
        document["counts"] = json!({
            "valid": counts.valid,
            "invalid": counts.invalid,
            "warnings": counts.warnings,
            "errors": counts.errors,
        });
        document["notes"] = json!(targets.notes);
    }
    document
}

pub(super) fn to_json(target: &SkillPath, findings: &[Finding]) -> Value {
    let (errors, warnings): (Vec<_>, Vec<_>) =
        findings.iter().partition(|finding| finding.is_error());
    json!({"path": target.to_string(), "valid": errors.is_empty(), "errors": errors, "warnings": warnings})
}

/// Returns a path that does not exist as JSON.
pub(super) fn missing_path_to_json(path: &Path, message: String) -> Value {
    let error = Finding::error("path", message);
    json!({"path": path.to_string_lossy(), "valid": false, "errors": [error], "warnings": []})
}

/// Returns the commands that annotate files in GitHub Actions.
fn github_lines(targets: &Targets, checks: &[Vec<Finding>]) -> Vec<String> {
    let mut lines = Vec::new();
    for (target, findings) in targets.list.iter().zip(checks) {
        match target {
            Target::Missing { message, .. } => {
                lines.push(format!("::error::{}", github_text(message)));
            }
            Target::Skill(skill) => {
                lines.extend(findings.iter().map(|finding| {
                    let file = finding.file(skill);
                    github_line(&github_property(&file.to_string_lossy()), finding)
                }));
            }
        }
    }
    lines.extend(
        targets
            .notes
            .iter()
            .map(|note| format!("::warning::{}", github_text(note))),
    );
    lines
}

fn github_line(file: &str, finding: &Finding) -> String {
    let level = if finding.is_error() {
        "error"
    } else {
        "warning"
    };
    let mut properties = format!("file={file}");
    for (name, value) in [("line", finding.line), ("col", finding.column)] {
        if let Some(value) = value {
            properties.push_str(&format!(",{name}={value}"));
        }
    }
    properties.push_str(&format!(",title={}", finding.code));
    format!("::{level} {properties}::{}", github_text(&finding.message))
}

/// Escapes the characters that end a command. Other text of a skill cannot start one, since a
/// command starts a line.
fn github_text(text: &str) -> String {
    line(text)
        .replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

fn github_property(text: &str) -> String {
    github_text(text).replace(':', "%3A").replace(',', "%2C")
}
