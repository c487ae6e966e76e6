//! Scripts of each kind, and the words and the standard input of calls.

mod property;

use serde_json::{Value, json};

use super::*;
use crate::argument::{ArgumentSource, CommandSet};
use crate::{ExtraArguments, build_argv, schema};

fn infer(file: &str, source: &str) -> ArgumentSpec {
    infer_arguments(source, file, &mut Vec::new())
}

/// Checks that the call is valid, and what it passes: the words, separated by `·`, and the standard
/// input after `<`.
#[track_caller]
fn check(spec: &ArgumentSpec, call: Value, expected: &str) {
    let schema = schema::input_schema(spec);
    assert!(jsonschema::is_valid(&schema, &call), "{schema}");
    let argv = build_argv(call.as_object().unwrap(), spec).unwrap();
    let stdin = argv.stdin.map(|stdin| format!("<{stdin}"));
    let shown = format!("{}{}", argv.args.join("·"), stdin.unwrap_or_default());
    assert_eq!(shown, expected);
}

#[track_caller]
fn assert_rejected(spec: &ArgumentSpec, call: Value, expected: &str) {
    let error = build_argv(call.as_object().unwrap(), spec).unwrap_err();
    assert_eq!(error.to_string(), expected);
}

fn commands(spec: &ArgumentSpec) -> Vec<&str> {
    let commands = spec
        .commands
        .iter()
        .flat_map(|set: &CommandSet| &set.commands);
    commands.map(|command| command.name.as_str()).collect()
}

fn framework(spec: &ArgumentSpec) -> &'static str {
    match spec.source {
        ArgumentSource::Inferred(framework) => framework.as_str(),
        ArgumentSource::Declared => "declared",
        ArgumentSource::Unknown => "unknown",
        ArgumentSource::NoneFound => "none",
    }
}

#[test]
fn unknown_arguments_are_words_and_options() {
    let spec = infer("a.py", "import sys\nrun(sys.argv[1:])\n");
    assert_eq!(framework(&spec), "unknown");
    check(
        &spec,
        json!({"args": ["add", "-v", "x y"], "limit": 3, "all": true, "no": false, "tag": ["a", "-b"], "none": null}),
        "add·-v·x y·--limit·3·--all·--tag·a·--tag=-b",
    );
    check(
        &spec,
        json!({"args": ["a", "--", "-b"], "c": {"d": 1}}),
        "a·--c·{\"d\":1}·--·-b",
    );
    assert_rejected(&spec, json!({"-x": 1}), "unknown argument `-x`");
    assert_rejected(&spec, json!({"a=b": 1}), "unknown argument `a=b`");
    assert_rejected(
        &spec,
        json!({"args": "a"}),
        "invalid argument `args`: expected a list of words",
    );
    assert_rejected(
        &spec,
        json!({"args": ["a\0"]}),
        "invalid argument `args`: it contains a NUL character",
    );
    assert_eq!(framework(&infer("a.py", "print(1)\n")), "none");
    assert_eq!(
        framework(&infer("a.sh", "log() {\n  echo \"$1\"\n}\nlog a\n")),
        "none"
    );
    assert_eq!(framework(&infer("a.mjs", "console.log(1)\n")), "none");
}

#[test]
fn json_is_the_first_word_of_scripts_that_parse_it() {
    for (file, source) in [
        ("a.py", "import json, sys\nx = json.loads(sys.argv[1])\n"),
        (
            "a.py",
            "raw = sys.argv[1] if len(sys.argv) > 1 else '{}'\ndata = json.loads(raw)\n",
        ),
        ("a.js", "const x = JSON.parse(process.argv[2]);\n"),
        (
            "a.ts",
            "const raw: string = process.argv[2];\nconst x = JSON.parse(raw);\n",
        ),
        ("a.sh", "NAME=$(jq -r .name <<< \"$1\")\n"),
        (
            "a.sh",
            "INPUT=\"$1\"\nNAME=$(echo \"$INPUT\" | jq -r '.name')\n",
        ),
    ] {
        let spec = infer(file, source);
        assert_eq!(spec.input, InputConvention::JsonArgument, "{source}");
        check(
            &spec,
            json!({"name": "-x", "n": [1]}),
            "{\"name\":\"-x\",\"n\":[1]}",
        );
    }
    for (file, source) in [
        ("a.py", "x = json.loads(sys.argv[2])\n"),
        ("a.py", "x = json.load(open(sys.argv[1]))\n"),
        ("a.sh", "Q=$(echo \"$1\" | jq -sRr @uri)\n"),
        ("a.sh", "f() {\n  jq . <<< \"$1\"\n}\nf \"$1\"\n"),
        ("a.js", "JSON.parse(readFileSync(process.argv[2]))\n"),
    ] {
        assert_eq!(
            infer(file, source).input,
            InputConvention::Words,
            "{source}"
        );
    }
}

#[test]
fn json_is_on_standard_input_of_scripts_that_read_it() {
    for (file, source) in [
        ("a.py", "data = json.load(sys.stdin)\n"),
        ("a.py", "text = sys.stdin.read()\ndata = json.loads(text)\n"),
        (
            "a.js",
            "const x = JSON.parse(fs.readFileSync(0, 'utf8'));\n",
        ),
        (
            "a.mjs",
            "for await (const c of process.stdin) s += c;\nJSON.parse(s);\n",
        ),
        (
            "a.sh",
            "INPUT=$(cat)\nNAME=$(echo \"$INPUT\" | jq -r .name)\n",
        ),
        ("a.sh", "cat - | jq .name\n"),
    ] {
        let spec = infer(file, source);
        assert_eq!(spec.input, InputConvention::JsonStdin, "{source}");
        check(&spec, json!({"name": "x"}), "<{\"name\":\"x\"}");
    }
}

#[test]
fn text_is_on_standard_input_of_scripts_that_do_not_parse_it() {
    for (file, source) in [
        ("a.py", "for line in sys.stdin:\n    print(line)\n"),
        ("a.py", "answer = input('Continue? ')\n"),
        ("a.sh", "while read -r line; do\n  echo \"$line\"\ndone\n"),
        ("a.sh", "read -r -p 'Name: ' NAME\n"),
        ("a.ts", "process.stdin.pipe(process.stdout);\n"),
    ] {
        let spec = infer(file, source);
        assert_eq!(spec.input, InputConvention::TextStdin, "{source}");
        check(&spec, json!({"stdin": "a\nb"}), "<a\nb");
        check(&spec, json!({"a": 1}), "<{\"a\":1}");
        assert_rejected(&spec, json!({"stdin": "a", "b": 1}), "unknown argument `b`");
        assert_rejected(
            &spec,
            json!({"stdin": 1}),
            "invalid argument `stdin`: expected a text",
        );
    }
    for (file, source) in [
        ("a.py", "run(cmd, stdin=subprocess.PIPE)\n"),
        ("a.py", "if sys.stdin.isatty(): print(1)\n"),
        ("a.sh", "ls | while read -r f; do\n  echo \"$f\"\ndone\n"),
        ("a.sh", "while read -r f; do\n  echo \"$f\"\ndone < list\n"),
        ("a.sh", "cat <<EOF\nread x\nEOF\n"),
        ("a.js", "if (process.stdin.isTTY) f();\n"),
    ] {
        assert_eq!(
            infer(file, source).input,
            InputConvention::Words,
            "{source}"
        );
    }
}

#[test]
fn words_and_text_can_be_passed_together() {
    let source = "import argparse, sys\np = argparse.ArgumentParser()\np.add_argument('--n')\nsys.stdin.read()\n";
    check(
        &infer("a.py", source),
        json!({"n": "1", "stdin": "text"}),
        "--n·1<text",
    );
    let own = format!("{source}p.add_argument('--stdin')\n");
    check(&infer("a.py", &own), json!({"stdin": "x"}), "--stdin·x");
}

#[test]
fn words_are_named_by_the_variables_that_get_them() {
    for (file, source) in [
        (
            "a.py",
            "path = sys.argv[1]\nsize = int(sys.argv[2]) if len(sys.argv) > 2 else 1\n",
        ),
        (
            "a.py",
            "args = sys.argv[1:]\npath: str = args[0]\nsize = args[1]\n",
        ),
        (
            "a.js",
            "const path = process.argv[2];\nconst size = parseInt(process.argv[3]) || 1;\n",
        ),
        (
            "a.js",
            "const args = process.argv.slice(2);\nconst path = args[0], size = args[1];\n",
        ),
        ("a.ts", "const [, , path, size] = process.argv;\n"),
        ("a.mjs", "const [path, size] = process.argv.slice(2);\n"),
        ("a.sh", "PATH_=1\npath=\"$1\"\nSIZE=\"${2:-1}\"\n"),
        (
            "a.sh",
            "main() {\n  local path=$1\n  local size=$2\n}\nmain \"$@\"\n",
        ),
    ] {
        let spec = infer(file, source);
        assert_eq!(framework(&spec), "position", "{source}");
        check(&spec, json!({"path": "a b", "size": "-3"}), "a b·-3");
        check(&spec, json!({"args": ["a", "-b"], "c": true}), "a·-b·--c");
        check(&spec, json!({"path": "a", "args": ["b", "c"]}), "a·b·c");
        assert_rejected(
            &spec,
            json!({"size": "1"}),
            "invalid argument `path`: the script would assign its values to another positional argument",
        );
        assert_rejected(
            &spec,
            json!({"path": "--x"}),
            "invalid argument `path`: the script would parse a value that starts with a hyphen as an option",
        );
    }
    let required = infer("a.sh", "IN=\"${1:?usage}\"\nOUT=\"${2:-x}\"\n");
    assert_eq!(schema::input_schema(&required)["required"], json!(["in"]));
    let shifted = infer("a.sh", "A=\"$1\"\nshift\nB=\"$1\"\n");
    check(&shifted, json!({"a": "x", "args": ["y"]}), "x·y");
}

#[test]
fn the_first_word_can_be_a_command() {
    for (file, source) in [
        (
            "a.py",
            "cmd = sys.argv[1]\nif cmd == 'add':\n    f(sys.argv[2])\nelif cmd in ('list', 'ls'):\n    g()\n",
        ),
        (
            "a.py",
            "if sys.argv[1] == 'add':\n    f()\nelif sys.argv[1] == 'list':\n    g()\nelif sys.argv[1] == 'ls':\n    h()\n",
        ),
        (
            "a.js",
            "const cmd = process.argv[2];\nswitch (cmd) {\n  case 'add': f(); break;\n  case 'list':\n  case 'ls': g();\n}\n",
        ),
        (
            "a.sh",
            "case \"${1:-}\" in\n  add) f \"$2\" ;;\n  list|ls)\n    g\n    ;;\n  help|*) usage ;;\nesac\n",
        ),
    ] {
        let spec = infer(file, source);
        assert_eq!(commands(&spec), ["add", "list", "ls"], "{source}");
        check(
            &spec,
            json!({"command": "add", "args": ["x"], "force": true}),
            "add·x·--force",
        );
        check(&spec, json!({"args": ["other", "x"]}), "other·x");
    }
}

#[test]
fn compared_options_are_known_without_a_type() {
    for (file, source) in [
        (
            "a.py",
            "for i, a in enumerate(sys.argv):\n    if a == '--out':\n        out = sys.argv[i + 1]\nquiet = '--quiet' in sys.argv\nrun(['git', '--bare'])\n",
        ),
        (
            "a.js",
            "const args = process.argv.slice(2);\nconst i = args.indexOf('--out');\nconst quiet = args.includes('--quiet');\nspawn('git', ['--bare']);\n",
        ),
        (
            "a.ts",
            "for (const a of process.argv) {\n  switch (a) {\n    case '--out': out = next(); break;\n    case '--quiet': q = true;\n  }\n}\n",
        ),
    ] {
        let spec = infer(file, source);
        assert!(!spec.has_property("bare"), "{source}");
        check(
            &spec,
            json!({"out": "x", "quiet": true, "args": ["f"]}),
            "f·--out·x·--quiet",
        );
        check(&spec, json!({"out": -1, "quiet": false}), "--out·-1");
        assert_rejected(
            &spec,
            json!({"out": "--quiet"}),
            "invalid argument `out`: the script would parse a value that starts with a hyphen as an option",
        );
    }
}

#[test]
fn shell_loops_over_options_are_read() {
    let source = "FILES=()
while [[ $# -gt 0 ]]; do
  case \"$1\" in
    -o|--out) OUT=\"$2\"; shift 2 ;;
    --depth)
      shift
      DEPTH=\"$1\"
      shift
      ;;
    -v|--verbose)
      VERBOSE=1
      shift
      ;;
    --mode=*) MODE=\"${1#*=}\"; shift ;;
    -h|--help) usage; exit 0 ;;
    *) FILES+=(\"$1\"); shift ;;
  esac
done
";
    let spec = infer("a.sh", source);
    assert_eq!(framework(&spec), "case");
    check(
        &spec,
        json!({"out": "-x", "depth": "2", "verbose": true, "mode": "m", "args": ["f", "g"]}),
        "--out·-x·--depth·2·--verbose·--mode=m·f·g",
    );
    assert!(!spec.has_property("help"));
    let source = "for arg in \"$@\"; do\n  case $arg in\n    --dry-run) DRY=1 ;;\n    --n=*) N=\"${arg#*=}\" ;;\n  esac\ndone\n";
    check(
        &infer("a.sh", source),
        json!({"dry-run": true, "n": "1"}),
        "--dry-run·--n=1",
    );
    let source = "TARGET=\"$1\"\nshift\nwhile [ $# -gt 0 ]; do\n  case $1 in\n    --fast) F=1; shift ;;\n  esac\ndone\n";
    check(
        &infer("a.sh", source),
        json!({"target": "t", "fast": true}),
        "t·--fast",
    );
}

#[test]
fn getopts_options_are_read() {
    let source = "while getopts \":o:vh\" opt; do\n  case $opt in\n    o) OUT_DIR=\"$OPTARG\" ;;\n    v) VERBOSE=1 ;;\n    h) usage ;;\n  esac\ndone\nshift $((OPTIND - 1))\n";
    let spec = infer("a.sh", source);
    assert_eq!(framework(&spec), "getopts");
    let schema = schema::input_schema(&spec);
    assert_eq!(
        schema["properties"]["o"],
        json!({"type": "string", "description": "out dir"})
    );
    check(
        &spec,
        json!({"o": "-x", "v": true, "args": ["f"]}),
        "-o·-x·-v·f",
    );
}

#[test]
fn usage_texts_name_words() {
    let source = "# Usage: a.sh <file> [--out DIR] [--quiet]\nconvert \"$1\" \"$@\"\n";
    let spec = infer("a.sh", source);
    assert_eq!(framework(&spec), "usage");
    check(
        &spec,
        json!({"file": "f", "out": "d", "quiet": true}),
        "f·--out·d·--quiet",
    );
    let source =
        "# Usage: a.sh <command> <name>\ncase \"$1\" in\n  add) f ;;\n  remove) g ;;\nesac\n";
    let spec = infer("a.sh", source);
    assert_eq!(commands(&spec), ["add", "remove"]);
    check(&spec, json!({"command": "add", "name": "x"}), "add·x");
}

#[test]
fn packages_that_read_decorated_functions_leave_the_words_open() {
    for source in [
        "import click\n@click.command()\n@click.option('--count', default=1)\ndef main(count): pass\n",
        "import typer\ndef main(count: int = 1): pass\ntyper.run(main)\n",
        "import fire, sys\nname = sys.argv[1]\nfire.Fire(main)\n",
    ] {
        let spec = infer("a.py", source);
        assert_eq!(framework(&spec), "unknown", "{source}");
        check(&spec, json!({"args": ["add"], "count": 1}), "add·--count·1");
    }
    let documented = "'''Usage: a.py <source> [--count N]'''\nimport click\n";
    let spec = infer("a.py", documented);
    assert_eq!(framework(&spec), "usage");
    check(&spec, json!({"source": "s", "count": "2"}), "s·--count·2");
}

#[test]
fn a_default_is_the_type_of_an_argument_without_one() {
    let argparse = "import argparse
parser = argparse.ArgumentParser()
parser.add_argument('--port', default=80)
parser.add_argument('--host', default='::')
parser.parse_args()
";
    let spec = infer("a.py", argparse);
    check(
        &spec,
        json!({"port": 8080, "host": "h"}),
        "--port·8080·--host·h",
    );
    check(&spec, json!({"port": "http"}), "--port·http");
}

#[test]
fn commander_chains_are_read() {
    let source = "import { Command } from 'commander';
const program = new Command();
program.name('x').description('Does.').option('-d, --debug', 'more');
program
  .command('clone <source> [dest]')
  .description('Clones')
  .option('--depth <n>', 'how deep')
  .action((source, dest) => { program.option('--no'); });
const list = program.command('list');
list.requiredOption('-k, --kind <kind>').option('--tags <tags...>');
program.parse();
";
    let spec = infer("a.mjs", source);
    assert_eq!(
        (framework(&spec), spec.extra),
        ("commander", ExtraArguments::Rejected)
    );
    check(
        &spec,
        json!({"command": "clone", "source": "s", "depth": "-1", "debug": true}),
        "--debug·clone·--depth·-1·s",
    );
    check(
        &spec,
        json!({"command": "list", "kind": "k", "tags": ["a", "b"]}),
        "list·--kind·k·--tags·a·b",
    );
}

#[test]
fn parse_args_options_are_read() {
    let source = "import { parseArgs } from 'node:util';
const options = { out: { type: 'string', short: 'o' }, fast: { type: 'boolean' }, tag: { type: 'string', multiple: true } };
const { values, positionals } = parseArgs({ options, allowPositionals: true });
";
    let spec = infer("a.ts", source);
    assert_eq!(
        (framework(&spec), spec.extra),
        ("parseArgs", ExtraArguments::Accepted)
    );
    check(
        &spec,
        json!({"out": "-x", "fast": true, "tag": ["a", "b"], "args": ["f"]}),
        "--out=-x·--fast·--tag·a·--tag·b·f",
    );
    let closed = source.replace(", allowPositionals: true", "");
    assert_eq!(infer("a.ts", &closed).extra, ExtraArguments::Rejected);
}

#[test]
fn many_arguments_of_commands_are_left_open() {
    let mut source =
        "import argparse\np = argparse.ArgumentParser()\ns = p.add_subparsers()\n".to_owned();
    for command in 0..20 {
        source.push_str(&format!("c = s.add_parser('c{command}')\n"));
        for argument in 0..20 {
            source.push_str(&format!("c.add_argument('--a{argument}')\n"));
        }
    }
    let spec = infer("a.py", &source);
    assert_eq!(commands(&spec).len(), 20);
    check(&spec, json!({"command": "c1", "a1": "x"}), "c1·--a1·x");
}
