//! Limits of what one line starts, and of what it does without a program.

use crate::{ToolError, ToolErrorCode};

/// Maximum size of what a part passes on: to the next part, a file, or a word.
pub(crate) const MAX_PASSED_BYTES: usize = 4 << 20;
/// Maximum number of steps; each value of a `for` runs those of its body.
const MAX_STEPS: usize = 1_000;
/// Maximum number of programs.
const MAX_STARTS: usize = 64;
/// Maximum size of all words after expansion, in bytes.
const MAX_BYTES: usize = 2 << 20;
/// Maximum number of words that expansions add.
const MAX_WORDS: usize = 50_000;
/// Maximum number of files and directories that a line itself makes, copies, moves or removes.
pub(super) const MAX_CHANGES: usize = 1_000;
/// Maximum number of directories and files that patterns examine.
const MAX_EXAMINED: usize = 5_000;

/// What a line has used of its limits. All counts are of the whole line.
#[derive(Debug, Default)]
pub(super) struct Usage {
    steps: usize,
    starts: usize,
    bytes: usize,
    words: usize,
    examined: usize,
    changes: usize,
}

impl Usage {
    pub(super) fn add_step(&mut self) -> Result<(), ToolError> {
        self.steps += 1;
        check(self.steps, MAX_STEPS, "runs more than 1000 steps")
    }

    pub(super) fn add_start(&mut self) -> Result<(), ToolError> {
        self.starts += 1;
        check(self.starts, MAX_STARTS, "starts more than 64 programs")
    }

    pub(super) fn add_changes(&mut self, changes: usize) -> Result<(), ToolError> {
        self.changes = self.changes.saturating_add(changes);
        check(self.changes, MAX_CHANGES, "changes more than 1000 files")
    }

    pub(super) fn add_bytes(&mut self, bytes: usize) -> Result<(), ToolError> {
        self.bytes = self.bytes.saturating_add(bytes);
        check(self.bytes, MAX_BYTES, "has words of more than 2 MiB")
    }

    pub(super) fn add_words(&mut self, words: usize) -> Result<(), ToolError> {
        self.words = self.words.saturating_add(words);
        check(self.words, MAX_WORDS, "has more than 50000 words")
    }

    pub(super) fn add_examined(&mut self, paths: usize) -> Result<(), ToolError> {
        self.examined = self.examined.saturating_add(paths);
        check(
            self.examined,
            MAX_EXAMINED,
            "has patterns that examine more than 5000 paths",
        )
    }
}

fn check(count: usize, max: usize, problem: &str) -> Result<(), ToolError> {
    if count <= max {
        return Ok(());
    }
    let error = ToolErrorCode::TooLarge.error(format!("the line {problem}"));
    Err(error.with_hint("write a script, and run it with one command"))
}
