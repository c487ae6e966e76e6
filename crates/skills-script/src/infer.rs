//! Inference of the arguments of a script from its text.
//!
//! Each submodule parses one framework or convention and returns an [`ArgumentSpec`], or `None` if
//! the text does not use it, or uses it without constants. Nothing is executed. Arguments that
//! cannot be inferred leave the result open, so that a call that the script accepts is always
//! possible.

mod argparse;
mod argument_list;
mod javascript;
mod option_literals;
mod position;
mod python;
mod shell;
pub(crate) mod usage;

pub(crate) use self::shell::{ShellLines, is_function_start, is_variable};

use self::argument_list::remove_positionals;
use crate::argument::{
    Argument, ArgumentSource, ArgumentSpec, Framework, InputConvention, StandardInput, WordOrder,
    WordSyntax,
};
use crate::source::Tokens;
use crate::{Language, ScriptWarning, file_stem};

/// Maximum size of source that is inspected, in bytes.
pub(crate) const MAX_SOURCE_BYTES: usize = 256 * 1024;
/// Maximum number of arguments that are inferred.
pub(crate) const MAX_ARGUMENTS: usize = 100;
/// Maximum number of arguments of a script and all its commands together.
const MAX_TOTAL_ARGUMENTS: usize = 300;
/// Maximum number of commands that are inferred.
const MAX_COMMANDS: usize = 50;

/// Infers the arguments from source of at most 256 KiB.
pub(crate) fn infer_arguments(
    source: &str,
    file: &str,
    warnings: &mut Vec<ScriptWarning>,
) -> ArgumentSpec {
    if source.len() > MAX_SOURCE_BYTES {
        return ArgumentSpec::unknown(InputConvention::Words);
    }
    let stem = file_stem(file);
    limit_arguments(match Language::of(file) {
        Language::Python => python::infer(source, stem, &Tokens::python(source), warnings),
        Language::JavaScript => javascript::infer(source, stem, &Tokens::javascript(source)),
        Language::Shell => shell::infer(source, stem),
    })
}

/// Leaves the arguments of commands open if there are too many for a schema.
fn limit_arguments(mut spec: ArgumentSpec) -> ArgumentSpec {
    if spec.all_arguments().count() <= MAX_TOTAL_ARGUMENTS {
        return spec;
    }
    for command in spec.commands.iter_mut().flat_map(|set| &mut set.commands) {
        command.arguments.clear();
    }
    spec.open()
}

/// Signs of the input convention in a text without a framework.
struct Signs {
    /// It reads words of the command line.
    reads_words: bool,
    /// It parses the first word as JSON.
    parses_first_word: bool,
    /// It reads standard input.
    reads_stdin: bool,
    /// It parses JSON somewhere.
    parses_json: bool,
}

impl Signs {
    /// Returns the input convention.
    fn convention(&self) -> InputConvention {
        if self.parses_first_word {
            InputConvention::JsonArgument
        } else if self.reads_words || !self.reads_stdin {
            InputConvention::Words
        } else if self.parses_json {
            InputConvention::JsonStdin
        } else {
            InputConvention::TextStdin
        }
    }

    /// Returns the arguments of a script whose words are not known.
    fn without_known_words(&self) -> ArgumentSpec {
        match self.convention() {
            InputConvention::Words if !self.reads_words => ArgumentSpec::none_found(),
            input => ArgumentSpec::unknown(input),
        }
    }

    /// Returns what a framework declares, or else, of a script that takes words, what `words` infers
    /// from its code and usage text.
    fn into_spec(
        self,
        framework: Option<ArgumentSpec>,
        words: impl FnOnce(&Self) -> ArgumentSpec,
    ) -> ArgumentSpec {
        let mut spec = framework.unwrap_or_else(|| match self.convention() {
            InputConvention::Words => words(&self),
            input => ArgumentSpec::unknown(input),
        });
        if spec.input == InputConvention::Words {
            spec.standard_input = self.standard_input();
        }
        spec
    }

    fn standard_input(&self) -> StandardInput {
        if self.reads_stdin {
            StandardInput::Text
        } else {
            StandardInput::Unused
        }
    }
}

/// Returns the arguments of a script that reads its words itself, inferred from its code and its
/// usage text.
///
/// The usage text names positional words as their author sees them, and the code may hide an order
/// of its own, so those of the text win. Of options those of the code win, since a text is
/// incomplete more often.
fn merge_code_and_usage(code: ArgumentSpec, usage: Option<Vec<Argument>>) -> ArgumentSpec {
    let mut usage = usage.unwrap_or_default();
    let mut spec = code;
    if spec.commands.is_some() {
        remove_command_word(&mut usage);
    }
    if usage.is_empty() {
        return spec;
    }
    if usage.iter().any(Argument::is_positional) {
        remove_positionals(&mut spec.arguments);
    }
    if spec.arguments.iter().any(|one| !one.is_positional()) {
        usage.retain(Argument::is_positional);
    }
    if spec.arguments.is_empty() && spec.commands.is_none() {
        spec.source = ArgumentSource::Inferred(Framework::Usage);
        spec.syntax = WordSyntax::Plain;
        spec.order = WordOrder::PositionalFirst;
    }
    usage.retain(|argument| !spec.has_property(&argument.name));
    spec.arguments.append(&mut usage);
    spec.open()
}

/// Removes the word of a usage text that stands for the command.
fn remove_command_word(usage: &mut Vec<Argument>) {
    if let Some(first) = usage.iter().position(Argument::is_positional) {
        usage.remove(first);
    }
}

/// Returns the long spelling of an option if there is one, else the first.
fn preferred_spelling<'s>(mut spellings: impl Iterator<Item = &'s str> + Clone) -> Option<&'s str> {
    let long = spellings
        .clone()
        .find(|spelling| spelling.starts_with("--"));
    long.or_else(|| spellings.next())
}

#[cfg(test)]
mod tests;
