//! Passing of arguments to a script: as command line words, or as JSON on standard input.

mod command_line;
mod error;
mod positional;
mod script_argv;
mod words;

use serde_json::{Map, Value};

use crate::argument::{ArgumentSpec, EXTRA_WORDS, InputConvention, STDIN_TEXT};
use script_argv::stdin_text;

pub use error::ArgvError;
pub use script_argv::ScriptArgv;

/// Builds the command line and the standard input for validated arguments.
///
/// How they are passed depends on the [`InputConvention`] of the script. On a command line, options
/// come in the order of the declaration, and positional words after a `--` where one could be
/// parsed as something else. Each value is a word of its own, or joined to its option by `=`. Null
/// values are omitted. If the script accepts further arguments, `args` are added word by word as
/// they are, and other names become `--name value`.
///
/// # Errors
/// Fails if a value cannot be passed as data, or the script does not have the argument.
pub fn build_argv(
    given: &Map<String, Value>,
    spec: &ArgumentSpec,
) -> Result<ScriptArgv, ArgvError> {
    match spec.input {
        InputConvention::Words if is_command_line(given, spec) => whole_command_line(given, spec),
        InputConvention::Words => command_line::build(given, spec),
        InputConvention::JsonArgument => json_argument(given, spec),
        InputConvention::JsonStdin => Ok(standard_input(to_json(given))),
        InputConvention::TextStdin => text_or_json(given),
    }
}

/// Returns true if a call consists of `args`, the words of the whole command line, of a script whose
/// arguments were inferred. Such a call need not have the required properties of the schema.
#[must_use]
pub fn is_command_line(given: &Map<String, Value>, spec: &ArgumentSpec) -> bool {
    let is_known =
        |name: &String| name == EXTRA_WORDS || (name == STDIN_TEXT && spec.accepts_stdin());
    spec.accepts_command_line() && given.contains_key(EXTRA_WORDS) && given.keys().all(is_known)
}

/// Passes the words of a call as they are.
fn whole_command_line(
    given: &Map<String, Value>,
    spec: &ArgumentSpec,
) -> Result<ScriptArgv, ArgvError> {
    let mut words = words::ArgvBuilder::new(spec.syntax);
    words.argument = EXTRA_WORDS;
    for word in command_line::word_list(&given[EXTRA_WORDS])? {
        words.push(word.to_owned())?;
    }
    Ok(ScriptArgv {
        args: words.finish()?,
        stdin: stdin_text(given)?,
    })
}

fn json_argument(given: &Map<String, Value>, spec: &ArgumentSpec) -> Result<ScriptArgv, ArgvError> {
    let mut words = words::ArgvBuilder::new(spec.syntax);
    words.argument = "object";
    words.push(to_json(given))?;
    Ok(ScriptArgv {
        args: words.finish()?,
        stdin: None,
    })
}

/// Passes `stdin` as text; a call without it as one JSON object.
fn text_or_json(given: &Map<String, Value>) -> Result<ScriptArgv, ArgvError> {
    let Some(text) = stdin_text(given)? else {
        return Ok(standard_input(to_json(given)));
    };
    match given.keys().find(|name| *name != STDIN_TEXT) {
        // Both cannot be passed.
        Some(other) => Err(ArgvError::Unknown {
            argument: other.clone(),
        }),
        None => Ok(standard_input(text)),
    }
}

fn standard_input(text: String) -> ScriptArgv {
    ScriptArgv {
        args: Vec::new(),
        stdin: Some(text),
    }
}

fn to_json(given: &Map<String, Value>) -> String {
    Value::Object(given.clone()).to_string()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::resolve::resolve_arguments;
    use crate::spec_match::tests::specs;

    fn listed(args: &str) -> ArgumentSpec {
        resolve_arguments(
            specs(&format!("  a:\n    args: [{args}]")).first(),
            "",
            "a.sh",
        )
        .0
    }

    fn derived(calls: &[&str]) -> ArgumentSpec {
        let source: String = calls
            .iter()
            .map(|call| format!("p.add_argument({call})\n"))
            .collect();
        resolve_arguments(None, &source, "a.py").0
    }

    fn try_pass(arguments: &ArgumentSpec, given: Value) -> Result<ScriptArgv, ArgvError> {
        build_argv(given.as_object().unwrap(), arguments)
    }

    fn check(arguments: &ArgumentSpec, given: Value, expected: &[&str]) {
        let passed = try_pass(arguments, given).unwrap();
        assert_eq!(passed.args, expected);
        assert_eq!(passed.stdin, None);
    }

    fn assert_rejected(arguments: &ArgumentSpec, given: Value, expected: &str) {
        assert_eq!(
            try_pass(arguments, given).unwrap_err().to_string(),
            expected
        );
    }

    #[test]
    fn values_are_separate_arguments() {
        let arguments = listed(
            "{name: city}, {name: day_s, type: integer}, {name: deep, type: object}, {name: at, type: number}",
        );
        check(
            &arguments,
            json!({"at": 0.1, "city": "Tai pei; $(x) `y` \"z\"\n", "day_s": 3, "deep": {"a": [1, null]}}),
            &[
                "--city",
                "Tai pei; $(x) `y` \"z\"\n",
                "--day_s",
                "3",
                "--deep",
                r#"{"a":[1,null]}"#,
                "--at",
                "0.1",
            ],
        );
        check(&arguments, json!({"city": null, "deep": null}), &[]);
        check(&arguments, json!({"city": ""}), &["--city", ""]);
        check(&arguments, json!({"city": "a=b"}), &["--city", "a=b"]);
    }

    #[test]
    fn a_value_like_an_option_is_joined_to_its_option() {
        let arguments = listed("{name: city}, {name: n, type: integer}, {name: l, type: array}");
        check(
            &arguments,
            json!({"city": "-x", "n": -3, "l": ["--help", "b"]}),
            &["--city=-x", "--n=-3", "--l=--help", "--l", "b"],
        );
    }

    #[test]
    fn booleans_are_flags() {
        let arguments =
            listed("{name: a, type: boolean}, {name: b, type: boolean, negatable: true}");
        check(&arguments, json!({"a": true, "b": true}), &["--a", "--b"]);
        check(&arguments, json!({"a": false, "b": false}), &["--no-b"]);
    }

    #[test]
    fn arrays_repeat_their_option_or_are_json() {
        let arguments = listed("{name: a, type: array}, {name: b, type: array, style: json}");
        check(
            &arguments,
            json!({"a": ["x", "y z"], "b": ["x", 1]}),
            &["--a", "x", "--a", "y z", "--b", r#"["x",1]"#],
        );
        check(&arguments, json!({"a": []}), &[]);
    }

    #[test]
    fn numbers_keep_all_their_digits() {
        let arguments = listed("{name: n, type: number}, {name: i, type: integer}");
        for (written, expected) in [
            ("1e21", "1000000000000000000000"),
            ("0.1", "0.1"),
            ("18446744073709551615", "18446744073709551615"),
            ("-9223372036854775808", "-9223372036854775808"),
            ("3.0", "3"),
            ("1e-7", "0.0000001"),
        ] {
            let given: Value = serde_json::from_str(&format!(r#"{{"n": {written}}}"#)).unwrap();
            let passed = try_pass(&arguments, given).unwrap().args;
            assert_eq!(passed.join("=").trim_start_matches("--n="), expected);
        }
        check(&arguments, json!({"i": 3.0}), &["--i", "3"]);
    }

    #[test]
    fn inferred_options_keep_the_spelling_of_the_script() {
        let arguments = derived(&[
            "'--dry-run', action='store_true'",
            "'-c', '--city-name', dest='city'",
            "'-n', type=int",
            "'--no-color', dest='color', action='store_false'",
            "'--cache', action=argparse.BooleanOptionalAction",
            "'--on', type=bool",
        ]);
        let given = json!({"dry_run": true, "city": "x", "n": 1, "color": false, "cache": false, "on": false});
        check(
            &arguments,
            given,
            &[
                "--dry-run",
                "--city-name",
                "x",
                "-n",
                "1",
                "--no-color",
                "--no-cache",
                "--on=",
            ],
        );
        check(
            &arguments,
            json!({"dry_run": false, "color": true, "cache": true, "on": true}),
            &["--cache", "--on", "True"],
        );
    }

    #[test]
    fn inferred_arrays_follow_one_option() {
        let arguments = derived(&[
            "'--at', nargs=2, type=float",
            "'--all', nargs='*'",
            "'file'",
        ]);
        check(
            &arguments,
            json!({"file": "f", "at": [-1.5, 2], "all": ["a", "b"]}),
            &["--at", "-1.5", "2", "--all", "a", "b", "--", "f"],
        );
        check(
            &arguments,
            json!({"file": "f", "all": []}),
            &["--all", "--", "f"],
        );
        check(
            &arguments,
            json!({"file": "f", "all": ["-x"]}),
            &["--all=-x", "--", "f"],
        );
        check(
            &arguments,
            json!({"file": "f", "all": ["a"]}),
            &["--all", "a", "--", "f"],
        );
        let expected = r#"invalid argument `all`: the script would parse a value that starts with a hyphen as an option"#;
        assert_rejected(
            &arguments,
            json!({"file": "f", "all": ["a", "-x"]}),
            expected,
        );
    }

    #[test]
    fn positional_arguments_come_last_in_their_order() {
        let arguments = derived(&["'source'", "'--n', type=int", "'more', nargs='*'"]);
        check(
            &arguments,
            json!({"more": ["c", "d"], "n": 1, "source": "a b"}),
            &["--n", "1", "a b", "c", "d"],
        );
        check(&arguments, json!({"source": "-a"}), &["--", "-a"]);
        check(
            &arguments,
            json!({"source": "---", "more": ["--n=2", "-"]}),
            &["--", "---", "--n=2", "-"],
        );
        let expected = r#"invalid argument `more`: the script would parse a value that starts with a hyphen as an option"#;
        assert_rejected(&arguments, json!({"source": "a", "more": ["--"]}), expected);
    }

    #[test]
    fn ambiguous_positional_words_are_rejected() {
        let arguments = derived(&["'one', nargs='?'", "'two', nargs='?'"]);
        check(&arguments, json!({"one": "a"}), &["a"]);
        assert_rejected(
            &arguments,
            json!({"two": "b"}),
            r#"invalid argument `one`: the script would assign its values to another positional argument"#,
        );
        let arguments = derived(&["'many', nargs='+'", "'last'", "'end', nargs='?'"]);
        check(
            &arguments,
            json!({"many": ["a", "b"], "last": "c"}),
            &["a", "b", "c"],
        );
        assert!(matches!(
            try_pass(&arguments, json!({"many": ["a"], "last": "b", "end": "c"})),
            Err(ArgvError::Ambiguous { argument }) if argument == "many"
        ));
        assert!(matches!(
            try_pass(&arguments, json!({"many": ["a"]})),
            Err(ArgvError::Ambiguous { .. })
        ));
    }

    #[test]
    fn unknown_arguments_are_passed_on_standard_input() {
        let passed = try_pass(
            &ArgumentSpec::unknown(InputConvention::JsonStdin),
            json!({"--help": "-x", "a": [1, "天"]}),
        )
        .unwrap();
        assert_eq!(passed.args, [""; 0]);
        assert_eq!(
            passed.stdin.as_deref(),
            Some(r#"{"--help":"-x","a":[1,"天"]}"#)
        );
    }

    #[test]
    fn values_that_no_command_line_can_hold_are_rejected() {
        let arguments = listed("{name: a}, {name: b}, {name: c}");
        assert_rejected(
            &arguments,
            json!({"a": "x\u{0}y"}),
            r#"invalid argument `a`: it contains a NUL character"#,
        );
        assert_rejected(
            &arguments,
            json!({"a": "x".repeat(65_537)}),
            r#"argument `a` is 65537 bytes, limit 65536"#,
        );
        let half = "x".repeat(65_536);
        assert_rejected(
            &arguments,
            json!({"a": half, "b": half}),
            "all arguments together are 131082 bytes, limit 131072",
        );
        assert!(try_pass(&arguments, json!({"a": half, "b": "y".repeat(65_000)})).is_ok());
        assert_rejected(
            &arguments,
            json!({"--help": "x"}),
            r#"unknown argument `--help`"#,
        );
    }

    /// Parses words like argparse does for options of one value: `--name value` or `--name=value`.
    fn read_back(words: &[String]) -> Vec<(String, String)> {
        let mut words = words.iter();
        let mut found = Vec::new();
        while let Some(word) = words.next() {
            assert!(word.starts_with("--"), "{word:?} is not an option");
            match word.split_once('=') {
                Some((option, value)) => found.push((option.to_owned(), value.to_owned())),
                None => found.push((word.clone(), words.next().unwrap().clone())),
            }
        }
        found
    }

    proptest! {
        #[test]
        fn option_values_are_read_back_unchanged(
            one in "(-{0,2}=?\\PC{0,8}|--two)",
            two in prop::collection::vec("-?\\PC{0,4}", 0..4),
            last in any::<bool>(),
        ) {
            let arguments = listed("{name: one}, {name: two, type: array}");
            let mut given = Map::new();
            if last {
                given.insert("two".to_owned(), json!(two));
            }
            given.insert("one".to_owned(), json!(one));
            if !last {
                given.insert("two".to_owned(), json!(two));
            }
            let words = build_argv(&given, &arguments).unwrap().args;
            let mut expected = vec![("--one".to_owned(), one)];
            expected.extend(two.into_iter().map(|item| ("--two".to_owned(), item)));
            prop_assert_eq!(read_back(&words), expected);
        }

        #[test]
        fn argument_names_never_inject_options(name in "(-{0,2}[a-z= ]{0,4}|\\PC{0,4})", value in "\\PC{0,4}") {
            let specs = specs(&format!("  a:\n    args:\n      - {{name: {}, type: string}}", json!(name)));
            let (arguments, warnings) = resolve_arguments(specs.first(), "", "a.sh");
            let bare = name.trim_start_matches('-');
            let given = Map::from_iter([(bare.to_owned(), json!(value))]);
            match build_argv(&given, &arguments) {
                Ok(passed) => prop_assert_eq!(read_back(&passed.args), [(format!("--{bare}"), value)]),
                Err(error) => {
                    prop_assert_eq!(error, ArgvError::Unknown { argument: bare.to_owned() });
                    prop_assert_eq!(warnings, [super::super::ScriptWarning::InvalidArgumentName { argument: bare.to_owned() }]);
                }
            }
        }

        #[test]
        fn positional_arguments_are_last_and_delimited(source in "\\PC{0,6}", more in prop::collection::vec("-?\\PC{0,4}", 0..4), n in any::<i64>()) {
            let arguments = derived(&["'source'", "'--n', type=int", "'more', nargs='*'"]);
            let given = json!({"more": more, "n": n, "source": source});
            let places: Vec<_> = std::iter::once(source).chain(more).collect();
            let words = match build_argv(given.as_object().unwrap(), &arguments) {
                Ok(passed) => passed.args,
                Err(error) => {
                    prop_assert!(places.iter().any(|word| word == "--"), "{}", error);
                    return Ok(());
                }
            };
            let (before, behind) = words.split_at(words.len() - places.len());
            prop_assert_eq!(behind, &places[..]);
            let marked = before.last().is_some_and(|word| word == "--");
            prop_assert_eq!(marked, places.iter().any(|word| word.starts_with('-')));
            let options = if marked { &before[..before.len() - 1] } else { before };
            prop_assert_eq!(read_back(options), [("--n".to_owned(), n.to_string())]);
        }
    }
}
