//! The first line of a script, by which the kernel starts its interpreter.

use std::path::{Path, PathBuf};

/// UTF-8 byte order mark, which editors of Windows write.
const BOM: &[u8] = b"\xef\xbb\xbf";
/// Options of `env` with their value in the next word.
const ENV_VALUES: [&str; 4] = ["-u", "--unset", "-C", "--chdir"];
/// The options of `env` that are followed by the words of a command line.
const ENV_SPLIT: [&str; 4] = ["--split-string=", "-S", "-vS", "-iS"];

/// The first line of a script: `#!`, the absolute path of a program, and words.
///
/// It is text of the author of the script: [`path`](Self::path) is compared or shown, never started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shebang {
    path: PathBuf,
    is_env: bool,
    command: Vec<String>,
}

impl Shebang {
    /// How many bytes of a file [`parse`](Self::parse) needs, as Linux reads.
    pub const MAX_BYTES: u64 = 256;

    /// Parses the first bytes of a file, at most [`MAX_BYTES`](Self::MAX_BYTES). A byte order mark
    /// and a carriage return at the end of the line are ignored.
    ///
    /// `None` if the file is not a script: without a complete first line in these bytes, without an
    /// absolute path, with control characters, or with a backslash, `$` or an open quote, whose
    /// meaning `env` and the kernel disagree on.
    #[must_use]
    pub fn parse(start: &[u8]) -> Option<Self> {
        let start = start.strip_prefix(BOM).unwrap_or(start);
        let end = start.iter().position(|byte| *byte == b'\n');
        // A longer line would be cut, and run another program than a reader sees.
        let is_whole = (start.len() as u64) < Self::MAX_BYTES - BOM.len() as u64;
        let line = match end {
            Some(end) => &start[..end],
            None if is_whole => start,
            None => return None,
        };
        let line = std::str::from_utf8(line).ok()?.strip_prefix("#!")?;
        let line = line.strip_suffix('\r').unwrap_or(line);
        if line.chars().any(|one| one.is_control() && one != '\t') {
            return None;
        }
        let mut words = split_words(line)?;
        let path = PathBuf::from((!words.is_empty()).then(|| words.remove(0))?);
        if !path.is_absolute() {
            return None;
        }
        let is_env = path.file_name()? == "env";
        let command = if is_env { env_command(words) } else { words };
        Some(Self {
            path,
            is_env,
            command,
        })
    }

    /// Returns the program that the kernel starts, such as `/usr/bin/env`.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the name of the program that `env` searches, if the first line starts `env`.
    #[must_use]
    pub fn searched_name(&self) -> Option<&str> {
        let first = self.command.first().filter(|_| self.is_env);
        first.map(String::as_str)
    }

    /// Returns the name of the interpreter without its directory, and its arguments: those of `env`
    /// without options and assignments. Empty if `env` has none.
    #[must_use]
    pub fn command(&self) -> Vec<String> {
        let program = (!self.is_env).then(|| self.path.to_string_lossy().into_owned());
        let mut words: Vec<String> = program
            .into_iter()
            .chain(self.command.iter().cloned())
            .collect();
        if let Some(first) = words.first_mut() {
            *first = first.rsplit('/').next().unwrap_or_default().to_owned();
        }
        words
    }
}

/// Returns the words after the options and assignments of `env`.
fn env_command(words: Vec<String>) -> Vec<String> {
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        let attached = ENV_SPLIT.iter().find_map(|option| {
            let rest = word.strip_prefix(option)?;
            (!rest.is_empty()).then(|| rest.to_owned())
        });
        let word = match attached {
            Some(attached) => attached,
            None if ENV_VALUES.contains(&word.as_str()) => {
                words.next();
                continue;
            }
            None if word.starts_with('-') => continue,
            None => word,
        };
        if !is_assignment(&word) {
            return std::iter::once(word).chain(words).collect();
        }
    }
    Vec::new()
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        let mut characters = name.chars();
        let starts = characters.next().is_some_and(is_name_start);
        starts && characters.all(|one| is_name_start(one) || one.is_ascii_digit())
    })
}

fn is_name_start(character: char) -> bool {
    character.is_ascii_alphabetic() || character == '_'
}

/// Splits a line at whitespace outside of quotes. Words are never parsed again.
fn split_words(line: &str) -> Option<Vec<String>> {
    let mut words: Vec<String> = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for character in line.chars() {
        match (quote, character) {
            (_, '\\' | '$') => return None,
            (Some(open), _) if character == open => quote = None,
            (Some(_), _) => word.get_or_insert_default().push(character),
            (None, '\'' | '"') => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (None, ' ' | '\t') => words.extend(word.take()),
            (None, _) => word.get_or_insert_default().push(character),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> String {
        match Shebang::parse(line.as_bytes()) {
            Some(shebang) => format!(
                "{}: {}",
                shebang.path.display(),
                shebang.command().join("|")
            ),
            None => String::new(),
        }
    }

    #[test]
    fn the_interpreter_and_its_words_are_parsed() {
        for (line, expected) in [
            ("#!/bin/sh", "/bin/sh: sh"),
            ("#! /usr/bin/python3 -I\n", "/usr/bin/python3: python3|-I"),
            ("\u{feff}#!/bin/bash\r\necho", "/bin/bash: bash"),
            ("#!/usr/bin/env node", "/usr/bin/env: node"),
            ("#!/usr/bin/env -S A=1 deno run", "/usr/bin/env: deno|run"),
            (
                "#!/usr/bin/env -S A='b c' B=\"d\" /opt/x/lua -e x",
                "/usr/bin/env: lua|-e|x",
            ),
            ("#!/usr/bin/env -u HOME -i perl", "/usr/bin/env: perl"),
            (
                "#!/usr/bin/env -Suv run --script",
                "/usr/bin/env: uv|run|--script",
            ),
            (
                "#!/usr/bin/env --split-string=python3 -u",
                "/usr/bin/env: python3|-u",
            ),
            ("#!/usr/bin/env", "/usr/bin/env: "),
            ("#!/usr/bin/env A=1", "/usr/bin/env: "),
        ] {
            assert_eq!(parsed(line), expected, "{line}");
        }
    }

    #[test]
    fn other_lines_are_not_those_of_scripts() {
        for line in [
            "#!python",
            "#!./bin/python3",
            "#!",
            "#! ",
            "echo",
            "",
            "#![feature(x)]",
            "#!/bin/sh -c 'a",
            "#!/bin/sh -c $HOME",
            "#!/usr/bin/env -S a\\tb",
            "#!/bin/sh\rx",
            "#!/bin/sh\u{1b}[2K",
            "x#!/bin/sh",
        ] {
            assert_eq!(parsed(line), "", "{line:?}");
        }
        // Cut lines are rejected, not shortened.
        let padded = format!("#!/bin/sh {}", " ".repeat(300));
        assert_eq!(Shebang::parse(&padded.as_bytes()[..256]), None);
        assert_eq!(Shebang::parse(b"#!/bin/\xff\n"), None);
    }
}
