//! Expansion of words: splits what commands print, and finds the names that a pattern stands for.

use std::ffi::OsString;

use skills_runtime::prompt::{CharSet, LineWord, WordPart};

use super::redirected_files::resolve;
use super::usage::Usage;
use crate::files::io_error;
use crate::files::list::{self, HiddenFiles, ListRoot};
use crate::virtual_files::VirtualFiles;
use crate::{ToolError, ToolErrorCode};

/// Maximum number of names that one pattern stands for.
const MAX_NAMES: usize = 1_000;

/// A word while it is expanded.
#[derive(Default)]
pub(super) struct Field {
    tokens: Vec<Token>,
    /// Whether it is a word even if it is empty.
    is_word: bool,
}

/// A character of a word, or what a pattern has in its place.
#[derive(Clone, PartialEq)]
enum Token {
    Char(char),
    AnyText,
    AnyChar,
    // Boxed, since a word has a token for each character.
    AnyOf(Box<CharSet>),
}

impl Field {
    pub(super) fn last(fields: &mut Vec<Self>) -> &mut Self {
        if fields.is_empty() {
            fields.push(Self::default());
        }
        let last = fields.len() - 1;
        &mut fields[last]
    }

    pub(super) fn push_text(&mut self, text: &str) {
        self.is_word = true;
        self.tokens.extend(text.chars().map(Token::Char));
    }

    pub(super) fn push_pattern(&mut self, c: char) {
        self.is_word = true;
        self.tokens.push(match c {
            '?' => Token::AnyChar,
            _ => Token::AnyText,
        });
    }

    pub(super) fn push_char_set(&mut self, set: &CharSet) {
        self.is_word = true;
        self.tokens.push(Token::AnyOf(Box::new(set.clone())));
    }

    pub(super) fn is_word(&self) -> bool {
        self.is_word
    }

    /// Returns the text of a word; `None` for a pattern.
    pub(super) fn text(&self) -> Option<String> {
        (!is_pattern(&self.tokens)).then(|| text_of(&self.tokens))
    }
}

fn is_pattern(tokens: &[Token]) -> bool {
    tokens.iter().any(|one| !matches!(one, Token::Char(_)))
}

/// The words that a word with alternatives stands for, made one after the other: together they can be
/// larger than the line by any factor.
pub(super) struct Alternatives<'a> {
    word: &'a LineWord,
    count: usize,
}

impl<'a> Alternatives<'a> {
    /// Counts the words.
    ///
    /// # Errors
    /// Fails if a limit of the line is reached.
    pub(super) fn new(word: &'a LineWord, usage: &mut Usage) -> Result<Self, ToolError> {
        let counts = word.parts.iter().filter_map(|part| match part {
            WordPart::Alternatives(texts) => Some(texts.len()),
            _ => None,
        });
        let count = counts.fold(1, usize::saturating_mul);
        if count > 1 {
            usage.add_words(count)?;
        }
        Ok(Self { word, count })
    }

    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Returns a word by its index. The last alternatives change first.
    pub(super) fn word(&self, index: usize) -> LineWord {
        let mut group = self.count;
        let part = |part: &WordPart| match part {
            WordPart::Alternatives(texts) => {
                group /= texts.len();
                WordPart::Text(texts[index / group % texts.len()].clone())
            }
            part => part.clone(),
        };
        LineWord {
            parts: self.word.parts.iter().map(part).collect(),
        }
    }
}

/// Adds the value of an expansion to a word, which it splits at white space unless it is quoted. Its
/// characters have no meaning: unlike in a shell, it is not a pattern.
///
/// # Errors
/// Fails if a limit of the line is reached; nothing was added then.
pub(super) fn split_fields(
    fields: &mut Vec<Field>,
    value: &str,
    is_quoted: bool,
    usage: &mut Usage,
) -> Result<(), ToolError> {
    usage.add_bytes(value.len())?;
    if is_quoted {
        Field::last(fields).push_text(value);
        return Ok(());
    }
    let is_space = |c| matches!(c, ' ' | '\t' | '\n');
    usage.add_words(
        value
            .split(is_space)
            .filter(|word| !word.is_empty())
            .count(),
    )?;
    for c in value.chars() {
        if !is_space(c) {
            Field::last(fields).push_text(c.encode_utf8(&mut [0; 4]));
        } else if Field::last(fields).is_word {
            fields.push(Field::default());
        }
    }
    Ok(())
}

/// Returns the words for a pattern: the names of the files that match, or its text without any. A name
/// that begins with `-` gets `./` before it, so that it is not read as an option.
pub(super) fn expand_pattern(
    files: &VirtualFiles,
    current_dir: &str,
    field: &Field,
    usage: &mut Usage,
) -> Result<Vec<String>, ToolError> {
    let parts: Vec<&[Token]> = field.tokens.split(|one| *one == Token::Char('/')).collect();
    let mut found = vec![String::new()];
    let mut is_literal = true;
    for (index, part) in parts.iter().enumerate() {
        let is_last = index + 1 == parts.len();
        let separator = if is_last { "" } else { "/" };
        let mut longer = Vec::new();
        for path in &found {
            if is_pattern(part) {
                usage.add_examined(1)?;
                let names = matching_names(files, current_dir, path, part);
                let names = match names {
                    Err(error) if is_literal && !is_missing(&error) => return Err(error),
                    // Names that a pattern found, such as links out of the workspace, may lead nowhere.
                    names => names.unwrap_or_default(),
                };
                longer.extend(
                    names
                        .into_iter()
                        .map(|name| format!("{path}{name}{separator}")),
                );
            } else {
                longer.push(format!("{path}{}{separator}", text_of(part)));
            }
            if longer.len() > MAX_NAMES {
                return Err(ToolErrorCode::TooLarge
                    .error(format!("a pattern stands for more than {MAX_NAMES} names"))
                    .with_hint("name the directory, or use `find`"));
            }
        }
        found = longer;
        is_literal &= !is_pattern(part);
    }
    // What follows a pattern may not exist.
    let ends_in_text = parts.last().is_some_and(|part| !is_pattern(part));
    if ends_in_text {
        usage.add_examined(found.len())?;
        let is_directory = parts.last().is_some_and(|part| part.is_empty());
        found.retain(|path| exists(files, current_dir, path, is_directory));
    }
    usage.add_words(found.len())?;
    usage.add_bytes(found.iter().map(String::len).sum())?;
    if found.is_empty() {
        return Ok(vec![text_of(&field.tokens)]);
    }
    let safe = |path: String| {
        if path.starts_with('-') {
            format!("./{path}")
        } else {
            path
        }
    };
    Ok(found.into_iter().map(safe).collect())
}

fn text_of(tokens: &[Token]) -> String {
    let mut text = String::new();
    for token in tokens {
        match token {
            Token::Char(c) => text.push(*c),
            Token::AnyText => text.push('*'),
            Token::AnyChar => text.push('?'),
            Token::AnyOf(set) => text.push_str(&set.text),
        }
    }
    text
}

fn is_missing(error: &ToolError) -> bool {
    matches!(
        error.code,
        ToolErrorCode::NotFound | ToolErrorCode::NotADirectory
    )
}

fn exists(files: &VirtualFiles, current_dir: &str, path: &str, is_directory: bool) -> bool {
    let resolved = resolve(files, current_dir, path);
    if is_directory {
        return resolved.is_ok_and(|resolved| files.open_directory(&resolved).is_ok());
    }
    resolved.is_ok_and(|resolved| {
        let path: std::path::PathBuf = resolved.parts.iter().collect();
        files.check_visible(&resolved, &resolved.host_path).is_ok()
            && (path.as_os_str().is_empty() || resolved.base_dir.symlink_metadata(path).is_ok())
    })
}

/// Returns the sorted names in a directory that match a pattern.
fn matching_names(
    files: &VirtualFiles,
    current_dir: &str,
    directory: &str,
    pattern: &[Token],
) -> Result<Vec<String>, ToolError> {
    let resolved = resolve(files, current_dir, directory)?;
    // Fails for a link out of the workspace, and for a hidden directory.
    let (opened, canonical) = files.open_directory(&resolved)?;
    let root_path = resolved.base_path();
    let list_root = ListRoot {
        root: &resolved.base_dir,
        hidden: files.hidden_dirs().within(&root_path),
        root_path,
        relative_path: canonical.iter().collect(),
        directory: &opened,
    };
    let hidden_files = match pattern.first() {
        Some(Token::Char('.')) => HiddenFiles::Include,
        _ => HiddenFiles::Exclude,
    };
    let limits = files.list_limits;
    let page = list::list_directory(&list_root, hidden_files, None, limits.max_visited, limits);
    let page = page.map_err(|error| io_error(&error, &resolved.display))?;
    let Some(page) = page.filter(|page| !page.has_more) else {
        return Err(ToolErrorCode::TooLarge.error_at(
            &resolved.display,
            format!("'{}' has too many entries for a pattern", resolved.display),
        ));
    };
    let names = page
        .items
        .into_iter()
        .filter_map(|mut item| item.names.pop());
    let mut found = Vec::new();
    for name in names {
        match name.into_string() {
            Ok(name) if matches(pattern, &name) => found.push(name),
            Ok(_) => {}
            Err(name) => return Err(unreadable_name(&resolved.display, &name)),
        }
    }
    Ok(found)
}

fn unreadable_name(directory: &str, name: &OsString) -> ToolError {
    let name = name.as_encoded_bytes().escape_ascii();
    ToolErrorCode::InvalidPath.error_at(
        directory,
        format!("cannot match a pattern in '{directory}': the name `{name}` is not UTF-8"),
    )
}

/// Returns true if a name matches a pattern.
fn matches(pattern: &[Token], name: &str) -> bool {
    let name: Vec<char> = name.chars().collect();
    let (mut at, mut position) = (0, 0);
    // Where to continue if what follows the last `*` does not match.
    let mut retry: Option<(usize, usize)> = None;
    while position < name.len() {
        match pattern.get(at) {
            Some(Token::AnyText) => {
                retry = Some((at + 1, position));
                at += 1;
            }
            Some(Token::AnyChar) => {
                at += 1;
                position += 1;
            }
            Some(Token::AnyOf(set)) if set.contains(name[position]) => {
                at += 1;
                position += 1;
            }
            Some(Token::Char(c)) if *c == name[position] => {
                at += 1;
                position += 1;
            }
            _ => {
                let Some((after, start)) = retry else {
                    return false;
                };
                retry = Some((after, start + 1));
                (at, position) = (after, start + 1);
            }
        }
    }
    pattern[at..].iter().all(|one| *one == Token::AnyText)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(pattern: &str) -> Vec<Token> {
        let token = |c| match c {
            '*' => Token::AnyText,
            '?' => Token::AnyChar,
            c => Token::Char(c),
        };
        pattern.chars().map(token).collect()
    }

    #[test]
    fn tokens_are_small() {
        assert!(size_of::<Token>() <= 16);
    }

    #[test]
    fn names_match_patterns() {
        for (pattern, name, expected) in [
            ("*.txt", "a.txt", true),
            ("*.txt", ".txt", true),
            ("*.txt", "a.txt.gz", false),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            ("*a*b*", "xxayyb", true),
            ("*a*b*", "xxbyya", false),
            ("*", "", true),
            ("?", "é", true),
            ("a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false),
        ] {
            assert_eq!(
                matches(&tokens(pattern), name),
                expected,
                "{pattern} {name}"
            );
        }
    }

    #[test]
    fn values_are_split_unless_quoted() {
        let words = |value: &str, is_quoted: bool| {
            let mut fields = vec![Field::default()];
            Field::last(&mut fields).push_text("x");
            split_fields(&mut fields, value, is_quoted, &mut Usage::default()).unwrap();
            let fields = fields.into_iter().filter(Field::is_word);
            fields
                .map(|field| text_of(&field.tokens))
                .collect::<Vec<_>>()
        };
        assert_eq!(words(" a\n b\t", false), ["x", "a", "b"]);
        assert_eq!(words("a b", true), ["xa b"]);
        assert_eq!(words("", false), ["x"]);
        assert_eq!(words("*", false), ["x*"]);
    }
}
