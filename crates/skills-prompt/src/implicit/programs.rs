//! The programs that read files, run scripts, or start another program.

use std::borrow::Cow;

use super::shell_lexer::ShellWord;

/// The program that a command runs, by how it uses its arguments.
pub(super) enum Program<'w> {
    /// A shell with `-c` and this script.
    Shell(&'w str),
    /// Runs its first argument as a script.
    Runner,
    /// Reads all of its arguments.
    Reader,
    /// The file itself is run.
    File(&'w ShellWord<'w>),
    /// `cd` or `pushd`.
    ChangeDirectory,
    /// A program without a known use of files.
    Other,
}

/// One step from the start of a command to its program.
pub(super) enum Step<'w> {
    /// A wrapper, to be skipped with its options; it may change the working directory.
    Wrapper {
        skipped: usize,
        changes_to: Option<ShellWord<'w>>,
    },
    /// The program, and its operands.
    Program(Program<'w>, Vec<&'w ShellWord<'w>>),
}

/// The readers of Codex.
const READERS: [&str; 9] = [
    "cat", "sed", "head", "tail", "less", "more", "bat", "awk", "batcat",
];
/// The runners of Codex, and others of the same kind.
const RUNNERS: [&str; 18] = [
    "python",
    "python3",
    "bash",
    "zsh",
    "sh",
    "node",
    "deno",
    "ruby",
    "perl",
    "pwsh",
    "pypy",
    "pypy3",
    "dash",
    "ksh",
    "bun",
    "tsx",
    "ts-node",
    "powershell",
];
/// The runners that take a script with `-c`.
const SHELLS: [&str; 5] = ["bash", "zsh", "sh", "dash", "ksh"];
/// The file extensions of scripts (Codex).
const SCRIPT_EXTENSIONS: [&str; 7] = ["py", "sh", "js", "ts", "rb", "pl", "ps1"];

/// Wrappers that start another program, with their options that take a value.
const WRAPPERS: [(&str, &[&str]); 15] = [
    ("env", &["-u", "--unset", "-C", "--chdir"]),
    ("sudo", &["-u", "-g", "-h", "-p", "-C", "-T", "-r", "-D"]),
    ("doas", &["-u", "-C"]),
    ("nohup", &[]),
    ("time", &["-f", "-o"]),
    ("exec", &["-a"]),
    ("command", &[]),
    ("builtin", &[]),
    ("setsid", &[]),
    ("nice", &["-n"]),
    ("ionice", &["-c", "-n"]),
    ("stdbuf", &["-i", "-o", "-e"]),
    ("timeout", &["-k", "-s", "--kill-after", "--signal"]),
    ("xargs", &["-I", "-n", "-P", "-d", "-L", "-a", "-s"]),
    ("npx", &["-p", "--package", "-c", "--call"]),
];
/// Wrappers that start another program after a subcommand.
const WRAPPERS_WITH_ARGUMENT: [(&str, &[&str]); 11] = [
    ("uv", &["run"]),
    ("poetry", &["run"]),
    ("pipenv", &["run"]),
    ("pdm", &["run"]),
    ("rye", &["run"]),
    ("hatch", &["run"]),
    ("bundle", &["exec"]),
    ("pnpm", &["exec", "dlx"]),
    ("yarn", &["exec", "dlx"]),
    ("npm", &["exec", "x"]),
    ("bunx", &[]),
];
/// The options of these wrappers that take a value.
const OPTIONS_WITH_VALUE: &[&str] = &[
    "--with",
    "--with-editable",
    "--with-requirements",
    "--python",
    "-p",
    "--project",
    "--directory",
    "--extra",
    "--group",
    "--env-file",
    "--index",
    "--index-url",
    "--default-index",
    "--package",
    "-C",
    "--prefix",
];

/// Returns the next step for a command that begins with `words`; `None` if there is none.
pub(super) fn identify_program<'w>(words: &'w [ShellWord<'w>]) -> Option<Step<'w>> {
    let (first, rest) = words.split_first()?;
    let name = program_name(&first.text);
    let name = name.as_ref();
    if let Some((_, options)) = WRAPPERS.iter().find(|(wrapper, _)| *wrapper == name) {
        return Some(skip_wrapper(name, rest, options, 0));
    }
    if let Some((_, subcommands)) = WRAPPERS_WITH_ARGUMENT
        .iter()
        .find(|(wrapper, _)| *wrapper == name)
    {
        return skip_wrapper_with_subcommand(name, words, subcommands);
    }
    Some(match name {
        "cd" | "pushd" => Step::Program(Program::ChangeDirectory, operands(rest, &[], &[])),
        "source" | "." => Step::Program(Program::Runner, operands(rest, &[], &[])),
        // Shell keywords precede a command like a wrapper does.
        "{" | "then" | "do" | "else" | "elif" | "if" | "while" | "until" | "!" | "coproc" => {
            Step::Wrapper {
                skipped: 1,
                changes_to: None,
            }
        }
        _ if is_runner(name) => identify_runner(name, rest),
        _ if READERS.contains(&name) => Step::Program(
            Program::Reader,
            rest.iter()
                .filter(|word| !word.text.starts_with('-'))
                .collect(),
        ),
        // Without a slash the shell searches `PATH`, which cannot find a script of a skill.
        _ if first.text.contains('/') && !is_installed_tool(&first.text) => {
            Step::Program(Program::File(first), Vec::new())
        }
        _ => Step::Program(Program::Other, Vec::new()),
    })
}

/// Skips a wrapper such as `uv run`, whose subcommand has options before and after it.
fn skip_wrapper_with_subcommand<'w>(
    name: &str,
    words: &'w [ShellWord<'w>],
    subcommands: &[&str],
) -> Option<Step<'w>> {
    let Step::Wrapper {
        skipped,
        changes_to,
    } = skip_wrapper(name, words.get(1..)?, OPTIONS_WITH_VALUE, 0)
    else {
        return None;
    };
    if subcommands.is_empty() {
        return Some(Step::Wrapper {
            skipped,
            changes_to,
        });
    }
    let is_subcommand = words
        .get(skipped)
        .is_some_and(|word| subcommands.contains(&word.text.as_ref()));
    if !is_subcommand {
        return Some(Step::Program(Program::Other, Vec::new()));
    }
    let Step::Wrapper {
        skipped,
        changes_to: changes_to_after,
    } = skip_wrapper(name, &words[skipped + 1..], OPTIONS_WITH_VALUE, skipped)
    else {
        return None;
    };
    let changes_to = changes_to_after.or(changes_to);
    Some(match words.get(skipped) {
        // `uv run script.py` runs the script with Python, without naming an interpreter.
        Some(script)
            if name == "uv" && changes_to.is_none() && has_script_extension(&script.text) =>
        {
            Step::Program(Program::Runner, vec![script])
        }
        _ => Step::Wrapper {
            skipped,
            changes_to,
        },
    })
}

/// Skips a wrapper with its options, their values, and its own operand.
///
/// `rest` are the words after the wrapper, `options` those that take a value, and `before` is the
/// number of words that were skipped already.
fn skip_wrapper<'w>(
    name: &str,
    rest: &'w [ShellWord<'w>],
    options: &[&str],
    before: usize,
) -> Step<'w> {
    let mut index = 0;
    let mut changes_to = None;
    while let Some(word) = rest.get(index) {
        let text = word.text.as_ref();
        let (option, joined) = text
            .split_once('=')
            .map_or((text, None), |(option, value)| (option, Some(value)));
        if text == "--" {
            index += 1;
            break;
        }
        // With these options the wrapper describes a program or edits a file, and runs nothing.
        if matches!(
            (name, text),
            ("command", "-v" | "-V") | ("sudo", "-l" | "-e")
        ) {
            return Step::Program(Program::Other, Vec::new());
        }
        if !text.starts_with('-') {
            break;
        }
        let takes_value = options.contains(&option) && joined.is_none();
        // `sudo -C` and `doas -C` take something else than a directory.
        if matches!(option, "-C" | "--chdir" | "--directory")
            && matches!(name, "env" | "uv" | "pnpm")
        {
            let value = joined.map(|text| ShellWord {
                text: Cow::Borrowed(text),
                has_expansion: word.has_expansion,
            });
            changes_to = value.or_else(|| rest.get(index + 1).cloned());
        }
        index += if takes_value { 2 } else { 1 };
    }
    // `timeout` has a duration before the program.
    let operands = usize::from(name == "timeout");
    Step::Wrapper {
        skipped: 1 + before + index + operands,
        changes_to,
    }
}

fn identify_runner<'w>(name: &str, rest: &'w [ShellWord<'w>]) -> Step<'w> {
    // A shell without `-c` runs a file and is handled like any other runner.
    if SHELLS.contains(&name)
        && let Some(script) = shell_script(rest)
    {
        return Step::Program(Program::Shell(script), Vec::new());
    }
    let rest = match rest.split_first() {
        // `deno run x.ts` and `bun run x.ts` have a subcommand, unlike `node x.js`.
        Some((word, rest)) if matches!(name, "deno" | "bun") && word.text == "run" => rest,
        _ => rest,
    };
    Step::Program(
        Program::Runner,
        operands(rest, runner_options_with_value(name), code_options(name)),
    )
}

/// Returns the options of a runner that take a value.
fn runner_options_with_value(name: &str) -> &'static [&'static str] {
    match name {
        "node" | "tsx" | "ts-node" => &[
            "-r",
            "--require",
            "--import",
            "--loader",
            "-C",
            "--conditions",
        ],
        "deno" => &["-c", "--config", "--import-map", "--lock"],
        "ruby" => &["-r", "-I", "-C"],
        "bash" | "sh" | "zsh" | "dash" | "ksh" => &[
            "-o",
            "-O",
            "-eo",
            "-euo",
            "-euxo",
            "-exo",
            "-uo",
            "-xo",
            "--rcfile",
            "--init-file",
        ],
        "pwsh" | "powershell" => &["-ExecutionPolicy"],
        _ if name.starts_with("py") => &["-W", "-X"],
        _ => &[],
    }
}

/// Returns the options of a runner after which no file of the command line is run, because they
/// contain the code, name a module, or only check the syntax.
fn code_options(name: &str) -> &'static [&'static str] {
    match name {
        _ if SHELLS.contains(&name) => &["-n", "-s"],
        _ if name.starts_with("py") => &["-c", "-m"],
        "node" | "tsx" | "ts-node" | "bun" => &["-e", "-p", "--eval", "--print", "--check"],
        "deno" => &["eval"],
        _ => &["-c", "-e"],
    }
}

/// Returns the script of `-c`, also in a cluster such as `-lc`.
fn shell_script<'w>(rest: &'w [ShellWord<'w>]) -> Option<&'w str> {
    let mut is_command = false;
    let mut words = rest.iter();
    while let Some(word) = words.next() {
        let text = word.text.as_ref();
        if !text.starts_with(['-', '+']) {
            return is_command.then_some(text);
        }
        let is_cluster = !text.starts_with("--");
        is_command |= is_cluster && text.starts_with('-') && text.contains('c');
        // `-o pipefail`, also at the end of a cluster, takes the next word.
        if is_cluster && text.ends_with(['o', 'O']) || matches!(text, "--rcfile" | "--init-file") {
            words.next();
        }
    }
    None
}

/// Returns the words that are neither options nor their values.
///
/// None are returned after one of `code_options`: the words are arguments of that code.
fn operands<'w>(
    words: &'w [ShellWord<'w>],
    options_with_value: &[&str],
    code_options: &[&str],
) -> Vec<&'w ShellWord<'w>> {
    let mut operands = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let text = word.text.as_ref();
        // The code may be attached to its option: `-cpass`, `--eval=x`.
        let holds_code =
            |code: &&str| text == *code || code.starts_with('-') && text.starts_with(*code);
        if operands.is_empty()
            && code_options.iter().any(holds_code)
            && !options_with_value.contains(&text)
        {
            return Vec::new();
        }
        if text.starts_with('-') && text.len() > 1 {
            if options_with_value.contains(&text) {
                words.next();
            }
        } else {
            operands.push(word);
        }
    }
    operands
}

/// Returns true if a program was installed by a package manager, and so is no script of a skill.
fn is_installed_tool(path: &str) -> bool {
    ["node_modules/", ".venv/", "venv/bin/"]
        .iter()
        .any(|directory| path.contains(directory))
}

/// Returns true if a file has the extension of a script, in any case.
pub(super) fn has_script_extension(path: &str) -> bool {
    let extension = path
        .rsplit(['/', '\\'])
        .next()
        .and_then(|name| name.rsplit_once('.'));
    extension.is_some_and(|(_, extension)| {
        SCRIPT_EXTENSIONS
            .iter()
            .any(|script| extension.eq_ignore_ascii_case(script))
    })
}

fn is_runner(name: &str) -> bool {
    // `python3.12` and the like; a complete list would be out of date.
    let is_versioned_python = name.strip_prefix("python").is_some_and(|version| {
        !version.is_empty() && version.bytes().all(|b| b.is_ascii_digit() || b == b'.')
    });
    RUNNERS.contains(&name) || is_versioned_python
}

/// Returns the name of a program: lowercase, without directories and `.exe`.
fn program_name(path: &str) -> Cow<'_, str> {
    let start = path
        .bytes()
        .rposition(|b| matches!(b, b'/' | b'\\'))
        .map_or(0, |separator| separator + 1);
    let name = &path[start..];
    if name.bytes().any(|b| b.is_ascii_uppercase()) || name.ends_with(".exe") {
        let lower = name.to_ascii_lowercase();
        return Cow::Owned(
            lower
                .strip_suffix(".exe")
                .map(str::to_owned)
                .unwrap_or(lower),
        );
    }
    Cow::Borrowed(name)
}
