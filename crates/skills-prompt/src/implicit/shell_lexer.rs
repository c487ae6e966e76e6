//! Splits a shell script into words, operators and nested scripts.
//!
//! The lexer knows quoting, redirections, here-documents and substitutions of POSIX shells and
//! Bash. It expands nothing; a word that a shell would expand is marked.

use std::borrow::Cow;

/// A word after quote removal, and whether the shell would expand it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ShellWord<'a> {
    pub(super) text: Cow<'a, str>,
    /// The word contains a variable, pattern, substitution or `~`, so its value is unknown.
    pub(super) has_expansion: bool,
}

impl<'a> ShellWord<'a> {
    pub(super) fn literal(text: &'a str) -> Self {
        Self {
            text: Cow::Borrowed(text),
            has_expansion: false,
        }
    }

    fn push(&mut self, text: &'a str) {
        // Most words have one part and borrow it from the script.
        if self.text.is_empty() {
            self.text = Cow::Borrowed(text);
        } else {
            self.text.to_mut().push_str(text);
        }
    }
}

/// A token of a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ShellToken<'a> {
    Word(ShellWord<'a>),
    /// `<` and its file.
    Input(ShellWord<'a>),
    /// A redirection of output; its file is dropped, since writing does not count as use.
    Output,
    /// `|` and `|&`.
    Pipe,
    /// `&&`, `||`, `;` or a line end.
    CommandEnd,
    /// `&`.
    Background,
    /// `(`.
    OpenGroup,
    /// `)`.
    CloseGroup,
    /// The script inside `$(…)` or backticks.
    Script(&'a str),
}

/// The error for a quote or substitution without an end.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct UnterminatedQuote;

/// Bytes with a meaning outside of quotes. A table, because every byte of a script is tested.
const SPECIAL_BYTES: [bool; 256] = {
    let special = b" \t\r\n'\"\\$`#|&;()<>*?[~";
    let mut table = [false; 256];
    let mut index = 0;
    while index < special.len() {
        table[special[index] as usize] = true;
        index += 1;
    }
    table
};

/// Splits a script into tokens, from front to back.
pub(super) struct Lexer<'a> {
    rest: &'a str,
    current_word: Option<ShellWord<'a>>,
    /// The here-documents that begin on the next line.
    heredocs: Vec<Heredoc>,
    /// The redirection that the next word belongs to.
    redirection: Option<Redirection>,
    /// Whether double quotes are still open, after a nested script inside them was returned.
    is_quoted: bool,
}

/// A here-document whose text has not been skipped yet.
struct Heredoc {
    delimiter: String,
    indentation: Indentation,
}

/// Whether tabs before the delimiter of a here-document are ignored.
#[derive(Clone, Copy, PartialEq)]
enum Indentation {
    /// `<<`: the delimiter is the whole line.
    Significant,
    /// `<<-`: tabs before it are ignored.
    TabsIgnored,
}

/// What a shell does with the word after a redirection operator.
#[derive(Clone, Copy, PartialEq)]
enum Redirection {
    Input,
    Output,
    Heredoc(Indentation),
}

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self {
            rest: text,
            current_word: None,
            heredocs: Vec::new(),
            redirection: None,
            is_quoted: false,
        }
    }

    /// Returns the next token; `None` at the end.
    pub(super) fn next_token(&mut self) -> Result<Option<ShellToken<'a>>, UnterminatedQuote> {
        loop {
            // A nested script interrupts the quotes that contain it; continue inside them.
            if self.is_quoted {
                let token = self.lex_double_quoted().ok_or(UnterminatedQuote)?;
                if token.is_some() {
                    return Ok(token);
                }
            }
            if self.current_word.is_none() {
                self.rest = self.rest.trim_start_matches(' ');
            }
            let plain = self
                .rest
                .bytes()
                .position(|b| SPECIAL_BYTES[usize::from(b)])
                .unwrap_or(self.rest.len());
            // Fast path: nearly all words are plain and end with a space.
            if plain > 0
                && self.current_word.is_none()
                && self.redirection.is_none()
                && self.rest.as_bytes().get(plain) == Some(&b' ')
            {
                return Ok(Some(ShellToken::Word(ShellWord::literal(
                    self.advance(plain),
                ))));
            }
            if plain > 0 {
                let text = self.advance(plain);
                self.current_word().push(text);
            }
            let Some(&b) = self.rest.as_bytes().first() else {
                return Ok(self.finish_word());
            };
            let is_end = matches!(
                b,
                b' ' | b'\t' | b'\r' | b'\n' | b'|' | b'&' | b';' | b'(' | b')' | b'<' | b'>'
            );
            if is_end && self.current_word.is_some() {
                // `2>log` redirects a stream. In `2 >log` the space has ended the number, which is
                // an argument then.
                if matches!(b, b'<' | b'>') && self.is_fd_number() {
                    self.current_word = None;
                } else if let Some(token) = self.finish_word() {
                    return Ok(Some(token));
                }
            }
            let token = if is_end {
                self.lex_separator(b)
            } else {
                self.lex_special(b).ok_or(UnterminatedQuote)?
            };
            if token.is_some() {
                return Ok(token);
            }
        }
    }

    /// Consumes white space or an operator.
    fn lex_separator(&mut self, b: u8) -> Option<ShellToken<'a>> {
        match b {
            b' ' | b'\t' | b'\r' => {
                self.advance(1);
                None
            }
            b'\n' => {
                self.advance(1);
                self.skip_heredocs();
                Some(ShellToken::CommandEnd)
            }
            _ => self.lex_operator(),
        }
    }

    /// Consumes a quote, escape, expansion or comment. `None` is an unterminated quote.
    fn lex_special(&mut self, b: u8) -> Option<Option<ShellToken<'a>>> {
        match b {
            b'\'' => {
                self.advance(1);
                let quoted = self.advance(self.rest.find('\'')?);
                self.current_word().push(quoted);
                self.advance(1);
            }
            b'"' => return self.lex_double_quoted(),
            b'\\' => self.lex_escape(),
            b'$' | b'`' => return self.lex_expansion(),
            b'#' if self.current_word.is_none() => {
                self.advance(self.rest.find('\n').unwrap_or(self.rest.len()));
            }
            // `#` and `~` inside a word have no meaning.
            b => {
                let is_expansion =
                    matches!(b, b'*' | b'?' | b'[') || b == b'~' && self.current_word.is_none();
                let text = self.advance(1);
                let word = self.current_word();
                word.push(text);
                word.has_expansion |= is_expansion;
            }
        }
        Some(None)
    }

    /// Consumes and returns so many bytes.
    fn advance(&mut self, bytes: usize) -> &'a str {
        let (consumed, rest) = self.rest.split_at(bytes);
        self.rest = rest;
        consumed
    }

    fn current_word(&mut self) -> &mut ShellWord<'a> {
        self.current_word.get_or_insert_default()
    }

    /// Returns true if the word before a redirection is a number, which is a file descriptor and
    /// not an argument.
    fn is_fd_number(&self) -> bool {
        self.current_word.as_ref().is_some_and(|word| {
            !word.text.is_empty() && word.text.bytes().all(|b| b.is_ascii_digit())
        })
    }

    /// Ends the current word and returns its token; `None` for the delimiter of a here-document.
    fn finish_word(&mut self) -> Option<ShellToken<'a>> {
        let word = self.current_word.take()?;
        match self.redirection.take() {
            None => Some(ShellToken::Word(word)),
            Some(Redirection::Input) => Some(ShellToken::Input(word)),
            Some(Redirection::Output) => Some(ShellToken::Output),
            Some(Redirection::Heredoc(indentation)) => {
                self.heredocs.push(Heredoc {
                    delimiter: word.text.into_owned(),
                    indentation,
                });
                None
            }
        }
    }

    fn lex_escape(&mut self) {
        self.advance(1);
        let Some(c) = self.rest.chars().next() else {
            return;
        };
        let text = self.advance(c.len_utf8());
        // A backslash before a line end joins the two lines.
        if c != '\n' {
            self.current_word().push(text);
        }
    }

    /// Consumes double quotes up to a nested script or to their end.
    fn lex_double_quoted(&mut self) -> Option<Option<ShellToken<'a>>> {
        if !std::mem::take(&mut self.is_quoted) {
            self.advance(1);
        }
        // `""` is a word, too.
        self.current_word();
        loop {
            let plain = self.advance(self.rest.find(['"', '\\', '$', '`'])?);
            self.current_word().push(plain);
            match self.rest.as_bytes() {
                [b'"', ..] => {
                    self.advance(1);
                    return Some(None);
                }
                [b'\\', next, ..] => {
                    let is_escape = matches!(next, b'"' | b'\\' | b'$' | b'`' | b'\n');
                    let slash = self.advance(1);
                    if !is_escape {
                        self.current_word().push(slash);
                    } else {
                        let text = self.advance(1);
                        if text != "\n" {
                            self.current_word().push(text);
                        }
                    }
                }
                [b'$' | b'`', ..] => {
                    if let Some(script) = self.lex_expansion()? {
                        self.is_quoted = true;
                        return Some(Some(script));
                    }
                }
                _ => return None,
            }
        }
    }

    /// Consumes `$name`, `${…}`, `$(…)`, `$((…))`, `$'…'` or backticks, and returns the script of a
    /// substitution.
    fn lex_expansion(&mut self) -> Option<Option<ShellToken<'a>>> {
        self.current_word().has_expansion = true;
        let first = self.advance(1);
        if first == "`" {
            // An escaped backtick, which only nesting needs, ends the script here. That is rare.
            let script = self.advance(self.rest.find('`')?);
            self.advance(1);
            self.current_word().push("$");
            return Some(Some(ShellToken::Script(script)));
        } else if self.rest.starts_with('(') {
            let end = find_closing_parenthesis(self.rest)?;
            let script = &self.advance(end + 1)[1..end];
            self.current_word().push("$");
            // Arithmetic runs no command.
            let is_arithmetic = script.starts_with('(') && script.ends_with(')');
            return Some((!is_arithmetic).then_some(ShellToken::Script(script)));
        } else if self.rest.starts_with('{') {
            self.advance(self.rest.find('}')? + 1);
            self.current_word().push("$");
        } else if self.rest.starts_with('\'') {
            // `$'…'` has escapes of its own, such as `\'`; they stay as they are, since no path of
            // a skill needs them.
            self.advance(1);
            let end = find_ansi_quote_end(self.rest)?;
            let quoted = self.advance(end);
            self.current_word().push(quoted);
            self.advance(1);
            return Some(None);
        } else {
            let name = self
                .rest
                .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
                .unwrap_or(self.rest.len());
            let special = usize::from(
                name == 0 && self.rest.starts_with(['?', '@', '*', '#', '!', '$', '-']),
            );
            self.current_word().push(first);
            self.advance(name + special);
        }
        Some(None)
    }

    fn lex_operator(&mut self) -> Option<ShellToken<'a>> {
        let (length, token) = match self.rest.as_bytes() {
            [b'|', b'|', ..] | [b'&', b'&', ..] | [b';', b';', ..] => {
                (2, Some(ShellToken::CommandEnd))
            }
            [b'|', b'&', ..] => (2, Some(ShellToken::Pipe)),
            [b'|', ..] => (1, Some(ShellToken::Pipe)),
            [b'&', b'>', ..] => (2, None),
            [b'&', ..] => (1, Some(ShellToken::Background)),
            [b';', ..] => (1, Some(ShellToken::CommandEnd)),
            [b'(', ..] => (1, Some(ShellToken::OpenGroup)),
            [b')', ..] => (1, Some(ShellToken::CloseGroup)),
            [b'<', b'<', b'<', ..] => (3, None),
            [b'<', b'<', b'-', ..] => (3, None),
            [b'<', b'<', ..] | [b'<', b'>' | b'&', ..] | [b'>', b'>' | b'&' | b'|', ..] => {
                (2, None)
            }
            _ => (1, None),
        };
        let operator = &self.rest[..length];
        // A redirection has no token of its own; the word after it decides.
        self.redirection = match operator {
            // `<(…)` is a process substitution: its commands follow as a group.
            "<" if self.rest[1..].starts_with('(') => None,
            "<" | "<>" => Some(Redirection::Input),
            "<<" => Some(Redirection::Heredoc(Indentation::Significant)),
            "<<-" => Some(Redirection::Heredoc(Indentation::TabsIgnored)),
            _ if token.is_none() => Some(Redirection::Output),
            _ => None,
        };
        self.advance(length);
        token
    }

    /// Skips the text of here-documents, which contains no commands.
    fn skip_heredocs(&mut self) {
        for heredoc in std::mem::take(&mut self.heredocs) {
            while !self.rest.is_empty() {
                let (line, rest) = self.rest.split_once('\n').unwrap_or((self.rest, ""));
                self.rest = rest;
                let line = line.strip_suffix('\r').unwrap_or(line);
                let ignores_tabs = heredoc.indentation == Indentation::TabsIgnored;
                if line == heredoc.delimiter
                    || ignores_tabs && line.trim_start_matches('\t') == heredoc.delimiter
                {
                    break;
                }
            }
        }
    }
}

/// Returns the end of `$'…'`, in which a backslash escapes the quote.
fn find_ansi_quote_end(text: &str) -> Option<usize> {
    let mut escaped = false;
    text.bytes().position(|b| {
        let is_end = b == b'\'' && !escaped;
        escaped = b == b'\\' && !escaped;
        is_end
    })
}

/// Returns the position of the parenthesis that closes the first one of `text`.
fn find_closing_parenthesis(text: &str) -> Option<usize> {
    let mut depth = 0;
    let mut quote = None;
    let mut escaped = false;
    for (index, c) in text.char_indices() {
        match (quote, c) {
            _ if escaped => escaped = false,
            // In single quotes a backslash has no meaning.
            (None | Some('"'), '\\') => escaped = true,
            (Some(open), c) if open == c => quote = None,
            (None, '\'' | '"') => quote = Some(c),
            (None, '(') => depth += 1,
            (None, ')') if depth == 1 => return Some(index),
            (None, ')') => depth -= 1,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let describe = |token: &ShellToken| match token {
            ShellToken::Word(word) if word.has_expansion => format!("~{}", word.text),
            ShellToken::Word(word) => word.text.to_string(),
            ShellToken::Input(word) => format!("<{}", word.text),
            ShellToken::Output => ">".to_owned(),
            ShellToken::Pipe => "|".to_owned(),
            ShellToken::CommandEnd => ";".to_owned(),
            ShellToken::Background => "&".to_owned(),
            ShellToken::OpenGroup => "(".to_owned(),
            ShellToken::CloseGroup => ")".to_owned(),
            ShellToken::Script(text) => format!("[{text}]"),
        };
        let mut lexer = Lexer::new(text);
        let mut got = Vec::new();
        loop {
            match lexer.next_token() {
                Ok(Some(token)) => got.push(describe(&token)),
                Ok(None) => break,
                Err(UnterminatedQuote) => got = vec!["unmatched".to_owned()],
            }
            if got == ["unmatched"] {
                break;
            }
        }
        assert_eq!(got.join(" "), expected, "{text}");
    }

    #[test]
    fn words_quotes_and_operators_are_tokens() {
        check("cat 'a b' \"c\\\"d\" e\\ f", "cat a b c\"d e f");
        check("a&&b||c;d|e&", "a ; b ; c ; d | e &");
        check("cat <in >out 2>&1 2>>log &>all", "cat <in > > > >");
        check("(cd x; ls) # no\nnext", "( cd x ; ls ) ; next");
        check("cat $A/x ~/y *.md \"$B\"", "cat ~$/x ~~/y ~*.md ~$");
        check(
            "echo $(cat \"a)b\") `ls` $((1/2)) $'it\\'s'",
            "echo [cat \"a)b\"] ~$ [ls] ~$ ~$ ~it\\'s",
        );
        check("a\r\nb", "a ; b");
        check("cat <<E\n\tE\nx\nE\nls", "cat ; ls");
        check("cat <<EOF >x\ncat y\nEOF\nls", "cat > ; ls");
        check("diff <(cat a) b", "diff ( cat a ) b");
        check("it's", "unmatched");
        check("a \\\n b", "a b");
        check("", "");
    }
}
