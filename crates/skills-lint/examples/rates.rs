//! Prints how many skills of a collection have findings: `cargo run -p skills-lint --profile bench
//! --example rates -- DIR [SEVERITY]`. With a severity it lists the findings of at least that one.
#![expect(
    clippy::disallowed_methods,
    reason = "a tool for developers reads the directory that it is given"
)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use skills_lint::{Linter, Severity, SkillText};

/// Files that are larger are not read, as in the command.
const MAX_FILE_BYTES: u64 = 1 << 20;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let directory = PathBuf::from(arguments.next().unwrap_or_else(|| ".".to_owned()));
    let shown: Option<Severity> = arguments.next().and_then(|text| text.parse().ok());
    let linter = Linter::new();
    let mut skills = Vec::new();
    find_skills(&directory, &mut skills);
    skills.sort();
    let mut totals = Totals::default();
    for skill in &skills {
        totals.add(&linter, skill, &directory, shown);
    }
    totals.print(skills.len());
}

#[derive(Default)]
struct Totals {
    by_severity: BTreeMap<Severity, usize>,
    high_by_rule: BTreeMap<&'static str, usize>,
    bytes: usize,
    time: Duration,
}

impl Totals {
    fn add(&mut self, linter: &Linter, skill: &Path, directory: &Path, shown: Option<Severity>) {
        let mut files = Vec::new();
        read_files(skill, skill, &mut files);
        let name = skill.file_name().unwrap_or_default().to_string_lossy();
        let mut text = SkillText::new(&name);
        for (path, content) in &files {
            text = match std::str::from_utf8(content) {
                Ok(content) => text.file(path, content),
                Err(_) => text.binary(path),
            };
            self.bytes += content.len();
        }
        let start = Instant::now();
        let report = linter.lint(&text);
        self.time += start.elapsed();
        if let Some(highest) = report.highest() {
            *self.by_severity.entry(highest).or_default() += 1;
        }
        let mut rules: Vec<&str> = Vec::new();
        for finding in report.findings() {
            if finding.severity() == Severity::High && !rules.contains(&finding.rule()) {
                rules.push(finding.rule());
                *self.high_by_rule.entry(finding.rule()).or_default() += 1;
            }
            if shown.is_some_and(|shown| finding.severity() >= shown) {
                let place = skill.strip_prefix(directory).unwrap_or(skill).display();
                let (rule, severity) = (finding.rule(), finding.severity());
                let quote = finding.quote().escape_debug();
                println!(
                    "{place}\t{}:{}\t{rule}\t{severity}\t{quote}",
                    finding.path(),
                    finding.line()
                );
            }
        }
    }

    fn print(&self, skills: usize) {
        let share = |count: usize| 100.0 * count as f64 / skills.max(1) as f64;
        println!(
            "{skills} skills, {} bytes each on average",
            self.bytes / skills.max(1)
        );
        for severity in Severity::ALL.into_iter().rev() {
            let count = self.by_severity.get(&severity).copied().unwrap_or_default();
            println!(
                "highest finding {severity}: {count} ({:.1} %)",
                share(count)
            );
        }
        for (rule, count) in &self.high_by_rule {
            println!("  high {rule}: {count}");
        }
        let each = self.time.as_secs_f64() * 1e6 / skills.max(1) as f64;
        println!("{each:.0} µs for each skill on average");
    }
}

fn find_skills(directory: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(directory) else {
        return;
    };
    for entry in entries.flatten() {
        let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_directory && entry.file_name() != ".git" {
            find_skills(&entry.path(), found);
        } else if entry.file_name().eq_ignore_ascii_case("SKILL.md") {
            found.push(directory.to_owned());
        }
    }
}

fn read_files(directory: &Path, skill: &Path, files: &mut Vec<(String, Vec<u8>)>) {
    let Ok(entries) = std::fs::read_dir(directory) else {
        return;
    };
    for entry in entries.flatten() {
        let path = entry.path();
        let Ok(kind) = entry.file_type() else {
            continue;
        };
        if kind.is_dir() && entry.file_name() != ".git" {
            read_files(&path, skill, files);
        } else if kind.is_file()
            && entry
                .metadata()
                .is_ok_and(|file| file.len() <= MAX_FILE_BYTES)
        {
            let shown = path
                .strip_prefix(skill)
                .unwrap_or(&path)
                .to_string_lossy()
                .into_owned();
            files.extend(std::fs::read(&path).ok().map(|content| (shown, content)));
        }
    }
}
