//! Leading comments of scripts.

use crate::Language;

/// Maximum number of lines that are searched.
const MAX_LINES: usize = 60;
/// Starts of lines before which no code is run.
const SETTINGS: [&str; 3] = ["set -", "'use strict'", "\"use strict\""];
/// Starts of comments that are for tools, or license notices.
const OTHER_COMMENTS: [&str; 16] = [
    "shellcheck",
    "eslint",
    "@ts-",
    "spdx",
    "copyright",
    "license",
    "licensed",
    "-*-",
    "vim:",
    "coding",
    "type:",
    "noqa",
    "pylint",
    "prettier",
    "biome",
    "(c)",
];

/// Starts of comments that describe arguments.
const HEADINGS: [&str; 8] = [
    "@",
    "usage",
    "example",
    "options:",
    "arguments:",
    "args:",
    "requires:",
    "requirements:",
];

/// Returns the first paragraph of the comments before the code, without the name of the file.
pub(super) fn first_paragraph(source: &str, language: Language, stem: &str) -> Option<String> {
    let lines = without_metadata(comment_lines(source, language));
    let texts = lines.map(|line| without_label(without_file_name(line.trim(), stem)));
    let paragraph: Vec<&str> = texts
        .skip_while(|text| is_paragraph_end(text))
        .take_while(|text| !is_paragraph_end(text))
        .collect();
    (!paragraph.is_empty()).then(|| paragraph.join(" "))
}

/// Removes the metadata of a script, `# /// script`.
fn without_metadata(lines: Vec<&str>) -> impl Iterator<Item = &str> {
    let mut is_metadata = false;
    lines.into_iter().filter(move |line| {
        let is_fence = line.starts_with("///");
        is_metadata ^= is_fence;
        !is_fence && !is_metadata
    })
}

fn is_paragraph_end(text: &str) -> bool {
    text.is_empty() || is_other_comment(text) || starts_with_any(text, &HEADINGS)
}

fn without_label(text: &str) -> &str {
    match text.split_at_checked("description:".len()) {
        Some((label, rest)) if label.eq_ignore_ascii_case("description:") => rest.trim(),
        _ => text,
    }
}

/// Removes the name of the script from the start of its description, as in `now.sh - Says when.`.
pub(super) fn without_file_name<'a>(text: &'a str, stem: &str) -> &'a str {
    let Some(rest) = text.strip_prefix(stem).filter(|_| !stem.is_empty()) else {
        return text;
    };
    let separator = without_extension(rest).trim_start();
    let text_after = separator.trim_start_matches(['-', '—', '–', ':']);
    // Otherwise the name is the start of a sentence.
    if separator.is_empty() || text_after.len() < separator.len() {
        text_after.trim_start()
    } else {
        text
    }
}

fn without_extension(text: &str) -> &str {
    if !text.starts_with('.') {
        return text;
    }
    text.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '.')
}

/// Returns the leading comment lines without their markers.
fn comment_lines(source: &str, language: Language) -> Vec<&str> {
    let lines = source.trim_start_matches('\u{FEFF}').lines();
    let mut in_block = false;
    lines
        .take(MAX_LINES)
        .map(str::trim)
        .filter(|line| !line.starts_with("#!"))
        .map_while(|line| {
            let is_block_start = language == Language::JavaScript && line.starts_with("/*");
            let markers: &[char] = if in_block { &['*'] } else { &['/', '*'] };
            if in_block || is_block_start {
                in_block = !line.contains("*/");
                return Some(block_text(line, markers));
            }
            line_text(line, language)
        })
        .collect()
}

fn block_text<'a>(line: &'a str, markers: &[char]) -> &'a str {
    let text = line.split("*/").next().unwrap_or_default();
    text.trim_start_matches(markers).trim()
}

/// Returns the text of a comment, or nothing for an empty line and a setting such as `set -e`, which
/// comments often follow. `None` for code.
fn line_text(line: &str, language: Language) -> Option<&str> {
    if line.is_empty() || SETTINGS.iter().any(|start| line.starts_with(start)) {
        return Some("");
    }
    match language {
        Language::JavaScript => line.strip_prefix("//").map(str::trim),
        Language::Python | Language::Shell => {
            let text = line.strip_prefix('#')?;
            Some(text.trim_start_matches('#').trim())
        }
    }
}

fn is_other_comment(text: &str) -> bool {
    starts_with_any(text, &OTHER_COMMENTS) || !text.chars().any(char::is_alphanumeric)
}

/// Returns true if a text starts with one of these, in any case.
fn starts_with_any(text: &str, starts: &[&str]) -> bool {
    let lower = text.to_lowercase();
    starts.iter().any(|start| lower.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(source: &str, file: &str, expected: &str) {
        let found = first_paragraph(source, Language::of(file), crate::file_stem(file));
        assert_eq!(found.as_deref().unwrap_or("-"), expected, "{source}");
    }

    #[test]
    fn the_first_paragraph_of_the_leading_comments_is_found() {
        check(
            "#!/bin/bash\n# ==========\n# fetch.sh - Fetches pages\n# and more.\n#\n# Usage: fetch.sh URL\n",
            "fetch.sh",
            "Fetches pages and more.",
        );
        check(
            "#!/bin/sh\n# Copyright 2026 A.\n\nset -e\n# shellcheck disable=SC1\n# Says.\necho\n# no",
            "a.sh",
            "Says.",
        );
        check(
            "#!/usr/bin/env node\n/**\n * Counts words.\n * @param x\n */\nf()",
            "a.mjs",
            "Counts words.",
        );
        check("// One.\n// Two.\nimport 'x'", "a.ts", "One. Two.");
        check(
            "# /// script\n# dependencies = []\n# ///\n# Reads.\nx",
            "a.py",
            "Reads.",
        );
    }

    #[test]
    fn other_comments_are_no_description() {
        for source in [
            "",
            "echo\n# a",
            "# Usage: a.sh",
            "#!/bin/sh\n# a.sh\n",
            "# ----",
        ] {
            check(source, "a.sh", "-");
        }
    }

    #[test]
    fn the_name_of_a_file_is_removed() {
        for (text, expected) in [
            ("now.py - Says when.", "Says when."),
            ("now: Says when.", "Says when."),
            ("now.py", ""),
            ("now and then", "now and then"),
            ("nowhere - x", "nowhere - x"),
        ] {
            assert_eq!(without_file_name(text, "now"), expected, "{text}");
        }
    }
}
