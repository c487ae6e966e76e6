//! Texts that spell a list, as generators write them: `"[Read, Bash]"` where `[Read, Bash]` is
//! meant.
//!
//! A text that is not clearly a list stays a text. Restrictions depend on that: a list that is
//! only half understood must not become a shorter one.

/// Returns the items of a text that spells a list, or `None` for any other text.
///
/// Three forms are lists: items in brackets with commas between them, lines that all start with
/// `- `, and words of which at least one is in quotes. Items are plain or in double quotes, single
/// quotes or backticks. Commas and spaces inside of quotes and of parentheses belong to the item,
/// so `[Bash(git:*, npm run *)]` has one. Unbalanced quotes and brackets, empty items, comments and
/// unknown escapes make the result `None`.
pub(crate) fn parse(text: &str) -> Option<Vec<String>> {
    let text = text.trim();
    if let Some(rest) = text.strip_prefix('[') {
        let items = split(rest.strip_suffix(']')?, Separators::Commas)?;
        return Some(items.into_iter().map(|item| item.text).collect());
    }
    if let Some(lines) = block_lines(text) {
        return lines.map(parse_item).collect();
    }
    let items = split(text, Separators::CommasAndSpaces)?;
    let is_list = items.iter().any(|item| item.is_quoted);
    is_list.then(|| items.into_iter().map(|item| item.text).collect())
}

/// Returns the lines of a text after their `- `, or `None` if one has another start.
fn block_lines(text: &str) -> Option<impl Iterator<Item = &str>> {
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty());
    let is_block = !text.is_empty() && lines().all(|line| line.starts_with("- "));
    is_block.then(|| lines().map(|line| line[2..].trim()))
}

/// Parses the only item of a text.
fn parse_item(text: &str) -> Option<String> {
    let mut characters = text.chars();
    let item = match characters.next()? {
        quote if is_quote(quote) => parse_quoted(&mut characters, quote)?,
        _ if is_comment(text) => return None,
        _ => return Some(text.to_owned()),
    };
    characters.next().is_none().then_some(item)
}

struct Item {
    text: String,
    is_quoted: bool,
}

/// The characters between items.
#[derive(Clone, Copy, PartialEq)]
enum Separators {
    /// One comma, optionally with spaces around it.
    Commas,
    /// Any number of commas and spaces.
    CommasAndSpaces,
}

fn split(text: &str, separators: Separators) -> Option<Vec<Item>> {
    let mut items = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        if separators == Separators::CommasAndSpaces && first == ',' {
            rest = rest[1..].trim_start();
            continue;
        }
        let (item, after) = if is_quote(first) {
            let mut characters = rest[first.len_utf8()..].chars();
            let text = parse_quoted(&mut characters, first)?;
            let is_quoted = true;
            (Item { text, is_quoted }, characters.as_str())
        } else {
            split_plain(rest, separators)?
        };
        items.push(item);
        rest = after_separator(after, separators)?;
    }
    Some(items)
}

/// Returns the text after the separator that must follow an item.
fn after_separator(text: &str, separators: Separators) -> Option<&str> {
    let trimmed = text.trim_start();
    if trimmed.is_empty() {
        return Some(trimmed);
    }
    if let Some(rest) = trimmed.strip_prefix(',') {
        return Some(rest.trim_start());
    }
    let has_space = trimmed.len() < text.len();
    (separators == Separators::CommasAndSpaces && has_space).then_some(trimmed)
}

/// Splits a plain item from the text after it.
///
/// Brackets must be balanced, since packages have them: `requests[socks]`. Inside of parentheses
/// only parentheses count, as in the entries of `allowed-tools`.
fn split_plain(text: &str, separators: Separators) -> Option<(Item, &str)> {
    let mut closers: Vec<char> = Vec::new();
    let is_end =
        |c: char| c == ',' || (separators == Separators::CommasAndSpaces && c.is_whitespace());
    let mut end = text.len();
    for (index, c) in text.char_indices() {
        let in_parentheses = closers.last() == Some(&')');
        match c {
            '(' => closers.push(')'),
            '[' if !in_parentheses => closers.push(']'),
            '{' if !in_parentheses => closers.push('}'),
            ']' | '}' if in_parentheses => {}
            ')' | ']' | '}' if closers.pop() != Some(c) => return None,
            ')' | ']' | '}' => {}
            c if closers.is_empty() && is_end(c) => {
                end = index;
                break;
            }
            _ => {}
        }
    }
    let item = text[..end].trim_end();
    let is_item = closers.is_empty() && !item.is_empty();
    // Within brackets, YAML ends an item at a comment; other readers do not.
    let is_clear = separators == Separators::CommasAndSpaces || !is_comment(item);
    let item = Item {
        text: item.to_owned(),
        is_quoted: false,
    };
    (is_item && is_clear).then_some((item, &text[end..]))
}

/// Returns true if YAML would read a part of a plain text as a comment.
fn is_comment(text: &str) -> bool {
    text.starts_with('#')
        || text
            .char_indices()
            .any(|(index, c)| c.is_whitespace() && text[index + c.len_utf8()..].starts_with('#'))
}

fn is_quote(c: char) -> bool {
    matches!(c, '"' | '\'' | '`')
}

/// Parses the rest of a text in quotes, including the closing one.
///
/// Only escapes on which YAML, JSON and JSON5 agree are known: `\\` and `\"` in double quotes, and
/// `''` in single ones.
fn parse_quoted(characters: &mut std::str::Chars<'_>, quote: char) -> Option<String> {
    let mut text = String::new();
    while let Some(c) = characters.next() {
        match c {
            '\\' if quote == '"' => match characters.next()? {
                escaped @ ('\\' | '"') => text.push(escaped),
                _ => return None,
            },
            '\\' if quote == '\'' => return None,
            c if c != quote => text.push(c),
            '\'' if characters.as_str().starts_with('\'') => {
                characters.next();
                text.push('\'');
            }
            _ => return Some(text),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        let expected: Vec<String> = expected.iter().map(|item| (*item).to_owned()).collect();
        assert_eq!(parse(text), Some(expected), "{text}");
    }

    #[test]
    fn a_text_that_spells_a_list_is_read_as_the_list() {
        check("[]", &[]);
        check(" [ ] ", &[]);
        check("[Read, Bash]", &["Read", "Bash"]);
        check("[Read, Bash,]", &["Read", "Bash"]);
        check("[\"Read\", 'Bash', `Grep`]", &["Read", "Bash", "Grep"]);
        check("\"Read\" \"Write\"", &["Read", "Write"]);
        check("'Read', Write", &["Read", "Write"]);
        check("- Read\n- \"Write\"\n", &["Read", "Write"]);
        check("[requests[socks]>=2, a]", &["requests[socks]>=2", "a"]);
        check(
            "[Bash(git:*, npm run *), Bash(ls [a-z), Read]",
            &["Bash(git:*, npm run *)", "Bash(ls [a-z)", "Read"],
        );
        check(
            r#"["Bash(echo \"a\\b\")", 'it''s']"#,
            &[r#"Bash(echo "a\b")"#, "it's"],
        );
    }

    #[test]
    fn an_unclear_text_is_not_a_list() {
        for text in [
            "",
            "Read, Bash",
            "Read Bash(echo \"x\")",
            "b; python_version<\"3\"",
            "src/[ab]*.rs",
            "[ab]*.rs",
            "[Read",
            "[Read]]",
            "[Read] Bash",
            "[Read] [Bash]",
            "[Read, \"Bash]",
            "[Read,, Bash]",
            "[, Read]",
            "[,]",
            "[Read # no, Bash]",
            "[#Read]",
            "[\"Read\"Bash]",
            "[\"Read\" \"Bash\"]",
            "[\"\\u0052ead\"]",
            r"['it\'s']",
            "[Bash(git, Read]",
            "[Bash), Read]",
            "\"Read\" \"Write",
            "\"Read\"(x)",
            "- Read\nWrite",
            "- Read # no",
            "- \"Read\" x",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
