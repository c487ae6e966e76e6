//! Descriptions of scripts.

mod command_docstring;
mod comment;

use skills_manifest::ScriptSpec;

use crate::argument::{ArgumentSpec, ExtraArguments, InputConvention};
use crate::infer::usage;
use crate::source::{MAX_SOURCE_BYTES, PythonLexer, Token, Tokens};
use crate::text::one_line;
use crate::{Language, file_stem, schema, stem};

/// Maximum length of the description of a tool, in characters.
pub(crate) const MAX_DESCRIPTION_CHARS: usize = 1024;
/// Maximum length of the usage text in it, in characters.
const MAX_USAGE_CHARS: usize = 300;
/// Number of lines of a shell script that are searched for a description.
const MAX_SHELL_LINES: usize = 20;

/// Returns the description of a script tool: one line of at most 1024 characters, without invisible
/// ones.
///
/// The first non-empty source is used: the skill's `scripts` block, the first line of the docstring
/// of a Python module, `# Description:` in the leading comments or in the first 20 lines of a shell
/// script, the description that the script gives its parser, or the docstring of its `click` or
/// `typer` command, the first paragraph of the leading comments. The fallback is `Execute {script_name} from {skill_name}`, where the script's name is
/// the file name without extension, as in the tool's name.
///
/// If the schema does not say everything, the usage text of the script follows, and the sentence
/// that says how arguments reach it.
pub(crate) fn tool_description(
    spec: Option<&ScriptSpec>,
    source: &str,
    file: &str,
    skill: &str,
    arguments: &ArgumentSpec,
) -> String {
    let end = description_end(source, file, arguments);
    // A full stop may be added before it.
    let end_chars = end.chars().count() + usize::from(!end.is_empty());
    let max_chars = MAX_DESCRIPTION_CHARS.saturating_sub(end_chars);
    let line = |text: &str| Some(one_line(text, max_chars)).filter(|line| !line.is_empty());
    let declared = spec.and_then(|spec| spec.description.as_deref());
    let text = declared
        .and_then(line)
        .or_else(|| line(&described_in_source(source, file)?))
        .unwrap_or_else(|| one_line(&format!("Execute {} from {skill}", stem(file)), max_chars));
    if end.is_empty() || text.ends_with(['.', '!', '?', '…', '。']) {
        return text + &end;
    }
    format!("{text}.{end}")
}

/// Returns the usage text, and the sentence that says how arguments reach the script.
fn description_end(source: &str, file: &str, arguments: &ArgumentSpec) -> String {
    let mut end = usage_text(source, file, arguments);
    if let Some(sentence) = schema::input_sentence(arguments) {
        end.push(' ');
        end.push_str(sentence);
    }
    end
}

/// Returns what the text of a script says about it.
fn described_in_source(source: &str, file: &str) -> Option<String> {
    let language = Language::of(file);
    let docstring = match language {
        Language::Python => docstring(source),
        Language::JavaScript | Language::Shell => None,
    };
    docstring
        .or_else(|| description_comment(source, language).map(str::to_owned))
        .map(|text| comment::without_file_name(&text, file_stem(file)).to_owned())
        .filter(|text| !text.is_empty())
        .or_else(|| parser_description(source, language))
        .or_else(|| comment::first_paragraph(source, language, file_stem(file)))
}

/// Returns the usage text, if the arguments are open.
fn usage_text(source: &str, file: &str, arguments: &ArgumentSpec) -> String {
    let is_open =
        arguments.extra == ExtraArguments::Accepted && arguments.input == InputConvention::Words;
    if !is_open || source.len() > MAX_SOURCE_BYTES {
        return String::new();
    }
    let name = file.rsplit('/').next().unwrap_or(file);
    let forms: Vec<String> = usage::forms(source, file_stem(file))
        .iter()
        .filter(|form| !form.is_empty())
        .map(|form| format!("{name} {form}"))
        .collect();
    let line = one_line(&forms.join(" | "), MAX_USAGE_CHARS);
    match forms.as_slice() {
        [] => String::new(),
        _ if line.ends_with('.') => format!(" Usage: {line}"),
        _ => format!(" Usage: {line}."),
    }
}

/// Returns the description that a script gives its parser of arguments.
fn parser_description(source: &str, language: Language) -> Option<String> {
    if source.len() > MAX_SOURCE_BYTES {
        return None;
    }
    let has = |word| source.contains(word);
    let text = match language {
        Language::Python if has("ArgumentParser") => argparse_description(&Tokens::python(source)),
        Language::Python if has("click") || has("typer") => {
            command_docstring::find(&Tokens::python(source))
        }
        Language::Python => None,
        Language::JavaScript if has("commander") && has("description") => {
            commander_description(&Tokens::javascript(source))
        }
        Language::JavaScript | Language::Shell => None,
    };
    text.filter(|text| !text.trim().is_empty())
}

fn argparse_description(tokens: &Tokens<'_>) -> Option<String> {
    let at = tokens
        .indices()
        .find(|at| tokens.is_name(*at, "ArgumentParser"))?;
    tokens.call_at(at)?.call.keywords.text("description")
}

fn commander_description(tokens: &Tokens<'_>) -> Option<String> {
    let call = tokens.method_calls(&["description"]).next()?;
    call.call.value_text(0)
}

/// Returns the first non-empty line of a Python module's docstring.
pub(crate) fn docstring(source: &str) -> Option<String> {
    let text = first_string_statement(source)?;
    let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    Some(line.to_owned())
}

/// Returns the text of the first statement. It must consist of string literals only; nothing is
/// executed.
fn first_string_statement(source: &str) -> Option<String> {
    let mut tokens = PythonLexer::new(source).skip_while(|token| *token == Token::Newline);
    let (mut open, mut text) = (0_usize, None::<String>);
    loop {
        match tokens.next() {
            Some(Token::Symbol('(')) if text.is_none() => open += 1,
            Some(Token::Symbol(')')) if text.is_some() && open > 0 => open -= 1,
            Some(Token::StringLiteral(more)) => text.get_or_insert_default().push_str(&more),
            Some(Token::Newline | Token::Symbol(';')) | None if open == 0 => return text,
            // Anything else makes it an expression, such as a formatted string or a call, which
            // would need execution.
            _ => return None,
        }
    }
}

/// Returns the text after `# Description:`, in any case.
fn description_comment(source: &str, language: Language) -> Option<&str> {
    let lines = source.trim_start_matches('\u{FEFF}').lines().map(str::trim);
    let is_comment = |line: &str| match language {
        Language::Python => line.starts_with('#'),
        _ => line.starts_with("//") || line.starts_with("#!"),
    };
    match language {
        Language::Shell => lines.take(MAX_SHELL_LINES).find_map(parse_description_line),
        _ => lines
            .take_while(|line| line.is_empty() || is_comment(line))
            .find_map(parse_description_line),
    }
}

fn parse_description_line(line: &str) -> Option<&str> {
    let text = line.strip_prefix('#').or_else(|| line.strip_prefix("//"))?;
    let text = text.trim_start_matches('#').trim_start();
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
        let closed = ArgumentSpec::declared(Vec::new());
        let describe =
            |source: &str, file: &str| tool_description(None, source, file, "weather", &closed);
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
            describe(
                &format!("echo{}# Description: One", "\n".repeat(19)),
                "a.sh"
            ),
            "One"
        );
        assert_eq!(
            describe(
                &format!("echo{}# Description: One", "\n".repeat(20)),
                "a.sh"
            ),
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
    fn docstrings_of_commands_describe_scripts() {
        let closed = ArgumentSpec::declared(Vec::new());
        let describe = |source: &str| tool_description(None, source, "a.py", "weather", &closed);
        let click = "import click\n@click.command()\n@click.option('--n')\ndef main(n: int) -> None:\n    \"\"\"\n    Counts words.\n\n    More.\n    \"\"\"\n    run(n)\n";
        assert_eq!(describe(click), "Counts words.");
        assert_eq!(
            describe(&click.replace("command()", "command(help='Helps.')")),
            "Helps."
        );
        let group = format!(
            "{}@main.command()\ndef add():\n  'Adds.'\n",
            click.replace("command", "group")
        );
        assert_eq!(describe(&group), "Counts words.");
        assert_eq!(
            describe("import typer\ndef main(n: int):\n  'Sums.'\ntyper.run(main)\n"),
            "Sums."
        );
        let app = "import typer\napp = typer.Typer()\n@app.command()\ndef one():\n  'One.'\n";
        assert_eq!(describe(app), "One.");
        let two = format!("{app}@app.command()\ndef two():\n  'Two.'\n");
        assert_eq!(describe(&two), "Execute a from weather");
        assert_eq!(
            describe(&two.replace("Typer()", "Typer(help='Both.')")),
            "Both."
        );
        assert_eq!(
            describe("import click\n@click.command()\ndef main():\n    run('x')\n"),
            "Execute a from weather"
        );
    }

    #[test]
    fn a_description_is_one_line_of_limited_length() {
        let source = format!("'''{}'''", "word\u{202E} ".repeat(1000));
        let line = tool_description(
            None,
            &source,
            "a.py",
            "s",
            &ArgumentSpec::declared(Vec::new()),
        );
        assert_eq!(line.chars().count(), MAX_DESCRIPTION_CHARS);
        assert!(line.ends_with('…') && !line.contains('\u{202E}'), "{line}");
    }
}
