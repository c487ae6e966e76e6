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

/// The error for a quote or a substitution without an end.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Unterminated;

/// Bytes with a meaning outside of quotes. A table, because every byte of a script is tested.
const SPECIAL_BYTES: [bool; 256] = {
    let special = b" \t\r\n'\"\\$`#|&;()<>*?[{~";
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
    text: &'a str,
    rest: &'a str,
    current_word: Option<ShellWord<'a>>,
    /// The here-documents that begin on the next line.
    heredocs: Vec<Heredoc>,
    /// The redirection that the next word belongs to.
    redirection: Option<Redirection>,
    /// Whether double quotes are still open, after a nested script inside them was returned.
    is_quoted: bool,
    /// Whether the tokens so far use more of a shell than words and quotes.
    pub(super) needs_shell: bool,
    /// Whether the text ends with a backslash that escapes nothing.
    pub(super) ends_in_escape: bool,
}

/// A here-document whose text has not been skipped yet.
struct Heredoc {
    delimiter: String,
    indentation: Indentation,
}

impl Heredoc {
    /// Returns true if a line is the delimiter.
    fn ends_with(&self, line: &str) -> bool {
        let line = line.strip_suffix('\r').unwrap_or(line);
        match self.indentation {
            Indentation::Significant => line == self.delimiter,
            Indentation::TabsIgnored => {
                line == self.delimiter || line.trim_start_matches('\t') == self.delimiter
            }
        }
    }
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

/// What an operator does.
enum Operator {
    Token(ShellToken<'static>),
    /// It has no token of its own; the word after it decides.
    Redirection(Redirection),
}

/// The operators, each after those that begin with it.
const OPERATORS: [(&str, Operator); 20] = [
    ("<<<", Operator::Redirection(Redirection::Output)),
    (
        "<<-",
        Operator::Redirection(Redirection::Heredoc(Indentation::TabsIgnored)),
    ),
    (
        "<<",
        Operator::Redirection(Redirection::Heredoc(Indentation::Significant)),
    ),
    ("<>", Operator::Redirection(Redirection::Input)),
    ("<&", Operator::Redirection(Redirection::Output)),
    ("<", Operator::Redirection(Redirection::Input)),
    (">>", Operator::Redirection(Redirection::Output)),
    (">&", Operator::Redirection(Redirection::Output)),
    (">|", Operator::Redirection(Redirection::Output)),
    (">", Operator::Redirection(Redirection::Output)),
    ("&>", Operator::Redirection(Redirection::Output)),
    ("&&", Operator::Token(ShellToken::CommandEnd)),
    ("&", Operator::Token(ShellToken::Background)),
    ("||", Operator::Token(ShellToken::CommandEnd)),
    ("|&", Operator::Token(ShellToken::Pipe)),
    ("|", Operator::Token(ShellToken::Pipe)),
    (";;", Operator::Token(ShellToken::CommandEnd)),
    (";", Operator::Token(ShellToken::CommandEnd)),
    ("(", Operator::Token(ShellToken::OpenGroup)),
    (")", Operator::Token(ShellToken::CloseGroup)),
];

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self {
            text,
            rest: text,
            current_word: None,
            heredocs: Vec::new(),
            redirection: None,
            is_quoted: false,
            needs_shell: false,
            ends_in_escape: false,
        }
    }

    /// Returns the next token; `None` at the end.
    pub(super) fn next_token(&mut self) -> Result<Option<ShellToken<'a>>, Unterminated> {
        loop {
            // A nested script interrupts the quotes that contain it; continue inside them.
            if self.is_quoted {
                let token = self.lex_double_quoted().ok_or(Unterminated)?;
                if token.is_some() {
                    return Ok(token);
                }
            }
            if let Some(word) = self.lex_plain() {
                return Ok(Some(ShellToken::Word(word)));
            }
            let Some(&b) = self.rest.as_bytes().first() else {
                return Ok(self.finish_word());
            };
            let token = if is_separator(b) {
                self.end_word(b).or_else(|| self.lex_separator(b))
            } else {
                self.lex_special(b).ok_or(Unterminated)?
            };
            if token.is_some() {
                return Ok(token);
            }
        }
    }

    /// Consumes bytes without a meaning, and returns a word that consists of these alone.
    fn lex_plain(&mut self) -> Option<ShellWord<'a>> {
        if self.current_word.is_none() {
            self.rest = self.rest.trim_start_matches(' ');
        }
        let mut bytes = self.rest.bytes();
        let end = bytes.position(|b| SPECIAL_BYTES[usize::from(b)]);
        let text = self.advance(end.unwrap_or(self.rest.len()));
        if text.is_empty() {
            return None;
        }
        // Fast path: nearly all words are plain and end with a space.
        let is_word = self.rest.starts_with(' ');
        if is_word && self.current_word.is_none() && self.redirection.is_none() {
            return Some(ShellWord::literal(text));
        }
        self.current_word().push(text);
        None
    }

    /// Ends the word before a separator.
    fn end_word(&mut self, separator: u8) -> Option<ShellToken<'a>> {
        // `2>log` redirects a stream. In `2 >log` the space has ended the number, which is an
        // argument then.
        if matches!(separator, b'<' | b'>') && self.is_fd_number() {
            self.current_word = None;
        }
        self.finish_word()
    }

    /// Consumes white space or an operator.
    fn lex_separator(&mut self, b: u8) -> Option<ShellToken<'a>> {
        self.needs_shell |= !matches!(b, b' ' | b'\t');
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

    /// Consumes a quote, escape, expansion or comment. `None` is one without an end.
    fn lex_special(&mut self, b: u8) -> Option<Option<ShellToken<'a>>> {
        match b {
            b'\'' => self.lex_quoted(|text| text.find('\''))?,
            b'"' => return self.lex_double_quoted(),
            b'\\' => self.lex_escape(),
            b'$' | b'`' => return self.lex_expansion(),
            b'#' if self.current_word.is_none() => {
                self.needs_shell = true;
                self.advance(self.rest.find('\n').unwrap_or(self.rest.len()));
            }
            b => self.lex_pattern(b),
        }
        Some(None)
    }

    /// Consumes text between quotes, without escapes.
    fn lex_quoted(&mut self, find_end: impl Fn(&str) -> Option<usize>) -> Option<()> {
        self.advance(1);
        let quoted = self.advance(find_end(self.rest)?);
        self.current_word().push(quoted);
        self.advance(1);
        Some(())
    }

    /// Consumes a byte of a pattern. `#` and `~` inside a word have no meaning, but `~` expands after
    /// `=` and `:` in assignments, and whether a word is one depends on the shell.
    fn lex_pattern(&mut self, b: u8) {
        let is_expansion =
            matches!(b, b'*' | b'?' | b'[') || b == b'~' && self.current_word.is_none();
        let before = &self.text[..self.text.len() - self.rest.len()];
        self.needs_shell |= is_expansion || b == b'{' || before.ends_with(['=', ':']);
        let text = self.advance(1);
        let word = self.current_word();
        word.push(text);
        word.has_expansion |= is_expansion;
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
            self.ends_in_escape = true;
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
                [b'\\', _, ..] => self.lex_quoted_escape(),
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

    /// Consumes a backslash in double quotes, and the character that it escapes.
    fn lex_quoted_escape(&mut self) {
        let backslash = self.advance(1);
        if !self.rest.starts_with(['"', '\\', '$', '`', '\n']) {
            self.current_word().push(backslash);
            return;
        }
        let text = self.advance(1);
        if text != "\n" {
            self.current_word().push(text);
        }
    }

    /// Consumes `$name`, `${…}`, `$(…)`, `$((…))`, `$'…'` or backticks, and returns the script of a
    /// substitution.
    fn lex_expansion(&mut self) -> Option<Option<ShellToken<'a>>> {
        self.current_word().has_expansion = true;
        self.needs_shell = true;
        if self.advance(1) == "`" {
            return self.lex_backticks().map(Some);
        }
        match self.rest.as_bytes().first() {
            Some(b'(') => return self.lex_substitution(),
            Some(b'{') => {
                self.advance(self.rest.find('}')? + 1);
                self.current_word().push("$");
            }
            // `$'…'` has escapes of its own, such as `\'`; they stay as they are, since no path of
            // a skill needs them.
            Some(b'\'') => self.lex_quoted(find_ansi_quote_end)?,
            _ => self.lex_variable(),
        }
        Some(None)
    }

    fn lex_backticks(&mut self) -> Option<ShellToken<'a>> {
        // An escaped backtick, which only nesting needs, ends the script here. That is rare.
        let script = self.advance(self.rest.find('`')?);
        self.advance(1);
        self.current_word().push("$");
        Some(ShellToken::Script(script))
    }

    /// Consumes `(…)`. Arithmetic, `((…))`, runs no command.
    fn lex_substitution(&mut self) -> Option<Option<ShellToken<'a>>> {
        let end = find_closing_parenthesis(self.rest)?;
        let script = &self.advance(end + 1)[1..end];
        self.current_word().push("$");
        let is_arithmetic = script.starts_with('(') && script.ends_with(')');
        Some((!is_arithmetic).then_some(ShellToken::Script(script)))
    }

    fn lex_variable(&mut self) {
        let is_special = self.rest.starts_with(['?', '@', '*', '#', '!', '$', '-']);
        let name = self
            .rest
            .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
            .unwrap_or(self.rest.len());
        self.current_word().push("$");
        self.advance(name + usize::from(is_special));
    }

    fn lex_operator(&mut self) -> Option<ShellToken<'a>> {
        let (text, operator) = OPERATORS
            .iter()
            .find(|(text, _)| self.rest.starts_with(text))?;
        self.advance(text.len());
        self.redirection = None;
        match operator {
            Operator::Token(token) => return Some(token.clone()),
            // `<(…)` is a process substitution: its commands follow as a group.
            Operator::Redirection(_) if *text == "<" && self.rest.starts_with('(') => {}
            Operator::Redirection(redirection) => self.redirection = Some(*redirection),
        }
        None
    }

    /// Skips the text of here-documents, which contains no commands.
    fn skip_heredocs(&mut self) {
        for heredoc in std::mem::take(&mut self.heredocs) {
            while !self.rest.is_empty() {
                let (line, rest) = self.rest.split_once('\n').unwrap_or((self.rest, ""));
                self.rest = rest;
                if heredoc.ends_with(line) {
                    break;
                }
            }
        }
    }
}

/// Returns true for `NAME=value`, an assignment before a command.
pub(super) fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty()
            && !name.starts_with(|c: char| c.is_ascii_digit())
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
    })
}

/// Returns true for variables that a shell or its programs read.
pub(super) fn is_environment_variable(name: &str) -> bool {
    const NAMES: [&str; 14] = [
        "_", "CDPATH", "ENV", "HOME", "IFS", "LANG", "LANGUAGE", "OLDPWD", "PATH", "PWD", "SHELL",
        "TERM", "TMPDIR", "TZ",
    ];
    let prefixes = ["BASH", "LC_", "LD_", "PYTHON", "SKILLS_"];
    NAMES.contains(&name) || prefixes.iter().any(|prefix| name.starts_with(prefix))
}

fn is_separator(b: u8) -> bool {
    b" \t\r\n|&;()<>".contains(&b)
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
                Err(Unterminated) => got = vec!["unmatched".to_owned()],
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
        check("a\\", "a");
        check("{ a; } {b,c}", "{ a ; } {b,c}");
        check("a \\\n b", "a b");
        check("", "");
    }
}
