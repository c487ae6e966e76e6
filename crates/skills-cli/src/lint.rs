//! Searches the files of skills for what attackers write, and says which findings are errors.

use std::path::Path;
use std::str::FromStr;
use std::sync::LazyLock;

use clap::Args;
use serde_json::{Value, json};
use skills_lint::{Finding, Linter, Report, Severity, SkillText};
use skills_runtime::discovery::{DiscoveryError, SkillFiles};
use skills_runtime::{ScriptProblem, check_scripts};

use crate::counted::counted;
use crate::output::line;

/// Maximum size of a file that is searched, in bytes.
const MAX_FILE_BYTES: u64 = 4 << 20;
/// Maximum size of all files of a skill that are searched, in bytes.
const MAX_BYTES: usize = 64 << 20;
/// Maximum number of files of a skill that are searched.
const MAX_FILES: usize = 10_000;
/// Maximum depth of directories that are searched.
const MAX_DEPTH: usize = 16;

/// Returns the rules, which are compiled once.
fn linter() -> &'static Linter {
    static LINTER: LazyLock<Linter> = LazyLock::new(Linter::new);
    &LINTER
}

/// Compiles the rules on another thread, for commands that wait for something else first. Without a
/// thread the first use compiles them.
#[cfg(feature = "install")]
pub(crate) fn prepare_linter() {
    let _ = skills_threads::spawn("skills-linter", linter);
}

/// Which findings are errors.
#[derive(Debug, Clone, Args)]
pub(crate) struct DenyArgs {
    /// Fail on findings of a rule, or of at least a severity (repeatable)
    #[arg(long = "deny", value_name = "RULE|high|medium|low")]
    denied: Vec<Denied>,
}

/// A rule or a severity whose findings are errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Denied {
    Severity(Severity),
    Rule(&'static str),
}

impl FromStr for Denied {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Ok(severity) = text.parse() {
            return Ok(Self::Severity(severity));
        }
        let mut names = skills_lint::rules().iter().map(|rule| rule.name());
        names
            .find(|name| *name == text)
            .map(Self::Rule)
            .ok_or_else(|| {
                let names: Vec<&str> = skills_lint::rules()
                    .iter()
                    .map(|rule| rule.name())
                    .collect();
                format!(
                    "expected `high`, `medium`, `low` or a rule: {}",
                    names.join(", ")
                )
            })
    }
}

impl DenyArgs {
    /// Returns true if a finding is an error.
    pub(crate) fn denies(&self, finding: &Finding) -> bool {
        self.denied.iter().any(|denied| match denied {
            Denied::Severity(severity) => finding.severity() >= *severity,
            Denied::Rule(rule) => finding.rule() == *rule,
        })
    }
}

/// The findings about one skill.
#[derive(Debug, Default)]
pub(crate) struct SkillFindings {
    pub(crate) report: Report,
    /// Number of files that were not searched because of a limit.
    pub(crate) unsearched: usize,
    /// What makes scripts fail, as escaped lines.
    #[cfg(feature = "install")]
    script_problems: Vec<String>,
}

impl SkillFindings {
    /// Searches all files below a directory.
    ///
    /// # Errors
    /// Fails if the directory is not one of a skill.
    pub(crate) fn of_directory(directory: &Path, name: &str) -> Result<Self, DiscoveryError> {
        Ok(Self::of_files(
            &SkillFiles::open_directory(directory)?,
            name,
        ))
    }

    /// Searches the files of a directory that are listed already.
    ///
    /// # Errors
    /// Fails if the directory is not one of a skill.
    #[cfg(feature = "install")]
    pub(crate) fn of_listed(
        directory: &Path,
        paths: &[String],
        name: &str,
    ) -> Result<Self, DiscoveryError> {
        let files = SkillFiles::open_directory(directory)?;
        let mut content = Content::default();
        for path in paths.iter().filter(|path| !path.starts_with(".git/")) {
            content.read_file(&files, path.clone());
        }
        let problems = check_scripts(&files, None);
        let problems = problems.iter();
        Ok(Self {
            script_problems: problems.map(script_line).collect(),
            ..Self::of_content(content, name)
        })
    }

    /// Searches all files of an open skill, hidden ones and those that no listing shows included.
    pub(crate) fn of_files(files: &SkillFiles, name: &str) -> Self {
        let mut content = Content::default();
        content.read(files, "", 0);
        Self::of_content(content, name)
    }

    fn of_content(mut content: Content, name: &str) -> Self {
        content.files.sort_by(|(a, _), (b, _)| a.cmp(b));
        let mut text = SkillText::new(name);
        for (path, bytes) in &content.files {
            text = match std::str::from_utf8(bytes) {
                Ok(file) => text.file(path, file),
                Err(_) => text.binary(path),
            };
        }
        Self {
            report: linter().lint(&text),
            unsearched: content.unread,
            ..Self::default()
        }
    }

    #[cfg(feature = "install")]
    pub(crate) fn has_high(&self) -> bool {
        self.report.highest() == Some(Severity::High)
    }

    /// Returns the findings and what was not searched, as escaped lines. Findings of low severity
    /// are advice, of which only the number is said.
    #[cfg(feature = "install")]
    pub(crate) fn to_lines(&self) -> Vec<String> {
        let findings = self.report.findings().iter();
        let mut lines: Vec<String> = findings
            .filter(|finding| finding.severity() > Severity::Low)
            .map(|finding| {
                let (path, number) = (line(finding.path()), finding.line());
                format!("{path}:{number}: {}", message(finding))
            })
            .collect();
        lines.extend(self.script_problems.iter().cloned());
        lines.extend(self.advice(|_| true));
        lines.extend(self.notes());
        lines
    }

    /// Returns the number of findings of low severity that are not listed, if there are any.
    pub(crate) fn advice(&self, is_omitted: impl Fn(&Finding) -> bool) -> Option<String> {
        let findings = self.report.findings().iter();
        let is_low = |finding: &&Finding| finding.severity() == Severity::Low;
        let count = findings
            .filter(is_low)
            .filter(|finding| is_omitted(finding))
            .count();
        let findings = counted(count, "finding");
        (count > 0).then(|| format!("{findings} of low severity; `--json` lists them"))
    }

    /// Returns what is not among the findings.
    pub(crate) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.report.omitted() > 0 {
            notes.push(format!(
                "{} more findings of the same rules",
                self.report.omitted()
            ));
        }
        if self.unsearched > 0 {
            let files = counted(self.unsearched, "file");
            notes.push(format!(
                "{files} not searched, because of their size or number"
            ));
        }
        notes
    }

    #[cfg(feature = "install")]
    pub(crate) fn to_json(&self) -> Vec<Value> {
        self.report.findings().iter().map(to_json).collect()
    }
}

/// The files of a skill.
#[derive(Debug, Default)]
struct Content {
    files: Vec<(String, Vec<u8>)>,
    bytes: usize,
    unread: usize,
}

impl Content {
    fn read(&mut self, files: &SkillFiles, directory: &str, depth: usize) {
        let handle = if directory.is_empty() {
            files.directory().try_clone()
        } else {
            files.directory().open_dir(directory)
        };
        let Ok(entries) = handle.and_then(|handle| handle.entries()) else {
            self.unread += 1;
            return;
        };
        for entry in entries.flatten() {
            let Ok(kind) = entry.file_type() else {
                self.unread += 1;
                continue;
            };
            let Ok(name) = entry.file_name().into_string() else {
                self.unread += 1;
                continue;
            };
            let path = match directory {
                "" => name,
                directory => format!("{directory}/{name}"),
            };
            if kind.is_dir() {
                // The metadata of git is not part of a skill.
                if depth < MAX_DEPTH && path != ".git" {
                    self.read(files, &path, depth + 1);
                } else {
                    self.unread += usize::from(path != ".git");
                }
            } else if kind.is_file() {
                self.read_file(files, path);
            }
        }
    }

    fn read_file(&mut self, files: &SkillFiles, path: String) {
        let has_room = self.files.len() < MAX_FILES && self.bytes < MAX_BYTES;
        match has_room.then(|| files.read(&path, MAX_FILE_BYTES)) {
            Some(Ok(content)) => {
                self.bytes += content.len();
                self.files.push((path, content));
            }
            _ => self.unread += 1,
        }
    }
}

/// Returns what makes a script fail as one escaped line, with path and line.
pub(crate) fn script_line(problem: &ScriptProblem) -> String {
    let path = line(&problem.path);
    format!("{path}:{}: {}", problem.line, line(&problem.to_string()))
}

/// Returns a finding as one escaped sentence: rule and severity, why, quote, what to do.
pub(crate) fn message(finding: &Finding) -> String {
    let severity = finding.severity();
    let note = finding.note().map(|note| format!(", {note}"));
    let (rule, note) = (finding.rule(), note.unwrap_or_default());
    let (reason, quote, action) = (finding.reason(), line(finding.quote()), finding.action());
    format!("{rule} ({severity}{note}): {reason}: `{quote}`; {action}")
}

pub(crate) fn to_json(finding: &Finding) -> Value {
    json!({
        "rule": finding.rule(),
        "severity": finding.severity().as_str(),
        "path": finding.path(),
        "line": finding.line(),
        "quote": finding.quote(),
        "reason": finding.reason(),
        "action": finding.action(),
        "note": finding.note(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_or_a_severity_can_be_denied() {
        assert_eq!("high".parse(), Ok(Denied::Severity(Severity::High)));
        assert_eq!("pipe-to-shell".parse(), Ok(Denied::Rule("pipe-to-shell")));
        let error = "pipe".parse::<Denied>().unwrap_err();
        assert!(error.contains("pipe-to-shell"), "{error}");
    }
}
