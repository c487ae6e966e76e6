//! Searches the text of a skill by all rules.

use std::collections::BTreeSet;

use regex::{Captures, Match};
use skills_manifest::Document;

use crate::context::{Lowered, Source, is_about_security, lowered};
use crate::finding::{Finding, Severity};
use crate::near::{self, Half};
use crate::patterns::{Effect, Pattern, PatternSet, Scope, Signal};
use crate::report::Report;
use crate::rule::{HIDDEN_TEXT, Rule, UNTRUSTED_PACKAGES};
use crate::rules;
use crate::skill_text::{File, SkillText};
use crate::view::{Unit, View, Views, is_markdown};
use crate::words::is_harmless_address;
use crate::{command, hidden, names, opaque};

/// Maximum number of matches of one pattern that are examined in one unit, since the first can be a
/// harmless one.
const MAX_ATTEMPTS: usize = 16;
/// Maximum number of bytes of a match in a line that no person wrote, where words have nothing to
/// do with each other.
const MAX_MATCH_OF_MACHINES: usize = 600;
/// Maximum number of bytes of a line that a person wrote.
const MAX_LINE_OF_PEOPLE: usize = 20_000;
/// Maximum number of findings of one severity that are kept of a file before the report is made.
const MAX_OF_FILE: usize = 1000;

/// The rules, compiled. Expensive to create (some 10 ms), cheap to use; can be shared by threads.
#[derive(Debug)]
pub struct Linter {
    lines: PatternSet,
    prose: PatternSet,
}

impl Default for Linter {
    fn default() -> Self {
        Self::new()
    }
}

/// What is known of the skill as a whole.
struct Skill {
    is_about_security: bool,
}

/// The findings of one file.
#[derive(Default)]
struct Found {
    findings: Vec<Finding>,
    halves: Vec<Half>,
    /// Number of findings by severity.
    kept: [usize; Severity::ALL.len()],
    omitted: usize,
}

impl Linter {
    /// Compiles all rules.
    #[must_use]
    pub fn new() -> Self {
        let of = |scope: Scope| rules::sources().filter(move |source| source.scope == scope);
        Self {
            lines: PatternSet::new(of(Scope::Lines)),
            prose: PatternSet::new(of(Scope::Prose)),
        }
    }

    /// Searches all files of a skill. Two findings of a rule are never on the same line of a file.
    pub fn lint(&self, skill: &SkillText<'_>) -> Report {
        let (name, description, main) = identity(skill);
        let known = Skill {
            is_about_security: is_about_security(&name, &description),
        };
        let mut findings = Vec::new();
        let mut omitted = 0;
        let (path, line) = main;
        findings.extend(names::finding(&name, path, line));
        for file in &skill.files {
            findings.extend(opaque::finding(file.path));
            if let Some(text) = file.text {
                let found = self.lint_file(file, text, &known);
                findings.extend(found.findings);
                omitted += found.omitted;
            }
        }
        Report::new(findings, omitted)
    }

    fn lint_file(&self, file: &File<'_>, text: &str, skill: &Skill) -> Found {
        let views = Views::new(file.path, text);
        let search = FileSearch {
            source: Source {
                text,
                headings: &views.headings,
            },
            file,
            skill,
        };
        let mut found = Found::default();
        // The second half of a finding is common, and of interest only with the first.
        let mut deferred = Vec::new();
        self.lines.candidates(&views.lines, |pattern, unit| {
            if let Effect::Signal(signal) = self.lines.patterns[pattern].effect
                && near::is_second(signal)
            {
                deferred.push((signal, pattern, unit));
                return;
            }
            search.run(
                &self.lines.patterns[pattern],
                &views.lines,
                unit,
                &mut found,
            );
        });
        self.prose.candidates(&views.prose, |pattern, unit| {
            search.run(
                &self.prose.patterns[pattern],
                &views.prose,
                unit,
                &mut found,
            );
        });
        deferred.retain(|(signal, ..)| {
            let mut halves = found.halves.iter();
            halves.any(|half| near::is_pair(half.signal, *signal))
        });
        for (_, pattern, unit) in deferred {
            search.run(
                &self.lines.patterns[pattern],
                &views.lines,
                unit,
                &mut found,
            );
        }
        found.halves.sort_by_key(|half| half.line);
        for pair in near::pairs(&found.halves) {
            let quote = views.lines.text_of(&views.lines.units[pair.half.unit]);
            let finding = Finding::new(pair.rule, pair.severity, file.path, pair.half.line, quote);
            found.push(finding);
        }
        for finding in hidden::findings(file, text) {
            found.push(finding);
        }
        found.deduplicated()
    }
}

impl Found {
    /// Keeps a finding. Each severity has a limit of its own, so that many findings of low severity
    /// hide no other.
    fn push(&mut self, finding: Finding) {
        let kept = &mut self.kept[finding.severity() as usize];
        if *kept < MAX_OF_FILE {
            *kept += 1;
            self.findings.push(finding);
        } else {
            self.omitted += 1;
        }
    }

    /// Keeps the most severe finding of a rule on a line.
    fn deduplicated(mut self) -> Self {
        self.findings
            .sort_by_key(|finding| std::cmp::Reverse(finding.severity()));
        let mut known: BTreeSet<(&str, usize)> = BTreeSet::new();
        self.findings
            .retain(|finding| known.insert((finding.rule(), finding.line())));
        self
    }
}

/// Returns name and description of a skill, and where its name is.
fn identity<'a>(skill: &SkillText<'a>) -> (String, String, (&'a str, usize)) {
    let is_main = |file: &&File<'_>| file.path.eq_ignore_ascii_case("SKILL.md");
    let main = skill.files.iter().find(is_main);
    let path = main.map_or("SKILL.md", |file| file.path);
    let text = main.and_then(|file| file.text).unwrap_or_default();
    let Ok(document) = Document::parse(text.as_bytes()) else {
        return (skill.name.to_owned(), String::new(), (path, 1));
    };
    let manifest = document.manifest();
    let name = manifest.name().map_or(skill.name, |name| name.as_str());
    let line = document.field_line("name").unwrap_or(1);
    (
        name.to_owned(),
        manifest.description().to_owned(),
        (path, line),
    )
}

/// Searches the text of one file.
struct FileSearch<'a> {
    source: Source<'a>,
    file: &'a File<'a>,
    skill: &'a Skill,
}

impl FileSearch<'_> {
    /// Returns true for sentences in programs and data, which are not instructions, and for styles
    /// in code: a page shows all of it, and user interfaces hide parts of themselves.
    fn is_beside(&self, rule: &'static Rule, scope: Scope, unit: &Unit) -> bool {
        let path = self.file.path;
        let is_long = unit.end - unit.start > MAX_LINE_OF_PEOPLE && !is_markdown(path);
        let is_sentence = scope == Scope::Prose && (is_program(path) || is_long);
        is_sentence || (*rule == HIDDEN_TEXT && unit.surroundings.is_code)
    }

    /// Searches one unit of a view for one pattern.
    fn run(&self, pattern: &Pattern, view: &View, index: usize, found: &mut Found) {
        let Some(regex) = pattern.regex.get() else {
            return;
        };
        let unit = &view.units[index];
        let text = view.text_of(unit);
        let mut start = 0;
        for _ in 0..MAX_ATTEMPTS {
            let Some(captures) = regex.captures_at(text, start) else {
                return;
            };
            let Some(whole) = captures.get(0) else {
                return;
            };
            start = next_start(text, &whole);
            if whole.len() > MAX_MATCH_OF_MACHINES && is_of_machine(self.file.path, text) {
                continue;
            }
            if is_harmless(&captures) {
                continue;
            }
            let lowered = lowered(
                &self.source,
                view,
                unit,
                &whole.range(),
                pattern.excuse,
                self.skill.is_about_security,
            );
            let line = view.line_at(unit.start + whole.start());
            match pattern.effect {
                Effect::Signal(Signal::Download) if command::is_known_download(text) => {}
                Effect::Signal(signal) => {
                    found.halves.push(Half {
                        signal,
                        unit: index,
                        line,
                        steps: lowered.steps,
                        is_code: unit.surroundings.is_code,
                        name: captures.name("name").map(|name| base_name(name.as_str())),
                    });
                    if captures.name("name").is_none() {
                        return;
                    }
                }
                Effect::Finding(rule, severity) => {
                    let (mut severity, mut note) = judged(rule, severity, lowered, &captures, text);
                    if severity == Severity::Medium && self.is_beside(rule, pattern.scope, unit) {
                        severity = Severity::Low;
                        note = "low, since no reader of the skill is shown it";
                    }
                    let quote = quote(text, &whole);
                    let finding =
                        Finding::new(rule, severity, self.file.path, line, quote).with_note(note);
                    found.push(finding);
                    // Another match on the line can only be worse if this one was excused.
                    if note.is_empty() {
                        return;
                    }
                }
            }
            if start >= text.len() {
                return;
            }
        }
    }
}

/// Extensions of the source code of programs.
const PROGRAMS: [&str; 24] = [
    "py", "js", "mjs", "cjs", "ts", "tsx", "jsx", "go", "rs", "java", "rb", "php", "c", "cpp", "h",
    "cs", "swift", "kt", "sh", "bash", "zsh", "ps1", "bat", "lua",
];

fn is_program(path: &str) -> bool {
    let extension = path.rsplit_once('.').map_or("", |(_, extension)| extension);
    PROGRAMS
        .iter()
        .any(|known| extension.eq_ignore_ascii_case(known))
}

/// Returns true for lines that no person wrote: minified programs and data.
fn is_of_machine(path: &str, line: &str) -> bool {
    let extension = path.rsplit_once('.').map_or("", |(_, extension)| extension);
    let is_minified = ["js", "mjs", "cjs"].contains(&extension);
    is_minified || (line.len() > MAX_LINE_OF_PEOPLE && !is_markdown(path))
}

/// Returns the last part of a path, without quotes; names of variables are one part.
fn base_name(path: &str) -> String {
    let bare = path.trim_matches(['"', '\'', '{', '}']);
    bare.rsplit('/').next().unwrap_or(bare).to_owned()
}

fn next_start(text: &str, whole: &Match<'_>) -> usize {
    let mut next = whole.end().max(whole.start() + 1);
    while !text.is_char_boundary(next) {
        next += 1;
    }
    next.min(text.len())
}

/// Returns true for matches with an address that is not one of the Internet.
fn is_harmless(captures: &Captures<'_>) -> bool {
    let address = captures.name("ip");
    address.is_some_and(|address| is_harmless_address(address.as_str()))
}

/// Returns the severity with what the command says of itself, and what surrounds the match.
fn judged(
    rule: &'static Rule,
    severity: Severity,
    lowered: Lowered,
    captures: &Captures<'_>,
    text: &str,
) -> (Severity, &'static str) {
    if *rule == UNTRUSTED_PACKAGES {
        let registry = captures
            .name("registry")
            .or_else(|| captures.name("registry2"));
        if registry.is_some_and(|registry| is_usual_registry(registry.as_str())) {
            return (Severity::Low, "low, since it is a usual registry");
        }
    }
    let by_words = (severity.lowered(lowered.steps), lowered.note);
    let matched = captures.get(0).map_or("", |whole| whole.as_str());
    match command::judged(rule, severity, matched, text) {
        Some(by_command) if by_command.0 <= by_words.0 => by_command,
        _ => by_words,
    }
}

fn is_usual_registry(host: &str) -> bool {
    let usual = [
        "pypi.org",
        "files.pythonhosted.org",
        "download.pytorch.org",
        "registry.npmjs.org",
        "registry.npmmirror.com",
        "pypi.tuna.tsinghua.edu.cn",
        "mirrors.aliyun.com",
        "pypi.nvidia.com",
        "npm.pkg.github.com",
        "registry.yarnpkg.com",
        "mirrors.cloud.tencent.com",
        "repo.huaweicloud.com",
        "localhost",
        "pypi.anaconda.org",
        "wheels.vllm.ai",
        "pypi.mirrors.ustc.edu.cn",
    ];
    let host = host
        .split(':')
        .next()
        .unwrap_or_default()
        .trim_start_matches("www.");
    usual.iter().any(|known| {
        let below = host.strip_suffix(known);
        host.eq_ignore_ascii_case(known) || below.is_some_and(|below| below.ends_with('.'))
    })
}

/// Returns a match with what is around it, so that the quote can be understood.
fn quote<'a>(text: &'a str, whole: &Match<'_>) -> &'a str {
    let before = text[..whole.start()].char_indices().rev().take(24).last();
    let mut start = before.map_or(whole.start(), |(index, _)| index);
    // Not in the middle of a word.
    if start > 0
        && let Some(space) = text[start..whole.start()].find(' ')
    {
        start += space + 1;
    }
    &text[start..]
}
