//! Usage texts, such as `Usage: convert.sh <file> [--out DIR]`.

use super::argument_list::{ArgumentList, preferred_spelling};
use crate::argument::{Argument, ArgumentStyle, JsonType, is_argument_name};
use crate::text;

/// Maximum number of bytes of a line that are inspected.
const MAX_LINE_BYTES: usize = 500;
/// Maximum number of forms of one usage text.
const MAX_FORMS: usize = 4;
/// Maximum length of the name of an argument, in bytes.
const MAX_NAME_BYTES: usize = 40;
/// Number of lines after `Usage:` in which the first form is searched.
const MAX_BLANK_LINES: usize = 2;
/// Texts that stand for the name of the script.
const PROGRAM_NAMES: [&str; 18] = [
    "$(basename \"${BASH_SOURCE[0]}\")",
    "$(basename \"$0\")",
    "$(basename $0)",
    "`basename \"$0\"`",
    "`basename $0`",
    "${BASH_SOURCE[0]}",
    "${0##*/}",
    "${0}",
    "$0",
    "{os.path.basename(sys.argv[0])}",
    "{os.path.basename(__file__)}",
    "{Path(sys.argv[0]).name}",
    "{Path(__file__).name}",
    "{sys.argv[0]}",
    "{__file__}",
    "%(prog)s",
    "${process.argv[1]}",
    "$SCRIPT_NAME",
];
/// What the names above are replaced by.
const PROGRAM: &str = "PROGRAM.sh";
/// What quotes around values are replaced by.
const QUOTE_MARK: &str = "\u{1}";
/// Words in brackets that stand for options or arguments as a whole.
const GENERAL_ITEMS: [&str; 6] = ["options", "option", "flags", "opts", "args", "arguments"];

/// Returns the forms of the first usage text of a script, at most four: the words after the name of
/// the script.
pub(crate) fn forms(source: &str, stem: &str) -> Vec<String> {
    let mut lines = source.lines();
    while let Some(line) = lines.next() {
        let Some(at) = usage_start(line) else {
            continue;
        };
        let quote = open_quote(&line[..at]);
        let mut forms: Vec<String> = form(&line[at..], quote, stem).into_iter().collect();
        add_following_forms(&mut forms, lines.clone(), stem);
        if !forms.is_empty() {
            return forms;
        }
    }
    Vec::new()
}

fn add_following_forms<'a>(
    forms: &mut Vec<String>,
    lines: impl Iterator<Item = &'a str>,
    stem: &str,
) {
    for (index, line) in lines.take(MAX_FORMS + MAX_BLANK_LINES).enumerate() {
        match form(without_decoration(line), None, stem) {
            Some(next) if forms.len() < MAX_FORMS => forms.push(next),
            _ if forms.is_empty() && index < MAX_BLANK_LINES => {}
            _ => break,
        }
    }
}

/// Infers arguments from the usage text. Returns `None` if there is none, if it has several forms,
/// or if a part of it is not understood.
///
/// All arguments are optional, since a text can be wrong.
pub(super) fn read(source: &str, stem: &str) -> Option<Vec<Argument>> {
    match forms(source, stem).as_slice() {
        [form] => parse_form(form),
        _ => None,
    }
}

/// Returns the position after `usage:`.
fn usage_start(line: &str) -> Option<usize> {
    let lower = text::start(line, MAX_LINE_BYTES).to_ascii_lowercase();
    let at = lower.find("usage")?;
    // Not in another word, such as `diskusage`.
    let is_word = !lower[..at].ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
    let rest = &lower[at + "usage".len()..];
    let colon = rest
        .find(':')
        .filter(|colon| rest[..*colon].trim().is_empty())?;
    is_word.then_some(at + "usage".len() + colon + 1)
}

/// Returns the quote that is open at the end of a text.
fn open_quote(text: &str) -> Option<char> {
    text.chars()
        .rev()
        .find(|c| matches!(c, '"' | '\'' | '`'))
        .filter(|quote| text.matches(*quote).count() % 2 == 1)
}

/// Removes what comments, string literals and commands that print put before a line.
fn without_decoration(line: &str) -> &str {
    let mut text = line.trim_start();
    for command in ["echo ", "print(", "console.log(", "console.error("] {
        text = text.strip_prefix(command).unwrap_or(text).trim_start();
    }
    text.trim_start_matches(['#', '*', '/', '"', '\'', '`', '$', ' '])
        .trim_start_matches("-e ")
}

/// Returns the words after the name of the script. `None` if the text does not start with it.
fn form(text: &str, quote: Option<char>, stem: &str) -> Option<String> {
    let mut text = text::start(text, MAX_LINE_BYTES).to_owned();
    for name in PROGRAM_NAMES {
        text = text.replace(name, PROGRAM);
    }
    let text = quoted_as_placeholders(&mark_quotes(text.split("\\n").next()?, quote));
    let words: Vec<&str> = text.split_whitespace().collect();
    let is_program = |word: &&str| is_script_name(word) || !stem.is_empty() && **word == *stem;
    let program = words.iter().take(4).position(is_program)?;
    let rest = words[program + 1..].join(" ");
    let rest = rest.trim_end_matches(['\'', '\\', ';', ',']).trim();
    Some(without_call_end(rest))
}

/// Ends a text at the quote around it, and marks the quotes inside.
fn mark_quotes(text: &str, quote: Option<char>) -> String {
    match quote {
        // Quotes inside the text are escaped, or of another kind.
        Some(quote) => {
            let marked = text.replace(&format!("\\{quote}"), QUOTE_MARK);
            let end = marked.find(quote).unwrap_or(marked.len());
            marked[..end].replace('"', QUOTE_MARK)
        }
        None if text.matches('"').count() > 1 => text.replace('"', QUOTE_MARK),
        None => text[..text.find(['"', '`']).unwrap_or(text.len())].to_owned(),
    }
}

/// Replaces quoted values, which are examples, by placeholders: `"a query"` by `<a query>`.
fn quoted_as_placeholders(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    for (index, part) in text.split(QUOTE_MARK).enumerate() {
        let is_quoted = index % 2 == 1;
        if is_quoted && !part.starts_with(['<', '[', '{']) && !part.trim().is_empty() {
            result.extend(["<", part, ">"]);
        } else {
            result.push_str(part);
        }
    }
    result
}

/// Removes a closing bracket that belongs to the call around the text.
fn without_call_end(rest: &str) -> String {
    let is_closed_too_often = rest.matches(')').count() > rest.matches('(').count();
    let shorter = rest.strip_suffix(')').filter(|_| is_closed_too_often);
    shorter.unwrap_or(rest).trim_end().to_owned()
}

fn is_script_name(word: &str) -> bool {
    let word = word.trim_end_matches([':', '"', '\'']);
    [".py", ".sh", ".bash", ".js", ".mjs", ".cjs", ".ts"]
        .iter()
        .any(|extension| word.ends_with(extension))
        && !word.starts_with(['<', '[', '-'])
}

fn parse_form(form: &str) -> Option<Vec<Argument>> {
    let items = split_items(form)?;
    // Beside `<name>` another word is a keyword, which only some calls contain.
    if items.iter().any(|item| item.starts_with('<')) && items.iter().any(|item| is_keyword(item)) {
        return None;
    }
    let mut list = ArgumentList::default();
    let mut items = items.into_iter().peekable();
    while let Some(item) = items.next_if(|item| !is_explanation(item)) {
        if item.starts_with('-') {
            let value = items.next_if(|next| is_placeholder(next));
            list.push(parse_option(&item, value.as_deref()));
        } else if !is_general_item(&item) {
            list.push(parse_item(&item));
        }
    }
    (!list.is_partial).then_some(list.arguments)
}

fn is_keyword(item: &str) -> bool {
    item.starts_with(|c: char| c.is_ascii_alphabetic()) && !is_placeholder(item)
}

/// Returns true if the rest of a form explains it.
fn is_explanation(item: &str) -> bool {
    item.starts_with(['#', '—', '–', '(']) || item == "-"
}

/// Splits at spaces that are not inside brackets. `None` if brackets are not balanced.
fn split_items(form: &str) -> Option<Vec<String>> {
    let mut items: Vec<String> = vec![String::new()];
    let mut depth = 0_usize;
    for c in form.chars() {
        match c {
            '<' | '[' | '{' | '(' => depth += 1,
            '>' | ']' | '}' | ')' => depth = depth.checked_sub(1)?,
            _ => {}
        }
        match items.last_mut() {
            _ if c == ' ' && depth == 0 => items.push(String::new()),
            Some(item) => item.push(c),
            None => {}
        }
    }
    items.retain(|item| !item.is_empty());
    (depth == 0).then_some(items)
}

/// Returns true for `[options]` and the like.
fn is_general_item(item: &str) -> bool {
    let name = optional_part(item).unwrap_or_default();
    let name = name.trim_end_matches('.').trim().to_ascii_lowercase();
    GENERAL_ITEMS.contains(&name.as_str())
}

/// Returns the text inside `[…]` or `[…]...`.
fn optional_part(item: &str) -> Option<&str> {
    let inner = item.strip_prefix('[')?;
    let inner = inner
        .strip_suffix(']')
        .or_else(|| inner.strip_suffix("]..."))?;
    Some(inner.trim())
}

/// Parses an item that is not an option without brackets.
fn parse_item(item: &str) -> Option<Argument> {
    if !item.starts_with('[') {
        return positional(item);
    }
    let inner = optional_part(item)?;
    if !inner.starts_with('-') {
        return positional(inner);
    }
    // `[-o | --out DIR]`: the last spelling has the value.
    let inner = inner.replace(" | ", "|").replace(", ", "|");
    match inner.split_once(' ') {
        Some((option, value)) => parse_option(option, Some(value.trim())),
        None => parse_option(&inner, None),
    }
}

/// Parses `--out`, `-o|--out`, `--out=DIR`, with its value.
fn parse_option(option: &str, value: Option<&str>) -> Option<Argument> {
    let (spellings, joined) = match option.split_once('=') {
        Some((spellings, value)) => (spellings, Some(value)),
        None => (option, None),
    };
    let spelling = preferred_spelling(spellings.split('|').map(str::trim))?;
    let name = spelling.trim_start_matches('-');
    if !is_argument_name(name) || spelling.starts_with("---") {
        return None;
    }
    let option = spelling.to_owned();
    let (json_type, style) = match (joined, value) {
        (Some(_), _) => (JsonType::String, ArgumentStyle::JoinedOption(option)),
        (None, Some(_)) => (JsonType::String, ArgumentStyle::Option(option)),
        // The text may have left out the value.
        (None, None) => (JsonType::Any, ArgumentStyle::FlagOrOption(option)),
    };
    let mut argument = Argument::new(name.to_owned(), json_type, style);
    let placeholder = value.or(joined).map(without_brackets);
    argument.describe(placeholder.map(str::to_owned));
    Some(argument)
}

fn without_brackets(placeholder: &str) -> &str {
    placeholder.trim_matches(['<', '>', '[', ']', '"'])
}

/// Returns true if an item stands for a value: `<dir>` or `DIR`.
fn is_placeholder(item: &str) -> bool {
    let is_name =
        item.starts_with(|c: char| c.is_ascii_uppercase()) && item.chars().all(is_name_char);
    item.starts_with(['<', '{']) || is_name
}

fn is_name_char(c: char) -> bool {
    c.is_ascii_uppercase() || c.is_ascii_digit() || "_-|".contains(c)
}

/// Parses `<file>`, `FILE`, `<file>...`, and `name` from within brackets.
fn positional(item: &str) -> Option<Argument> {
    if !is_placeholder(item) && !item.starts_with('"') && !is_optional_name(item) {
        return None;
    }
    let text = item.replace("...", "");
    let text = text.trim_matches(['<', '>', '{', '}', '"', ' ']);
    let json_type = if item.contains("...") {
        JsonType::Array
    } else {
        JsonType::String
    };
    let mut argument = Argument::positional(property_name(text)?, json_type, 0);
    if text.contains('|') {
        argument.describe(Some(format!("One of {text}")));
    }
    Some(argument)
}

fn is_optional_name(item: &str) -> bool {
    item.chars()
        .all(|c| c.is_ascii_alphanumeric() || "_-. ".contains(c))
}

/// Returns the name of a property for the text of a placeholder.
fn property_name(text: &str) -> Option<String> {
    let name = text.replace(|c: char| !c.is_ascii_alphanumeric(), "_");
    let name = name.trim_matches('_').to_ascii_lowercase();
    let is_name = is_argument_name(&name) && name.len() <= MAX_NAME_BYTES && text.is_ascii();
    is_name.then_some(name)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Shows the arguments of a usage text: name and option, or `name...` for many words.
    fn check(source: &str, expected: &str) {
        let shown = read(source, "tool").map(|arguments| {
            let shown = arguments.iter().map(|argument| match &argument.style {
                ArgumentStyle::Positional { max: 1, .. } => argument.name.clone(),
                ArgumentStyle::Positional { .. } => format!("{}...", argument.name),
                ArgumentStyle::JoinedOption(option) => format!("{option}=VALUE"),
                ArgumentStyle::Option(option) => format!("{option} VALUE"),
                ArgumentStyle::FlagOrOption(option) => option.clone(),
                style => panic!("{style:?}"),
            });
            shown.collect::<Vec<_>>().join(" ")
        });
        assert_eq!(shown.as_deref().unwrap_or("-"), expected, "{source}");
    }

    #[test]
    fn usage_texts_are_found_in_comments_and_strings() {
        check(
            "#!/bin/sh\n# Usage: a.sh <file> [--out DIR]\n",
            "file --out VALUE",
        );
        check("echo \"Usage: $0 <file> [dir]\"", "file dir");
        check(
            "cat <<EOF\nUsage: $(basename \"$0\") FILE...\nEOF",
            "file...",
        );
        check(
            "print(f\"Usage: python3 {sys.argv[0]} <input.pdf> <output dir>\")",
            "input_pdf output_dir",
        );
        check(
            "\"\"\"Does.\n\nUsage:\n    python a.py <x> [-v]\n\"\"\"",
            "x -v",
        );
        check(
            "console.error('usage: node scripts/a.mjs <url> [--depth=N] [options]');",
            "url --depth=VALUE",
        );
        check(
            "# USAGE: ./a.sh [-o|--out FILE] --mode <fast|slow>",
            "--out VALUE --mode VALUE",
        );
        check("# Usage: a.sh", "");
        check("# Usage: a.sh in.txt [out.txt]", "in_txt out_txt");
        check("# Usage: tool \"<query>\" [--max N]", "query --max VALUE");
        check("echo \"Usage: $0 \\\"<query>\\\" [n]\" >&2", "query n");
        check("Usage: python3 a.py \"search query\"", "search_query");
    }

    #[test]
    fn texts_that_are_not_understood_give_no_arguments() {
        for source in [
            "",
            "# Usage of the tool",
            "# Usage: see the manual",
            "# Usage: a.sh list\n#        a.sh add <name>",
            "# Usage: a.sh <file",
            "# Usage: a.sh input.txt | sort",
            "# Usage: a.sh <x> <x>",
            "# Usage: a.sh add <name>",
            "# Usage: a.sh <天>",
            "diskusage: a.sh <x>",
        ] {
            check(source, "-");
        }
        assert_eq!(
            forms(
                "# Usage:\n#   a.sh list\n#   a.sh add <name>\n#\n# More",
                ""
            ),
            ["list", "add <name>"]
        );
    }

    proptest! {
        #[test]
        fn any_text_is_read(source in "(usage:|Usage: a\\.sh|[<>\\[\\]|{}()\"' \n-]|--[a-z]{1,3}|\\PC){0,40}") {
            let _ = read(&source, "a");
            prop_assert!(forms(&source, "a").len() <= MAX_FORMS);
        }
    }
}
