//! The arguments of a script: what they are called, what they may be, how they are passed.

use serde_json::{Map, Value};
use skills_runtime::manifest::{ScriptArg, ScriptSpec};

use super::{Language, ScriptWarning, argparse, schema, warning::truncate_name};

/// What is known of the arguments of a script.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Arguments {
    /// Nothing: whatever is given goes to standard input as one JSON object.
    Unknown,
    /// What the skill's `scripts` block says.
    Declared(Vec<Argument>),
    /// What the script's own calls of `add_argument` say, read without running it.
    Inferred(Vec<Argument>),
}

/// One argument of a script.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Argument {
    /// Its name in the schema: a letter or `_`, then at most 63 letters, digits, `_` and `-`.
    pub(crate) name: String,
    /// What it may be.
    pub(crate) json_type: JsonType,
    /// Whether it has to be given.
    pub(crate) required: bool,
    /// What it means: one line of at most 300 characters.
    pub(crate) description: Option<String>,
    /// The keywords of its schema beyond `type` and `description`, checked.
    pub(crate) keywords: Map<String, Value>,
    /// How it is passed.
    pub(crate) style: ArgumentStyle,
}

/// The types of JSON Schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum JsonType {
    /// Text.
    String,
    /// A whole number.
    Integer,
    /// A number.
    Number,
    /// True or false.
    Boolean,
    /// A list.
    Array,
    /// A mapping.
    Object,
}

/// How an argument becomes words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ArgumentStyle {
    /// `--city Taipei`, once for each item of a list.
    Option(String),
    /// The word alone when the value is `when`; else `otherwise`, if there is one.
    Flag {
        /// The option.
        option: String,
        /// The value that it stands for.
        when: bool,
        /// The option for the other value.
        otherwise: Option<String>,
    },
    /// `--on True`, and `--on=` for false, since Python's `bool` takes any text but the empty one
    /// for true.
    EmptyIsFalse(String),
    /// `--cities Taipei Tainan`, for lists of at least `least` items; shorter ones are left out.
    ManyValues {
        /// The option.
        option: String,
        /// The shortest list that the script takes.
        min: usize,
    },
    /// `--city '["Taipei"]'`.
    Json(String),
    /// `Taipei`: its place in the list says which argument it is.
    Positional {
        /// The fewest words that the script takes for it.
        min: usize,
        /// The most.
        max: usize,
    },
}

impl Arguments {
    /// Learns the arguments from the skill's `scripts` block, else from Python source.
    pub(crate) fn from_script(
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
    /// Returns the type's name in a schema.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::Array => "array",
            Self::Object => "object",
        }
    }

    /// Reads a type's name, in the words of JSON Schema or of Python.
    pub(crate) fn parse(name: &str) -> Option<Self> {
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

/// Says whether a name cannot be taken for anything but a name.
pub(super) fn is_argument_name(name: &str) -> bool {
    name.len() <= 64
        && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

fn parse_declared(args: &[ScriptArg], warnings: &mut Vec<ScriptWarning>) -> Vec<Argument> {
    let mut arguments: Vec<Argument> = Vec::new();
    for arg in args {
        let name = || truncate_name(&arg.name);
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
    let is = |key: &str, value: Value| arg.raw.get(key) == Some(&value);
    let word = format!("--{}", arg.name);
    let form = match kind {
        _ if is("style", "json".into()) => ArgumentStyle::Json(word),
        JsonType::Boolean => {
            let otherwise = is("negatable", true.into()).then(|| format!("--no-{}", arg.name));
            ArgumentStyle::Flag {
                option: word,
                when: true,
                otherwise,
            }
        }
        _ => ArgumentStyle::Option(word),
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
        style: form,
    }
}
