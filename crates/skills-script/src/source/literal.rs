//! Python constants as JSON.

use serde_json::{Number, Value};

use super::python_lexer::Token;

/// Maximum nesting of lists.
const MAX_DEPTH: usize = 4;

/// Parses a constant expression: a string, number, boolean, `None`, or a list, tuple or set of
/// these. Any other expression returns `None`.
pub(crate) fn parse_literal(tokens: &[Token<'_>]) -> Option<Value> {
    let (value, rest) = parse_value(tokens, MAX_DEPTH)?;
    rest.is_empty().then_some(value)
}

/// Parses a constant at the start of the tokens.
fn parse_value<'t, 'a>(tokens: &'t [Token<'a>], depth: usize) -> Option<(Value, &'t [Token<'a>])> {
    let (first, rest) = tokens.split_first()?;
    match first {
        Token::StringLiteral(_) => Some(parse_strings(tokens)),
        Token::Number(written) => Some((Value::Number(parse_number(written, "")?), rest)),
        Token::Symbol('-') => match rest.split_first()? {
            (Token::Number(written), rest) => {
                Some((Value::Number(parse_number(written, "-")?), rest))
            }
            _ => None,
        },
        Token::Name("True" | "true") => Some((true.into(), rest)),
        Token::Name("False" | "false") => Some((false.into(), rest)),
        Token::Name("None" | "null") => Some((Value::Null, rest)),
        Token::Symbol('(') => parse_items(rest, ')', depth),
        Token::Symbol('[') => parse_items(rest, ']', depth),
        Token::Symbol('{') => parse_items(rest, '}', depth),
        _ => None,
    }
}

/// Concatenates adjacent strings.
fn parse_strings<'t, 'a>(mut tokens: &'t [Token<'a>]) -> (Value, &'t [Token<'a>]) {
    let mut text = String::new();
    while let Some((Token::StringLiteral(more), rest)) = tokens.split_first() {
        text.push_str(more);
        tokens = rest;
    }
    (text.into(), tokens)
}

/// Parses up to the closing bracket. A single value in parentheses without a comma is that value.
fn parse_items<'t, 'a>(
    mut tokens: &'t [Token<'a>],
    close: char,
    depth: usize,
) -> Option<(Value, &'t [Token<'a>])> {
    // Source is untrusted, and the parser is recursive.
    let depth = depth.checked_sub(1)?;
    let mut values = Vec::new();
    let mut comma = false;
    loop {
        if let (Token::Symbol(symbol), rest) = tokens.split_first()?
            && *symbol == close
        {
            let grouped = close == ')' && values.len() == 1 && !comma;
            let value = if grouped {
                values.pop()?
            } else {
                Value::Array(values)
            };
            // `{}` is an empty dictionary, not a set.
            return (close != '}' || value != Value::Array(Vec::new())).then_some((value, rest));
        }
        if !values.is_empty() && !comma {
            return None;
        }
        let (item, rest) = parse_value(tokens, depth)?;
        values.push(item);
        comma = rest.first() == Some(&Token::Symbol(','));
        tokens = if comma { &rest[1..] } else { rest };
    }
}

fn parse_number(written: &str, sign: &str) -> Option<Number> {
    // Python allows `_` between digits.
    let plain = written.replace('_', "");
    let radix = |prefix: [&str; 2], radix| {
        let digits = prefix
            .iter()
            .find_map(|prefix| plain.strip_prefix(prefix))?;
        i64::from_str_radix(&format!("{sign}{digits}"), radix).ok()
    };
    if let Some(number) = radix(["0x", "0X"], 16)
        .or_else(|| radix(["0o", "0O"], 8))
        .or_else(|| radix(["0b", "0B"], 2))
    {
        return Some(number.into());
    }
    let signed = format!("{sign}{plain}");
    if plain.bytes().all(|byte| byte.is_ascii_digit()) {
        return signed
            .parse::<i64>()
            .map(Number::from)
            .or_else(|_| signed.parse::<u64>().map(Number::from))
            .ok();
    }
    let is_decimal = plain
        .bytes()
        .all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'E' | b'+' | b'-'));
    is_decimal
        .then(|| signed.parse().ok())
        .flatten()
        .and_then(Number::from_f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::PythonLexer as Lexer;

    fn check(source: &str, expected: Option<&str>) {
        let tokens: Vec<_> = Lexer::new(source).collect();
        assert_eq!(
            parse_literal(&tokens)
                .map(|value| value.to_string())
                .as_deref(),
            expected,
            "{source}"
        );
    }

    #[test]
    fn constants_are_read() {
        check("'a' \"b\"", Some("\"ab\""));
        check("('a'\n 'b')", Some("\"ab\""));
        check(
            "[1, -2.5, 0x1F, 1_000, 1e3,]",
            Some("[1,-2.5,31,1000,1000.0]"),
        );
        check("('a',)", Some("[\"a\"]"));
        check("{'a', 'b'}", Some("[\"a\",\"b\"]"));
        check("()", Some("[]"));
        check("[True, False, None, [1]]", Some("[true,false,null,[1]]"));
        check("18446744073709551615", Some("18446744073709551615"));
    }

    #[test]
    fn other_expressions_are_not_constants() {
        for source in [
            "x",
            "'a' + 'b'",
            "'a'.b",
            "1 + 1",
            "[1 2]",
            "[1, x]",
            "[,]",
            "{}",
            "{'a': 1}",
            "f'a'",
            "range(3)",
            "-'a'",
            "1j",
            "1e999",
            "[1",
            "",
            "99999999999999999999",
            "[[[[[1]]]]]",
            "(x)",
            "not True",
        ] {
            check(source, None);
        }
    }
}
