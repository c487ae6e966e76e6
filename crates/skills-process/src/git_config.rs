//! Parses configuration files of git.

/// A variable of a configuration file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Setting {
    /// The section in lower case, without its subsection.
    pub(crate) section: String,
    /// The variable in lower case.
    pub(crate) key: String,
    /// The value without quotes and comments.
    pub(crate) value: Vec<u8>,
}

/// Returns the variables of a file, in its order.
///
/// git rejects a file with a line that it cannot parse, and then executes nothing. Such a line is
/// skipped here, so that the rest counts: the file may be corrected later.
pub(crate) fn parse(text: &[u8]) -> Vec<Setting> {
    let text = text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(text);
    let mut reader = Reader { text, at: 0 };
    let mut section = String::new();
    let mut settings = Vec::new();
    while let Some(byte) = reader.peek() {
        match byte {
            b if b.is_ascii_whitespace() => reader.at += 1,
            b'#' | b';' => reader.skip_line(),
            b'[' => match reader.section() {
                Some(name) => section = name,
                None => reader.skip_line(),
            },
            b if b.is_ascii_alphanumeric() => {
                let (key, value) = reader.variable();
                settings.push(Setting {
                    section: section.clone(),
                    key,
                    value,
                });
            }
            _ => reader.skip_line(),
        }
    }
    settings
}

struct Reader<'a> {
    text: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    /// Returns the next byte. A line break of Windows is one of Unix.
    fn next(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        if byte == b'\r' && self.peek() == Some(b'\n') {
            self.at += 1;
            return Some(b'\n');
        }
        Some(byte)
    }

    fn skip_line(&mut self) {
        while self.next().is_some_and(|byte| byte != b'\n') {}
    }

    /// Reads `[section]`, `[section "subsection"]` or `[section.subsection]`, and returns the section.
    fn section(&mut self) -> Option<String> {
        self.at += 1;
        let name = self.word();
        while self
            .peek()
            .is_some_and(|byte| byte == b' ' || byte == b'\t')
        {
            self.at += 1;
        }
        if self.peek() == Some(b'"') {
            self.at += 1;
            loop {
                match self.next()? {
                    b'"' => break,
                    b'\\' => drop(self.next()?),
                    b'\n' => return None,
                    _ => {}
                }
            }
        }
        (self.next()? == b']').then(|| {
            let section = name.split('.').next().unwrap_or_default();
            section.to_owned()
        })
    }

    /// Reads letters, digits, `-` and `.`, in lower case.
    fn word(&mut self) -> String {
        let mut word = String::new();
        while let Some(byte) = self.peek() {
            if !(byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'.') {
                break;
            }
            word.push(char::from(byte.to_ascii_lowercase()));
            self.at += 1;
        }
        word
    }

    /// Reads `key = value` or `key`, to the end of the line.
    fn variable(&mut self) -> (String, Vec<u8>) {
        let key = self.word();
        while self
            .peek()
            .is_some_and(|byte| byte == b' ' || byte == b'\t')
        {
            self.at += 1;
        }
        if self.peek() == Some(b'=') {
            self.at += 1;
            return (key, self.value());
        }
        self.skip_line();
        (key, Vec::new())
    }

    fn value(&mut self) -> Vec<u8> {
        let mut value = Vec::new();
        let mut is_quoted = false;
        // Spaces at the end do not count, unless they are quoted.
        let mut kept = 0;
        while let Some(byte) = self.next() {
            match byte {
                b'\n' => break,
                b'"' => {
                    is_quoted = !is_quoted;
                    kept = value.len();
                }
                b'\\' => {
                    match self.next() {
                        Some(b'\n') | None => {}
                        Some(b'n') => value.push(b'\n'),
                        Some(b't') => value.push(b'\t'),
                        Some(b'b') => value.push(8),
                        Some(other) => value.push(other),
                    }
                    kept = value.len();
                }
                b'#' | b';' if !is_quoted => {
                    self.skip_line();
                    break;
                }
                byte if byte.is_ascii_whitespace() && !is_quoted => {
                    if !value.is_empty() {
                        value.push(byte);
                    }
                }
                byte => {
                    value.push(byte);
                    kept = value.len();
                }
            }
        }
        value.truncate(kept);
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        let settings = parse(text.as_bytes()).into_iter();
        let lines: Vec<_> = settings
            .map(
                |Setting {
                     section,
                     key,
                     value,
                 }| {
                    format!("{section} {key} {}", String::from_utf8_lossy(&value))
                },
            )
            .collect();
        assert_eq!(lines, expected, "{text}");
    }

    #[test]
    fn the_grammar_of_git_is_parsed() {
        check("[core]\n\thooksPath = hooks\n", &["core hookspath hooks"]);
        check(
            "[CORE]HooksPath=a b  # no\n; x\n[a]b",
            &["core hookspath a b", "a b "],
        );
        check("\u{feff}[a]\r\nb = c\r\nd\r\n", &["a b c", "a d "]);
        check("[a \"x\\\"]\"]\nb = 1\n[a.B]\nc=2", &["a b 1", "a c 2"]);
        check("[a]\nb = \" x # y \" ; z\n", &["a b  x # y "]);
        check(
            "[a]\nb = one \\\n two\\t\\\\ \\\"q\\\"\n",
            &["a b one  two\t\\ \"q\""],
        );
        check("[a]\nb = x\"y z\"w", &["a b xy zw"]);
        // A line that git rejects hides no other.
        check("[a\nb = 1\n[c]\n= 2\n_d = 3\ne = \\", &["c e "]);
        check("b = 1", &[" b 1"]);
    }

    #[test]
    fn no_text_stops_the_parser() {
        let parts = [
            "[", "]", "\"", "\\", "\n", "\r", "a", "=", "#", ".", " ", "\u{e9}",
        ];
        for first in parts {
            for second in parts {
                for third in parts {
                    for fourth in parts {
                        parse(format!("{first}{second}{third}{fourth}").as_bytes());
                    }
                }
            }
        }
    }
}
