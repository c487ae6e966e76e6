//! Files that other scripts import, and that do nothing when they are run.

use std::collections::{HashMap, HashSet};

use crate::infer::{ShellLines, is_function_start, is_variable};
use crate::source::{PythonLexer, Token, Tokens, top_level_equals};
use crate::{Language, file_stem};

/// Python keywords of statements that do nothing by themselves.
const PASSIVE_KEYWORDS: [&str; 10] = [
    "import", "from", "if", "elif", "else", "try", "finally", "pass", "global", "type",
];
/// Starts of lines of the shell that are settings or guards.
const PASSIVE_SHELL_STARTS: [&str; 12] = [
    "set ",
    "shopt ",
    "export ",
    "readonly ",
    "declare ",
    "source ",
    ". ",
    "return",
    "fi",
    "unset ",
    "[ -n \"${",
    "[[ -n \"${",
];

/// The text of a script, as input of [`find_modules`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScriptText<'a> {
    /// The path relative to `scripts/`.
    pub file: &'a str,
    /// The text.
    pub text: &'a str,
}

/// Returns for each script of a skill whether it is a module and not a program.
///
/// A module has only definitions at its top level, and no `#!` line unless another script imports
/// it. In JavaScript, a module also has exports and another script imports it. In doubt a script is
/// a program.
pub fn find_modules(scripts: &[ScriptText<'_>]) -> Vec<bool> {
    let imports = imported_stems(scripts);
    scripts
        .iter()
        .enumerate()
        .map(|(index, script)| {
            let importers = imports.get(file_stem(script.file));
            let is_imported =
                importers.is_some_and(|importers| importers.iter().any(|one| *one != index));
            if is_imported {
                is_imported_module(script)
            } else {
                is_unimported_module(script)
            }
        })
        .collect()
}

fn is_imported_module(script: &ScriptText<'_>) -> bool {
    match Language::of(script.file) {
        Language::JavaScript => {
            !script.text.starts_with("#!") && is_javascript_module(&Tokens::javascript(script.text))
        }
        Language::Python => has_only_python_definitions(script.text),
        Language::Shell => has_only_shell_definitions(script.text),
    }
}

fn is_unimported_module(script: &ScriptText<'_>) -> bool {
    !script.text.starts_with("#!")
        && Language::of(script.file) != Language::JavaScript
        && is_imported_module(script)
}

/// Returns the scripts that import each file name without extension.
fn imported_stems(scripts: &[ScriptText<'_>]) -> HashMap<String, HashSet<usize>> {
    let mut found: HashMap<String, HashSet<usize>> = HashMap::new();
    for (index, script) in scripts.iter().enumerate() {
        let stems = match Language::of(script.file) {
            Language::Python => python_imports(script.text),
            Language::JavaScript => javascript_imports(script.text),
            Language::Shell => script.text.lines().filter_map(shell_import).collect(),
        };
        for stem in stems {
            found.entry(stem).or_default().insert(index);
        }
    }
    found
}

fn python_imports(text: &str) -> Vec<String> {
    let imports = python_lines(text)
        .map(|(_, line)| line)
        .filter(|line| matches!(line.first(), Some(Token::Name("import" | "from"))));
    imports
        .flat_map(|line| line.into_iter().skip(1))
        .filter_map(|token| match token {
            Token::Name(name) => Some(name.to_owned()),
            _ => None,
        })
        .collect()
}

fn javascript_imports(text: &str) -> Vec<String> {
    let tokens = Tokens::javascript(text);
    let texts = tokens.all().iter().filter_map(|token| match token {
        Token::StringLiteral(text) if text.starts_with("./") || text.starts_with("../") => {
            Some(file_stem(text).to_owned())
        }
        _ => None,
    });
    texts.collect()
}

fn shell_import(line: &str) -> Option<String> {
    let line = line.trim_start();
    let path = line
        .strip_prefix("source ")
        .or_else(|| line.strip_prefix(". "))?;
    let path = path.trim().trim_end_matches(['"', '\'']);
    Some(file_stem(path.split(';').next()?.trim()).to_owned())
}

/// Returns true if all statements of a Python file are imports, definitions and assignments.
fn has_only_python_definitions(text: &str) -> bool {
    let mut skip_deeper_than: Option<usize> = None;
    let mut has_definition = false;
    for (indent, line) in python_lines(text) {
        if skip_deeper_than.is_some_and(|limit| indent > limit) {
            continue;
        }
        let statement = classify(&line);
        skip_deeper_than = match statement {
            Statement::Definition | Statement::Handler => Some(indent),
            Statement::Passive => None,
            Statement::Effect => return false,
        };
        has_definition |= statement == Statement::Definition;
    }
    has_definition
}

/// Returns the logical lines of a Python file that are not empty, with their indentation.
fn python_lines(text: &str) -> impl Iterator<Item = (usize, Vec<Token<'_>>)> {
    let mut lexer = PythonLexer::new(text);
    std::iter::from_fn(move || {
        let mut line = Vec::new();
        for token in lexer.by_ref() {
            match token {
                Token::Newline if line.is_empty() => {}
                Token::Newline => break,
                token => line.push(token),
            }
        }
        (!line.is_empty()).then(|| (lexer.indent(), line))
    })
}

#[derive(PartialEq)]
enum Statement {
    /// A function or a class.
    Definition,
    /// What happens only after an exception.
    Handler,
    /// An import, an assignment, a condition.
    Passive,
    /// Anything else may do something.
    Effect,
}

fn classify(line: &[Token<'_>]) -> Statement {
    match line {
        [Token::Name("def" | "class"), ..] | [Token::Name("async"), Token::Name("def"), ..] => {
            Statement::Definition
        }
        [Token::Name("except"), ..] => Statement::Handler,
        line if line.iter().any(is_sign_of_program) => Statement::Effect,
        [Token::Name(name), ..] if PASSIVE_KEYWORDS.contains(name) => Statement::Passive,
        [Token::Symbol('@'), ..] | [Token::StringLiteral(_) | Token::Opaque] => Statement::Passive,
        line if is_module_setting(line) || is_assignment(line) => Statement::Passive,
        _ => Statement::Effect,
    }
}

fn is_sign_of_program(token: &Token<'_>) -> bool {
    matches!(
        token,
        Token::Name("__name__" | "__main__" | "argv" | "parse_args" | "input")
    )
}

/// Returns true for settings that modules make for themselves.
fn is_module_setting(line: &[Token<'_>]) -> bool {
    match line {
        [Token::Name("sys"), Token::Symbol('.'), setting, ..] => *setting == Token::Name("path"),
        [Token::Name("logging" | "warnings"), Token::Symbol('.'), ..] => true,
        [Token::Name("load_dotenv"), ..] => true,
        _ => false,
    }
}

fn is_assignment(line: &[Token<'_>]) -> bool {
    let is_annotation = matches!(line, [Token::Name(_), Token::Symbol(':'), ..]);
    let is_value = |at| at > 0 && line.get(at + 1) != Some(&Token::Symbol('='));
    is_annotation || top_level_equals(line).is_some_and(is_value)
}

/// Returns true if all lines of a shell file are functions, assignments and settings.
fn has_only_shell_definitions(text: &str) -> bool {
    let lines = ShellLines::new(text);
    let has_function = lines.code().any(|(_, line)| is_function_start(line));
    has_function
        && lines
            .top_level()
            .all(|(_, line)| is_passive_shell_line(line.trim()))
        && !lines.has_entry_function()
}

fn is_passive_shell_line(line: &str) -> bool {
    let is_assignment = line
        .split_once('=')
        .is_some_and(|(name, _)| is_variable(name));
    is_assignment
        || PASSIVE_SHELL_STARTS
            .iter()
            .any(|start| line.starts_with(start))
}

fn is_javascript_module(tokens: &Tokens<'_>) -> bool {
    let has_exports = tokens.has_any_name(&["export", "exports"]);
    has_exports && !tokens.has_any_name(&["argv", "main", "argv0", "isMain", "meta"])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(files: &[(&str, &str)], modules: &[&str]) {
        let scripts: Vec<_> = files
            .iter()
            .map(|(file, text)| ScriptText { file, text })
            .collect();
        let found: Vec<&str> = find_modules(&scripts)
            .into_iter()
            .zip(files)
            .filter(|(is_module, _)| *is_module)
            .map(|(_, (file, _))| *file)
            .collect();
        assert_eq!(found, modules);
    }

    #[test]
    fn python_files_with_only_definitions_are_modules() {
        let module = "\"\"\"Helpers.\"\"\"\nimport sys\nsys.path.insert(0, 'x')\ntry:\n    import requests\nexcept ImportError:\n    print('no')\n    sys.exit(1)\nX: int = f(1)\nif TYPE_CHECKING:\n    import y\n\n@cache\ndef f(x):\n    print(x)\n    return x\n\nclass C:\n    f(1)\n";
        check(&[("lib.py", module)], &["lib.py"]);
        for end in [
            "if __name__ == '__main__':\n    f(1)\n",
            "f(1)\n",
            "for x in y:\n    f(x)\n",
            "args = parser.parse_args()\n",
        ] {
            check(&[("a.py", &format!("{module}{end}"))], &[]);
        }
        check(&[("a.py", "import x\n"), ("b.py", "")], &[]);
    }

    #[test]
    fn a_file_with_an_interpreter_is_a_module_if_it_is_imported() {
        let module = "#!/usr/bin/env python3\ndef f():\n    pass\n";
        check(&[("lib.py", module)], &[]);
        check(
            &[("sub/lib.py", module), ("a.py", "from lib import f\nf()\n")],
            &["sub/lib.py"],
        );
        let shell = "#!/bin/sh\nset -e\nX=1\nlog() {\n  echo \"$1\"\n}\n";
        check(
            &[
                ("common.sh", shell),
                ("a.sh", ". \"$DIR/common.sh\"\nlog a\n"),
            ],
            &["common.sh"],
        );
        check(&[("common.sh", shell)], &[]);
        check(&[("a.sh", "log() {\n echo\n}\nlog a\n")], &[]);
    }

    #[test]
    fn javascript_files_are_modules_if_they_export_and_are_imported() {
        let module = "export function f() {}\n";
        check(
            &[
                ("lib.mjs", module),
                ("a.mjs", "import { f } from './lib.mjs';\nf();\n"),
            ],
            &["lib.mjs"],
        );
        check(&[("lib.mjs", module)], &[]);
        check(
            &[
                (
                    "lib.js",
                    "module.exports = { f };\nif (require.main === module) f(process.argv);",
                ),
                ("a.js", "const { f } = require('./lib');"),
            ],
            &[],
        );
    }

    proptest! {
        #[test]
        fn any_text_is_classified(text in "(\\PC|def f\\(\\):|import a|[\n ={}()#'\"])*", file in "a\\.(py|sh|js)") {
            prop_assert_eq!(find_modules(&[ScriptText { file: &file, text: &text }]).len(), 1);
        }
    }
}
