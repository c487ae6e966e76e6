//! Follows a script from command to command.

use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::LazyLock;

use memchr::memmem::Finder;

use super::UseKind;
use super::lexer::{Lexer, Token, Unmatched, Word};
use super::programs::{Next, Program, is_script, program};
use crate::paths::tidy;

/// How deep scripts in scripts are followed.
const MAX_DEPTH: usize = 4;
/// The longest path, in bytes.
const MAX_PATH: usize = 4_096;
/// The longest script that is looked at, in bytes.
const MAX_BYTES: usize = 256 * 1024;

/// A file that a command reads or runs.
pub(super) struct Found {
    pub(super) kind: UseKind,
    pub(super) path: PathBuf,
}

/// Follows a script, and where it stands.
pub(super) struct Walk {
    /// Where relative paths start; nothing when nobody knows.
    directory: Option<Rc<Path>>,
    pub(super) found: Vec<Found>,
    depth: usize,
}

impl Walk {
    pub(super) fn new(directory: &Path) -> Self {
        Self { directory: Some(Rc::from(directory)), found: Vec::new(), depth: 0 }
    }

    /// A program and its arguments, which no shell looks at.
    pub(super) fn words(&mut self, words: &[String]) {
        let words: Vec<Word<'_>> = words.iter().map(|text| Word::plain(text)).collect();
        self.command(&words, &[]);
    }

    pub(super) fn script(&mut self, text: &str) {
        let may_be_at = |path: &Rc<Path>| has_scripts(path.as_os_str().as_encoded_bytes());
        let is_about = has_scripts(text.as_bytes()) || names_document(text.as_bytes()) || self.directory.as_ref().is_some_and(may_be_at);
        if self.depth >= MAX_DEPTH || text.len() > MAX_BYTES || !is_about {
            return;
        }
        let (directory, found) = (self.directory.clone(), self.found.len());
        self.depth += 1;
        if self.tokens(Lexer::new(text)).is_err() {
            // Quotes that do not match: words are still words (Codex).
            self.directory = directory;
            self.found.truncate(found);
            let is_operator = |word: &&str| matches!(*word, "&&" | "||" | ";" | "|" | "&") || word.ends_with(';');
            let words: Vec<Word<'_>> = text.split_whitespace().take_while(|word| !is_operator(word)).map(Word::plain).collect();
            self.command(&words, &[]);
        }
        self.depth -= 1;
    }

    fn tokens<'t>(&mut self, mut lexer: Lexer<'t>) -> Result<(), Unmatched> {
        let mut outside = Vec::new();
        let (mut words, mut inputs): (Vec<Word<'t>>, Vec<Word<'t>>) = (Vec::new(), Vec::new());
        let mut is_piped = false;
        loop {
            let token = lexer.next_token()?;
            match token {
                Some(Token::Word(word)) => words.push(word),
                Some(Token::Input(word)) => inputs.push(word),
                Some(Token::Output) => {}
                Some(Token::Script(text)) => {
                    let directory = self.directory.clone();
                    self.script(text);
                    self.directory = directory;
                }
                end => {
                    let before = self.directory.clone();
                    self.command(&words, &inputs);
                    // Parts of a pipeline and what runs beside run in shells of their own.
                    if is_piped || matches!(end, Some(Token::Pipe | Token::Background)) {
                        self.directory = before;
                    }
                    is_piped = end == Some(Token::Pipe);
                    words.clear();
                    inputs.clear();
                    match end {
                        Some(Token::Open) => outside.push(self.directory.clone()),
                        Some(Token::Close) => self.directory = outside.pop().unwrap_or_else(|| self.directory.clone()),
                        None => return Ok(()),
                        Some(_) => {}
                    }
                }
            }
        }
    }

    fn command(&mut self, words: &[Word<'_>], inputs: &[Word<'_>]) {
        // Most commands are about no skill, and to see that they need not be understood.
        let may_matter = |word: &Word<'_>| {
            let text = word.text.as_bytes();
            matches!(text, b"cd" | b"pushd") || text.len() >= 7 && (has_scripts(text) || names_document(text))
        };
        let is_in_scripts = self.directory.as_ref().is_some_and(|path| has_scripts(path.as_os_str().as_encoded_bytes()));
        if !is_in_scripts && !words.iter().chain(inputs).any(may_matter) {
            return;
        }
        let mut directory = self.directory.clone();
        let Some((program, arguments)) = self.program(words, &mut directory) else { return };
        let inside = std::mem::replace(&mut self.directory, directory);
        match program {
            Program::Shell(script) => self.script(script),
            Program::Runner => {
                if let Some(script) = arguments.first().filter(|word| is_script(&word.text)) {
                    self.add(UseKind::Runs, script);
                }
            }
            Program::Reader => arguments.into_iter().chain(inputs).for_each(|word| self.add(UseKind::Reads, word)),
            Program::Itself(word) => self.add(UseKind::Runs, word),
            Program::ChangeDirectory => {
                self.directory = self.changed(arguments.first().copied());
                return;
            }
            Program::Other => {}
        }
        self.directory = inside;
    }

    /// Finds the program behind everything that only leads to it, and its arguments without options.
    fn program<'w>(&self, words: &'w [Word<'w>], directory: &mut Option<Rc<Path>>) -> Option<(Program<'w>, Vec<&'w Word<'w>>)> {
        let mut words = words;
        // Each step takes a word away.
        loop {
            while let Some((word, rest)) = words.split_first()
                && is_assignment(word)
            {
                words = rest;
            }
            match program(words)? {
                Next::Behind { skipped, changes_to } => {
                    if let Some(word) = changes_to {
                        *directory = self.joined(&word).map(Rc::from);
                    }
                    words = words.get(skipped.max(1)..)?;
                }
                Next::Found(program, arguments) => return Some((program, arguments)),
            }
        }
    }

    fn changed(&self, to: Option<&Word<'_>>) -> Option<Rc<Path>> {
        to.filter(|word| word.text != "-").and_then(|word| self.joined(word)).map(Rc::from)
    }

    /// Where a path leads from here.
    fn joined(&self, word: &Word<'_>) -> Option<PathBuf> {
        let path = Path::new(word.text.as_ref());
        if word.is_open {
            return None;
        }
        if path.is_absolute() {
            return Some(tidy(path));
        }
        // A path that is longer than any is none; a script could make it grow for ever.
        let joined = self.directory.as_ref()?.join(path);
        (joined.as_os_str().len() <= MAX_PATH).then(|| tidy(&joined))
    }

    fn add(&mut self, kind: UseKind, word: &Word<'_>) {
        // Most files are none of a skill, and to see that no path has to be made.
        let text = word.text.as_bytes();
        let may_be = match kind {
            UseKind::Reads => text.len() >= 8 && text[text.len() - 8..].eq_ignore_ascii_case(b"SKILL.md"),
            UseKind::Runs => {
                has_scripts(text) || self.directory.as_ref().is_some_and(|path| has_scripts(path.as_os_str().as_encoded_bytes()))
            }
        };
        if !may_be {
            return;
        }
        if let Some(path) = self.joined(word) {
            self.found.push(Found { kind, path });
        }
    }
}

fn has_scripts(path: &[u8]) -> bool {
    static SCRIPTS: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("scripts"));
    SCRIPTS.find(path).is_some()
}

/// Whether a `SKILL.md`, however it is spelled, is named in a script.
fn names_document(text: &[u8]) -> bool {
    memchr::memchr2_iter(b'k', b'K', text)
        .any(|at| at > 0 && text.get(at - 1..at + 7).is_some_and(|name| name.eq_ignore_ascii_case(b"SKILL.md")))
}

/// `NAME=value` before a command.
fn is_assignment(word: &Word<'_>) -> bool {
    let Some((name, _)) = word.text.split_once('=') else { return false };
    !name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit()) && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}
