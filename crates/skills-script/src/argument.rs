//! Arguments of a script: names, types and how they are passed.

use serde_json::{Map, Value};
use skills_manifest::{ScriptArg, ScriptSpec};

use super::{Language, ScriptWarning, argparse, schema, warning::truncate_name};

/// The arguments of a script, and where they are known from.
///
/// A declaration in `SKILL.md` takes precedence over the source of the script. If neither names
/// arguments, any are accepted and passed on standard input as one JSON object.
#[derive(Debug, Clone, PartialEq)]
pub enum Arguments {
    /// Not known: any arguments are accepted and passed on standard input as one JSON object.
    Unknown,
    /// Declared in the `scripts` block of the skill.
    Declared(Vec<Argument>),
    /// Inferred from the script's calls of `add_argument`.
    Inferred(Vec<Argument>),
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
}

/// How an argument is passed on the command line.
///
/// Declared by `style` in `SKILL.md`, or inferred from the call of `add_argument`. Each value is one
/// word: no shell splits or expands it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ArgumentStyle {
    /// `--city Taipei`, repeated for each item of an array.
    Option(String),
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

impl Arguments {
    /// Determines the arguments from the `scripts` block of the skill, else from Python source.
    pub fn from_script(
        spec: Option<&ScriptSpec>,
        source: &str,
        language: Language,
    ) -> (Self, Vec<ScriptWarning>) {
        let mut warnings = Vec::new();
        let arguments = match (spec.and_then(|spec| spec.args.as_deref()), language) {
            (Some(args), _) => Self::Declared(parse_declared(args, &mut warnings)),
            (None, Language::Python) => argparse::parse_arguments(source, &mut warnings)
                .map_or(Self::Unknown, Self::Inferred),
            (None, Language::Shell) => Self::Unknown,
        };
        (arguments, warnings)
    }
}

impl JsonType {
    /// Returns the name of the type in a schema.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::Array => "array",
            Self::Object => "object",
        }
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
}

/// Returns whether a name cannot be read as an option.
pub(super) fn is_argument_name(name: &str) -> bool {
    name.len() <= 64
        // The first character is never `-`, so that `--` plus the name is one long option.
        && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

fn parse_declared(args: &[ScriptArg], warnings: &mut Vec<ScriptWarning>) -> Vec<Argument> {
    let mut arguments: Vec<Argument> = Vec::new();
    for arg in args {
        let name = || truncate_name(&arg.name);
        // The name becomes an option, so it must not contain `=`, spaces or a leading hyphen.
        if !is_argument_name(&arg.name) {
            warnings.push(ScriptWarning::InvalidArgumentName { argument: name() });
        } else if arguments.iter().any(|other| other.name == arg.name) {
            warnings.push(ScriptWarning::DuplicateArgument { argument: name() });
        } else {
            arguments.push(parse_argument(arg, warnings));
        }
    }
    arguments
}

fn parse_argument(arg: &ScriptArg, warnings: &mut Vec<ScriptWarning>) -> Argument {
    let kind = JsonType::parse(&arg.kind).unwrap_or_else(|| {
        warnings.push(ScriptWarning::UnknownType {
            argument: arg.name.clone(),
            kind: truncate_name(&arg.kind),
        });
        JsonType::String
    });
    let has = |key: &str, value: Value| arg.raw.get(key) == Some(&value);
    let option = format!("--{}", arg.name);
    let style = match kind {
        _ if has("style", "json".into()) => ArgumentStyle::Json(option),
        JsonType::Boolean => {
            let otherwise = has("negatable", true.into()).then(|| format!("--no-{}", arg.name));
            ArgumentStyle::Flag {
                option,
                when: true,
                otherwise,
            }
        }
        _ => ArgumentStyle::Option(option),
    };
    Argument {
        name: arg.name.clone(),
        json_type: kind,
        required: arg.required,
        description: arg
            .description
            .as_deref()
            .and_then(schema::clean_description),
        keywords: schema::parse_keywords(&arg.name, kind, &arg.raw, warnings),
        style,
    }
}
