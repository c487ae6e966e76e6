//! Options, arguments and commands of the package `click`.

use serde_json::{Map, Value};

use crate::argument::{
    Argument, ArgumentSpec, ArgumentStyle, Command, CommandSet, Framework, JsonType, WordSyntax,
    is_argument_name,
};
use crate::infer::argument_list::{ArgumentList, remove_positionals};
use crate::infer::{MAX_COMMANDS, preferred_spelling};
use crate::keywords::parse_keywords;
use crate::source::{Call, MethodCall, Token, Tokens, parse_literal};
use crate::warning::ScriptWarning;

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

/// Infers the arguments from the decorators of the script.
pub(super) fn read(tokens: &Tokens<'_>, warnings: &mut Vec<ScriptWarning>) -> Option<ArgumentSpec> {
    let mut reader = Reader::default();
    let mut at = 0;
    while at < tokens.all().len() {
        let decorator = tokens.decorator_at(at);
        if let Some(call) = decorator.filter(|call| DECORATORS.contains(&call.name)) {
            reader.add(tokens.name(at + 1), &call, warnings);
            at = call.inside.end;
        } else if tokens.is_name(at, "def") {
            reader.end_function(tokens.name(at + 1));
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
    list: ArgumentList,
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
    programs: Vec<ArgumentList>,
    groups: Vec<ArgumentList>,
    members: Vec<(String, ArgumentList)>,
    is_partial: bool,
}

impl Reader {
    fn add(
        &mut self,
        owner: Option<&str>,
        call: &MethodCall<'_, '_>,
        warnings: &mut Vec<ScriptWarning>,
    ) {
        let list = &mut self.current.list;
        match (call.name, owner) {
            ("option", _) => list.push(option(&call.call, warnings)),
            ("argument", _) => list.push(positional(&call.call, warnings)),
            ("command", Some("click")) => self.current.start(Kind::Program, &call.call),
            ("command", _) => self.current.start(Kind::Member, &call.call),
            ("group", Some("click")) => self.current.start(Kind::Group, &call.call),
            ("group", _) => {
                // A group in a group.
                self.is_partial = true;
                self.current.start(Kind::Member, &call.call);
            }
            _ => list.is_partial = true,
        }
    }

    fn end_function(&mut self, name: Option<&str>) {
        // Decorators are applied from the last to the first, and `click` keeps their written order.
        let function = std::mem::take(&mut self.current);
        match function.kind {
            Some(Kind::Program) => self.programs.push(function.list),
            Some(Kind::Group) => self.groups.push(function.list),
            Some(Kind::Member) => self.add_member(function, name),
            None => {}
        }
    }

    fn add_member(&mut self, function: Function, name: Option<&str>) {
        let name = function.command_name(name);
        match name.filter(|_| self.members.len() < MAX_COMMANDS) {
            Some(name) => self.members.push((name, function.list)),
            None => self.is_partial = true,
        }
    }

    fn finish(self) -> Option<ArgumentSpec> {
        match (self.groups.len(), self.programs.len()) {
            (0, 1) => self.program_spec(),
            (1, 0) => self.group_spec(),
            _ => None,
        }
    }

    fn program_spec(mut self) -> Option<ArgumentSpec> {
        let mut list = self.programs.pop()?;
        list.is_partial |= self.is_partial;
        let spec = spec_of_list(list);
        (!spec.arguments.is_empty()).then_some(spec)
    }

    fn group_spec(mut self) -> Option<ArgumentSpec> {
        // Commands with unknown names could not be selected.
        if self.is_partial || self.members.is_empty() {
            return None;
        }
        let mut list = self.groups.pop()?;
        list.is_partial |= self.members.iter().any(|(_, member)| member.is_partial);
        let spec = spec_of_list(list);
        if spec.arguments.iter().any(Argument::is_positional) {
            return None;
        }
        let members = self.members.into_iter();
        let commands = members.map(|(name, list)| Command::new(name, list.arguments));
        spec.with_commands(CommandSet::new(commands.collect()))
    }
}

/// Returns the arguments, without positional ones if some are unknown.
fn spec_of_list(mut list: ArgumentList) -> ArgumentSpec {
    if list.is_partial {
        remove_positionals(&mut list.arguments);
    }
    list.into_spec(Framework::Click, WordSyntax::Getopt)
}

impl Function {
    fn start(&mut self, kind: Kind, call: &Call<'_, '_>) {
        self.kind = Some(kind);
        self.name = call.value_text(0).or(call.keywords.text("name"));
        self.has_unknown_name = self.name.is_none() && !call.values.is_empty();
    }

    /// Returns the given name, or the one that `click` derives from the name of the function.
    fn command_name(&self, function: Option<&str>) -> Option<String> {
        let name = match &self.name {
            None if self.has_unknown_name => None,
            None => derived_command_name(function?),
            name => name.clone(),
        };
        name.filter(|name| is_argument_name(name))
    }
}

fn derived_command_name(function: &str) -> Option<String> {
    let is_shortened = REMOVED_ENDINGS
        .iter()
        .any(|ending| function.ends_with(ending));
    (!is_shortened).then(|| function.to_ascii_lowercase().replace('_', "-"))
}

/// Interprets `@click.option("--name", "-n", …)`.
fn option(call: &Call<'_, '_>, warnings: &mut Vec<ScriptWarning>) -> Option<Argument> {
    let texts = call.value_texts()?;
    let flags = texts.iter().filter(|text| text.starts_with('-'));
    let spelling = preferred_spelling(flags.map(String::as_str))?;
    let name = option_name(&texts, spelling)?;
    // Pairs of values are written in a way of their own.
    if call.keywords.tokens("nargs").is_some() && nargs(call) != Some(1) {
        return None;
    }
    let (json_type, style) = if is_flag(call, spelling) {
        (JsonType::Boolean, ArgumentStyle::flag_pair(spelling))
    } else if call.keywords.is_true("multiple") {
        (JsonType::Array, ArgumentStyle::Option(spelling.to_owned()))
    } else {
        (json_type(call), ArgumentStyle::Option(spelling.to_owned()))
    };
    let mut argument = Argument::new(name, json_type, style);
    argument.required = call.keywords.is_true("required");
    Some(with_keywords(argument, call, warnings))
}

/// Returns the name of the parameter: the text without hyphens, else one derived from the option.
fn option_name(texts: &[String], spelling: &str) -> Option<String> {
    let option = spelling.split('/').next()?.trim();
    let bare = option.trim_start_matches('-');
    let given = texts.iter().find(|text| !text.starts_with('-'));
    let name = given.cloned().unwrap_or_else(|| bare.replace('-', "_"));
    (is_argument_name(&name) && is_argument_name(bare)).then_some(name)
}

fn is_flag(call: &Call<'_, '_>, spelling: &str) -> bool {
    spelling.contains('/') || call.keywords.is_true("is_flag") || call.keywords.is_true("count")
}

fn nargs(call: &Call<'_, '_>) -> Option<i64> {
    call.keywords.literal("nargs")?.as_i64()
}

/// Interprets `@click.argument("name", …)`.
fn positional(call: &Call<'_, '_>, warnings: &mut Vec<ScriptWarning>) -> Option<Argument> {
    let name = call.value_text(0)?.to_ascii_lowercase().replace('-', "_");
    let keywords = &call.keywords;
    let count = match keywords.tokens("nargs") {
        None => 1,
        Some(_) => nargs(call)?,
    };
    let is_optional =
        keywords.literal("required") == Some(false.into()) || keywords.tokens("default").is_some();
    let (json_type, is_required) = match count {
        1 => (json_type(call), !is_optional),
        -1 => (JsonType::Array, keywords.is_true("required")),
        _ => return None,
    };
    let argument = Argument::positional(name, json_type, usize::from(is_required));
    is_argument_name(&argument.name).then(|| with_keywords(argument, call, warnings))
}

/// Adds the help text and the keywords of a schema.
fn with_keywords(
    mut argument: Argument,
    call: &Call<'_, '_>,
    warnings: &mut Vec<ScriptWarning>,
) -> Argument {
    let declared = declared_keywords(call, argument.json_type);
    argument.describe(call.keywords.text("help"));
    argument.keywords = parse_keywords(&argument.name, argument.json_type, &declared, warnings);
    argument
}

fn declared_keywords(call: &Call<'_, '_>, json_type: JsonType) -> Map<String, Value> {
    let default = call.keywords.literal("default");
    let default = default.filter(|value| json_type.accepts(value));
    let choices = choices(call).filter(|_| json_type == JsonType::String);
    [("default", default), ("enum", choices)]
        .into_iter()
        .filter_map(|(keyword, value)| Some((keyword.to_owned(), value?)))
        .collect()
}

fn json_type(call: &Call<'_, '_>) -> JsonType {
    match call.keywords.name("type") {
        Some("int" | "INT") => JsonType::Integer,
        Some("float" | "FLOAT") => JsonType::Number,
        Some("bool" | "BOOL") => JsonType::Boolean,
        Some(_) => JsonType::String,
        None if call.keywords.tokens("type").is_some() => JsonType::String,
        None => {
            // Without a type, that of the default counts.
            let default = call.keywords.literal("default");
            let of_default = default.as_ref().and_then(JsonType::of_literal);
            of_default.unwrap_or(JsonType::String)
        }
    }
}

/// Returns the values of `type=click.Choice([…])`. Without regard to case, others are valid, too.
fn choices(call: &Call<'_, '_>) -> Option<Value> {
    let tokens = call.keywords.tokens("type")?;
    let at = tokens
        .iter()
        .position(|token| *token == Token::Name("Choice"))?;
    let choice = Call::parse(tokens.get(at + 2..tokens.len().checked_sub(1)?)?);
    if choice.keywords.tokens("case_sensitive").is_some() {
        return None;
    }
    parse_literal(choice.values.first()?).filter(|values| JsonType::String.accepts_each(values))
}
