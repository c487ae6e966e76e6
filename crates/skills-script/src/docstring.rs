//! Descriptions of scripts.

use skills_manifest::ScriptSpec;

use super::python_lexer::{Lexer, Token};
use super::{Language, stem, text::one_line};

/// Maximum length of the description of a tool, in characters.
pub(crate) const MAX_DESCRIPTION_CHARS: usize = 1024;
/// Number of lines of a shell script that are searched for a description.
const MAX_SHELL_LINES: usize = 20;

/// Returns the description of a script tool: one line of at most 1024 characters, without invisible
/// ones.
///
/// The first non-empty source is used: the skill's `scripts` block, the first line of the docstring
/// of a Python module, `# Description:` in the leading comments of Python or in the first 20 lines
/// of a shell script. The fallback is `Execute {script_name} from {skill_name}`, where the script's
/// name is the file name without extension, as in the tool's name.
pub(crate) fn tool_description(
    spec: Option<&ScriptSpec>,
    source: &str,
    language: Language,
    file: &str,
    skill: &str,
) -> String {
    let line =
        |text: String| Some(one_line(&text, MAX_DESCRIPTION_CHARS)).filter(|line| !line.is_empty());
    let docstring = || match language {
        Language::Python => docstring(source),
        Language::Shell => None,
    };
    let declared = spec.and_then(|spec| spec.description.clone());
    declared
        .and_then(line)
        .or_else(|| docstring().and_then(line))
        .or_else(|| {
            description_comment(source, language)
                .map(str::to_owned)
                .and_then(line)
        })
        .unwrap_or_else(|| {
            one_line(
                &format!("Execute {} from {skill}", stem(file)),
                MAX_DESCRIPTION_CHARS,
            )
        })
}

/// Returns the first non-empty line of a Python module's docstring. The first statement must
/// consist of string literals only; nothing is executed.
pub(crate) fn docstring(source: &str) -> Option<String> {
    let mut tokens = Lexer::new(source).skip_while(|token| *token == Token::Newline);
    let (mut open, mut text) = (0_usize, None::<String>);
    loop {
        match tokens.next() {
            Some(Token::Symbol('(')) if text.is_none() => open += 1,
            Some(Token::Symbol(')')) if text.is_some() && open > 0 => open -= 1,
            Some(Token::StringLiteral(more)) => text.get_or_insert_default().push_str(&more),
            Some(Token::Newline | Token::Symbol(';')) | None if open == 0 => break,
            // Anything else makes it an expression, such as a formatted string or a call, which
            // would need execution.
            _ => return None,
        }
    }
    text?
        .lines()
        .map(str::trim)
        .find(|line| !line.is_empty())
        .map(str::to_owned)
}

/// Returns the text after `# Description:`, in any case.
fn description_comment(source: &str, language: Language) -> Option<&str> {
    let lines = source.trim_start_matches('\u{FEFF}').lines().map(str::trim);
    match language {
        Language::Python => lines
            .take_while(|line| line.is_empty() || line.starts_with('#'))
            .find_map(parse_description_line),
        Language::Shell => lines.take(MAX_SHELL_LINES).find_map(parse_description_line),
    }
}

fn parse_description_line(line: &str) -> Option<&str> {
    let text = line.strip_prefix('#')?.trim_start_matches('#').trim_start();
    let (head, rest) = text.split_at_checked("description:".len())?;
    let rest = rest.trim();
    (head.eq_ignore_ascii_case("description:") && !rest.is_empty()).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(source: &str, expected: Option<&str>) {
        assert_eq!(docstring(source).as_deref(), expected, "{source:?}");
    }

    #[test]
    fn a_docstring_is_the_first_statement() {
        check(
            "\"\"\"Tells the weather.\n\nMore.\n\"\"\"\n",
            Some("Tells the weather."),
        );
        check(
            "\u{FEFF}#!/usr/bin/env python3\n# -*- coding: utf-8 -*-\n\n# why\n'''\n  Later.\n'''",
            Some("Later."),
        );
        check("r'a\\d' ; import os", Some("a\\d"));
        check("U\"a\" \\\n  'b'\nx", Some("ab"));
        check("('a'\n 'b')\n", Some("ab"));
        check("'a\\tb'", Some("a\tb"));
    }

    #[test]
    fn other_first_statements_are_not_docstrings() {
        for source in [
            "",
            "import os\n'x'",
            "f'x'",
            "b'x'",
            "'a' f'b'",
            "'a' + 'b'",
            "'a'.strip()",
            "'a' % 1",
            "x = 'a'",
            "('a'",
            "'a",
            "'''a",
        ] {
            check(source, None);
        }
        check("'''  \n '''", None);
    }

    #[test]
    fn comments_describe_scripts_without_a_docstring() {
        let describe = |source: &str, file: &str| {
            tool_description(None, source, Language::of(file), file, "weather")
        };
        assert_eq!(
            describe(
                "#!/bin/sh\n## DESCRIPTION:  Counts\u{200B} words \n",
                "count.sh"
            ),
            "Counts words"
        );
        assert_eq!(describe("# description: One\n'''Two'''", "a.py"), "Two");
        assert_eq!(
            describe("\n# coding: x\n# description: One\nimport os", "a.py"),
            "One"
        );
        assert_eq!(
            describe("import os\n# Description: One", "a.py"),
            "Execute a from weather"
        );
        assert_eq!(
            describe(&format!("{}# Description: One", "\n".repeat(19)), "a.sh"),
            "One"
        );
        assert_eq!(
            describe(&format!("{}# Description: One", "\n".repeat(20)), "a.sh"),
            "Execute a from weather"
        );
        assert_eq!(
            describe("# Description:\n'''  '''", "get.now.py"),
            "Execute get.now from weather"
        );
        assert_eq!(
            describe("'''Not shell'''", "a.sh"),
            "Execute a from weather"
        );
    }

    #[test]
    fn a_description_is_one_line_of_limited_length() {
        let source = format!("'''{}'''", "word\u{202E} ".repeat(1000));
        let line = tool_description(None, &source, Language::Python, "a.py", "s");
        assert_eq!(line.chars().count(), MAX_DESCRIPTION_CHARS);
        assert!(line.ends_with('…') && !line.contains('\u{202E}'), "{line}");
    }
}
