//! Checks that a translated page shows the same commands as the original.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

/// Translated pages, each with its original.
const TRANSLATIONS: [(&str, &str); 1] = [("README.zh.md", "README.md")];

/// Compares the commands of all translated pages with those of their originals.
pub(crate) fn problems(root: &Path) -> Result<Vec<String>> {
    let mut problems = Vec::new();
    for (translation, original) in TRANSLATIONS {
        let difference = first_difference(&read(root, original)?, &read(root, translation)?);
        problems.extend(difference.map(|difference| {
            format!("{translation}: the commands are not those of {original}: {difference}")
        }));
    }
    Ok(problems)
}

fn read(root: &Path, page: &str) -> Result<String> {
    fs::read_to_string(root.join(page)).with_context(|| format!("cannot read {page}"))
}

/// Returns the first difference between the commands of two pages, if any.
fn first_difference(original: &str, translation: &str) -> Option<String> {
    let expected = commands(original);
    let actual = commands(translation);
    let index =
        (0..expected.len().max(actual.len())).find(|&i| expected.get(i) != actual.get(i))?;
    Some(format!(
        "expected {}, found {}",
        quote(expected.get(index)),
        quote(actual.get(index))
    ))
}

fn quote(command: Option<&&str>) -> String {
    command.map_or_else(|| "nothing".to_owned(), |command| format!("`{command}`"))
}

/// Returns the terminal lines of a page, in order: `sh` blocks without their comments, which are
/// translated, and all lines of `console` blocks, since output is not translated.
fn commands(page: &str) -> Vec<&str> {
    let mut block = None;
    let mut commands = Vec::new();
    for line in page.lines() {
        if let Some(language) = line.strip_prefix("```") {
            block = match block {
                None => Some(language),
                Some(_) => None,
            };
            continue;
        }
        match block {
            Some("sh") => commands.push(without_comment(line)),
            Some("console") => commands.push(line.trim_end()),
            _ => {}
        }
    }
    commands.retain(|line| !line.is_empty());
    commands
}

/// Removes a comment: `#` at the start of the line or after a space.
fn without_comment(line: &str) -> &str {
    let command = if line.starts_with('#') { "" } else { line };
    command
        .split_once(" #")
        .map_or(command, |(command, _)| command)
        .trim_end()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ORIGINAL: &str = "Run\n```sh\nskills list   # all of them\n```\n```rust\nlet x = 1;\n```\n```console\n$ skills list\na  b\n```\n";

    #[test]
    fn prose_comments_and_code_may_differ() {
        let translation =
            "运行\n```sh\nskills list  # 全部\n\n```\n```console\n$ skills list\na  b\n```\n";
        assert_eq!(first_difference(ORIGINAL, translation), None);
        assert_eq!(commands(ORIGINAL), ["skills list", "$ skills list", "a  b"]);
    }

    #[test]
    fn changed_missing_and_additional_commands_are_reported() {
        let difference = |from: &str, to: &str| {
            first_difference(ORIGINAL, &ORIGINAL.replace(from, to)).unwrap_or_default()
        };
        assert_eq!(
            difference("$ skills list\n", "$ skills ls\n"),
            "expected `$ skills list`, found `$ skills ls`"
        );
        assert_eq!(difference("\na  b", ""), "expected `a  b`, found nothing");
        assert_eq!(
            difference("a  b\n", "a  b\nc\n"),
            "expected nothing, found `c`"
        );
        assert_eq!(
            difference("list   #", "ls #"),
            "expected `skills list`, found `skills ls`"
        );
    }
}
