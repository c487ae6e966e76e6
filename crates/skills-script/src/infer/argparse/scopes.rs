//! Parsers of a script with subcommands, and which parser each argument belongs to.

use std::collections::HashMap;

use super::Collected;
use crate::argument::{Command, CommandSet, is_argument_name};
use crate::source::{MethodCall, Tokens};
use crate::{ScriptWarning, text};

/// Maximum number of subcommands that are inferred.
const MAX_COMMANDS: usize = 50;
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
        let result = match call.name {
            "ArgumentParser" => {
                let parents = parent_names(tokens, call);
                self.add_scope(None, parents)
            }
            "add_subparsers" => self.add_subparsers(receiver, call),
            "add_parser" => self.add_command(tokens, receiver, call),
            "add_argument" => {
                self.arguments_of(receiver).add(&call.call, warnings);
                None
            }
            _ => receiver,
        };
        self.last = result;
        let start = tokens.dotted_start(call.at);
        if let Some(variable) = tokens.assigned_name(start) {
            match result {
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
        if let Target::Parser(index) = target {
            self.scopes[index].is_unplaced = true;
        }
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
        let index = match receiver {
            Some(Target::Parser(index)) => index,
            _ => {
                self.is_partial = true;
                return None;
            }
        };
        self.scopes[index].has_commands = true;
        self.scopes[index].is_unplaced = false;
        if self.scopes[index].command.is_none() && self.root.is_none() {
            self.root = Some(index);
            self.property = call.call.keyword_text("dest");
            self.is_required = call.call.keyword_literal("required") == Some(true.into());
        }
        Some(Target::Subparsers(index))
    }

    fn add_command(
        &mut self,
        tokens: &Tokens<'a>,
        receiver: Option<Target>,
        call: &MethodCall<'_, 'a>,
    ) -> Option<Target> {
        let is_nested = match receiver {
            Some(Target::Subparsers(index)) => Some(index) != self.root,
            // A parameter of a function: commands of the main parser, unless there are others.
            _ => self
                .scopes
                .iter()
                .any(|scope| scope.has_commands && scope.command.is_some()),
        };
        let name = call
            .call
            .value_text(0)
            .filter(|name| is_command_name(name) && !is_nested);
        let Some(name) = name else {
            self.has_unknown_commands |= !is_nested;
            self.is_partial = true;
            return None;
        };
        let help = call
            .call
            .keyword_text("help")
            .or_else(|| call.call.keyword_text("description"))
            .and_then(|help| text::argument_description(&help));
        let parents = parent_names(tokens, call);
        self.add_scope(Some((name, help)), parents)
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
        for scope in self.scopes.iter().filter(|scope| scope.is_unplaced) {
            self.unplaced.extend(&scope.arguments);
            self.is_partial = true;
        }
        let mut root = self.scopes[root_index].arguments.clone();
        let is_nested = self
            .scopes
            .iter()
            .any(|scope| scope.command.is_some() && scope.has_commands);
        let mut commands: Vec<Command> = Vec::new();
        let mut is_partial = self.is_partial || is_nested;
        for scope in self.scopes {
            let Some((name, description)) = scope.command else {
                continue;
            };
            let mut arguments = scope.arguments;
            arguments.extend(&self.unplaced);
            is_partial |= arguments.is_partial;
            if commands.iter().any(|other| other.name == name) || commands.len() == MAX_COMMANDS {
                is_partial = true;
                continue;
            }
            commands.push(Command {
                name,
                description,
                arguments: arguments.into_arguments().unwrap_or_default(),
            });
        }
        let property = self.property.filter(|name| is_argument_name(name));
        let property = property.unwrap_or_else(|| "command".to_owned());
        let is_taken = root.has(&property)
            || commands
                .iter()
                .any(|command| command.arguments.iter().any(|one| one.name == property));
        // Commands that a loop or another module adds would not be in the list.
        let is_complete = !self.has_unknown_commands && !commands.is_empty() && !is_taken;
        if !is_complete {
            // Options of commands cannot be told from those of the main parser.
            for command in &commands {
                for argument in &command.arguments {
                    if !argument.is_positional() && !root.has(&argument.name) {
                        root.arguments.push(argument.clone());
                    }
                }
            }
        }
        Some(Parsers {
            root,
            commands: is_complete.then_some(CommandSet {
                property,
                required: self.is_required,
                commands,
            }),
            is_partial,
        })
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

/// Returns the variables in `parents=[…]`.
fn parent_names<'a>(tokens: &Tokens<'a>, call: &MethodCall<'_, 'a>) -> Vec<&'a str> {
    let is_parents = |index: &usize| {
        tokens.is_name(*index, "parents")
            && tokens.is_symbol(index + 1, '=')
            && tokens.is_symbol(index + 2, '[')
    };
    call.inside
        .clone()
        .find(is_parents)
        .and_then(|index| tokens.inside(index + 2))
        .into_iter()
        .flatten()
        .filter_map(|index| tokens.name(index))
        .take(MAX_PARENTS)
        .collect()
}

fn is_command_name(name: &str) -> bool {
    is_argument_name(name) || (name.len() <= 64 && is_argument_name(&name.replace([':', '.'], "_")))
}
