//! Prints how many skills of a collection have findings: `cargo run -p skills-lint --profile bench
//! --example rates -- DIR [SEVERITY [SAMPLE SEED]]`. With a severity it lists the findings of at
//! least that one; with a sample those of as many random skills among the skills that have any.
#![expect(
    clippy::disallowed_methods,
    reason = "a tool for developers reads the directory that it is given"
)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use skills_lint::{Linter, Severity, SkillText};

/// Files that are larger are not read, as in the command.
const MAX_FILE_BYTES: u64 = 4 << 20;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let directory = PathBuf::from(arguments.next().unwrap_or_else(|| ".".to_owned()));
    let shown: Option<Severity> = arguments.next().and_then(|text| text.parse().ok());
    let sample: Option<usize> = arguments.next().and_then(|text| text.parse().ok());
    let seed: u64 = arguments
        .next()
        .and_then(|text| text.parse().ok())
        .unwrap_or(1);
    let linter = Linter::new();
    let mut skills = Vec::new();
    find_skills(&directory, &mut skills);
    skills.sort();
    let mut totals = Totals::default();
    for skill in &skills {
        totals.add(&linter, skill, &directory, shown);
    }
    let listed = totals.listed.len();
    for lines in sampled(
        std::mem::take(&mut totals.listed),
        sample.unwrap_or(listed),
        seed,
    ) {
        print!("{lines}");
    }
    totals.print(skills.len());
}

/// Returns as many elements as wanted, chosen by the seed, in their order.
fn sampled(listed: Vec<String>, count: usize, seed: u64) -> Vec<String> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut keyed: Vec<(u64, usize, String)> = Vec::new();
    for (index, lines) in listed.into_iter().enumerate() {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        keyed.push((state, index, lines));
    }
    keyed.sort();
    keyed.truncate(count);
    keyed.sort_by_key(|(_, index, _)| *index);
    keyed.into_iter().map(|(_, _, lines)| lines).collect()
}

#[derive(Default)]
struct Totals {
    by_severity: BTreeMap<Severity, usize>,
    /// Number of skills by rule, with a finding of at least medium severity.
    by_rule: BTreeMap<(Severity, &'static str), usize>,
    /// The listed findings of each skill that has any.
    listed: Vec<String>,
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
        let mut rules: Vec<(Severity, &str)> = Vec::new();
        let mut listed = String::new();
        for finding in report.findings() {
            let (rule, severity) = (finding.rule(), finding.severity());
            if severity >= Severity::Medium && !rules.contains(&(severity, rule)) {
                rules.push((severity, rule));
                *self.by_rule.entry((severity, rule)).or_default() += 1;
            }
            if shown.is_some_and(|shown| severity >= shown) {
                let place = skill.strip_prefix(directory).unwrap_or(skill).display();
                let quote = finding.quote().escape_debug();
                let (path, line) = (finding.path(), finding.line());
                listed += &format!("{place}\t{path}:{line}\t{rule}\t{severity}\t{quote}\n");
            }
        }
        if !listed.is_empty() {
            self.listed.push(listed);
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
        for ((severity, rule), count) in self.by_rule.iter().rev() {
            println!("  {severity} {rule}: {count}");
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
