//! Arguments that are found one after another.

use crate::argument::{Argument, ArgumentSpec, Framework, WordSyntax};

/// Maximum number of arguments that are inferred.
pub(super) const MAX_ARGUMENTS: usize = 100;
/// Maximum number of commands that are inferred.
pub(super) const MAX_COMMANDS: usize = 50;

/// The arguments of a program or a command, as far as they are known.
#[derive(Debug, Default)]
pub(super) struct ArgumentList {
    pub(super) arguments: Vec<Argument>,
    /// Whether an argument is unknown.
    pub(super) is_partial: bool,
}

impl ArgumentList {
    /// Adds an argument. One that is not known, or that cannot be added, makes the list partial.
    pub(super) fn push(&mut self, argument: Option<Argument>) {
        let is_added = argument.is_some_and(|argument| push_new(&mut self.arguments, argument));
        self.is_partial |= !is_added;
    }

    pub(super) fn has_positionals(&self) -> bool {
        self.arguments.iter().any(Argument::is_positional)
    }

    /// Returns the arguments of a program. Others are accepted if some are unknown.
    pub(super) fn into_spec(self, framework: Framework, syntax: WordSyntax) -> ArgumentSpec {
        let spec = ArgumentSpec::inferred(framework, self.arguments, syntax);
        if self.is_partial { spec.open() } else { spec }
    }
}

/// Adds an argument, unless there are too many or one has its name. Returns whether it was added.
pub(super) fn push_new(arguments: &mut Vec<Argument>, argument: Argument) -> bool {
    let is_new = arguments.len() < MAX_ARGUMENTS
        && arguments.iter().all(|other| other.name != argument.name);
    if is_new {
        arguments.push(argument);
    }
    is_new
}

pub(super) fn remove_positionals(arguments: &mut Vec<Argument>) {
    arguments.retain(|argument| !argument.is_positional());
}

/// Returns the long spelling of an option if there is one, else the first.
pub(super) fn preferred_spelling<'s>(
    mut spellings: impl Iterator<Item = &'s str> + Clone,
) -> Option<&'s str> {
    let long = spellings
        .clone()
        .find(|spelling| spelling.starts_with("--"));
    long.or_else(|| spellings.next())
}
