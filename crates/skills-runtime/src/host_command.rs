//! Commands of the machine.

/// A command of the machine, which runs in place of a program of a skill.
///
/// Whatever it starts has to be granted, and the sandbox is the same.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum HostCommand {
    /// This program, named without a path, with the [arguments](crate::ExecutionOptions::args) as
    /// they are. A rule or an answer has to allow that it is started, and it starts no others.
    Program(String),
    /// A text for `sh -c`, which starts what it takes: a rule or an answer has to allow that any
    /// program is started.
    Shell(String),
}

/// The program that reads a text for a shell.
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

    /// Returns the arguments that come before those of the caller.
    pub(crate) fn leading_args(&self) -> Vec<String> {
        match self {
            Self::Program(_) => Vec::new(),
            Self::Shell(text) => vec!["-c".to_owned(), text.clone()],
        }
    }
}
