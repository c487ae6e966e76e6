//! Malicious texts: half of them written before the rules and not used to make them.

use skills_lint::{Linter, Report, Severity, SkillText};

/// A planted skill.
pub(crate) struct Planted {
    pub(crate) title: String,
    name: String,
    files: Vec<(String, String)>,
}

/// Parses a file of planted skills: `=== TITLE` starts one, `@@ PATH` another file of it. Invisible
/// characters are written as `{U+200B}`.
pub(crate) fn parse(text: &str) -> Vec<Planted> {
    let parts = text.split("\n=== ");
    parts.map(parse_one).collect()
}

fn parse_one(part: &str) -> Planted {
    let part = part.trim_start_matches("=== ");
    let (title, rest) = part.split_once('\n').unwrap();
    let rest = unescape(rest);
    let mut files: Vec<(String, String)> = Vec::new();
    for (index, file) in rest.split("\n@@ ").enumerate() {
        if index == 0 {
            files.push(("SKILL.md".to_owned(), file.to_owned()));
        } else {
            let (path, content) = file.split_once('\n').unwrap();
            files.push((path.to_owned(), content.to_owned()));
        }
    }
    let name = rest.lines().find_map(|line| line.strip_prefix("name: "));
    Planted {
        title: title.to_owned(),
        name: name.unwrap_or_default().to_owned(),
        files,
    }
}

fn unescape(text: &str) -> String {
    let text = text.replace("{BLANKS}", &" ".repeat(400));
    let mut parts = text.split("{U+");
    let mut result = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (digits, rest) = part.split_once('}').unwrap();
        let code = u32::from_str_radix(digits, 16).unwrap();
        result.push(char::from_u32(code).unwrap());
        result.push_str(rest);
    }
    result
}

pub(crate) fn lint(linter: &Linter, planted: &Planted) -> Report {
    let mut text = SkillText::new(&planted.name);
    for (path, content) in &planted.files {
        text = text.file(path, content);
    }
    linter.lint(&text)
}

fn missed(text: &str) -> Vec<String> {
    let linter = Linter::new();
    let planted = parse(text);
    assert!(planted.len() >= 30);
    let missed = planted.iter().filter(|planted| {
        let report = lint(&linter, planted);
        report.highest() < Some(Severity::Medium)
    });
    missed.map(|planted| planted.title.clone()).collect()
}

#[test]
fn planted_texts_from_before_the_rules_are_found() {
    assert_eq!(
        missed(include_str!("planted/held-out.txt")),
        Vec::<String>::new()
    );
}

#[test]
fn planted_texts_that_the_rules_were_made_with_are_found() {
    assert_eq!(
        missed(include_str!("planted/known.txt")),
        Vec::<String>::new()
    );
}

/// Evasions whose titles start with `high:` are a download, decoded text or an archive with a
/// password, which `--deny high` has to stop, whatever is written around them.
#[test]
fn evasions_are_found_and_commands_keep_their_severity() {
    let text = include_str!("planted/evasions.txt");
    assert_eq!(missed(text), Vec::<String>::new());
    let linter = Linter::new();
    let lowered = parse(text).into_iter().filter(|planted| {
        planted.title.starts_with("high:")
            && lint(&linter, planted).highest() < Some(Severity::High)
    });
    let lowered: Vec<String> = lowered.map(|planted| planted.title).collect();
    assert_eq!(lowered, Vec::<String>::new());
}

#[test]
fn planted_downloads_decoders_and_archives_are_high() {
    let rules = ["pipe-to-shell", "decode-to-shell", "password-archive"];
    let linter = Linter::new();
    for text in [
        include_str!("planted/held-out.txt"),
        include_str!("planted/known.txt"),
    ] {
        for planted in parse(text) {
            let report = lint(&linter, &planted);
            let is_of_rule = report
                .findings()
                .iter()
                .any(|found| rules.contains(&found.rule()));
            if is_of_rule {
                assert_eq!(report.highest(), Some(Severity::High), "{}", planted.title);
            }
        }
    }
}
