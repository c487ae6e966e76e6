//! Parser for `.env` files.

use std::fmt;

use skills_policy::is_variable_name;

/// Warning about a line of a `.env` file that was skipped.
///
/// The text of the line is not included, since it may contain a secret. The other lines of the file
/// are used.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct EnvFileWarning {
    /// Line number, from 1.
    pub line: usize,
    /// The problem, without the value.
    pub reason: &'static str,
}

impl fmt::Display for EnvFileWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.reason)
    }
}

/// Returns names with their values, and warnings.
pub(super) fn parse(text: &str) -> (Vec<(String, String)>, Vec<EnvFileWarning>) {
    // Editors on Windows write a byte order mark and CRLF.
    let text = text.trim_start_matches('\u{FEFF}').replace("\r\n", "\n");
    let mut values = Vec::new();
    let mut warnings = Vec::new();
    let mut rest = text.as_str();
    let mut line = 1;
    while !rest.is_empty() {
        match parse_entry(rest) {
            Ok((value, length)) => {
                values.extend(value);
                line += rest[..length].matches('\n').count();
                rest = &rest[length..];
            }
            Err(reason) => {
                warnings.push(EnvFileWarning { line, reason });
                // Continues with the next line, so that an unclosed quote does not swallow the rest
                // of the file.
                rest = rest.split_once('\n').map_or("", |(_, rest)| rest);
                line += 1;
            }
        }
    }
    (values, warnings)
}

type ParsedEntry = Option<(String, String)>;

/// Parses one entry, which is one line unless its value is quoted. Returns its length with the line
/// end.
fn parse_entry(text: &str) -> Result<(ParsedEntry, usize), &'static str> {
    let end = text.find('\n').map_or(text.len(), |end| end + 1);
    let line = text[..end].trim();
    if line.is_empty() || line.starts_with('#') {
        return Ok((None, end));
    }
    let equals = text[..end].find('=').ok_or("missing `=`")?;
    let name = text[..equals].trim();
    let name = name
        .strip_prefix("export")
        // `exported=1` is a variable of that name.
        .filter(|rest| rest.starts_with(char::is_whitespace))
        .unwrap_or(name)
        .trim();
    if !is_variable_name(name) {
        return Err("invalid variable name before `=`");
    }
    let after = &text[equals + 1..];
    let blanks = after.len() - after.trim_start_matches([' ', '\t']).len();
    let start = equals + 1 + blanks;
    let quote = text[start..]
        .chars()
        .next()
        .filter(|quote| matches!(quote, '\'' | '"'));
    let Some(quote) = quote else {
        return Ok((
            Some((name.to_owned(), parse_unquoted(&text[equals + 1..end]))),
            end,
        ));
    };
    let (value, length) = parse_quoted(&text[start + 1..], quote)?;
    let closed = start + 1 + length;
    let end = text[closed..]
        .find('\n')
        .map_or(text.len(), |end| closed + end + 1);
    let trailing = text[closed..end].trim();
    if !trailing.is_empty() && !trailing.starts_with('#') {
        return Err("unexpected text after the closing quote");
    }
    Ok((Some((name.to_owned(), value)), end))
}

fn parse_unquoted(text: &str) -> String {
    // `#` inside of a word belongs to the value, such as in a URL.
    let comment = [" #", "\t#"]
        .iter()
        .filter_map(|mark| text.find(mark))
        .min();
    text[..comment.unwrap_or(text.len())].trim().to_owned()
}

/// Parses up to the closing quote. Returns the length including it.
fn parse_quoted(text: &str, quote: char) -> Result<(String, usize), &'static str> {
    let mut value = String::new();
    let mut characters = text.char_indices();
    while let Some((index, c)) = characters.next() {
        match c {
            c if c == quote => return Ok((value, index + 1)),
            '\\' if quote == '"' => match characters.next() {
                Some((_, 'n')) => value.push('\n'),
                Some((_, 't')) => value.push('\t'),
                Some((_, 'r')) => value.push('\r'),
                Some((_, c @ ('"' | '\\' | '$'))) => value.push(c),
                // A backslash before any other character is literal, as in a shell.
                Some((_, c)) => value.extend(['\\', c]),
                None => break,
            },
            c => value.push(c),
        }
    }
    Err("missing closing quote")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[(&str, &str)]) {
        let (values, warnings) = parse(text);
        let values: Vec<(&str, &str)> = values
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        assert_eq!(
            (values.as_slice(), warnings.as_slice()),
            (expected, [].as_slice()),
            "{text}"
        );
    }

    #[test]
    fn common_forms_of_values_are_parsed() {
        check(
            "A=1\nexport B = two words # comment\n\n# C=3\nD=",
            &[("A", "1"), ("B", "two words"), ("D", "")],
        );
        check(
            "A='single # $X \\n'\nB=\"double\\n\\\"x\\\" \\$Y\" # why\n",
            &[("A", "single # $X \\n"), ("B", "double\n\"x\" $Y")],
        );
        check(
            "KEY=\"-----BEGIN\nabc\n-----END\"\nB=2",
            &[("KEY", "-----BEGIN\nabc\n-----END"), ("B", "2")],
        );
        check(
            "\u{FEFF}URL=https://a.example/#x\r\nC=`id`$(id)${A}\r\n",
            &[("URL", "https://a.example/#x"), ("C", "`id`$(id)${A}")],
        );
        check("A=''\nB=\"\"", &[("A", ""), ("B", "")]);
        check(
            "exported=1\nKEY= # put it here\nTAG=#1",
            &[("exported", "1"), ("KEY", ""), ("TAG", "#1")],
        );
    }

    #[test]
    fn invalid_lines_are_reported_without_values() {
        let (values, warnings) = parse("A=1\nno sign\nB-C=2\nD='open\nE=5\nF=\"x\" y\nG=7");
        let names: Vec<&str> = values.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["A", "E", "G"]);
        let warnings: Vec<String> = warnings.iter().map(ToString::to_string).collect();
        insta::assert_snapshot!(warnings.join("\n"), @r"
        line 2: missing `=`
        line 3: invalid variable name before `=`
        line 4: missing closing quote
        line 6: unexpected text after the closing quote
        ");
    }
}
