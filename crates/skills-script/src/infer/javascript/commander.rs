//! Options, arguments and commands of the package `commander`.

use std::collections::HashMap;

use crate::argument::{
    Argument, ArgumentSpec, ArgumentStyle, COMMAND, Command, CommandSet, Framework, JsonType,
    WordSyntax, is_argument_name,
};
use crate::infer::argument_list::{
    ArgumentList, MAX_COMMANDS, preferred_spelling, push_new, remove_positionals,
};
use crate::source::{Call, MethodCall, Tokens};
use crate::text;

/// The methods that describe a command line.
const METHODS: [&str; 7] = [
    "option",
    "requiredOption",
    "argument",
    "arguments",
    "command",
    "description",
    "action",
];

/// Infers the arguments from the calls of the script's `Command` objects.
pub(super) fn read(tokens: &Tokens<'_>) -> Option<ArgumentSpec> {
    let mut reader = Reader::default();
    if tokens.has_any_name(&["addOption", "addArgument", "addCommand"]) {
        reader.lose_positional();
    }
    for call in tokens.method_calls(&METHODS) {
        reader.add(tokens, &call);
    }
    reader.finish()
}

#[derive(Default)]
struct Reader<'a> {
    /// The arguments of the program.
    global: ArgumentList,
    commands: Vec<Command>,
    /// The command of each variable; others are the program.
    variables: HashMap<&'a str, usize>,
    /// The command that a chain of calls is about.
    current: Option<usize>,
    lost_positional: bool,
}

impl<'a> Reader<'a> {
    fn add(&mut self, tokens: &Tokens<'a>, method: &MethodCall<'_, 'a>) {
        let receiver = tokens.owner(method.at);
        if let Some(variable) = receiver {
            self.current = self.variables.get(variable).copied();
        }
        let call = &method.call;
        match method.name {
            "option" => self.push(option(call)),
            "requiredOption" => self.push(option(call).map(required)),
            "argument" => self.push_positional(described_positional(call)),
            "arguments" => self.lose_positional(),
            "command" if receiver.is_some() && self.current.is_some() => self.lose_command(),
            "command" => self.add_command(tokens, method),
            "description" => self.add_description(call),
            _ => {}
        }
    }

    fn push(&mut self, argument: Option<Argument>) {
        let Some(index) = self.current else {
            return self.global.push(argument);
        };
        let arguments = &mut self.commands[index].arguments;
        let is_added = argument.is_some_and(|argument| push_new(arguments, argument));
        self.global.is_partial |= !is_added;
    }

    fn push_positional(&mut self, argument: Option<Argument>) {
        match argument {
            Some(argument) => self.push(Some(argument)),
            None => self.lose_positional(),
        }
    }

    fn lose_positional(&mut self) {
        self.global.is_partial = true;
        self.lost_positional = true;
    }

    /// Records that a command is unknown.
    fn lose_command(&mut self) {
        self.global.is_partial = true;
        self.current = None;
    }

    fn add_command(&mut self, tokens: &Tokens<'a>, method: &MethodCall<'_, 'a>) {
        let text = method.call.value_text(0).unwrap_or_default();
        let mut words = text.split_whitespace();
        let name = words.next().filter(|name| is_argument_name(name));
        let Some(name) = name.filter(|_| self.commands.len() < MAX_COMMANDS) else {
            return self.lose_command();
        };
        let index = self.commands.len();
        self.commands
            .push(Command::new(name.to_owned(), Vec::new()));
        self.current = Some(index);
        words.for_each(|word| self.push_positional(positional(word)));
        if let Some(variable) = tokens.assigned_name(tokens.dotted_start(method.at)) {
            self.variables.insert(variable, index);
        }
    }

    fn add_description(&mut self, call: &Call<'_, 'a>) {
        if let Some(index) = self.current {
            let description = call.value_text(0);
            self.commands[index].description =
                description.and_then(|text| text::argument_description(&text));
        }
    }

    fn finish(mut self) -> Option<ArgumentSpec> {
        let is_unclear = self.has_unclear_commands();
        if is_unclear {
            self.lose_positional();
        }
        if self.lost_positional {
            self.remove_positionals();
        }
        if is_unclear {
            self.commands.clear();
        }
        if self.global.arguments.is_empty() && self.commands.is_empty() {
            return None;
        }
        let spec = self
            .global
            .into_spec(Framework::Commander, WordSyntax::Getopt);
        if self.commands.is_empty() {
            return Some(spec);
        }
        spec.with_commands(CommandSet::new(self.commands))
    }

    /// Returns true if a word of the program could be taken for a command, or a property for the
    /// one that selects the command.
    fn has_unclear_commands(&self) -> bool {
        let of_commands = self.commands.iter().flat_map(|command| &command.arguments);
        let mut arguments = self.global.arguments.iter().chain(of_commands);
        let is_taken = arguments.any(|argument| argument.name == COMMAND);
        !self.commands.is_empty() && (is_taken || self.global.has_positionals())
    }

    fn remove_positionals(&mut self) {
        remove_positionals(&mut self.global.arguments);
        for command in &mut self.commands {
            remove_positionals(&mut command.arguments);
        }
    }
}

/// Interprets `.option("-p, --port <number>", "description")`.
fn option(call: &Call<'_, '_>) -> Option<Argument> {
    let mut argument = parse_option(&call.value_text(0)?)?;
    argument.describe(call.value_text(1));
    Some(argument)
}

fn required(mut argument: Argument) -> Argument {
    argument.required = true;
    argument
}

/// Interprets `.argument("<file>", "description")`.
fn described_positional(call: &Call<'_, '_>) -> Option<Argument> {
    let mut argument = positional(&call.value_text(0)?)?;
    argument.describe(call.value_text(1));
    Some(argument)
}

/// Parses `-p, --port <number>`, `--no-color`, `--list [items...]`.
fn parse_option(flags: &str) -> Option<Argument> {
    let words = flags.split([' ', ',', '|']);
    let value = words.clone().find(|word| word.starts_with(['<', '[']));
    let spelling = preferred_spelling(words.filter(|word| word.starts_with('-')))?;
    let name = spelling.trim_start_matches('-').replace('-', "_");
    let option = spelling.to_owned();
    is_argument_name(&name).then(|| match value {
        None => Argument::flag(name, option),
        // The option takes all words up to the next one.
        Some(value) if value.contains("...") => Argument::new(
            name,
            JsonType::Array,
            ArgumentStyle::ManyValues { option, min: 1 },
        ),
        Some(value) if value.starts_with('[') => {
            Argument::new(name, JsonType::Any, ArgumentStyle::FlagOrOption(option))
        }
        Some(_) => Argument::new(name, JsonType::String, ArgumentStyle::Option(option)),
    })
}

/// Parses `<file>`, `[file]`, `<files...>`.
fn positional(text: &str) -> Option<Argument> {
    let min = match text.chars().next()? {
        '<' => 1,
        '[' => 0,
        _ => return None,
    };
    let inner = text
        .trim_start_matches(['<', '['])
        .trim_end_matches(['>', ']']);
    let name = inner.trim_end_matches('.').replace('-', "_");
    let json_type = if inner.ends_with("...") {
        JsonType::Array
    } else {
        JsonType::String
    };
    is_argument_name(&name).then(|| Argument::positional(name, json_type, min))
}
