//! Options, arguments and commands of the package `commander`.

use std::collections::HashMap;

use crate::argument::{
    Argument, ArgumentSpec, ArgumentStyle, Command, CommandSet, Framework, JsonType, WordSyntax,
    is_argument_name,
};
use crate::infer::MAX_ARGUMENTS;
use crate::source::{MethodCall, Tokens};
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
/// Maximum number of commands that are inferred.
const MAX_COMMANDS: usize = 50;

/// Infers the arguments from the calls of the script's `Command` objects.
pub(super) fn read(tokens: &Tokens<'_>) -> Option<ArgumentSpec> {
    let mut reader = Reader {
        is_partial: tokens.has_any_name(&["addOption", "addArgument", "addCommand"]),
        ..Reader::default()
    };
    reader.lost_positional = reader.is_partial;
    for call in tokens.method_calls(&METHODS) {
        reader.add(tokens, &call);
    }
    reader.finish()
}

#[derive(Default)]
struct Reader<'a> {
    global: Vec<Argument>,
    commands: Vec<Command>,
    /// The command of each variable; others are the program.
    variables: HashMap<&'a str, usize>,
    /// The command that a chain of calls is about.
    current: Option<usize>,
    is_partial: bool,
    lost_positional: bool,
}

impl<'a> Reader<'a> {
    fn add(&mut self, tokens: &Tokens<'a>, call: &MethodCall<'_, 'a>) {
        let receiver = tokens.name(call.at.saturating_sub(2));
        if let Some(variable) = receiver {
            self.current = self.variables.get(variable).copied();
        }
        match call.name {
            "option" | "requiredOption" => self.add_option(call),
            "argument" => self.add_positional(call),
            "arguments" => self.lose_positional(),
            "command" => self.add_command(tokens, call, receiver),
            "description" => self.add_description(call),
            _ => {}
        }
    }

    fn arguments(&mut self) -> &mut Vec<Argument> {
        match self.current {
            Some(index) => &mut self.commands[index].arguments,
            None => &mut self.global,
        }
    }

    fn push(&mut self, argument: Option<Argument>) {
        let arguments = self.arguments();
        match argument {
            Some(argument)
                if arguments.len() < MAX_ARGUMENTS
                    && arguments.iter().all(|other| other.name != argument.name) =>
            {
                arguments.push(argument);
            }
            _ => self.is_partial = true,
        }
    }

    fn add_option(&mut self, call: &MethodCall<'_, 'a>) {
        let flags = call.call.value_text(0);
        let description = call.call.value_text(1);
        let is_required = call.name == "requiredOption";
        let argument = flags.and_then(|flags| option(&flags)).map(|mut argument| {
            argument.required = is_required;
            argument.description = description.and_then(|text| text::argument_description(&text));
            argument
        });
        self.push(argument);
    }

    fn add_positional(&mut self, call: &MethodCall<'_, 'a>) {
        let argument = call.call.value_text(0).and_then(|text| positional(&text));
        match argument {
            Some(mut argument) => {
                let description = call.call.value_text(1);
                argument.description =
                    description.and_then(|text| text::argument_description(&text));
                self.push(Some(argument));
            }
            None => self.lose_positional(),
        }
    }

    fn lose_positional(&mut self) {
        self.is_partial = true;
        self.lost_positional = true;
    }

    fn add_command(
        &mut self,
        tokens: &Tokens<'a>,
        call: &MethodCall<'_, 'a>,
        receiver: Option<&str>,
    ) {
        let is_nested = receiver.is_some() && self.current.is_some();
        let text = call.call.value_text(0).filter(|_| !is_nested);
        let mut words = text.as_deref().unwrap_or_default().split_whitespace();
        let Some(name) = words
            .next()
            .filter(|name| is_argument_name(name) && self.commands.len() < MAX_COMMANDS)
        else {
            self.is_partial = true;
            self.current = None;
            return;
        };
        self.commands.push(Command {
            name: name.to_owned(),
            description: None,
            arguments: Vec::new(),
        });
        self.current = Some(self.commands.len() - 1);
        for word in words {
            match positional(word) {
                Some(argument) => self.push(Some(argument)),
                None => self.lose_positional(),
            }
        }
        if let Some(variable) = tokens.assigned_name(tokens.dotted_start(call.at)) {
            self.variables.insert(variable, self.commands.len() - 1);
        }
    }

    fn add_description(&mut self, call: &MethodCall<'_, 'a>) {
        if let Some(index) = self.current {
            let description = call.call.value_text(0);
            self.commands[index].description =
                description.and_then(|text| text::argument_description(&text));
        }
    }

    fn finish(mut self) -> Option<ArgumentSpec> {
        let is_taken = self
            .commands
            .iter()
            .flat_map(|command| &command.arguments)
            .chain(&self.global)
            .any(|argument| argument.name == "command");
        let has_positionals = self.global.iter().any(Argument::is_positional);
        let is_unclear = !self.commands.is_empty() && (is_taken || has_positionals);
        if is_unclear || self.lost_positional {
            self.global.retain(|argument| !argument.is_positional());
            for command in &mut self.commands {
                command
                    .arguments
                    .retain(|argument| !argument.is_positional());
            }
        }
        if is_unclear {
            self.commands.clear();
        }
        if self.global.is_empty() && self.commands.is_empty() {
            return None;
        }
        let mut spec =
            ArgumentSpec::inferred(Framework::Commander, self.global, WordSyntax::Getopt);
        if !self.commands.is_empty() {
            spec.commands = Some(CommandSet {
                property: "command".to_owned(),
                required: false,
                commands: self.commands,
            });
        }
        let is_open = self.is_partial || is_unclear;
        Some(if is_open { spec.open() } else { spec })
    }
}

/// Parses `-p, --port <number>`, `--no-color`, `--list [items...]`.
fn option(flags: &str) -> Option<Argument> {
    let words: Vec<&str> = flags
        .split([' ', ',', '|'])
        .filter(|word| !word.is_empty())
        .collect();
    let spelling = words
        .iter()
        .find(|word| word.starts_with("--"))
        .or_else(|| words.iter().find(|word| word.starts_with('-')))?;
    let value = words.iter().find(|word| word.starts_with(['<', '[']));
    let option = (*spelling).to_owned();
    let name = spelling.trim_start_matches('-').replace('-', "_");
    if !is_argument_name(&name) {
        return None;
    }
    let (json_type, style) = match value {
        // The option takes all words up to the next one.
        Some(value) if value.contains("...") => (
            JsonType::Array,
            ArgumentStyle::ManyValues { option, min: 1 },
        ),
        Some(value) if value.starts_with('[') => {
            (JsonType::Any, ArgumentStyle::FlagOrOption(option))
        }
        Some(_) => (JsonType::String, ArgumentStyle::Option(option)),
        None => (
            JsonType::Boolean,
            ArgumentStyle::Flag {
                option,
                when: true,
                otherwise: None,
            },
        ),
    };
    Some(Argument::new(name, json_type, style))
}

/// Parses `<file>`, `[file]`, `<files...>`.
fn positional(text: &str) -> Option<Argument> {
    let is_required = text.starts_with('<');
    let inner = text
        .trim_start_matches(['<', '['])
        .trim_end_matches(['>', ']']);
    let is_many = inner.ends_with("...");
    let name = inner.trim_end_matches('.').replace('-', "_");
    if !is_argument_name(&name) || !text.starts_with(['<', '[']) {
        return None;
    }
    let min = usize::from(is_required);
    let (json_type, max) = if is_many {
        (JsonType::Array, usize::MAX)
    } else {
        (JsonType::String, 1)
    };
    let mut argument = Argument::new(name, json_type, ArgumentStyle::Positional { min, max });
    argument.required = is_required;
    Some(argument)
}
