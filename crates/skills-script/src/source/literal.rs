//! Python constants as JSON.

use serde_json::{Number, Value};

use super::token::Token;

/// Maximum nesting of lists.
const MAX_DEPTH: usize = 4;
/// The prefixes of numbers with another base than ten.
const RADIX_PREFIXES: [(&str, u32); 3] = [("0x", 16), ("0o", 8), ("0b", 2)];

/// A value at the start of some tokens, and the tokens after it.
type Parsed<'t, 'a> = Option<(Value, &'t [Token<'a>])>;

/// Parses a constant expression: a string, number, boolean, `None`, or a list, tuple or set of
/// these. Any other expression returns `None`.
pub(crate) fn parse_literal(tokens: &[Token<'_>]) -> Option<Value> {
    let (value, rest) = parse_value(tokens, MAX_DEPTH)?;
    rest.is_empty().then_some(value)
}

/// Parses a constant string.
pub(crate) fn parse_text(tokens: &[Token<'_>]) -> Option<String> {
    match parse_literal(tokens)? {
        Value::String(text) => Some(text),
        _ => None,
    }
}

fn parse_value<'t, 'a>(tokens: &'t [Token<'a>], depth: usize) -> Parsed<'t, 'a> {
    match tokens {
        [Token::StringLiteral(_), ..] => Some(parse_strings(tokens)),
        [Token::Symbol('-'), Token::Number(written), rest @ ..] => {
            Some((parse_number(written, "-")?.into(), rest))
        }
        [Token::Number(written), rest @ ..] => Some((parse_number(written, "")?.into(), rest)),
        [Token::Name(name), rest @ ..] => Some((parse_constant(name)?, rest)),
        [Token::Symbol(open), rest @ ..] => parse_items(rest, closing_bracket(*open)?, depth),
        _ => None,
    }
}

fn parse_constant(name: &str) -> Option<Value> {
    match name {
        "True" | "true" => Some(true.into()),
        "False" | "false" => Some(false.into()),
        "None" | "null" => Some(Value::Null),
        _ => None,
    }
}

fn closing_bracket(open: char) -> Option<char> {
    match open {
        '(' => Some(')'),
        '[' => Some(']'),
        '{' => Some('}'),
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

/// Parses up to the closing bracket.
fn parse_items<'t, 'a>(mut tokens: &'t [Token<'a>], close: char, depth: usize) -> Parsed<'t, 'a> {
    // Source is untrusted, and the parser is recursive.
    let depth = depth.checked_sub(1)?;
    let mut values = Vec::new();
    let mut has_comma = true;
    while tokens.first()? != &Token::Symbol(close) {
        if !has_comma {
            return None;
        }
        let (value, rest) = parse_value(tokens, depth)?;
        values.push(value);
        has_comma = rest.first() == Some(&Token::Symbol(','));
        tokens = &rest[usize::from(has_comma)..];
    }
    let value = match (close, values.len()) {
        // Parentheses around a single value.
        (')', 1) if !has_comma => values.pop()?,
        // `{}` is an empty dictionary, not a set.
        ('}', 0) => return None,
        _ => values.into(),
    };
    Some((value, &tokens[1..]))
}

fn parse_number(written: &str, sign: &str) -> Option<Number> {
    // Python allows `_` between digits.
    let plain = written.replace('_', "").to_ascii_lowercase();
    if let Some(number) = parse_radix(&plain, sign) {
        return Some(number.into());
    }
    let signed = format!("{sign}{plain}");
    if plain.bytes().all(|byte| byte.is_ascii_digit()) {
        return parse_integer(&signed);
    }
    parse_decimal(&signed)
}

fn parse_radix(plain: &str, sign: &str) -> Option<i64> {
    RADIX_PREFIXES.iter().find_map(|(prefix, radix)| {
        let digits = plain.strip_prefix(prefix)?;
        i64::from_str_radix(&format!("{sign}{digits}"), *radix).ok()
    })
}

fn parse_integer(signed: &str) -> Option<Number> {
    let small = signed.parse::<i64>().map(Number::from);
    small
        .or_else(|_| signed.parse::<u64>().map(Number::from))
        .ok()
}

fn parse_decimal(signed: &str) -> Option<Number> {
    let is_decimal = signed
        .bytes()
        .all(|byte| byte.is_ascii_digit() || b".e+-".contains(&byte));
    let number = signed.parse().ok().filter(|_| is_decimal);
    number.and_then(Number::from_f64)
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
