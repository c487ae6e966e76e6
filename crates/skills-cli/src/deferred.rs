//! Arguments whose definition is built only when their command is used.

use std::ops::Deref;

use clap::{ArgMatches, Args, Command, Error, FromArgMatches};

/// Arguments of a subcommand, built when the subcommand is used or its help is shown.
///
/// The definition of the whole command line takes longer to build than all else that a short
/// command does. On the heap, so that the enumeration of the commands stays small.
#[derive(Debug)]
pub(crate) struct Deferred<T>(Box<T>);

impl<T> Deref for Deferred<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: FromArgMatches> FromArgMatches for Deferred<T> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        T::from_arg_matches(matches).map(|arguments| Self(Box::new(arguments)))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        self.0.update_from_arg_matches(matches)
    }
}

impl<T: Args> Args for Deferred<T> {
    fn augment_args(command: Command) -> Command {
        command.defer(T::augment_args)
    }

    fn augment_args_for_update(command: Command) -> Command {
        command.defer(T::augment_args_for_update)
    }
}
