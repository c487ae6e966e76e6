//! Commands of the host system.

use crate::ExecutionMode;

/// A command of the host system that runs instead of a program of a skill.
///
/// The policy must grant every program that it starts, and it runs in the same sandbox as scripts.
/// Unlike skills, commands have no content: an approval covers the exact arguments, working
/// directory and standard input.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum HostCommand {
    /// A program, by name without a path, with the unmodified
    /// [arguments](crate::ExecutionOptions::args). A rule or an approval must allow to spawn it; it
    /// cannot spawn others.
    Program(String),
    /// A command line for `sh -c`. A rule or an approval must allow to spawn any program.
    Shell(String),
}

/// The shell for command lines.
const SHELL: &str = "sh";

impl HostCommand {
    /// Returns the name of the program.
    #[must_use]
    pub fn program(&self) -> &str {
        match self {
            Self::Program(name) => name,
            Self::Shell(_) => SHELL,
        }
    }

    pub(crate) fn mode(&self) -> ExecutionMode {
        ExecutionMode::Command {
            program: self.program().to_owned(),
        }
    }

    /// Returns the arguments before those of the caller.
    pub(crate) fn leading_args(&self) -> Vec<String> {
        match self {
            Self::Program(_) => Vec::new(),
            Self::Shell(text) => vec!["-c".to_owned(), text.clone()],
        }
    }
}
