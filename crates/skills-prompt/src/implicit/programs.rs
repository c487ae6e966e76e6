//! The programs that read files, run scripts, or start another program.

use std::borrow::Cow;

use crate::shell_lexer::ShellWord;
use crate::word_list::{WordMap, Words, contains_ignore_case, section, section_map};

const PROGRAMS: &str = include_str!("programs.txt");

static READERS: Words = Words::new(|| section(PROGRAMS, "readers"));
static RUNNERS: Words = Words::new(|| section(PROGRAMS, "runners"));
static SHELLS: Words = Words::new(|| section(PROGRAMS, "shells"));
static SCRIPT_EXTENSIONS: Words = Words::new(|| section(PROGRAMS, "script extensions"));
static KEYWORDS: Words = Words::new(|| section(PROGRAMS, "keywords"));
static WRAPPERS: WordMap = WordMap::new(|| section_map(PROGRAMS, "wrappers"));
static SUBCOMMAND_WRAPPERS: WordMap = WordMap::new(|| section_map(PROGRAMS, "subcommand wrappers"));
static SUBCOMMAND_WRAPPER_OPTIONS: Words =
    Words::new(|| section(PROGRAMS, "subcommand wrapper options"));
static RUNNER_OPTIONS: WordMap = WordMap::new(|| section_map(PROGRAMS, "runner options"));
static CODE_OPTIONS: WordMap = WordMap::new(|| section_map(PROGRAMS, "code options"));

/// What a command does with its words.
pub(super) enum Action<'w> {
    /// Starts another command after so many words; it may change the directory of that command.
    Wrap {
        skipped: usize,
        changes_to: Option<ShellWord<'w>>,
    },
    /// Runs a script for a shell, from the option `-c`.
    RunShell(&'w str),
    /// Runs a file.
    Run(&'w ShellWord<'w>),
    /// Reads files.
    Read(Vec<&'w ShellWord<'w>>),
    /// Changes the working directory, as `cd` and `pushd` do; without an operand to the default.
    ChangeDirectory(Option<&'w ShellWord<'w>>),
}

/// Returns the action of a command; `None` if it has no known use of files.
pub(super) fn identify_action<'w>(words: &'w [ShellWord<'w>]) -> Option<Action<'w>> {
    let (first, rest) = words.split_first()?;
    let name = program_name(&first.text);
    let name = name.as_ref();
    if let Some(options) = WRAPPERS.get(name) {
        return Some(skip_options(name, rest, options)?.into_wrap(1));
    }
    if let Some(subcommands) = SUBCOMMAND_WRAPPERS.get(name) {
        return identify_subcommand_wrapper(name, rest, subcommands);
    }
    match name {
        "cd" | "pushd" => {
            let directory = operands(rest, &[], &[]).first().copied();
            Some(Action::ChangeDirectory(directory))
        }
        "source" | "." => run_script(&operands(rest, &[], &[])),
        _ if KEYWORDS.contains(&name) => Some(SkippedOptions::default().into_wrap(1)),
        _ if is_runner(name) => identify_runner(name, rest),
        _ if READERS.contains(&name) => Some(Action::Read(without_options(rest))),
        // Without a slash the shell searches `PATH`, which cannot find a script of a skill.
        _ => (first.text.contains('/') && !is_installed_tool(&first.text))
            .then_some(Action::Run(first)),
    }
}

fn without_options<'w>(words: &'w [ShellWord<'w>]) -> Vec<&'w ShellWord<'w>> {
    words
        .iter()
        .filter(|word| !word.text.starts_with('-'))
        .collect()
}

/// Returns the action of a wrapper such as `uv run`, whose subcommand has options before and after
/// it.
fn identify_subcommand_wrapper<'w>(
    name: &str,
    rest: &'w [ShellWord<'w>],
    subcommands: &[&str],
) -> Option<Action<'w>> {
    let options = skip_options(name, rest, &SUBCOMMAND_WRAPPER_OPTIONS)?;
    if subcommands.is_empty() {
        return Some(options.into_wrap(1));
    }
    let (subcommand, rest) = rest.get(options.skipped..)?.split_first()?;
    if !subcommands.contains(&subcommand.text.as_ref()) {
        return None;
    }
    let more = skip_options(name, rest, &SUBCOMMAND_WRAPPER_OPTIONS)?;
    let changes_to = more.changes_to.or(options.changes_to);
    match rest.get(more.skipped) {
        // `uv run script.py` runs the script with Python, without naming an interpreter.
        Some(script)
            if name == "uv" && changes_to.is_none() && has_script_extension(&script.text) =>
        {
            Some(Action::Run(script))
        }
        _ => Some(Action::Wrap {
            skipped: 2 + options.skipped + more.skipped,
            changes_to,
        }),
    }
}

/// The options of a wrapper.
#[derive(Default)]
struct SkippedOptions<'w> {
    /// The number of words.
    skipped: usize,
    changes_to: Option<ShellWord<'w>>,
}

impl<'w> SkippedOptions<'w> {
    /// Returns the action of a wrapper that has `before` words before these options.
    fn into_wrap(self, before: usize) -> Action<'w> {
        Action::Wrap {
            skipped: before + self.skipped,
            changes_to: self.changes_to,
        }
    }
}

/// Skips the options of a wrapper, their values, and its own operand; `None` if the wrapper starts
/// no program. `with_value` are the options that take a value.
fn skip_options<'w>(
    name: &str,
    words: &'w [ShellWord<'w>],
    with_value: &[&str],
) -> Option<SkippedOptions<'w>> {
    let mut options = SkippedOptions::default();
    while let Some((word, rest)) = words[options.skipped..].split_first()
        && word.text.starts_with('-')
    {
        let text = word.text.as_ref();
        options.skipped += 1;
        if text == "--" {
            break;
        }
        if runs_nothing(name, text) {
            return None;
        }
        let (option, joined) = match text.split_once('=') {
            Some((option, value)) => (option, Some(value)),
            None => (text, None),
        };
        if is_directory_option(name, option) {
            let value = joined.map(|text| ShellWord {
                text: Cow::Borrowed(text),
                has_expansion: word.has_expansion,
            });
            options.changes_to = value.or_else(|| rest.first().cloned());
        }
        if with_value.contains(&option) && joined.is_none() && !rest.is_empty() {
            options.skipped += 1;
        }
    }
    // `timeout` has a duration before the program.
    options.skipped += usize::from(name == "timeout");
    Some(options)
}

/// Returns true for options with which a wrapper describes a program or edits a file.
fn runs_nothing(name: &str, option: &str) -> bool {
    matches!(
        (name, option),
        ("command", "-v" | "-V") | ("sudo", "-l" | "-e")
    )
}

/// Returns true for options with the directory that the program starts in. `sudo -C` and `doas -C`
/// take something else.
fn is_directory_option(name: &str, option: &str) -> bool {
    matches!(option, "-C" | "--chdir" | "--directory") && matches!(name, "env" | "uv" | "pnpm")
}

fn identify_runner<'w>(name: &str, rest: &'w [ShellWord<'w>]) -> Option<Action<'w>> {
    // A shell without `-c` runs a file and is handled like any other runner.
    if SHELLS.contains(&name)
        && let Some(script) = shell_script(rest)
    {
        return Some(Action::RunShell(script));
    }
    let rest = match rest.split_first() {
        // `deno run x.ts` and `bun run x.ts` have a subcommand, unlike `node x.js`.
        Some((word, rest)) if matches!(name, "deno" | "bun") && word.text == "run" => rest,
        _ => rest,
    };
    let name = if name.starts_with("py") {
        "python"
    } else {
        name
    };
    let options = |map: &'static WordMap| map.get(name).map_or(&[][..], Vec::as_slice);
    run_script(&operands(
        rest,
        options(&RUNNER_OPTIONS),
        options(&CODE_OPTIONS),
    ))
}

/// Returns the action of a runner: it runs its first operand, if that has the name of a script.
fn run_script<'w>(operands: &[&'w ShellWord<'w>]) -> Option<Action<'w>> {
    let script = *operands.first()?;
    has_script_extension(&script.text).then_some(Action::Run(script))
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
        is_command |= is_cluster(text) && text.starts_with('-') && text.contains('c');
        if takes_next_word(text) {
            words.next();
        }
    }
    None
}

fn is_cluster(option: &str) -> bool {
    !option.starts_with("--")
}

/// Returns true for options of a shell with a value. `-o pipefail` can be at the end of a cluster.
fn takes_next_word(option: &str) -> bool {
    is_cluster(option) && option.ends_with(['o', 'O'])
        || matches!(option, "--rcfile" | "--init-file")
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
        let takes_value = options_with_value.contains(&text);
        if operands.is_empty() && !takes_value && holds_code(text, code_options) {
            return Vec::new();
        }
        if !text.starts_with('-') || text == "-" {
            operands.push(word);
        } else if takes_value {
            words.next();
        }
    }
    operands
}

/// Returns true for an option with code. The code may be attached to it: `-cpass`, `--eval=x`.
fn holds_code(text: &str, options: &[&str]) -> bool {
    let mut options = options.iter();
    options.any(|option| text == *option || option.starts_with('-') && text.starts_with(option))
}

/// Returns true if a program was installed by a package manager, and is therefore not a script of a
/// skill.
fn is_installed_tool(path: &str) -> bool {
    ["node_modules/", ".venv/", "venv/bin/"]
        .iter()
        .any(|directory| path.contains(directory))
}

/// Returns true if a file has the extension of a script, in any case.
fn has_script_extension(path: &str) -> bool {
    let extension = path
        .rsplit(['/', '\\'])
        .next()
        .and_then(|name| name.rsplit_once('.'));
    extension.is_some_and(|(_, extension)| contains_ignore_case(&SCRIPT_EXTENSIONS, extension))
}

fn is_runner(name: &str) -> bool {
    RUNNERS.contains(&name) || name.strip_prefix("python").is_some_and(is_version)
}

/// Returns true for `3.12` and the like, as in `python3.12`; a complete list would be out of date.
fn is_version(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit() || b == b'.')
}

/// Returns the name of a program: lowercase, without directories and `.exe`.
fn program_name(path: &str) -> Cow<'_, str> {
    let start = path
        .bytes()
        .rposition(|b| matches!(b, b'/' | b'\\'))
        .map_or(0, |separator| separator + 1);
    let name = &path[start..];
    // Nearly all names are lowercase already.
    if name.bytes().any(|b| b.is_ascii_uppercase()) {
        let name = name.to_ascii_lowercase();
        return Cow::Owned(name.strip_suffix(".exe").unwrap_or(&name).to_owned());
    }
    Cow::Borrowed(name.strip_suffix(".exe").unwrap_or(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::word_list::check_sections;

    #[test]
    fn the_list_of_programs_is_well_formed() {
        let sections = [
            "readers",
            "runners",
            "shells",
            "script extensions",
            "keywords",
            "wrappers",
            "subcommand wrappers",
            "subcommand wrapper options",
            "runner options",
            "code options",
        ];
        check_sections(PROGRAMS, &sections);
        for name in sections {
            assert!(
                section(PROGRAMS, name).is_sorted(),
                "[{name}] is not sorted"
            );
        }
        // A runner with a version is a Python.
        for runner in RUNNERS.iter().filter(|name| !name.starts_with("py")) {
            assert!(CODE_OPTIONS.contains_key(runner), "{runner}");
        }
    }
}
