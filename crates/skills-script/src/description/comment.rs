//! Leading comments of scripts.

use crate::Language;

/// Maximum number of lines that are searched.
const MAX_LINES: usize = 60;
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

/// Returns the first paragraph of the comments before the code, without the name of the file.
pub(super) fn first_paragraph(source: &str, language: Language, stem: &str) -> Option<String> {
    let mut paragraph: Vec<&str> = Vec::new();
    let mut is_metadata = false;
    for line in comment_lines(source, language) {
        // The metadata of a script, `# /// script`.
        if line.starts_with("///") {
            is_metadata = !is_metadata;
            continue;
        }
        if is_metadata {
            continue;
        }
        let text = without_label(without_file_name(line.trim(), stem));
        let is_end = text.is_empty() || is_other_comment(text) || is_heading(text);
        match (is_end, paragraph.is_empty()) {
            (true, true) => {}
            (true, false) => break,
            (false, _) => paragraph.push(text),
        }
    }
    (!paragraph.is_empty()).then(|| paragraph.join(" "))
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
    let extension = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '.'));
    let rest = match (rest.starts_with('.'), extension) {
        (true, Some(end)) => &rest[end..],
        (true, None) => "",
        (false, _) => rest,
    };
    let separator = rest.trim_start();
    let text_after = separator.trim_start_matches(['-', '—', '–', ':']);
    // Otherwise the name is the start of a sentence.
    if separator.is_empty() || text_after.len() < separator.len() {
        text_after.trim_start()
    } else {
        text
    }
}

/// Returns the leading comment lines without their markers.
fn comment_lines(source: &str, language: Language) -> Vec<&str> {
    let lines = source
        .trim_start_matches('\u{FEFF}')
        .lines()
        .take(MAX_LINES);
    let mut found = Vec::new();
    let mut in_block = false;
    for line in lines.map(str::trim) {
        let is_javascript = language == Language::JavaScript;
        if line.starts_with("#!") {
            continue;
        }
        if in_block {
            in_block = !line.contains("*/");
            let text = line.split("*/").next().unwrap_or_default();
            found.push(text.trim_start_matches('*').trim());
        } else if line.is_empty() {
            found.push("");
        } else if is_javascript && line.starts_with("/*") {
            in_block = !line.contains("*/");
            let text = line.split("*/").next().unwrap_or_default();
            found.push(text.trim_start_matches(['/', '*']).trim());
        } else if let Some(text) = line.strip_prefix("//").filter(|_| is_javascript) {
            found.push(text.trim());
        } else if let Some(text) = line.strip_prefix('#').filter(|_| !is_javascript) {
            found.push(text.trim_start_matches('#').trim());
        } else if is_setting(line) {
            // Comments often follow settings such as `set -e`.
            found.push("");
        } else {
            break;
        }
    }
    found
}

fn is_setting(line: &str) -> bool {
    line.starts_with("set -")
        || line.starts_with("'use strict'")
        || line.starts_with("\"use strict\"")
}

fn is_other_comment(text: &str) -> bool {
    let lower = text.to_lowercase();
    OTHER_COMMENTS.iter().any(|start| lower.starts_with(start))
        || !text.chars().any(char::is_alphanumeric)
}

/// Returns true if a line starts the description of arguments.
fn is_heading(text: &str) -> bool {
    let lower = text.to_lowercase();
    text.starts_with('@')
        || [
            "usage",
            "example",
            "options:",
            "arguments:",
            "args:",
            "requires:",
            "requirements:",
        ]
        .iter()
        .any(|start| lower.starts_with(start))
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
