//! Signs in a text without a framework, and what its usage text adds.

use super::argument_list::remove_positionals;
use crate::argument::{
    Argument, ArgumentSource, ArgumentSpec, Framework, InputConvention, StandardInput, WordOrder,
    WordSyntax,
};

/// Signs of the input convention in a text without a framework.
pub(super) struct Signs {
    /// It reads words of the command line.
    pub(super) reads_words: bool,
    /// It parses the first word as JSON.
    pub(super) parses_first_word: bool,
    /// It reads standard input.
    pub(super) reads_stdin: bool,
    /// It parses JSON somewhere.
    pub(super) parses_json: bool,
}

impl Signs {
    pub(super) fn convention(&self) -> InputConvention {
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
    pub(super) fn without_known_words(&self) -> ArgumentSpec {
        match self.convention() {
            InputConvention::Words if !self.reads_words => ArgumentSpec::none_found(),
            input => ArgumentSpec::unknown(input),
        }
    }

    /// Returns what a framework declares, or else, of a script that takes words, what `words` infers
    /// from its code and usage text.
    pub(super) fn into_spec(
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

    pub(super) fn standard_input(&self) -> StandardInput {
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
pub(super) fn merge_code_and_usage(
    code: ArgumentSpec,
    usage: Option<Vec<Argument>>,
) -> ArgumentSpec {
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
