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
    assert_eq!(planted.len(), 30);
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
