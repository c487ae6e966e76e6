//! Arguments of a Python script, inferred from its calls of `add_argument` without running it.

mod argument_type;
mod call;
mod literal;

use serde_json::Value;

use super::argument::{Argument, ArgumentStyle, is_argument_name};
use super::python_lexer::{Lexer, Token};
use super::{ScriptWarning, schema, warning::truncate_name};
use argument_type::{ArgumentType, is_of_type};
use call::{Call, find_calls};

/// Maximum size of source that is inspected, in bytes.
pub(crate) const MAX_SOURCE_BYTES: usize = 256 * 1024;
/// Maximum number of arguments that are inferred.
pub(crate) const MAX_ARGUMENTS: usize = 100;

/// Names that change the meaning of `add_argument` calls: subcommands have arguments of their own,
/// other prefixes make other words options, and files can contain arguments.
const UNSUPPORTED_NAMES: [&str; 3] = ["add_subparsers", "prefix_chars", "fromfile_prefix_chars"];

/// Infers arguments from source of at most 256 KiB. Returns `None` if there are none, or if they
/// depend on values that are not constants.
///
/// A keyword with a value that is not a constant is ignored.
pub(super) fn parse_arguments(
    source: &str,
    warnings: &mut Vec<ScriptWarning>,
) -> Option<Vec<Argument>> {
    // The cheap test first: most scripts do not use argparse.
    if source.len() > MAX_SOURCE_BYTES || !source.contains("add_argument") {
        return None;
    }
    let tokens: Vec<_> = Lexer::new(source).collect();
    // Wrong arguments are worse than none: without a schema, the script gets JSON on standard
    // input.
    if tokens
        .iter()
        .any(|token| matches!(token, Token::Name(name) if UNSUPPORTED_NAMES.contains(name)))
    {
        return None;
    }
    let mut arguments: Vec<Argument> = Vec::new();
    let mut lost_positional = false;
    for (index, call) in find_calls(&tokens).enumerate() {
        if index == MAX_ARGUMENTS {
            warnings.push(ScriptWarning::TooManyArguments {
                limit: MAX_ARGUMENTS,
            });
            lost_positional = true;
            break;
        }
        let flags = option_strings(&call).unwrap_or_default();
        // Negative numbers could then not be passed as values.
        if flags.iter().any(|flag| looks_like_number(flag)) {
            return None;
        }
        match read(&call, &flags, warnings) {
            Some(argument) if arguments.iter().any(|other| other.name == argument.name) => {
                lost_positional |= may_take_positional(&call, &flags);
                warnings.push(ScriptWarning::DuplicateArgument {
                    argument: argument.name,
                });
            }
            Some(argument) => arguments.push(argument),
            None => lost_positional |= may_take_positional(&call, &flags),
        }
    }
    // Positional values are unambiguous only if all positional arguments are known.
    let has_positionals = arguments
        .iter()
        .any(|argument| matches!(argument.style, ArgumentStyle::Positional { .. }));
    let is_unambiguous = !lost_positional || !has_positionals;
    (is_unambiguous && !arguments.is_empty()).then_some(arguments)
}

/// Returns whether an option string makes the parser read negative numbers as options.
fn looks_like_number(flag: &str) -> bool {
    flag.strip_prefix('-')
        .is_some_and(|bare| bare.starts_with(|c: char| c.is_ascii_digit() || c == '.'))
}

/// Returns whether an argument may take a word without an option. One that takes the rest of the
/// line does not take words of the others.
fn may_take_positional(call: &Call<'_, '_>, flags: &[String]) -> bool {
    flags.first().is_none_or(|flag| !flag.starts_with('-'))
        && call.keyword_name("nargs") != Some("REMAINDER")
}

/// Returns the option strings, or the name of a positional argument. `None` if one is not a
/// constant.
fn option_strings(call: &Call<'_, '_>) -> Option<Vec<String>> {
    let texts = call
        .values
        .iter()
        .map(|tokens| match literal::parse_literal(tokens)? {
            Value::String(text) => Some(text),
            _ => None,
        });
    let flags: Vec<_> = texts.collect::<Option<_>>()?;
    if flags.is_empty() {
        call.keyword_text("dest").map(|dest| vec![dest])
    } else {
        Some(flags)
    }
}

/// Returns the name under which argparse stores the value.
fn attribute_name(call: &Call<'_, '_>, option: &str, bare: &str) -> String {
    match call.keyword_text("dest") {
        Some(dest) => dest,
        None if option.starts_with('-') => bare.replace('-', "_"),
        None => bare.to_owned(),
    }
}

/// Parses one call. Returns `None` if the argument cannot be passed as data.
fn read(
    call: &Call<'_, '_>,
    flags: &[String],
    warnings: &mut Vec<ScriptWarning>,
) -> Option<Argument> {
    let first = flags.first()?;
    let option = flags
        .iter()
        .find(|flag| flag.starts_with("--"))
        .unwrap_or(first);
    let is_option = option.starts_with('-');
    let action = call.keyword_text("action");
    // These print a text and exit, which is no use for a tool.
    if matches!(action.as_deref(), Some("help" | "version")) {
        return None;
    }
    let bare = option
        .strip_prefix("--")
        .or_else(|| option.strip_prefix('-'))
        .unwrap_or(option);
    let name = attribute_name(call, option, bare);
    let argument_type = if is_option {
        ArgumentType::option(call, action.as_deref(), option)
    } else {
        ArgumentType::positional(call, action.as_deref())
    };
    let Some(argument_type) =
        argument_type.filter(|_| is_argument_name(&name) && is_argument_name(bare))
    else {
        warnings.push(ScriptWarning::UnsupportedArgument {
            argument: truncate_name(&name),
        });
        return None;
    };
    let required = match argument_type.style {
        ArgumentStyle::Positional { min, .. } => min > 0,
        _ => call.keyword_literal("required") == Some(true.into()),
    };
    // A default of another type would make the schema reject its own default.
    let default = call
        .keyword_literal("default")
        .filter(|default| is_of_type(default, argument_type.json_type));
    let description = help_text(call, default.as_ref());
    let mut declared = argument_type.keywords;
    if let Some(default) = default {
        declared.insert("default".to_owned(), default);
    }
    let keywords = schema::parse_keywords(&name, argument_type.json_type, &declared, warnings);
    Some(Argument {
        name,
        json_type: argument_type.json_type,
        required,
        description,
        keywords,
        style: argument_type.style,
    })
}

/// Returns the help text with the default inserted, as argparse prints it.
fn help_text(call: &Call<'_, '_>, default: Option<&Value>) -> Option<String> {
    let mut help = call.keyword_text("help")?;
    if let Some(default) = default {
        let default = default
            .as_str()
            .map_or_else(|| default.to_string(), str::to_owned);
        // Only once: repeated insertion of a long default would exceed the size of any source.
        help = help.replacen("%(default)s", &default, 1);
    }
    schema::clean_description(&help.replace("%%", "%"))
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::{Arguments, Language};

    /// Parses source in which the calls of `p.add_argument` have these arguments, and returns the
    /// properties of the schema and the warnings.
    fn read(calls: &[&str]) -> (Value, String) {
        let source: String = calls
            .iter()
            .map(|call| format!("p.add_argument({call})\n"))
            .collect();
        let (arguments, warnings) = Arguments::from_script(None, &source, Language::Python);
        (
            schema::input_schema(&arguments),
            warnings
                .iter()
                .map(|warning| format!("{warning}\n"))
                .collect(),
        )
    }

    fn check(call: &str, expected: Value) {
        let (schema, warnings) = read(&[call]);
        assert_eq!(
            (schema["properties"].clone(), warnings.as_str()),
            (expected, ""),
            "{call}"
        );
    }

    #[test]
    fn options_become_properties() {
        check(
            r#""--city", "-c", help="Name %(default)s" " 100%%", default="x""#,
            json!({"city": {"type": "string", "description": "Name x 100%", "default": "x"}}),
        );
        check(
            "'-n', type=int, choices=[1, 2,]",
            json!({"n": {"type": "integer", "enum": [1, 2]}}),
        );
        check(
            "'--dry-run', action='store_true'",
            json!({"dry_run": {"type": "boolean"}}),
        );
        check(
            "'--no-color', dest='color', action=\"store_false\"",
            json!({"color": {"type": "boolean", "default": true}}),
        );
        check(
            "'--tag', action='append'",
            json!({"tag": {"type": "array", "items": {"type": "string"}}}),
        );
        check(
            "'--at', nargs=2, type=float",
            json!({"at": {"type": "array", "items": {"type": "number"}, "maxItems": 2, "minItems": 2}}),
        );
        check("'--on', type=bool", json!({"on": {"type": "boolean"}}));
        check(
            "'--cache', action=argparse.BooleanOptionalAction, default=True",
            json!({"cache": {"type": "boolean", "default": true}}),
        );
    }

    #[test]
    fn values_that_are_not_constants_are_ignored() {
        check(
            "'--a', default=os.environ.get('A', 'x'), help=HELP, type=Path, choices=sorted(X)",
            json!({"a": {"type": "string"}}),
        );
        check(
            "'--a', default='7', type=int, required=NEEDED",
            json!({"a": {"type": "integer"}}),
        );
        check("'--a', **more", json!({"a": {"type": "string"}}));
    }

    #[test]
    fn positional_arguments_are_required_and_keep_their_order() {
        let (schema, _) = read(&[
            "'source'",
            "'--b', required=True",
            "'more', nargs='*'",
            "'last', nargs='+', type=int",
            "'end', nargs='?'",
        ]);
        assert_eq!(schema["required"], json!(["source", "b", "last"]));
        assert_eq!(
            schema["properties"]["last"],
            json!({"type": "array", "items": {"type": "integer"}, "minItems": 1})
        );
        assert_eq!(schema["x-derived"], "argparse");
        assert_eq!(schema["additionalProperties"], false);
    }

    #[test]
    fn unsupported_parsers_accept_any_arguments() {
        let open = json!({"type": "object", "additionalProperties": true});
        for source in [
            "p.add_argument('--a')\ns = p.add_subparsers()",
            "p = ArgumentParser(prefix_chars='+')\np.add_argument('--a')",
            "p = ArgumentParser(fromfile_prefix_chars='@')\np.add_argument('--a')",
            "p.add_argument('--a')\np.add_argument('-1')",
            "# p.add_argument('--a')\n'''p.add_argument('--b')'''",
            "p.add_argument('--a'",
            "p.add_argument(FLAG)",
            "p.add_argument('file')\np.add_argument(NAME)",
            "p.add_argument('file')\np.add_argument('file')",
            "p.add_argument('a b')\np.add_argument('file')",
            "add_argument('--a')",
        ] {
            let (arguments, _) = Arguments::from_script(None, source, Language::Python);
            assert_eq!(schema::input_schema(&arguments), open, "{source}");
        }
        let long = format!("p.add_argument('--a')\n{}", "#".repeat(MAX_SOURCE_BYTES));
        assert_eq!(
            Arguments::from_script(None, &long, Language::Python).0,
            Arguments::Unknown
        );
    }

    #[test]
    fn unsupported_arguments_are_omitted_with_a_warning() {
        let (schema, warnings) = read(&[
            "'--version', action='version'",
            "'--a=b'",
            "'--two', nargs=2, action='append'",
            "'rest', nargs=argparse.REMAINDER",
            "'--x', dest='a b'",
            "'--ok'",
            "'--ok'",
        ]);
        assert_eq!(schema["properties"], json!({"ok": {"type": "string"}}));
        insta::assert_snapshot!(warnings, @r#"
        argument `a=b` ignored: unsupported argparse action
        argument `two` ignored: unsupported argparse action
        argument `rest` ignored: unsupported argparse action
        argument `a b` ignored: unsupported argparse action
        duplicate argument `ok`; using the first
        "#);
    }

    #[test]
    fn an_unknown_option_does_not_affect_the_others() {
        let (schema, warnings) = read(&["FLAG", "'--a'"]);
        assert_eq!(
            (schema["properties"].clone(), warnings.as_str()),
            (json!({"a": {"type": "string"}}), "")
        );
        let (schema, _) = read(&["'file'", "'rest', nargs=argparse.REMAINDER"]);
        assert_eq!(schema["required"], json!(["file"]));
    }

    #[test]
    fn a_hundred_arguments_are_read() {
        let calls: Vec<_> = (0..150).map(|number| format!("'--a{number}'")).collect();
        let (schema, warnings) = read(&calls.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(
            schema["properties"].as_object().unwrap().len(),
            MAX_ARGUMENTS
        );
        assert_eq!(warnings, "too many arguments; using the first 100\n");
    }

    #[test]
    fn hostile_sources_take_linear_time() {
        let start = Instant::now();
        for piece in [
            "p.add_argument(",
            "p.add_argument('--a',[",
            "'",
            "'''",
            "\\N{",
            "'\\N{",
            "((",
            "add_argument",
            "[[[1],",
            "-",
        ] {
            let source = format!(
                "p.add_argument('{}",
                piece.repeat(MAX_SOURCE_BYTES / piece.len() - 10)
            );
            let _ = parse_arguments(&source, &mut Vec::new());
            let source = format!(
                "'''{}'''\np.add_argument('--a')",
                piece.repeat(MAX_SOURCE_BYTES / piece.len() - 20)
            );
            let _ = parse_arguments(&source, &mut Vec::new());
        }
        assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
    }

    /// Fragments of calls in any order, with any characters between them.
    fn python() -> impl Strategy<Value = String> {
        let keywords = "(nargs|type|default|choices|help|action|dest)=(int|float|bool|'append'|'store_true'|2)?";
        let piece = prop_oneof![
            "\\PC",
            "p\\.add_argument\\(",
            "'--?[a-z=]{1,3}'",
            keywords,
            ", ?",
            "[\\[\\](){},'\"\\\\\n*+?0-9-]"
        ];
        prop::collection::vec(piece, 0..80).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn any_source_is_parsed(source in python()) {
            let (arguments, _) = Arguments::from_script(None, &source, Language::Python);
            let schema = schema::input_schema(&arguments);
            prop_assert!(jsonschema::options().build(&schema).is_ok(), "{schema}");
        }
    }
}
