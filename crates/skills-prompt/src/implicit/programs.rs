//! The programs that read files, run scripts or lead to another program.

use std::borrow::Cow;

use super::shell_lexer::ShellWord;

/// What a command comes to.
pub(super) enum Program<'w> {
    /// A shell with a script as its argument.
    Shell(&'w str),
    /// Runs its first argument.
    Runner,
    /// Reads its arguments.
    Reader,
    /// The file is a program itself.
    File(&'w ShellWord<'w>),
    ChangeDirectory,
    Other,
}

/// The next step to the program.
pub(super) enum Step<'w> {
    /// So many words only lead to it; they may change the directory.
    Wrapper {
        skipped: usize,
        changes_to: Option<ShellWord<'w>>,
    },
    /// The program, and its arguments without options.
    Program(Program<'w>, Vec<&'w ShellWord<'w>>),
}

/// Codex's readers.
const READERS: [&str; 9] = [
    "cat", "sed", "head", "tail", "less", "more", "bat", "awk", "batcat",
];
/// Codex's runners and their kin.
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
/// Those that take a script with `-c`.
const SHELLS: [&str; 5] = ["bash", "zsh", "sh", "dash", "ksh"];
/// What a script is called (Codex).
const SCRIPT_EXTENSIONS: [&str; 7] = ["py", "sh", "js", "ts", "rb", "pl", "ps1"];

/// Programs that start another one, and those of their options that take a value.
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
/// Programs that start another one behind a word of their own.
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
/// Options with a value of those.
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

/// Looks at the first word of a command.
pub(super) fn identify_program<'w>(words: &'w [ShellWord<'w>]) -> Option<Step<'w>> {
    let (first, rest) = words.split_first()?;
    let name = program_name(&first.text);
    let name = name.as_ref();
    if let Some((_, values)) = WRAPPERS.iter().find(|(leader, _)| *leader == name) {
        return Some(skip_wrapper(name, rest, values, 0));
    }
    if let Some((_, subcommands)) = WRAPPERS_WITH_ARGUMENT
        .iter()
        .find(|(leader, _)| *leader == name)
    {
        let is_subcommand = |word: Option<&ShellWord<'_>>| {
            word.is_some_and(|word| subcommands.contains(&word.text.as_ref()))
        };
        // Options stand before the word that starts another program as well as behind it.
        let Step::Wrapper {
            skipped,
            changes_to,
        } = skip_wrapper(name, rest, OPTIONS_WITH_VALUE, 0)
        else {
            return None;
        };
        if subcommands.is_empty() {
            return Some(Step::Wrapper {
                skipped,
                changes_to,
            });
        }
        if !is_subcommand(words.get(skipped)) {
            return Some(Step::Program(Program::Other, Vec::new()));
        }
        let Step::Wrapper {
            skipped,
            changes_to: later,
        } = skip_wrapper(name, &words[skipped + 1..], OPTIONS_WITH_VALUE, skipped)
        else {
            return None;
        };
        let changes_to = later.or(changes_to);
        return Some(match words.get(skipped) {
            // `uv run script.py` runs the script itself.
            Some(script)
                if name == "uv" && changes_to.is_none() && has_script_extension(&script.text) =>
            {
                Step::Program(Program::Runner, vec![script])
            }
            _ => Step::Wrapper {
                skipped,
                changes_to,
            },
        });
    }
    Some(match name {
        "cd" | "pushd" => Step::Program(Program::ChangeDirectory, operands(rest, &[], &[])),
        "source" | "." => Step::Program(Program::Runner, operands(rest, &[], &[])),
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
        _ if first.text.contains('/') && !is_installed_tool(&first.text) => {
            Step::Program(Program::File(first), Vec::new())
        }
        _ => Step::Program(Program::Other, Vec::new()),
    })
}

/// Skips the options of a leader, what they take, and what it takes itself.
fn skip_wrapper<'w>(
    name: &str,
    rest: &'w [ShellWord<'w>],
    values: &[&str],
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
        // These only tell of a program.
        if matches!(
            (name, text),
            ("command", "-v" | "-V") | ("sudo", "-l" | "-e")
        ) {
            return Step::Program(Program::Other, Vec::new());
        }
        if !text.starts_with('-') {
            break;
        }
        let takes = values.contains(&option) && joined.is_none();
        if matches!(option, "-C" | "--chdir" | "--directory")
            && matches!(name, "env" | "uv" | "pnpm")
        {
            let value = joined.map(|text| ShellWord {
                text: Cow::Borrowed(text),
                has_expansion: word.has_expansion,
            });
            changes_to = value.or_else(|| rest.get(index + 1).cloned());
        }
        index += if takes { 2 } else { 1 };
    }
    // How long it may take stands before the program.
    let own = usize::from(name == "timeout");
    Step::Wrapper {
        skipped: 1 + before + index + own,
        changes_to,
    }
}

fn identify_runner<'w>(name: &str, rest: &'w [ShellWord<'w>]) -> Step<'w> {
    if SHELLS.contains(&name)
        && let Some(script) = shell_script(rest)
    {
        return Step::Program(Program::Shell(script), Vec::new());
    }
    let rest = match rest.split_first() {
        Some((word, rest)) if matches!(name, "deno" | "bun") && word.text == "run" => rest,
        _ => rest,
    };
    let values: &[&str] = match name {
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
    };
    // Options behind which no file is run.
    let codes: &[&str] = match name {
        _ if SHELLS.contains(&name) => &["-n", "-s"],
        _ if name.starts_with("py") => &["-c", "-m"],
        "node" | "tsx" | "ts-node" | "bun" => &["-e", "-p", "--eval", "--print", "--check"],
        "deno" => &["eval"],
        _ => &["-c", "-e"],
    };
    Step::Program(Program::Runner, operands(rest, values, codes))
}

/// The script behind `-c`, which may stand together with other letters.
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
        // `-o pipefail`, also at the end of a cluster.
        if is_cluster && text.ends_with(['o', 'O']) || matches!(text, "--rcfile" | "--init-file") {
            words.next();
        }
    }
    None
}

/// The words that are no options and no values of options. What follows an option that holds a
/// program is none of ours.
fn operands<'w>(
    words: &'w [ShellWord<'w>],
    values: &[&str],
    codes: &[&str],
) -> Vec<&'w ShellWord<'w>> {
    let mut plain = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let text = word.text.as_ref();
        // The program may be glued to its option: `-cimport x`, `--eval=x`.
        let holds_code =
            |code: &&str| text == *code || code.starts_with('-') && text.starts_with(*code);
        if plain.is_empty() && codes.iter().any(holds_code) && !values.contains(&text) {
            return Vec::new();
        }
        if text.starts_with('-') && text.len() > 1 {
            if values.contains(&text) {
                words.next();
            }
        } else {
            plain.push(word);
        }
    }
    plain
}

/// Whether a program belongs to what a package manager installed.
fn is_installed_tool(path: &str) -> bool {
    ["node_modules/", ".venv/", "venv/bin/"]
        .iter()
        .any(|directory| path.contains(directory))
}

/// Whether a file has the ending of a script.
pub(super) fn has_script_extension(path: &str) -> bool {
    let ending = path
        .rsplit(['/', '\\'])
        .next()
        .and_then(|name| name.rsplit_once('.'));
    ending.is_some_and(|(_, ending)| {
        SCRIPT_EXTENSIONS
            .iter()
            .any(|script| ending.eq_ignore_ascii_case(script))
    })
}

fn is_runner(name: &str) -> bool {
    let version = name.strip_prefix("python").is_some_and(|version| {
        !version.is_empty() && version.bytes().all(|b| b.is_ascii_digit() || b == b'.')
    });
    RUNNERS.contains(&name) || version
}

/// The program's own name: without directories, in lower case, without `.exe`.
fn program_name(path: &str) -> Cow<'_, str> {
    let start = path
        .bytes()
        .rposition(|b| matches!(b, b'/' | b'\\'))
        .map_or(0, |at| at + 1);
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
