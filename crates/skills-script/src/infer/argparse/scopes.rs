//! Parsers of a script with subcommands, and which parser each argument belongs to.

use std::collections::HashMap;

use super::Collected;
use crate::argument::{COMMAND, Command, CommandSet, is_argument_name};
use crate::infer::argument_list::MAX_COMMANDS;
use crate::source::{MethodCall, Tokens};
use crate::{ScriptWarning, text};

/// Maximum number of parsers that are distinguished.
const MAX_PARSERS: usize = 200;
/// Maximum number of parents of a parser.
const MAX_PARENTS: usize = 5;
/// The methods and functions that make parsers or add arguments to them.
const NAMES: [&str; 7] = [
    "ArgumentParser",
    "add_subparsers",
    "add_parser",
    "add_argument",
    "add_argument_group",
    "add_mutually_exclusive_group",
    "set_defaults",
];

/// The arguments of a script with subcommands.
pub(super) struct Parsers {
    /// Those of the main parser.
    pub(super) root: Collected,
    /// `None` if the commands are not constants, or have commands of their own.
    pub(super) commands: Option<CommandSet>,
    /// Whether arguments or commands are unknown.
    pub(super) is_partial: bool,
}

/// Assigns the arguments to parsers by the names of variables, in the order of the source.
pub(super) fn collect_parsers(
    tokens: &Tokens<'_>,
    warnings: &mut Vec<ScriptWarning>,
) -> Option<Parsers> {
    let mut state = State::default();
    let mut at = 0;
    while at < tokens.all().len() {
        if tokens.is_name(at, "def") {
            state.forget_parameters(tokens, at + 2);
        } else if tokens.name(at).is_some_and(|name| NAMES.contains(&name))
            && let Some(call) = tokens.call_at(at)
        {
            state.add(tokens, &call, warnings);
            at = call.inside.end;
        }
        at += 1;
    }
    state.finish()
}

/// What a variable refers to.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Target {
    /// A parser, by its index.
    Parser(usize),
    /// The subparsers of a parser.
    Subparsers(usize),
}

/// One parser.
#[derive(Debug, Default)]
struct Scope<'a> {
    /// The name and the help of a subcommand.
    command: Option<(String, Option<String>)>,
    arguments: Collected,
    /// The variables of its parents.
    parents: Vec<&'a str>,
    /// Whether it has subcommands.
    has_commands: bool,
    /// Whether it is only known by a variable, such as a parameter of a function.
    is_unplaced: bool,
}

#[derive(Debug, Default)]
struct State<'a> {
    scopes: Vec<Scope<'a>>,
    variables: HashMap<&'a str, Target>,
    /// The parser with the subcommands.
    root: Option<usize>,
    property: Option<String>,
    is_required: bool,
    /// The arguments of parsers that are not known, such as a parameter of a function.
    unplaced: Collected,
    /// What the last call returned.
    last: Option<Target>,
    /// Whether there are commands whose names are not constants.
    has_unknown_commands: bool,
    is_partial: bool,
}

impl<'a> State<'a> {
    /// Removes variables that a parameter of a function shadows.
    fn forget_parameters(&mut self, tokens: &Tokens<'a>, open: usize) {
        for index in tokens.inside(open).into_iter().flatten() {
            if let Some(name) = tokens.name(index) {
                self.variables.remove(name);
            }
        }
    }

    fn add(
        &mut self,
        tokens: &Tokens<'a>,
        call: &MethodCall<'_, 'a>,
        warnings: &mut Vec<ScriptWarning>,
    ) {
        let receiver = self.receiver(tokens, call);
        let receiver = receiver.or_else(|| self.unplaced_parser(tokens, call));
        self.last = match call.name {
            "ArgumentParser" => self.add_scope(None, parent_names(tokens, call)),
            "add_subparsers" => self.add_subparsers(receiver, call),
            "add_parser" => self.add_command(tokens, receiver, call),
            "add_argument" => {
                self.arguments_of(receiver).add(&call.call, warnings);
                None
            }
            _ => receiver,
        };
        self.assign_last(tokens, call);
    }

    /// Records what the variable refers to that the result of a call is assigned to.
    fn assign_last(&mut self, tokens: &Tokens<'a>, call: &MethodCall<'_, 'a>) {
        let start = tokens.dotted_start(call.at);
        if let Some(variable) = tokens.assigned_name(start) {
            match self.last {
                Some(target) => self.variables.insert(variable, target),
                None => self.variables.remove(variable),
            };
        }
    }

    /// Returns what the method is called on.
    fn receiver(&self, tokens: &Tokens<'a>, call: &MethodCall<'_, 'a>) -> Option<Target> {
        let dot = call.at.checked_sub(1)?;
        let before = dot.checked_sub(1)?;
        if !tokens.is_symbol(dot, '.') {
            return None;
        }
        match tokens.name(before) {
            Some(variable) => self.variables.get(variable).copied(),
            // A chain of calls.
            None if tokens.is_symbol(before, ')') => self.last,
            None => None,
        }
    }

    /// Returns a parser for a variable that is not known, such as a parameter of a function.
    fn unplaced_parser(
        &mut self,
        tokens: &Tokens<'a>,
        call: &MethodCall<'_, 'a>,
    ) -> Option<Target> {
        let takes_parser = call.name.starts_with("add_") && call.name != "add_parser";
        let is_method = tokens.is_symbol(call.at.checked_sub(1)?, '.');
        let variable = tokens.name(call.at.checked_sub(2)?)?;
        if !takes_parser || !is_method {
            return None;
        }
        let target = self.add_scope(None, Vec::new())?;
        self.scopes.last_mut()?.is_unplaced = true;
        self.variables.insert(variable, target);
        Some(target)
    }

    fn add_scope(
        &mut self,
        command: Option<(String, Option<String>)>,
        parents: Vec<&'a str>,
    ) -> Option<Target> {
        if self.scopes.len() == MAX_PARSERS {
            self.has_unknown_commands = true;
            return None;
        }
        self.scopes.push(Scope {
            command,
            parents,
            ..Scope::default()
        });
        Some(Target::Parser(self.scopes.len() - 1))
    }

    fn add_subparsers(
        &mut self,
        receiver: Option<Target>,
        call: &MethodCall<'_, 'a>,
    ) -> Option<Target> {
        let Some(Target::Parser(index)) = receiver else {
            self.is_partial = true;
            return None;
        };
        let scope = &mut self.scopes[index];
        scope.has_commands = true;
        scope.is_unplaced = false;
        if scope.command.is_none() && self.root.is_none() {
            self.root = Some(index);
            self.property = call.call.keywords.text("dest");
            self.is_required = call.call.keywords.is_true("required");
        }
        Some(Target::Subparsers(index))
    }

    fn add_command(
        &mut self,
        tokens: &Tokens<'a>,
        receiver: Option<Target>,
        call: &MethodCall<'_, 'a>,
    ) -> Option<Target> {
        let is_nested = self.is_nested(receiver);
        let name = call.call.value_text(0);
        let Some(name) = name.filter(|name| is_command_name(name) && !is_nested) else {
            self.has_unknown_commands |= !is_nested;
            self.is_partial = true;
            return None;
        };
        let keywords = &call.call.keywords;
        let help = keywords.text("help").or(keywords.text("description"));
        let help = help.and_then(|help| text::argument_description(&help));
        self.add_scope(Some((name, help)), parent_names(tokens, call))
    }

    /// Returns true if a command of these subparsers is a command of another command.
    fn is_nested(&self, receiver: Option<Target>) -> bool {
        match receiver {
            Some(Target::Subparsers(index)) => Some(index) != self.root,
            // A parameter of a function: commands of the main parser, unless there are others.
            _ => self.has_nested_commands(),
        }
    }

    fn has_nested_commands(&self) -> bool {
        self.scopes
            .iter()
            .any(|scope| scope.has_commands && scope.command.is_some())
    }

    fn arguments_of(&mut self, receiver: Option<Target>) -> &mut Collected {
        match receiver {
            Some(Target::Parser(index)) => &mut self.scopes[index].arguments,
            _ => {
                self.is_partial = true;
                &mut self.unplaced
            }
        }
    }

    fn finish(mut self) -> Option<Parsers> {
        let root_index = self.root?;
        self.add_parents();
        self.collect_unplaced();
        self.is_partial |= self.has_nested_commands();
        let mut root = self.scopes[root_index].arguments.clone();
        let set = CommandSet {
            commands: self.take_commands(),
            property: self.take_property(),
            required: self.is_required,
        };
        // Commands that a loop or another module adds would not be in the list.
        let is_complete =
            !self.has_unknown_commands && !set.commands.is_empty() && !is_taken(&set, &root);
        if !is_complete {
            add_options(&set, &mut root);
        }
        Some(Parsers {
            root,
            commands: is_complete.then_some(set),
            is_partial: self.is_partial,
        })
    }

    /// Collects the arguments of parsers that are only known by a variable.
    fn collect_unplaced(&mut self) {
        for scope in self.scopes.iter().filter(|scope| scope.is_unplaced) {
            self.unplaced.extend(&scope.arguments);
            self.is_partial = true;
        }
    }

    fn take_commands(&mut self) -> Vec<Command> {
        let mut commands: Vec<Command> = Vec::new();
        for scope in std::mem::take(&mut self.scopes) {
            let Some((name, description)) = scope.command else {
                continue;
            };
            let mut arguments = scope.arguments;
            arguments.extend(&self.unplaced);
            let list = arguments.into_list();
            let is_known = commands.iter().any(|other| other.name == name);
            self.is_partial |= list.is_partial || is_known || commands.len() == MAX_COMMANDS;
            if !is_known && commands.len() < MAX_COMMANDS {
                commands.push(Command {
                    name,
                    description,
                    arguments: list.arguments,
                });
            }
        }
        commands
    }

    /// Returns the property that selects a command.
    fn take_property(&mut self) -> String {
        let property = self.property.take();
        property
            .filter(|name| is_argument_name(name))
            .unwrap_or_else(|| COMMAND.to_owned())
    }

    /// Adds the arguments of parents to the parsers.
    fn add_parents(&mut self) {
        for index in 0..self.scopes.len() {
            for parent in std::mem::take(&mut self.scopes[index].parents) {
                match self.variables.get(parent) {
                    Some(Target::Parser(parent)) if *parent != index => {
                        let arguments = self.scopes[*parent].arguments.clone();
                        self.scopes[index].arguments.extend(&arguments);
                    }
                    _ => self.scopes[index].arguments.lose_positional(),
                }
            }
        }
    }
}

/// Returns true if an argument has the name of the property that selects the command.
fn is_taken(set: &CommandSet, root: &Collected) -> bool {
    let mut arguments = set.commands.iter().flat_map(|command| &command.arguments);
    root.has(&set.property) || arguments.any(|argument| argument.name == set.property)
}

/// Adds options of commands that cannot be told from those of the main parser.
fn add_options(set: &CommandSet, root: &mut Collected) {
    let arguments = set.commands.iter().flat_map(|command| &command.arguments);
    for argument in arguments.filter(|argument| !argument.is_positional()) {
        if !root.has(&argument.name) {
            root.arguments.push(argument.clone());
        }
    }
}

/// Returns the variables in `parents=[…]`.
fn parent_names<'a>(tokens: &Tokens<'a>, call: &MethodCall<'_, 'a>) -> Vec<&'a str> {
    let mut arguments = call.inside.clone();
    arguments
        .find(|index| starts_parents(tokens, *index))
        .and_then(|index| tokens.inside(index + 2))
        .into_iter()
        .flatten()
        .filter_map(|index| tokens.name(index))
        .take(MAX_PARENTS)
        .collect()
}

fn starts_parents(tokens: &Tokens<'_>, at: usize) -> bool {
    tokens.is_name(at, "parents") && tokens.is_symbol(at + 1, '=') && tokens.is_symbol(at + 2, '[')
}

fn is_command_name(name: &str) -> bool {
    is_argument_name(name) || (name.len() <= 64 && is_argument_name(&name.replace([':', '.'], "_")))
}
