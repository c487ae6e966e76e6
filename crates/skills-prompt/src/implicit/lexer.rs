//! Takes the text of a shell apart: words, operators, nested scripts.

use std::borrow::Cow;

/// A word, and whether the shell would put something else in its place.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Word<'a> {
    pub(super) text: Cow<'a, str>,
    /// It holds a variable, a pattern, a substitution or a `~`, so nobody knows what it becomes.
    pub(super) is_open: bool,
}

impl<'a> Word<'a> {
    pub(super) fn plain(text: &'a str) -> Self {
        Self { text: Cow::Borrowed(text), is_open: false }
    }

    fn push(&mut self, text: &'a str) {
        if self.text.is_empty() {
            self.text = Cow::Borrowed(text);
        } else {
            self.text.to_mut().push_str(text);
        }
    }
}

/// A piece of a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token<'a> {
    Word(Word<'a>),
    /// `<` and the file behind it.
    Input(Word<'a>),
    /// A redirection whose file is none of our business.
    Output,
    /// `|` and `|&`.
    Pipe,
    /// `&&`, `||`, `;` and the end of a line.
    End,
    /// `&`.
    Background,
    Open,
    Close,
    /// The inside of `$(…)` or of backticks.
    Script(&'a str),
}

/// The quotes of a script do not match.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Unmatched;

/// Bytes that mean something to a shell outside of quotes; a table is quicker than asking.
const SPECIAL: [bool; 256] = {
    let special = b" \t\r\n'\"\\$`#|&;()<>*?[~";
    let mut table = [false; 256];
    let mut index = 0;
    while index < special.len() {
        table[special[index] as usize] = true;
        index += 1;
    }
    table
};

/// Splits a script into tokens.
pub(super) struct Lexer<'a> {
    rest: &'a str,
    word: Option<Word<'a>>,
    /// The words that end the documents which begin on the next line, and whether tabs may stand before them.
    heredocs: Vec<(String, bool)>,
    /// What the next word is for.
    redirection: Option<Redirection>,
    /// Whether double quotes are open, after a script inside them was given out.
    is_quoted: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum Redirection {
    Input,
    Output,
    Heredoc { indented: bool },
}

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { rest: text, word: None, heredocs: Vec::new(), redirection: None, is_quoted: false }
    }

    /// Returns the next token; nothing at the end.
    pub(super) fn next_token(&mut self) -> Result<Option<Token<'a>>, Unmatched> {
        loop {
            if self.is_quoted {
                let token = self.double_quoted().ok_or(Unmatched)?;
                if token.is_some() {
                    return Ok(token);
                }
            }
            if self.word.is_none() {
                self.rest = self.rest.trim_start_matches(' ');
            }
            let plain = self.rest.bytes().position(|b| SPECIAL[usize::from(b)]).unwrap_or(self.rest.len());
            // Nearly all words are plain and end with a space.
            if plain > 0 && self.word.is_none() && self.redirection.is_none() && self.rest.as_bytes().get(plain) == Some(&b' ') {
                return Ok(Some(Token::Word(Word::plain(self.take(plain)))));
            }
            if plain > 0 {
                let text = self.take(plain);
                self.word().push(text);
            }
            let Some(&b) = self.rest.as_bytes().first() else { return Ok(self.finished()) };
            let is_end = matches!(b, b' ' | b'\t' | b'\r' | b'\n' | b'|' | b'&' | b';' | b'(' | b')' | b'<' | b'>');
            if is_end && self.word.is_some() {
                if matches!(b, b'<' | b'>') && self.is_stream() {
                    self.word = None;
                } else if let Some(token) = self.finished() {
                    return Ok(Some(token));
                }
            }
            let token = if is_end { self.divided(b) } else { self.special(b).ok_or(Unmatched)? };
            if token.is_some() {
                return Ok(token);
            }
        }
    }

    /// Goes beyond what divides words.
    fn divided(&mut self, b: u8) -> Option<Token<'a>> {
        match b {
            b' ' | b'\t' | b'\r' => {
                self.take(1);
                None
            }
            b'\n' => {
                self.take(1);
                self.skip_heredocs();
                Some(Token::End)
            }
            _ => self.operator(),
        }
    }

    /// What stands inside a word, and comments.
    fn special(&mut self, b: u8) -> Option<Option<Token<'a>>> {
        match b {
            b'\'' => {
                self.take(1);
                let quoted = self.take(self.rest.find('\'')?);
                self.word().push(quoted);
                self.take(1);
            }
            b'"' => return self.double_quoted(),
            b'\\' => self.escaped(),
            b'$' | b'`' => return self.expansion(),
            b'#' if self.word.is_none() => {
                self.take(self.rest.find('\n').unwrap_or(self.rest.len()));
            }
            // `#` and `~` inside a word are characters like any other.
            b => {
                let is_open = matches!(b, b'*' | b'?' | b'[') || b == b'~' && self.word.is_none();
                let text = self.take(1);
                let word = self.word();
                word.push(text);
                word.is_open |= is_open;
            }
        }
        Some(None)
    }

    /// Goes on by so many bytes and returns them.
    fn take(&mut self, bytes: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(bytes);
        self.rest = rest;
        taken
    }

    fn word(&mut self) -> &mut Word<'a> {
        self.word.get_or_insert_default()
    }

    /// Whether the word is a number before a redirection, which says which stream it is about.
    fn is_stream(&self) -> bool {
        self.word.as_ref().is_some_and(|word| !word.text.is_empty() && word.text.bytes().all(|b| b.is_ascii_digit()))
    }

    /// The word that ends here.
    fn finished(&mut self) -> Option<Token<'a>> {
        let word = self.word.take()?;
        match self.redirection.take() {
            None => Some(Token::Word(word)),
            Some(Redirection::Input) => Some(Token::Input(word)),
            Some(Redirection::Output) => Some(Token::Output),
            Some(Redirection::Heredoc { indented }) => {
                self.heredocs.push((word.text.into_owned(), indented));
                None
            }
        }
    }

    fn escaped(&mut self) {
        self.take(1);
        let Some(c) = self.rest.chars().next() else { return };
        let text = self.take(c.len_utf8());
        // Otherwise a line goes on.
        if c != '\n' {
            self.word().push(text);
        }
    }

    /// Takes what stands in double quotes up to a script in it, or to the end.
    fn double_quoted(&mut self) -> Option<Option<Token<'a>>> {
        if !std::mem::take(&mut self.is_quoted) {
            self.take(1);
        }
        self.word();
        loop {
            let plain = self.take(self.rest.find(['"', '\\', '$', '`'])?);
            self.word().push(plain);
            match self.rest.as_bytes() {
                [b'"', ..] => {
                    self.take(1);
                    return Some(None);
                }
                [b'\\', next, ..] => {
                    let is_escape = matches!(next, b'"' | b'\\' | b'$' | b'`' | b'\n');
                    let slash = self.take(1);
                    if !is_escape {
                        self.word().push(slash);
                    } else {
                        let text = self.take(1);
                        if text != "\n" {
                            self.word().push(text);
                        }
                    }
                }
                [b'$' | b'`', ..] => {
                    if let Some(script) = self.expansion()? {
                        self.is_quoted = true;
                        return Some(Some(script));
                    }
                }
                _ => return None,
            }
        }
    }

    /// `$name`, `${…}`, `$(…)`, `$((…))` and backticks.
    fn expansion(&mut self) -> Option<Option<Token<'a>>> {
        self.word().is_open = true;
        let first = self.take(1);
        if first == "`" {
            let script = self.take(self.rest.find('`')?);
            self.take(1);
            self.word().push("$");
            return Some(Some(Token::Script(script)));
        } else if self.rest.starts_with('(') {
            let end = closing(self.rest)?;
            let script = &self.take(end + 1)[1..end];
            self.word().push("$");
            // A calculation starts nothing.
            let is_calculation = script.starts_with('(') && script.ends_with(')');
            return Some((!is_calculation).then_some(Token::Script(script)));
        } else if self.rest.starts_with('{') {
            self.take(self.rest.find('}')? + 1);
            self.word().push("$");
        } else if self.rest.starts_with('\'') {
            // `$'…'` with its own escapes.
            self.take(1);
            let end = ansi_end(self.rest)?;
            let quoted = self.take(end);
            self.word().push(quoted);
            self.take(1);
            return Some(None);
        } else {
            let name = self.rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(self.rest.len());
            let special = usize::from(name == 0 && self.rest.starts_with(['?', '@', '*', '#', '!', '$', '-']));
            self.word().push(first);
            self.take(name + special);
        }
        Some(None)
    }

    fn operator(&mut self) -> Option<Token<'a>> {
        let (length, token) = match self.rest.as_bytes() {
            [b'|', b'|', ..] | [b'&', b'&', ..] | [b';', b';', ..] => (2, Some(Token::End)),
            [b'|', b'&', ..] => (2, Some(Token::Pipe)),
            [b'|', ..] => (1, Some(Token::Pipe)),
            [b'&', b'>', ..] => (2, None),
            [b'&', ..] => (1, Some(Token::Background)),
            [b';', ..] => (1, Some(Token::End)),
            [b'(', ..] => (1, Some(Token::Open)),
            [b')', ..] => (1, Some(Token::Close)),
            [b'<', b'<', b'<', ..] => (3, None),
            [b'<', b'<', b'-', ..] => (3, None),
            [b'<', b'<', ..] | [b'<', b'>' | b'&', ..] | [b'>', b'>' | b'&' | b'|', ..] => (2, None),
            _ => (1, None),
        };
        let operator = &self.rest[..length];
        self.redirection = match operator {
            "<" if self.rest[1..].starts_with('(') => None,
            "<" | "<>" => Some(Redirection::Input),
            "<<" | "<<-" => Some(Redirection::Heredoc { indented: operator == "<<-" }),
            _ if token.is_none() => Some(Redirection::Output),
            _ => None,
        };
        self.take(length);
        token
    }

    /// Documents in a script are no commands.
    fn skip_heredocs(&mut self) {
        for (end, indented) in std::mem::take(&mut self.heredocs) {
            while !self.rest.is_empty() {
                let (line, rest) = self.rest.split_once('\n').unwrap_or((self.rest, ""));
                self.rest = rest;
                let line = line.strip_suffix('\r').unwrap_or(line);
                if line == end || indented && line.trim_start_matches('\t') == end {
                    break;
                }
            }
        }
    }
}

/// Finds the end of `$'…'`, in which a backslash escapes the quote.
fn ansi_end(text: &str) -> Option<usize> {
    let mut escaped = false;
    text.bytes().position(|b| {
        let ends = b == b'\'' && !escaped;
        escaped = b == b'\\' && !escaped;
        ends
    })
}

/// Finds the parenthesis that closes the one which `text` begins with.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0;
    let mut quote = None;
    let mut escaped = false;
    for (index, c) in text.char_indices() {
        match (quote, c) {
            _ if escaped => escaped = false,
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
        let shown = |token: &Token| match token {
            Token::Word(word) if word.is_open => format!("~{}", word.text),
            Token::Word(word) => word.text.to_string(),
            Token::Input(word) => format!("<{}", word.text),
            Token::Output => ">".to_owned(),
            Token::Pipe => "|".to_owned(),
            Token::End => ";".to_owned(),
            Token::Background => "&".to_owned(),
            Token::Open => "(".to_owned(),
            Token::Close => ")".to_owned(),
            Token::Script(text) => format!("[{text}]"),
        };
        let mut lexer = Lexer::new(text);
        let mut got = Vec::new();
        loop {
            match lexer.next_token() {
                Ok(Some(token)) => got.push(shown(&token)),
                Ok(None) => break,
                Err(Unmatched) => got = vec!["unmatched".to_owned()],
            }
            if got == ["unmatched"] {
                break;
            }
        }
        assert_eq!(got.join(" "), expected, "{text}");
    }

    #[test]
    fn words_quotes_and_operators() {
        check("cat 'a b' \"c\\\"d\" e\\ f", "cat a b c\"d e f");
        check("a&&b||c;d|e&", "a ; b ; c ; d | e &");
        check("cat <in >out 2>&1 2>>log &>all", "cat <in > > > >");
        check("(cd x; ls) # no\nnext", "( cd x ; ls ) ; next");
        check("cat $A/x ~/y *.md \"$B\"", "cat ~$/x ~~/y ~*.md ~$");
        check("echo $(cat \"a)b\") `ls` $((1/2)) $'it\\'s'", "echo [cat \"a)b\"] ~$ [ls] ~$ ~$ ~it\\'s");
        check("a\r\nb", "a ; b");
        check("cat <<E\n\tE\nx\nE\nls", "cat ; ls");
        check("cat <<EOF >x\ncat y\nEOF\nls", "cat > ; ls");
        check("diff <(cat a) b", "diff ( cat a ) b");
        check("it's", "unmatched");
        check("a \\\n b", "a b");
        check("", "");
    }
}
