//! Arguments of a script: names, types and how they are passed.

use serde_json::{Map, Value};

use crate::text::argument_description;

/// The arguments of a script, their source, and how a call passes them.
///
/// A declaration in `SKILL.md` takes precedence over the text of the script. Arguments that cannot
/// be inferred leave the schema open: then a call may also contain further words and further named
/// values.
#[derive(Debug, Clone, PartialEq)]
pub struct ArgumentSpec {
    /// The source of the arguments.
    pub source: ArgumentSource,
    /// How the program takes its input.
    pub input: InputConvention,
    /// The known arguments of the program itself.
    pub arguments: Vec<Argument>,
    /// The subcommands with their arguments, if the program has any.
    pub commands: Option<CommandSet>,
    /// Which other arguments a call may contain.
    pub extra: ExtraArguments,
    /// How words are written.
    pub syntax: WordSyntax,
    /// Which words come first.
    pub order: WordOrder,
    /// Whether a call may contain text for standard input, in addition to its words.
    pub standard_input: StandardInput,
}

/// The source of the arguments of a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ArgumentSource {
    /// Declared in the `scripts` block of the skill.
    Declared,
    /// Inferred from the text of the script, by the parser for this framework.
    Inferred(Framework),
    /// Not known.
    Unknown,
    /// The script appears to read no arguments.
    NoneFound,
}

/// A framework or convention for command lines that can be recognized.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Framework {
    /// Python's `argparse`.
    Argparse,
    /// JavaScript's `commander`.
    Commander,
    /// `util.parseArgs` of Node.js.
    ParseArgs,
    /// The shell's `getopts`.
    Getopts,
    /// A shell loop with `case "$1" in --option)`.
    ShellCase,
    /// Words that the code of the script compares or reads by their position, such as
    /// `sys.argv[1]` or `$1`.
    Position,
    /// A usage text.
    Usage,
}

/// How a program takes its input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum InputConvention {
    /// As words of the command line.
    Words,
    /// As one JSON object in the first word.
    JsonArgument,
    /// As one JSON object on standard input.
    JsonStdin,
    /// As text on standard input. A call without `stdin` passes its values as one JSON object.
    TextStdin,
}

/// Which arguments a call may contain in addition to the known ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ExtraArguments {
    /// None.
    Rejected,
    /// `args`, a list of words, and named values that are passed as options.
    Accepted,
}

/// How words with values are written for a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WordSyntax {
    /// `--name=-v` for a value that starts with a hyphen, and `--` before such positional words.
    Gnu,
    /// `--name -v`, since the program takes the next word whatever it is, and `--` as above.
    Getopt,
    /// `--name -v`, and no way to pass a positional word that starts with a hyphen.
    Plain,
}

/// Which words come first on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WordOrder {
    /// Options, then a subcommand with its options, then positional words.
    OptionsFirst,
    /// A subcommand and positional words, then options.
    PositionalFirst,
}

/// Whether a program also reads standard input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StandardInput {
    /// It does not, as far as known.
    Unused,
    /// A call may contain `stdin`, a text.
    Text,
}

/// The subcommands of a program.
#[derive(Debug, Clone, PartialEq)]
pub struct CommandSet {
    /// The property of the schema that selects the command.
    pub property: String,
    /// Whether the program requires a command.
    pub required: bool,
    /// The commands, in the order of the source.
    pub commands: Vec<Command>,
}

/// One subcommand with its own arguments.
#[derive(Debug, Clone, PartialEq)]
pub struct Command {
    /// The word that selects it.
    pub name: String,
    /// The description: one line of at most 300 characters.
    pub description: Option<String>,
    /// The arguments that are valid with this command.
    pub arguments: Vec<Argument>,
}

/// One argument of a script: its name in the schema, its type, and how it is passed.
#[derive(Debug, Clone, PartialEq)]
pub struct Argument {
    /// The name in the schema: a letter or `_`, then at most 63 letters, digits, `_` and `-`.
    pub name: String,
    /// The JSON type.
    pub json_type: JsonType,
    /// Whether the argument is required.
    pub required: bool,
    /// The description: one line of at most 300 characters.
    pub description: Option<String>,
    /// Validated keywords of its schema other than `type` and `description`.
    pub keywords: Map<String, Value>,
    /// How it is passed.
    pub style: ArgumentStyle,
}

/// The types of JSON Schema that an argument can have.
///
/// An unknown type in a declaration is reported as a [`ScriptWarning`](crate::ScriptWarning), and
/// the argument is a string.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum JsonType {
    /// A string.
    String,
    /// An integer.
    Integer,
    /// A number.
    Number,
    /// A boolean.
    Boolean,
    /// An array.
    Array,
    /// An object.
    Object,
    /// Any type: it cannot be inferred.
    Any,
}

/// How an argument is passed on the command line.
///
/// Declared by `style` in `SKILL.md`, or inferred. Each value is one word: no shell splits or
/// expands it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ArgumentStyle {
    /// `--city Taipei`, repeated for each item of an array.
    Option(String),
    /// `--city=Taipei`, repeated for each item of an array.
    JoinedOption(String),
    /// The option alone for true, nothing for false, and `--city Taipei` for other values.
    FlagOrOption(String),
    /// The option alone if the value is `when`; otherwise the option `otherwise`, if there is one.
    Flag {
        /// The option.
        option: String,
        /// The value that the option stands for.
        when: bool,
        /// The option for the opposite value.
        otherwise: Option<String>,
    },
    /// `--on True`, and `--on=` for false: Python's `bool` converts every text but the empty one to
    /// true.
    EmptyIsFalse(String),
    /// `--cities Taipei Tainan`, for arrays of at least `min` items; shorter ones are omitted.
    ManyValues {
        /// The option.
        option: String,
        /// Minimum number of items that the script accepts.
        min: usize,
    },
    /// `--city '["Taipei"]'`.
    Json(String),
    /// `Taipei`, identified by its position.
    Positional {
        /// Minimum number of words.
        min: usize,
        /// Maximum number of words.
        max: usize,
    },
}

/// The property with further words, if no argument has this name.
pub const EXTRA_WORDS: &str = "args";
/// The property with text for standard input, if no argument has this name.
pub const STDIN_TEXT: &str = "stdin";
/// The property that selects a command, if the program does not name it.
pub(crate) const COMMAND: &str = "command";

impl ArgumentSpec {
    /// Returns the arguments of a `scripts` block.
    pub(crate) fn declared(arguments: Vec<Argument>) -> Self {
        Self {
            source: ArgumentSource::Declared,
            arguments,
            extra: ExtraArguments::Rejected,
            ..Self::unknown(InputConvention::Words)
        }
    }

    /// Returns inferred arguments, without subcommands. Nothing else is accepted.
    pub(crate) fn inferred(
        framework: Framework,
        arguments: Vec<Argument>,
        syntax: WordSyntax,
    ) -> Self {
        Self {
            source: ArgumentSource::Inferred(framework),
            arguments,
            extra: ExtraArguments::Rejected,
            syntax,
            order: WordOrder::OptionsFirst,
            ..Self::unknown(InputConvention::Words)
        }
    }

    /// Returns the arguments of a script that reads its words itself. Others are accepted.
    pub(crate) fn plain_words(framework: Framework, arguments: Vec<Argument>) -> Self {
        Self {
            source: ArgumentSource::Inferred(framework),
            arguments,
            syntax: WordSyntax::Plain,
            ..Self::unknown(InputConvention::Words)
        }
    }

    /// Returns the arguments of a script of which only the input convention is known.
    pub(crate) fn unknown(input: InputConvention) -> Self {
        Self {
            source: ArgumentSource::Unknown,
            input,
            arguments: Vec::new(),
            commands: None,
            extra: ExtraArguments::Accepted,
            syntax: WordSyntax::Gnu,
            // Words are often a subcommand, whose options follow.
            order: WordOrder::PositionalFirst,
            standard_input: StandardInput::Unused,
        }
    }

    /// Returns the arguments of a script whose text reads neither words nor standard input.
    ///
    /// Another file that it uses may still read some, so words are accepted.
    pub(crate) fn none_found() -> Self {
        Self {
            source: ArgumentSource::NoneFound,
            ..Self::unknown(InputConvention::Words)
        }
    }

    /// Makes the script accept further words and named values.
    pub(crate) fn open(mut self) -> Self {
        self.extra = ExtraArguments::Accepted;
        self
    }

    /// Adds subcommands. Returns `None` if an argument has the name of the property that selects
    /// them.
    pub(crate) fn with_commands(mut self, commands: CommandSet) -> Option<Self> {
        let property = commands.property.clone();
        self.commands = Some(commands);
        (!self.has_argument(&property)).then_some(self)
    }

    /// Returns the arguments of the program and of all its commands.
    pub(crate) fn all_arguments(&self) -> impl Iterator<Item = &Argument> {
        let commands = self.commands.iter().flat_map(|set| &set.commands);
        self.arguments
            .iter()
            .chain(commands.flat_map(|command| &command.arguments))
    }

    /// Returns true if the program or a command has an argument of this name.
    pub(crate) fn has_argument(&self, name: &str) -> bool {
        self.all_arguments().any(|argument| argument.name == name)
    }

    /// Returns true if a call may contain `args`, a list of further words.
    pub(crate) fn accepts_words(&self) -> bool {
        self.extra == ExtraArguments::Accepted
            && self.input == InputConvention::Words
            && !self.has_property(EXTRA_WORDS)
    }

    /// Returns true if a call may contain `args` instead of all other arguments: the whole command
    /// line of a script whose arguments were inferred.
    pub(crate) fn accepts_command_line(&self) -> bool {
        matches!(self.source, ArgumentSource::Inferred(_))
            && self.extra == ExtraArguments::Rejected
            && self.input == InputConvention::Words
            && !self.has_property(EXTRA_WORDS)
    }

    /// Returns true if a call may contain `stdin`, a text for standard input.
    pub(crate) fn accepts_stdin(&self) -> bool {
        (self.standard_input == StandardInput::Text || self.input == InputConvention::TextStdin)
            && !self.has_property(STDIN_TEXT)
    }

    /// Returns true if the schema has a property of this name, other than `args` and `stdin`.
    pub(crate) fn has_property(&self, name: &str) -> bool {
        let mut commands = self.commands.iter();
        self.has_argument(name) || commands.any(|set| set.property == name)
    }
}

impl CommandSet {
    /// Returns commands that `command` selects.
    pub(crate) fn new(commands: Vec<Command>) -> Self {
        Self {
            property: COMMAND.to_owned(),
            required: false,
            commands,
        }
    }

    /// Returns commands of which only the names are known.
    pub(crate) fn of_names(names: impl IntoIterator<Item = String>) -> Self {
        let commands = names.into_iter().map(|name| Command::new(name, Vec::new()));
        Self::new(commands.collect())
    }
}

impl Command {
    /// Returns a command without a description.
    pub(crate) fn new(name: String, arguments: Vec<Argument>) -> Self {
        Self {
            name,
            description: None,
            arguments,
        }
    }
}

impl Argument {
    /// Returns an optional argument without keywords.
    pub(crate) fn new(name: String, json_type: JsonType, style: ArgumentStyle) -> Self {
        let mut keywords = Map::new();
        if json_type == JsonType::Array {
            keywords.insert("items".to_owned(), serde_json::json!({"type": "string"}));
        }
        Self {
            name,
            json_type,
            required: false,
            description: None,
            keywords,
            style,
        }
    }

    /// Returns an optional argument for an option without a value.
    pub(crate) fn flag(name: String, option: String) -> Self {
        Self::new(name, JsonType::Boolean, ArgumentStyle::flag(option))
    }

    /// Returns an argument of one word, or of at least `min` words for an array.
    pub(crate) fn positional(name: String, json_type: JsonType, min: usize) -> Self {
        let max = match json_type {
            JsonType::Array => usize::MAX,
            _ => 1,
        };
        Self {
            required: min > 0,
            ..Self::new(name, json_type, ArgumentStyle::Positional { min, max })
        }
    }

    /// Sets the description to a text, which is sanitized.
    pub(crate) fn describe(&mut self, text: Option<String>) {
        self.description = text.and_then(|text| argument_description(&text));
    }

    /// Returns true if the argument is identified by its position.
    pub(crate) fn is_positional(&self) -> bool {
        matches!(self.style, ArgumentStyle::Positional { .. })
    }
}

impl ArgumentStyle {
    /// Returns the style of an option without a value.
    pub(crate) fn flag(option: String) -> Self {
        Self::Flag {
            option,
            when: true,
            otherwise: None,
        }
    }

    /// Returns the style of `--name`, whose opposite is `--no-name`.
    pub(crate) fn negatable_flag(option: String) -> Self {
        Self::Flag {
            otherwise: option.strip_prefix("--").map(|bare| format!("--no-{bare}")),
            option,
            when: true,
        }
    }
}

impl Framework {
    /// Returns the name, as it is shown in a schema.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Argparse => "argparse",
            Self::Commander => "commander",
            Self::ParseArgs => "parseArgs",
            Self::Getopts => "getopts",
            Self::ShellCase => "case",
            Self::Position => "position",
            Self::Usage => "usage",
        }
    }
}

impl JsonType {
    /// Returns the name of the type in a schema. `None` for any type.
    pub fn name(self) -> Option<&'static str> {
        Some(match self {
            Self::String => "string",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::Array => "array",
            Self::Object => "object",
            Self::Any => return None,
        })
    }

    /// Parses the name of a type of JSON Schema or Python.
    pub fn parse(name: &str) -> Option<Self> {
        Some(match name.trim().to_ascii_lowercase().as_str() {
            "string" | "str" => Self::String,
            "integer" | "int" => Self::Integer,
            "number" | "float" => Self::Number,
            "boolean" | "bool" => Self::Boolean,
            "array" | "list" => Self::Array,
            "object" | "dict" => Self::Object,
            _ => return None,
        })
    }

    /// Returns true if a value has the type.
    pub(crate) fn accepts(self, value: &Value) -> bool {
        match self {
            Self::String => value.is_string(),
            Self::Integer => value.is_i64() || value.is_u64(),
            Self::Number => value.is_number(),
            Self::Boolean => value.is_boolean(),
            Self::Array => value.is_array(),
            Self::Object => value.is_object(),
            Self::Any => true,
        }
    }

    /// Returns true if a value is a list of values of the type.
    pub(crate) fn accepts_each(self, values: &Value) -> bool {
        values
            .as_array()
            .is_some_and(|values| values.iter().all(|value| self.accepts(value)))
    }
}

/// Returns true if a name cannot be read as an option.
pub(crate) fn is_argument_name(name: &str) -> bool {
    name.len() <= 64
        // The first character is never `-`, so that `--` plus the name is one long option.
        && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}
