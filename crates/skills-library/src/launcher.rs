//! Commands that start another command in an environment.

use skills_sandbox::ScriptType;

/// Commands that run the rest of a command line in the Python environment of a project. The script of
/// a skill runs in the environment that the runtime has for it.
const LAUNCHERS: [[&str; 2]; 4] = [
    ["uv", "run"],
    ["poetry", "run"],
    ["pipenv", "run"],
    ["pdm", "run"],
];
/// Options of launchers that select the environment only.
const LAUNCHER_SWITCHES: [&str; 17] = [
    "--active",
    "--exact",
    "--frozen",
    "--isolated",
    "--locked",
    "--managed-python",
    "--no-cache",
    "--no-config",
    "--no-dev",
    "--no-project",
    "--no-progress",
    "--no-sync",
    "--offline",
    "--quiet",
    "-q",
    "--script",
    "-s",
];
/// Options of launchers that select the environment, with a value.
const LAUNCHER_VALUES: [&str; 5] = ["--extra", "--group", "--python", "-p", "--with"];

/// The program that runs packages of npm, which it downloads. The runtimes of JavaScript that it is
/// asked for are those that the sandbox selects, so that nothing is downloaded.
const NPX: &str = "npx";
/// Options of it that answer its question, or say how.
const NPX_SWITCHES: [&str; 7] = ["-y", "--yes", "--no", "--no-install", "-q", "--quiet", "--"];

/// Returns the command that a launcher runs, or the whole command line without one, or with an option
/// that does more than select an environment.
#[must_use]
pub fn without_launcher(words: &[String]) -> &[String] {
    if let Some(command) = without_npx(words) {
        return command;
    }
    let [program, verb, rest @ ..] = words else {
        return words;
    };
    let mut rest = rest;
    if !LAUNCHERS.contains(&[program.as_str(), verb.as_str()]) {
        return words;
    }
    while let Some((option, more)) = rest.split_first() {
        let name = option
            .split_once('=')
            .map_or(option.as_str(), |(name, _)| name);
        let has_value = name != option;
        let taken = match option.as_str() {
            "--" => return more,
            "-m" | "--module" => return rest,
            _ if LAUNCHER_SWITCHES.contains(&option.as_str()) => 1,
            _ if LAUNCHER_VALUES.contains(&name) => 2 - usize::from(has_value),
            option if option.starts_with('-') => return words,
            _ => return rest,
        };
        rest = rest.get(taken..).unwrap_or_default();
    }
    words
}

/// Returns the command that begins with a runtime of JavaScript, after `npx` and its options.
fn without_npx(words: &[String]) -> Option<&[String]> {
    let (first, rest) = words.split_first()?;
    let switches = rest
        .iter()
        .take_while(|word| NPX_SWITCHES.contains(&word.as_str()))
        .count();
    let command = &rest[switches..];
    let runtime = ScriptType::from_interpreter(command.first()?)?;
    let is_runtime = matches!(runtime, ScriptType::Node | ScriptType::Deno);
    (first == NPX && is_runtime).then_some(command)
}
