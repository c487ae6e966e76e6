//! Arguments of a Python script, inferred from its calls of `argparse` without running it.

mod argument_type;
mod scopes;

use serde_json::Value;

use self::argument_type::ArgumentType;
use self::scopes::{Parsers, collect_parsers};
use super::argument_list::{ArgumentList, MAX_ARGUMENTS, preferred_spelling, remove_positionals};
use crate::argument::{
    Argument, ArgumentSpec, ArgumentStyle, Framework, WordOrder, WordSyntax, is_argument_name,
};
use crate::source::{Call, Tokens};
use crate::warning::{ScriptWarning, truncate_name};
use crate::{keywords, text};

/// Names that change the meaning of `add_argument` calls: other prefixes make other words options,
/// and files can contain arguments.
const UNSUPPORTED_NAMES: [&str; 2] = ["prefix_chars", "fromfile_prefix_chars"];

/// Infers the arguments. Returns `None` if there are none, or if their meaning depends on more than
/// constants.
///
/// If some of them are unknown, the result is open for further ones. A keyword with a value that is
/// not a constant is ignored.
pub(super) fn read(tokens: &Tokens<'_>, warnings: &mut Vec<ScriptWarning>) -> Option<ArgumentSpec> {
    if tokens.has_any_name(&UNSUPPORTED_NAMES) {
        return None;
    }
    if tokens.has_name("add_subparsers") {
        return with_commands(collect_parsers(tokens, warnings)?);
    }
    let mut collected = Collected::default();
    for call in tokens.method_calls(&["add_argument"]) {
        collected.add(&call.call, warnings);
    }
    // Values of parents that are in another file, and of arguments that are added by a function.
    collected.is_partial |=
        tokens.has_any_name(&["parse_known_args", "parse_known_intermixed_args"]);
    let list = collected.into_list();
    (!list.arguments.is_empty()).then(|| into_spec(list))
}

fn with_commands(parsers: Parsers) -> Option<ArgumentSpec> {
    let mut list = parsers.root.into_list();
    list.is_partial |= parsers.is_partial;
    // With positional words, the command is one of several.
    match parsers.commands.filter(|_| !list.has_positionals()) {
        Some(commands) => into_spec(list).with_commands(commands),
        None => without_commands(list),
    }
}

/// Returns the options of a program with unknown commands.
fn without_commands(mut list: ArgumentList) -> Option<ArgumentSpec> {
    remove_positionals(&mut list.arguments);
    if list.arguments.is_empty() {
        return None;
    }
    let mut spec = into_spec(list).open();
    // The options may belong to a command, after its name.
    spec.order = WordOrder::PositionalFirst;
    Some(spec)
}

fn into_spec(list: ArgumentList) -> ArgumentSpec {
    list.into_spec(Framework::Argparse, WordSyntax::Gnu)
}

/// The arguments of one parser.
#[derive(Debug, Default, Clone)]
pub(super) struct Collected {
    arguments: Vec<Argument>,
    /// Whether a positional argument is unknown, so that values cannot be assigned to the others.
    lost_positional: bool,
    /// Whether an argument is unknown.
    is_partial: bool,
    /// Whether the parser reads negative numbers as options.
    has_numeric_option: bool,
    calls: usize,
}

impl Collected {
    fn add(&mut self, call: &Call<'_, '_>, warnings: &mut Vec<ScriptWarning>) {
        self.calls += 1;
        if self.calls > MAX_ARGUMENTS {
            self.lose_excess(warnings);
            return;
        }
        let flags = option_strings(call).unwrap_or_default();
        self.has_numeric_option |= flags.iter().any(|flag| looks_like_number(flag));
        // These print a text and exit, so they are not useful in a tool.
        let action = call.keywords.text("action");
        if matches!(action.as_deref(), Some("help" | "version")) {
            return;
        }
        match read_argument(call, &flags, warnings) {
            Some(argument) if self.has(&argument.name) => {
                self.lose(call, &flags);
                warnings.push(ScriptWarning::DuplicateArgument {
                    argument: argument.name,
                });
            }
            Some(argument) => self.arguments.push(argument),
            None => self.lose(call, &flags),
        }
    }

    /// Records that there are more arguments than the limit, with a warning for the first.
    fn lose_excess(&mut self, warnings: &mut Vec<ScriptWarning>) {
        if self.calls == MAX_ARGUMENTS + 1 {
            warnings.push(ScriptWarning::TooManyArguments {
                limit: MAX_ARGUMENTS,
            });
        }
        self.lose_positional();
    }

    /// Adds the arguments of another parser, such as a parent.
    fn extend(&mut self, other: &Self) {
        self.lost_positional |= other.lost_positional;
        self.is_partial |= other.is_partial;
        self.has_numeric_option |= other.has_numeric_option;
        for argument in &other.arguments {
            if !self.has(&argument.name) {
                self.arguments.push(argument.clone());
            }
        }
    }

    fn has(&self, name: &str) -> bool {
        self.arguments.iter().any(|argument| argument.name == name)
    }

    /// Records that an argument is unknown, which may be positional.
    fn lose_positional(&mut self) {
        self.is_partial = true;
        self.lost_positional = true;
    }

    /// Records that the arguments of a call are not understood.
    fn lose(&mut self, call: &Call<'_, '_>, flags: &[String]) {
        self.is_partial = true;
        self.lost_positional |= may_take_positional(call, flags);
    }

    /// Returns the arguments that can be passed.
    fn into_list(self) -> ArgumentList {
        let mut arguments = self.arguments;
        // Positional values are unambiguous only if all positional arguments are known.
        if self.lost_positional {
            remove_positionals(&mut arguments);
        }
        // Negative numbers could not be passed as values.
        if self.has_numeric_option {
            arguments.clear();
        }
        ArgumentList {
            arguments,
            is_partial: self.is_partial,
        }
    }
}

/// Returns true if an option string makes the parser read negative numbers as options.
fn looks_like_number(flag: &str) -> bool {
    flag.strip_prefix('-')
        .is_some_and(|bare| bare.starts_with(|c: char| c.is_ascii_digit() || c == '.'))
}

/// Returns true if an argument may take a word without an option. One that takes the rest of the
/// line does not take words of the others.
fn may_take_positional(call: &Call<'_, '_>, flags: &[String]) -> bool {
    flags.first().is_none_or(|flag| !flag.starts_with('-'))
        && call.keywords.name("nargs") != Some("REMAINDER")
}

/// Returns the option strings, or the name of a positional argument. `None` if one is not a
/// constant.
fn option_strings(call: &Call<'_, '_>) -> Option<Vec<String>> {
    let flags = call.value_texts()?;
    if flags.is_empty() {
        return call.keywords.text("dest").map(|dest| vec![dest]);
    }
    Some(flags)
}

/// Parses one call. Returns `None` if the argument cannot be passed as data.
fn read_argument(
    call: &Call<'_, '_>,
    flags: &[String],
    warnings: &mut Vec<ScriptWarning>,
) -> Option<Argument> {
    let option = preferred_spelling(flags.iter().map(String::as_str))?;
    let bare = option.strip_prefix('-').unwrap_or(option);
    let bare = bare.strip_prefix('-').unwrap_or(bare);
    let name = attribute_name(call, option, bare);
    let is_named = is_argument_name(&name) && is_argument_name(bare);
    let Some(argument_type) = ArgumentType::parse(call, option).filter(|_| is_named) else {
        warnings.push(ScriptWarning::UnsupportedArgument {
            argument: truncate_name(&name),
        });
        return None;
    };
    Some(typed_argument(call, name, argument_type, warnings))
}

/// Returns the name under which argparse stores the value.
fn attribute_name(call: &Call<'_, '_>, option: &str, bare: &str) -> String {
    match call.keywords.text("dest") {
        Some(dest) => dest,
        None if option.starts_with('-') => bare.replace('-', "_"),
        None => bare.to_owned(),
    }
}

fn typed_argument(
    call: &Call<'_, '_>,
    name: String,
    argument_type: ArgumentType,
    warnings: &mut Vec<ScriptWarning>,
) -> Argument {
    let ArgumentType {
        json_type,
        style,
        keywords: mut declared,
    } = argument_type;
    // A default of another type would make the schema reject its own default.
    let default = call.keywords.literal("default");
    let default = default.filter(|default| json_type.accepts(default));
    let description = help_text(call, default.as_ref());
    declared.extend(default.map(|default| ("default".to_owned(), default)));
    Argument {
        required: is_required(call, &style),
        keywords: keywords::parse_keywords(&name, json_type, &declared, warnings),
        name,
        json_type,
        description,
        style,
    }
}

fn is_required(call: &Call<'_, '_>, style: &ArgumentStyle) -> bool {
    match style {
        ArgumentStyle::Positional { min, .. } => *min > 0,
        _ => call.keywords.is_true("required"),
    }
}

/// Returns the help text with the default inserted, as argparse prints it.
fn help_text(call: &Call<'_, '_>, default: Option<&Value>) -> Option<String> {
    let mut help = call.keywords.text("help")?;
    if let Some(default) = default {
        let default = default
            .as_str()
            .map_or_else(|| default.to_string(), str::to_owned);
        // Only once: repeated insertion of a long default would exceed the size of any source.
        help = help.replacen("%(default)s", &default, 1);
    }
    text::argument_description(&help.replace("%%", "%"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;
    use skills_test_support::thread_time;

    use super::*;
    use crate::resolve::resolve_arguments;
    use crate::schema;
    use crate::source::MAX_SOURCE_BYTES;

    /// Parses source in which the calls of `p.add_argument` have these arguments, and returns the
    /// properties of the schema and the warnings.
    fn infer(calls: &[&str]) -> (Value, String) {
        let source: String = calls
            .iter()
            .map(|call| format!("p.add_argument({call})\n"))
            .collect();
        let (arguments, warnings) = resolve_arguments(None, &source, "a.py");
        (
            schema::input_schema(&arguments),
            warnings
                .iter()
                .map(|warning| format!("{warning}\n"))
                .collect(),
        )
    }

    fn check(call: &str, expected: Value) {
        let (mut schema, warnings) = infer(&[call]);
        let properties = schema["properties"].as_object_mut().unwrap();
        // All closed schemas have it.
        properties.remove("args").unwrap();
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
        let (schema, _) = infer(&[
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
        let unknown = ArgumentSpec::unknown(crate::InputConvention::Words);
        let open = schema::input_schema(&unknown);
        for source in [
            "p = ArgumentParser(prefix_chars='+')\np.add_argument('--a')\nargv",
            "p = ArgumentParser(fromfile_prefix_chars='@')\np.add_argument('--a')\nargv",
            "p.add_argument('--a')\np.add_argument('-1')\nargv",
            "import argparse\n# p.add_argument('--a')\n'''p.add_argument('--b')'''",
            "p.add_argument('--a'\nargv",
            "p.add_argument(FLAG)\nargv",
            "p.add_argument('file')\np.add_argument(NAME)\nargv",
            "p.add_argument('file')\np.add_argument('file')\nargv",
            "p.add_argument('a b')\np.add_argument('file')\nargv",
            "add_argument('--a')\nargv",
        ] {
            let (arguments, _) = resolve_arguments(None, source, "a.py");
            assert_eq!(schema::input_schema(&arguments), open, "{source}");
        }
        let long = format!("p.add_argument('--a')\n{}", "#".repeat(MAX_SOURCE_BYTES));
        assert_eq!(resolve_arguments(None, &long, "a.py").0, unknown);
    }

    #[test]
    fn options_of_unsupported_subparsers_are_known() {
        let source = "p.add_argument('--a')\ns = p.add_subparsers()\nfor name in NAMES:\n    s.add_parser(name)\n";
        let (spec, _) = resolve_arguments(None, source, "a.py");
        let schema = schema::input_schema(&spec);
        assert_eq!(schema["properties"]["a"], json!({"type": "string"}));
        assert_eq!(schema["additionalProperties"], true);
        let call = json!({"args": ["add"], "a": "x"});
        let argv = crate::build_argv(call.as_object().unwrap(), &spec).unwrap();
        assert_eq!(argv.args, ["add", "--a", "x"]);
    }

    #[test]
    fn subcommands_have_their_own_arguments() {
        let source = "import argparse
common = argparse.ArgumentParser(add_help=False)
common.add_argument('--token', required=True)
parser = argparse.ArgumentParser()
parser.add_argument('--db', default='x')
sub = parser.add_subparsers(dest='action', required=True)
add = sub.add_parser('add', help='Adds an item', parents=[common])
group = add.add_argument_group('names')
group.add_argument('title')
group.add_argument('--tag', action='append')
find = sub.add_parser('find')
find.add_argument('words', nargs='*')
find.add_argument('--tag', help='Only this one')
sub.add_parser('list').add_argument('--all', action='store_true')
";
        let (spec, warnings) = resolve_arguments(None, source, "a.py");
        assert_eq!(warnings, []);
        insta::assert_json_snapshot!("subcommands", schema::input_schema(&spec));
        let argv = |call: Value| crate::build_argv(call.as_object().unwrap(), &spec);
        let check = |call: Value, expected: &str| {
            assert_eq!(argv(call).unwrap().args.join(" "), expected);
        };
        check(
            json!({"action": "add", "title": "-x", "tag": ["a", "b"], "token": "t", "db": "y"}),
            "--db y add --tag a --tag b --token t -- -x",
        );
        check(
            json!({"action": "find", "words": ["a"], "tag": "b"}),
            "find --tag b a",
        );
        check(json!({"action": "list", "all": true}), "list --all");
        let assert_rejected = |call: Value, expected: &str| {
            assert_eq!(argv(call).unwrap_err().to_string(), expected);
        };
        assert_rejected(
            json!({"action": "list", "title": "x"}),
            "invalid argument `title`: it is not an argument of command `list`",
        );
        assert_rejected(
            json!({"title": "x"}),
            "invalid argument `title`: it is not an argument of the script without a command",
        );
        assert_rejected(
            json!({"action": "add", "title": "x"}),
            "missing argument `token`: command `add` requires it",
        );
        assert_rejected(
            json!({"action": "other"}),
            "invalid argument `action`: expected the name of a command",
        );
    }

    #[test]
    fn arguments_of_an_unknown_parser_are_valid_with_each_command() {
        let source = "import argparse
def shared(p):
    p.add_argument('--json', action='store_true')
parser = argparse.ArgumentParser()
sub = parser.add_subparsers()
for p in [sub.add_parser('a'), sub.add_parser('b')]:
    shared(p)
";
        let (spec, _) = resolve_arguments(None, source, "a.py");
        let call = json!({"command": "a", "json": true, "other": "x"});
        let argv = crate::build_argv(call.as_object().unwrap(), &spec).unwrap();
        assert_eq!(argv.args, ["a", "--json", "--other", "x"]);
    }

    #[test]
    fn unsupported_arguments_are_omitted_with_a_warning() {
        let (schema, warnings) = infer(&[
            "'--version', action='version'",
            "'--a=b'",
            "'--two', nargs=2, action='append'",
            "'rest', nargs=argparse.REMAINDER",
            "'--x', dest='a b'",
            "'--ok'",
            "'--ok'",
        ]);
        assert_eq!(schema["properties"]["ok"], json!({"type": "string"}));
        assert_eq!(schema["properties"].as_object().unwrap().len(), 2);
        assert_eq!(schema["additionalProperties"], true);
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
        let (schema, warnings) = infer(&["FLAG", "'--a'"]);
        assert_eq!(
            (schema["properties"]["a"].clone(), warnings.as_str()),
            (json!({"type": "string"}), "")
        );
        assert_eq!(schema["additionalProperties"], true);
        let (schema, _) = infer(&["'file'", "'rest', nargs=argparse.REMAINDER"]);
        assert_eq!(schema["required"], json!(["file"]));
    }

    #[test]
    fn a_hundred_arguments_are_read() {
        let calls: Vec<_> = (0..150).map(|number| format!("'--a{number}'")).collect();
        let (schema, warnings) = infer(&calls.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(
            schema["properties"].as_object().unwrap().len(),
            MAX_ARGUMENTS + 1,
            "and `args`"
        );
        assert_eq!(warnings, "too many arguments; using the first 100\n");
    }

    #[test]
    fn hostile_sources_take_linear_time() {
        let start = thread_time();
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
            let _ = read(&Tokens::python(&source), &mut Vec::new());
            let source = format!(
                "'''{}'''\np.add_argument('--a')",
                piece.repeat(MAX_SOURCE_BYTES / piece.len() - 20)
            );
            let _ = read(&Tokens::python(&source), &mut Vec::new());
        }
        let time = thread_time().saturating_sub(start);
        assert!(time.as_secs() < 20, "{time:?}");
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
            let (arguments, _) = resolve_arguments(None, &source, "a.py");
            let schema = schema::input_schema(&arguments);
            prop_assert!(jsonschema::options().build(&schema).is_ok(), "{schema}");
        }
    }
}
