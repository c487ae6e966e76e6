//! Follows a script from command to command.

use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::LazyLock;

use memchr::memmem::Finder;

use super::UseKind;
use super::programs::{Program, Step, has_script_extension, identify_program};
use super::shell_lexer::{Lexer, ShellToken, ShellWord, UnterminatedQuote};
use crate::paths::normalize_path;

/// How deep scripts in scripts are followed.
const MAX_DEPTH: usize = 4;
/// The longest path, in bytes.
const MAX_PATH_BYTES: usize = 4_096;
/// The longest script that is looked at, in bytes.
const MAX_SCRIPT_BYTES: usize = 256 * 1024;

/// A file that a command reads or runs.
pub(super) struct FileUse {
    pub(super) kind: UseKind,
    pub(super) path: PathBuf,
}

/// Follows a script, and where it stands.
pub(super) struct ScriptWalker {
    /// Where relative paths start; nothing when nobody knows.
    directory: Option<Rc<Path>>,
    pub(super) uses: Vec<FileUse>,
    depth: usize,
}

impl ScriptWalker {
    pub(super) fn new(directory: &Path) -> Self {
        Self {
            directory: Some(Rc::from(directory)),
            uses: Vec::new(),
            depth: 0,
        }
    }

    /// A program and its arguments, which no shell looks at.
    pub(super) fn walk_argv(&mut self, words: &[String]) {
        let words: Vec<ShellWord<'_>> = words.iter().map(|text| ShellWord::literal(text)).collect();
        self.walk_command(&words, &[]);
    }

    pub(super) fn walk_script(&mut self, text: &str) {
        let may_be_at =
            |path: &Rc<Path>| contains_scripts_directory(path.as_os_str().as_encoded_bytes());
        let is_about = contains_scripts_directory(text.as_bytes())
            || mentions_document(text.as_bytes())
            || self.directory.as_ref().is_some_and(may_be_at);
        if self.depth >= MAX_DEPTH || text.len() > MAX_SCRIPT_BYTES || !is_about {
            return;
        }
        let (directory, found) = (self.directory.clone(), self.uses.len());
        self.depth += 1;
        if self.walk_tokens(Lexer::new(text)).is_err() {
            // Quotes that do not match: words are still words (Codex).
            self.directory = directory;
            self.uses.truncate(found);
            let is_operator =
                |word: &&str| matches!(*word, "&&" | "||" | ";" | "|" | "&") || word.ends_with(';');
            let words: Vec<ShellWord<'_>> = text
                .split_whitespace()
                .take_while(|word| !is_operator(word))
                .map(ShellWord::literal)
                .collect();
            self.walk_command(&words, &[]);
        }
        self.depth -= 1;
    }

    fn walk_tokens<'t>(&mut self, mut lexer: Lexer<'t>) -> Result<(), UnterminatedQuote> {
        let mut outside = Vec::new();
        let (mut words, mut inputs): (Vec<ShellWord<'t>>, Vec<ShellWord<'t>>) =
            (Vec::new(), Vec::new());
        let mut is_piped = false;
        loop {
            let token = lexer.next_token()?;
            match token {
                Some(ShellToken::Word(word)) => words.push(word),
                Some(ShellToken::Input(word)) => inputs.push(word),
                Some(ShellToken::Output) => {}
                Some(ShellToken::Script(text)) => {
                    let directory = self.directory.clone();
                    self.walk_script(text);
                    self.directory = directory;
                }
                end => {
                    let before = self.directory.clone();
                    self.walk_command(&words, &inputs);
                    // Parts of a pipeline and what runs beside run in shells of their own.
                    if is_piped || matches!(end, Some(ShellToken::Pipe | ShellToken::Background)) {
                        self.directory = before;
                    }
                    is_piped = end == Some(ShellToken::Pipe);
                    words.clear();
                    inputs.clear();
                    match end {
                        Some(ShellToken::OpenGroup) => outside.push(self.directory.clone()),
                        Some(ShellToken::CloseGroup) => {
                            self.directory = outside.pop().unwrap_or_else(|| self.directory.clone())
                        }
                        None => return Ok(()),
                        Some(_) => {}
                    }
                }
            }
        }
    }

    fn walk_command(&mut self, words: &[ShellWord<'_>], inputs: &[ShellWord<'_>]) {
        // Most commands are about no skill, and to see that they need not be understood.
        let may_matter = |word: &ShellWord<'_>| {
            let text = word.text.as_bytes();
            matches!(text, b"cd" | b"pushd")
                || text.len() >= 7 && (contains_scripts_directory(text) || mentions_document(text))
        };
        let is_in_scripts = self
            .directory
            .as_ref()
            .is_some_and(|path| contains_scripts_directory(path.as_os_str().as_encoded_bytes()));
        if !is_in_scripts && !words.iter().chain(inputs).any(may_matter) {
            return;
        }
        let mut directory = self.directory.clone();
        let Some((program, arguments)) = self.resolve_program(words, &mut directory) else {
            return;
        };
        let inside = std::mem::replace(&mut self.directory, directory);
        match program {
            Program::Shell(script) => self.walk_script(script),
            Program::Runner => {
                if let Some(script) = arguments
                    .first()
                    .filter(|word| has_script_extension(&word.text))
                {
                    self.add_use(UseKind::RunScript, script);
                }
            }
            Program::Reader => arguments
                .into_iter()
                .chain(inputs)
                .for_each(|word| self.add_use(UseKind::ReadDocument, word)),
            Program::File(word) => self.add_use(UseKind::RunScript, word),
            Program::ChangeDirectory => {
                self.directory = self.changed_directory(arguments.first().copied());
                return;
            }
            Program::Other => {}
        }
        self.directory = inside;
    }

    /// Finds the program behind everything that only leads to it, and its arguments without
    /// options.
    fn resolve_program<'w>(
        &self,
        words: &'w [ShellWord<'w>],
        directory: &mut Option<Rc<Path>>,
    ) -> Option<(Program<'w>, Vec<&'w ShellWord<'w>>)> {
        let mut words = words;
        // Each step takes a word away.
        loop {
            while let Some((word, rest)) = words.split_first()
                && is_assignment(word)
            {
                words = rest;
            }
            match identify_program(words)? {
                Step::Wrapper {
                    skipped,
                    changes_to,
                } => {
                    if let Some(word) = changes_to {
                        *directory = self.resolve_path(&word).map(Rc::from);
                    }
                    words = words.get(skipped.max(1)..)?;
                }
                Step::Program(program, arguments) => return Some((program, arguments)),
            }
        }
    }

    fn changed_directory(&self, to: Option<&ShellWord<'_>>) -> Option<Rc<Path>> {
        to.filter(|word| word.text != "-")
            .and_then(|word| self.resolve_path(word))
            .map(Rc::from)
    }

    /// Where a path leads from here.
    fn resolve_path(&self, word: &ShellWord<'_>) -> Option<PathBuf> {
        let path = Path::new(word.text.as_ref());
        if word.has_expansion {
            return None;
        }
        if path.is_absolute() {
            return Some(normalize_path(path));
        }
        // A path that is longer than any is none; a script could make it grow for ever.
        let joined = self.directory.as_ref()?.join(path);
        (joined.as_os_str().len() <= MAX_PATH_BYTES).then(|| normalize_path(&joined))
    }

    fn add_use(&mut self, kind: UseKind, word: &ShellWord<'_>) {
        // Most files are none of a skill, and to see that no path has to be made.
        let text = word.text.as_bytes();
        let may_be = match kind {
            UseKind::ReadDocument => {
                text.len() >= 8 && text[text.len() - 8..].eq_ignore_ascii_case(b"SKILL.md")
            }
            UseKind::RunScript => {
                contains_scripts_directory(text)
                    || self.directory.as_ref().is_some_and(|path| {
                        contains_scripts_directory(path.as_os_str().as_encoded_bytes())
                    })
            }
        };
        if !may_be {
            return;
        }
        if let Some(path) = self.resolve_path(word) {
            self.uses.push(FileUse { kind, path });
        }
    }
}

fn contains_scripts_directory(path: &[u8]) -> bool {
    static SCRIPTS: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("scripts"));
    SCRIPTS.find(path).is_some()
}

/// Whether a `SKILL.md`, however it is spelled, is named in a script.
fn mentions_document(text: &[u8]) -> bool {
    memchr::memchr2_iter(b'k', b'K', text).any(|at| {
        at > 0
            && text
                .get(at - 1..at + 7)
                .is_some_and(|name| name.eq_ignore_ascii_case(b"SKILL.md"))
    })
}

/// `NAME=value` before a command.
fn is_assignment(word: &ShellWord<'_>) -> bool {
    let Some((name, _)) = word.text.split_once('=') else {
        return false;
    };
    !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}
