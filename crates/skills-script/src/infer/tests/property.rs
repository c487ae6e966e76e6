//! Properties of the inference for any text: valid schemas, open calls, linear time.

use jsonschema::PatternOptions;
use proptest::prelude::*;
use serde_json::json;
use skills_test_support::thread_time;

use super::infer;
use crate::source::MAX_SOURCE_BYTES;
use crate::{build_argv, schema};

/// Text that repeats what the inference searches for takes time in proportion to its length.
#[test]
fn hostile_sources_take_linear_time() {
    let start = thread_time();
    let pieces = [
        "sub.add_parser('a', parents=[x]).add_argument('--a')\n",
        "def f(p): p.add_argument(\n",
        "@c.command(",
        "@click.option('--a')\n",
        "x = sys.argv[1]\n",
        "a=[",
        "if x == '--a",
        "switch(x){case 'a':",
        "/[",
        "/",
        "`${",
        ".option('-a <b>', ",
        ".command('a <b>')",
        "parseArgs({options:{",
        "while read x\n",
        "read=",
        "case $1 in\n",
        "case $1 in a) ;; esac\n",
        "a() {\n",
        "X=\"$1\"\n",
        "<<A\n",
        "echo \"$1\" | jq ",
        "usage: a.py <a> [b]\n",
        "Usage: ",
        "def f(a: int = typer.Option(",
        "getopts a b\n",
    ];
    for piece in pieces {
        for file in ["a.py", "a.js", "a.sh"] {
            for head in [
                "",
                "import argparse, click\nadd_subparsers add_argument\n",
                "'commander' 'util' 'yargs' argv\n",
            ] {
                let body = piece.repeat((MAX_SOURCE_BYTES - 100) / 8 / piece.len());
                infer(file, &format!("{head}{body}"));
            }
        }
    }
    let time = thread_time().saturating_sub(start);
    assert!(time.as_secs() < 60, "{time:?}");
}

/// Fragments that the inference searches for, in any order.
fn script() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        "\\PC",
        "[ \n;:,=<>|$@\"'`/#*-]",
        "[()\\[\\]{}]",
        "(sys|process)\\.argv(\\[[0-9]\\]|\\.slice\\(2\\))?",
        "(import )?(argparse|click|typer|fire|sys|json)\n",
        "(p|sub)\\.add_(argument|parser|subparsers)\\('-{0,2}[a-c]'\\)\n",
        "@(click|cli|app)\\.(command|group|option|argument)\\('-{0,2}[a-c]'\\)\n",
        "def [a-c]\\([a-c]: (str|int|bool)( = 1)?\\)",
        "(case|switch|while|do|done|esac|in|read|getopts|shift|for) ",
        "\\$[1-3@#]",
        "--[a-c]\\)?",
        "\\.(option|command|argument)\\('[-<>a-c ]{0,8}'\\)",
        "'(commander|yargs|util)'",
        "parseArgs\\(\\{options: \\{a: \\{type: 'string'\\}\\}\\}\\)",
        "[Uu]sage: a\\.sh ",
    ];
    prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn any_script_has_a_valid_schema(source in script(), file in "a\\.(py|js|sh)") {
        let spec = infer(&file, &source);
        let schema = schema::input_schema(&spec);
        let options = jsonschema::options().with_pattern_options(PatternOptions::regex());
        prop_assert!(options.build(&schema).is_ok(), "{schema}");
    }

    /// If the schema is open, a call can consist of words, whatever was inferred.
    #[test]
    fn open_scripts_accept_any_words(source in script(), file in "a\\.(py|js|sh)", words in prop::collection::vec("-{0,2}[a-z]{1,3}", 0..4)) {
        let spec = infer(&file, &source);
        prop_assume!(spec.accepts_words() && spec.arguments.iter().all(|argument| !argument.required));
        let call = json!({"args": words});
        let argv = build_argv(call.as_object().unwrap(), &spec).unwrap();
        prop_assert_eq!(argv.args, words);
    }
}
