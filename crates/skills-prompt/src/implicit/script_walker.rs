//! Walks the commands of a script and collects the files that they read or run.

use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::LazyLock;

use memchr::memmem::Finder;

use super::UseKind;
use super::programs::{Action, identify_action};
use crate::paths::normalize_path;
use crate::shell_lexer::{Lexer, ShellToken, ShellWord, Unterminated, is_assignment};

/// The maximum nesting of scripts, in levels. A hostile command could nest without end.
const MAX_DEPTH: usize = 4;
/// The maximum length of a path, in bytes: the limit of Linux.
const MAX_PATH_BYTES: usize = 4_096;
/// The maximum length of a script, in bytes; a longer one is skipped.
const MAX_SCRIPT_BYTES: usize = 256 * 1024;

/// A file that a command reads or runs.
pub(super) struct FileUse {
    pub(super) kind: UseKind,
    pub(super) path: PathBuf,
}

/// Walks a script and tracks its working directory.
pub(super) struct ScriptWalker {
    /// The working directory; `None` if it depends on an expansion.
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

    /// Walks a program with its arguments, which no shell expands.
    pub(super) fn walk_argv(&mut self, words: &[String]) {
        let words: Vec<ShellWord<'_>> = words.iter().map(|text| ShellWord::literal(text)).collect();
        self.walk_command(&words, &[]);
    }

    /// Walks the text of a script. Quotes that do not match end the shell grammar: then the first
    /// command is split at white space.
    pub(super) fn walk_script(&mut self, text: &str) {
        if self.depth >= MAX_DEPTH || text.len() > MAX_SCRIPT_BYTES || !self.may_use_skill(text) {
            return;
        }
        let directory = self.directory.clone();
        let uses_before = self.uses.len();
        self.depth += 1;
        if self.walk_tokens(Lexer::new(text)).is_err() {
            // A shell would reject the whole script, but Codex splits it into words, and a record
            // that misses nothing is worth more than one that is exact.
            self.directory = directory;
            self.uses.truncate(uses_before);
            self.walk_command(&split_first_command(text), &[]);
        }
        self.depth -= 1;
    }

    /// Nearly all commands of a session concern no skill; a substring search rules them out.
    fn may_use_skill(&self, text: &str) -> bool {
        contains_scripts_directory(text.as_bytes())
            || mentions_document(text.as_bytes())
            || self.is_in_scripts_directory()
    }

    /// Walks the commands of a script up to its end.
    fn walk_tokens(&mut self, mut lexer: Lexer<'_>) -> Result<(), Unterminated> {
        let mut outer_directories = Vec::new();
        let mut command = PendingCommand::default();
        while let Some(token) = lexer.next_token()? {
            match token {
                ShellToken::Word(word) => command.words.push(word),
                ShellToken::Input(word) => command.inputs.push(word),
                ShellToken::Output => {}
                ShellToken::Script(text) => self.walk_substitution(text),
                ShellToken::OpenGroup => {
                    self.end_command(&mut command, Some(&token));
                    outer_directories.push(self.directory.clone());
                }
                ShellToken::CloseGroup => {
                    self.end_command(&mut command, Some(&token));
                    if let Some(directory) = outer_directories.pop() {
                        self.directory = directory;
                    }
                }
                end => self.end_command(&mut command, Some(&end)),
            }
        }
        self.end_command(&mut command, None);
        Ok(())
    }

    /// Walks the script of a substitution, which is a subshell: its `cd` ends with it.
    fn walk_substitution(&mut self, text: &str) {
        let directory = self.directory.clone();
        self.walk_script(text);
        self.directory = directory;
    }

    fn end_command(&mut self, command: &mut PendingCommand<'_>, end: Option<&ShellToken<'_>>) {
        let before = self.directory.clone();
        self.walk_command(&command.words, &command.inputs);
        // Parts of a pipeline and background commands run in subshells.
        if command.is_piped || matches!(end, Some(ShellToken::Pipe | ShellToken::Background)) {
            self.directory = before;
        }
        command.is_piped = end == Some(&ShellToken::Pipe);
        command.words.clear();
        command.inputs.clear();
    }

    /// Records the uses of one command. `inputs` are the files of its `<` redirections.
    fn walk_command(&mut self, words: &[ShellWord<'_>], inputs: &[ShellWord<'_>]) {
        if !self.is_in_scripts_directory() && !words.iter().chain(inputs).any(may_matter) {
            return;
        }
        let (action, directory) = self.unwrap_command(words);
        // A wrapper such as `env -C` changes the directory of this command only.
        let outer_directory = std::mem::replace(&mut self.directory, directory);
        match action {
            // The only program that changes the directory of the commands after it.
            Some(Action::ChangeDirectory(target)) => {
                self.directory = self.changed_directory(target);
                return;
            }
            Some(Action::RunShell(script)) => self.walk_script(script),
            Some(Action::Run(word)) => self.add_use(UseKind::RunScript, word),
            Some(Action::Read(files)) => files
                .into_iter()
                .chain(inputs)
                .for_each(|word| self.add_use(UseKind::ReadDocument, word)),
            Some(Action::Wrap { .. }) | None => {}
        }
        self.directory = outer_directory;
    }

    /// Returns the action of a command without its wrappers, and the directory that it runs in.
    fn unwrap_command<'w>(
        &self,
        mut words: &'w [ShellWord<'w>],
    ) -> (Option<Action<'w>>, Option<Rc<Path>>) {
        let mut directory = self.directory.clone();
        // Ends because each step removes at least one word.
        loop {
            // Assignments can also follow a wrapper: `env A=1 python3 x.py`.
            words = &words[words
                .iter()
                .take_while(|word| is_assignment(&word.text))
                .count()..];
            match identify_action(words) {
                Some(Action::Wrap {
                    skipped,
                    changes_to,
                }) => {
                    if let Some(word) = changes_to {
                        directory = self.resolve_path(&word).map(Rc::from);
                    }
                    words = words.get(skipped..).unwrap_or_default();
                }
                action => return (action, directory),
            }
        }
    }

    /// Returns the directory after `cd`; `None` for `cd -` and plain `cd`, which depend on the
    /// environment.
    fn changed_directory(&self, target: Option<&ShellWord<'_>>) -> Option<Rc<Path>> {
        target
            .filter(|word| word.text != "-")
            .and_then(|word| self.resolve_path(word))
            .map(Rc::from)
    }

    /// Returns the absolute path of a word; `None` if an expansion decides on it.
    fn resolve_path(&self, word: &ShellWord<'_>) -> Option<PathBuf> {
        let path = Path::new(word.text.as_ref());
        // A wrong guess would record a skill that was not used.
        if word.has_expansion {
            return None;
        }
        if path.is_absolute() {
            return Some(normalize_path(path));
        }
        // Repeated `cd x` would let a script grow the path without bound.
        let joined = self.directory.as_ref()?.join(path);
        (joined.as_os_str().len() <= MAX_PATH_BYTES).then(|| normalize_path(&joined))
    }

    /// Records that `word` is read or run, if it may be a file of a skill.
    fn add_use(&mut self, kind: UseKind, word: &ShellWord<'_>) {
        if self.may_belong_to_skill(kind, word.text.as_bytes())
            && let Some(path) = self.resolve_path(word)
        {
            self.uses.push(FileUse { kind, path });
        }
    }

    /// Most files belong to no skill; the name alone tells, without building a path.
    fn may_belong_to_skill(&self, kind: UseKind, text: &[u8]) -> bool {
        match kind {
            UseKind::ReadDocument => text
                .last_chunk::<8>()
                .is_some_and(|name| name.eq_ignore_ascii_case(b"SKILL.md")),
            UseKind::RunScript => {
                contains_scripts_directory(text) || self.is_in_scripts_directory()
            }
        }
    }

    fn is_in_scripts_directory(&self) -> bool {
        self.directory
            .as_ref()
            .is_some_and(|path| contains_scripts_directory(path.as_os_str().as_encoded_bytes()))
    }
}

/// A command whose end was not reached yet.
#[derive(Default)]
struct PendingCommand<'t> {
    words: Vec<ShellWord<'t>>,
    inputs: Vec<ShellWord<'t>>,
    is_piped: bool,
}

/// Splits the words before the first operator of a script at white space.
fn split_first_command(text: &str) -> Vec<ShellWord<'_>> {
    let is_operator =
        |word: &&str| matches!(*word, "&&" | "||" | ";" | "|" | "&") || word.ends_with(';');
    text.split_whitespace()
        .take_while(|word| !is_operator(word))
        .map(ShellWord::literal)
        .collect()
}

/// Most commands concern no skill, which is cheaper to find out than which program they run.
fn may_matter(word: &ShellWord<'_>) -> bool {
    let text = word.text.as_bytes();
    matches!(text, b"cd" | b"pushd")
        || text.len() >= 7 && (contains_scripts_directory(text) || mentions_document(text))
}

/// Returns true if a path may lead through a directory `scripts`; false positives are harmless.
fn contains_scripts_directory(path: &[u8]) -> bool {
    static SCRIPTS: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("scripts"));
    SCRIPTS.find(path).is_some()
}

/// Returns true if a script contains `SKILL.md`, in any case.
fn mentions_document(text: &[u8]) -> bool {
    // `k` is the rarest letter of the name.
    memchr::memchr2_iter(b'k', b'K', text).any(|position| {
        position > 0
            && text
                .get(position - 1..position + 7)
                .is_some_and(|name| name.eq_ignore_ascii_case(b"SKILL.md"))
    })
}
