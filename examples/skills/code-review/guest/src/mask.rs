//! Splits a file into code and comments, so that no rule mistakes text for code.

use crate::language::Language;

/// A file line by line: code with the content of its strings blanked out, and comments alone.
pub struct Masked {
    pub code: Vec<String>,
    pub comments: Vec<String>,
}

enum State {
    Code,
    Text(&'static str),
    Block,
}

pub fn mask(source: &str, language: Language) -> Masked {
    let mut masked = Masked { code: Vec::new(), comments: Vec::new() };
    let mut state = State::Code;
    for line in source.lines() {
        let (mut code, mut comment) = (String::new(), String::new());
        let mut rest = line;
        while let Some(c) = rest.chars().next() {
            let mut taken = c.len_utf8();
            match state {
                State::Code => {
                    if rest.starts_with(language.line_comment()) && !is_in_word(&code, language) {
                        comment.push_str(rest);
                        break;
                    }
                    if language.has_block_comments() && rest.starts_with("/*") {
                        state = State::Block;
                        taken = 2;
                    } else if language == Language::Rust && character_length(rest) > 0 {
                        taken = character_length(rest);
                        code.push_str("' '");
                    } else if let Some(quote) = language.quotes().iter().find(|quote| rest.starts_with(**quote)) {
                        state = State::Text(quote);
                        taken = quote.len();
                        code.push_str(quote);
                    } else {
                        code.push(c);
                    }
                }
                State::Text(quote) => {
                    if c == '\\' {
                        taken += rest[taken..].chars().next().map_or(0, char::len_utf8);
                    } else if rest.starts_with(quote) {
                        state = State::Code;
                        taken = quote.len();
                        code.push_str(quote);
                    }
                }
                State::Block => {
                    comment.push(c);
                    if rest.starts_with("*/") {
                        state = State::Code;
                        taken = 2;
                    }
                }
            }
            rest = &rest[taken..];
        }
        // Ordinary quotes do not span lines.
        if let State::Text(quote) = state {
            if quote.len() == 1 && quote != "`" && language != Language::Rust && language != Language::Shell {
                state = State::Code;
            }
        }
        masked.code.push(code);
        masked.comments.push(comment);
    }
    masked
}

/// In a shell `#` starts a comment only at the start of a word.
fn is_in_word(code: &str, language: Language) -> bool {
    language == Language::Shell && code.chars().last().is_some_and(|c| !c.is_whitespace())
}

/// The length of a character literal such as `'"'` or `'\''`; 0 for a lifetime.
fn character_length(rest: &str) -> usize {
    let mut characters = rest.char_indices();
    if characters.next().map(|(_, c)| c) != Some('\'') {
        return 0;
    }
    let escaped = matches!(characters.next(), Some((_, '\\')));
    if escaped {
        return rest[2..].char_indices().skip(1).find(|(_, c)| *c == '\'').map_or(0, |(index, _)| index + 3);
    }
    match characters.next() {
        Some((index, '\'')) => index + 1,
        _ => 0,
    }
}
