//! Options, arguments and commands of the package `click`.

use serde_json::{Map, Value};

use crate::argument::{
    Argument, ArgumentSpec, ArgumentStyle, Command, CommandSet, Framework, JsonType, WordSyntax,
    is_argument_name,
};
use crate::infer::MAX_ARGUMENTS;
use crate::source::{Call, MethodCall, Token, Tokens};
use crate::warning::ScriptWarning;
use crate::{keywords, text};

/// Decorators that describe a command line.
const DECORATORS: [&str; 6] = [
    "command",
    "group",
    "option",
    "argument",
    "password_option",
    "confirmation_option",
];
/// Endings that newer versions remove from the name of a command.
const REMOVED_ENDINGS: [&str; 4] = ["_command", "_cmd", "_group", "_grp"];
/// Maximum number of commands that are inferred.
const MAX_COMMANDS: usize = 50;

/// Infers the arguments from the decorators of the script.
pub(super) fn read(tokens: &Tokens<'_>, warnings: &mut Vec<ScriptWarning>) -> Option<ArgumentSpec> {
    let mut reader = Reader::default();
    let mut at = 0;
    while at < tokens.all().len() {
        let name_at = at + 3;
        let is_decorator = tokens.is_symbol(at, '@') && tokens.is_symbol(at + 2, '.');
        let call = is_decorator.then(|| tokens.call_at(name_at)).flatten();
        match call.filter(|call| DECORATORS.contains(&call.name)) {
            Some(call) => {
                reader.add(tokens.name(at + 1), &call, warnings);
                at = call.inside.end;
            }
            None if tokens.is_name(at, "def") => reader.end_function(tokens.name(at + 1)),
            None => {}
        }
        at += 1;
    }
    reader.finish()
}

/// A function with decorators.
#[derive(Default)]
struct Function {
    kind: Option<Kind>,
    name: Option<String>,
    /// Whether the name is given, but not a constant.
    has_unknown_name: bool,
    arguments: Vec<Argument>,
    is_partial: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    /// A program of its own, `@click.command()`.
    Program,
    /// A group of commands, `@click.group()`.
    Group,
    /// A command of a group.
    Member,
}

#[derive(Default)]
struct Reader {
    current: Function,
    programs: Vec<Function>,
    groups: Vec<Function>,
    members: Vec<(String, Function)>,
    is_partial: bool,
}

impl Reader {
    fn add(
        &mut self,
        owner: Option<&str>,
        call: &MethodCall<'_, '_>,
        warnings: &mut Vec<ScriptWarning>,
    ) {
        let is_click = owner == Some("click");
        match call.name {
            "command" | "group" => {
                self.current.kind = Some(match (call.name, is_click) {
                    ("command", true) => Kind::Program,
                    ("group", true) => Kind::Group,
                    ("command", false) => Kind::Member,
                    _ => {
                        // A group in a group.
                        self.is_partial = true;
                        Kind::Member
                    }
                });
                self.current.name = call.call.value_text(0).or(call.call.keyword_text("name"));
                self.current.has_unknown_name =
                    self.current.name.is_none() && !call.call.values.is_empty();
            }
            "option" => {
                let argument = option(&call.call, warnings);
                self.push(argument);
            }
            "argument" => {
                let argument = positional(&call.call, warnings);
                self.push(argument);
            }
            _ => self.current.is_partial = true,
        }
    }

    fn push(&mut self, argument: Option<Argument>) {
        let arguments = &mut self.current.arguments;
        match argument {
            Some(argument)
                if arguments.len() < MAX_ARGUMENTS
                    && arguments.iter().all(|other| other.name != argument.name) =>
            {
                arguments.push(argument);
            }
            _ => self.current.is_partial = true,
        }
    }

    fn end_function(&mut self, name: Option<&str>) {
        let mut function = std::mem::take(&mut self.current);
        // Decorators are applied from the last to the first, and `click` keeps their written order.
        let derived = name.filter(|name| {
            !REMOVED_ENDINGS.iter().any(|ending| name.ends_with(ending))
                && !function.has_unknown_name
        });
        let name = function
            .name
            .take()
            .or_else(|| derived.map(|name| name.to_ascii_lowercase().replace('_', "-")));
        match function.kind {
            Some(Kind::Program) => self.programs.push(function),
            Some(Kind::Group) => self.groups.push(function),
            Some(Kind::Member) => match name.filter(|name| is_argument_name(name)) {
                Some(name) if self.members.len() < MAX_COMMANDS => {
                    self.members.push((name, function));
                }
                _ => self.is_partial = true,
            },
            None => {}
        }
    }

    fn finish(mut self) -> Option<ArgumentSpec> {
        match (self.groups.len(), self.programs.len()) {
            (0, 1) => {
                let mut program = self.programs.pop()?;
                program.is_partial |= self.is_partial;
                into_spec(program, None)
            }
            (1, 0) => {
                let mut group = self.groups.pop()?;
                // Commands with unknown names could not be selected.
                if self.is_partial || self.members.is_empty() {
                    return None;
                }
                group.is_partial |= self.members.iter().any(|(_, function)| function.is_partial);
                let commands = self.members.into_iter().map(|(name, function)| Command {
                    name,
                    description: None,
                    arguments: function.arguments,
                });
                let set = CommandSet {
                    property: "command".to_owned(),
                    required: false,
                    commands: commands.collect(),
                };
                into_spec(group, Some(set))
            }
            _ => None,
        }
    }
}

fn into_spec(function: Function, commands: Option<CommandSet>) -> Option<ArgumentSpec> {
    let is_partial = function.is_partial;
    let mut arguments = function.arguments;
    if is_partial {
        arguments.retain(|argument| !argument.is_positional());
    }
    if arguments.is_empty() && commands.is_none() {
        return None;
    }
    let has_positionals = arguments.iter().any(Argument::is_positional);
    if commands.is_some() && has_positionals {
        return None;
    }
    let mut spec = ArgumentSpec::inferred(Framework::Click, arguments, WordSyntax::Getopt);
    let is_taken = spec
        .arguments
        .iter()
        .any(|argument| argument.name == "command");
    spec.commands = commands;
    let is_taken = is_taken
        || spec
            .commands
            .iter()
            .flat_map(|set| &set.commands)
            .any(|command| {
                command
                    .arguments
                    .iter()
                    .any(|argument| argument.name == "command")
            });
    (!is_taken || spec.commands.is_none()).then_some(if is_partial { spec.open() } else { spec })
}

/// Interprets `@click.option("--name", "-n", …)`.
fn option(call: &Call<'_, '_>, warnings: &mut Vec<ScriptWarning>) -> Option<Argument> {
    let flags: Option<Vec<String>> = (0..call.values.len())
        .map(|index| call.value_text(index))
        .collect();
    let flags = flags?;
    let spelled = flags.iter().filter(|flag| flag.starts_with('-'));
    let flag = spelled
        .clone()
        .find(|flag| flag.starts_with("--"))
        .or_else(|| spelled.clone().next())?;
    let (option, otherwise) = match flag.split_once('/') {
        Some((option, otherwise)) => (option.trim(), Some(otherwise.trim().to_owned())),
        None => (flag.as_str(), None),
    };
    let bare = option.trim_start_matches('-');
    // A name without hyphens is the parameter of the function.
    let name = flags
        .iter()
        .find(|flag| !flag.starts_with('-'))
        .cloned()
        .unwrap_or_else(|| bare.replace('-', "_"));
    if !is_argument_name(&name) || !is_argument_name(bare) {
        return None;
    }
    let is_flag = otherwise.is_some()
        || call.keyword_literal("is_flag") == Some(true.into())
        || call.keyword_literal("count") == Some(true.into());
    let option = option.to_owned();
    let style = if is_flag {
        ArgumentStyle::Flag {
            option,
            when: true,
            otherwise,
        }
    } else {
        ArgumentStyle::Option(option)
    };
    let is_list = call.keyword_literal("multiple") == Some(true.into());
    // Pairs of values are written in a way of their own.
    if call.keyword_tokens("nargs").is_some() && call.keyword_literal("nargs") != Some(1.into()) {
        return None;
    }
    let json_type = match (is_flag, is_list) {
        (true, _) => JsonType::Boolean,
        (false, true) => JsonType::Array,
        (false, false) => json_type(call),
    };
    let mut argument = finish(call, name, json_type, style, warnings);
    argument.required = call.keyword_literal("required") == Some(true.into());
    Some(argument)
}

/// Interprets `@click.argument("name", …)`.
fn positional(call: &Call<'_, '_>, warnings: &mut Vec<ScriptWarning>) -> Option<Argument> {
    let name = call.value_text(0)?.to_ascii_lowercase().replace('-', "_");
    if !is_argument_name(&name) {
        return None;
    }
    let nargs = match call.keyword_tokens("nargs") {
        None => 1,
        Some(_) => call.keyword_literal("nargs")?.as_i64()?,
    };
    let is_optional = call.keyword_literal("required") == Some(false.into())
        || call.keyword_tokens("default").is_some();
    let (json_type, min, max) = match nargs {
        1 => (json_type(call), usize::from(!is_optional), 1),
        -1 => {
            let is_required = call.keyword_literal("required") == Some(true.into());
            (JsonType::Array, usize::from(is_required), usize::MAX)
        }
        _ => return None,
    };
    let style = ArgumentStyle::Positional { min, max };
    let mut argument = finish(call, name, json_type, style, warnings);
    argument.required = min > 0;
    Some(argument)
}

fn finish(
    call: &Call<'_, '_>,
    name: String,
    json_type: JsonType,
    style: ArgumentStyle,
    warnings: &mut Vec<ScriptWarning>,
) -> Argument {
    let mut declared = Map::new();
    if let Some(default) = call
        .keyword_literal("default")
        .filter(|value| json_type.accepts(value))
    {
        declared.insert("default".to_owned(), default);
    }
    if let Some(choices) = choices(call).filter(|_| json_type == JsonType::String) {
        declared.insert("enum".to_owned(), choices);
    }
    let description = call
        .keyword_text("help")
        .and_then(|help| text::argument_description(&help));
    let mut argument = Argument::new(name, json_type, style);
    argument.description = description;
    argument.keywords = keywords::parse_keywords(&argument.name, json_type, &declared, warnings);
    argument
}

fn json_type(call: &Call<'_, '_>) -> JsonType {
    match call.keyword_name("type") {
        Some("int" | "INT") => JsonType::Integer,
        Some("float" | "FLOAT") => JsonType::Number,
        _ => JsonType::String,
    }
}

/// Returns the values of `type=click.Choice([…])`. Without regard to case, others are valid, too.
fn choices(call: &Call<'_, '_>) -> Option<Value> {
    let tokens = call.keyword_tokens("type")?;
    let at = tokens
        .iter()
        .position(|token| *token == Token::Name("Choice"))?;
    let inside = tokens.get(at + 2..tokens.len().checked_sub(1)?)?;
    let values = Call::parse(inside);
    if values.keyword_tokens("case_sensitive").is_some() {
        return None;
    }
    let choices = crate::source::parse_literal(values.values.first()?)?;
    choices
        .as_array()?
        .iter()
        .all(Value::is_string)
        .then_some(choices)
}
