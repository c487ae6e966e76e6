//! Help texts, which `docs/cli.md` shows.

use std::fmt::Write;

use crate::skills::{skills, tree};

/// The heading under which each help text lists the options that all commands have.
const GLOBAL_OPTIONS: &str = "\nOptions of every command:\n";

#[test]
fn the_command_line_reference_matches_help() {
    let mut page =
        "# Command-line reference\n\nGenerated from `--help`. The options of every command \
                    are shown once, with `skills`.\n"
            .to_owned();
    write_help(&mut page, &[]);
    let known = std::fs::read_to_string(tree().join("docs/cli.md")).unwrap_or_default();
    if known == page {
        return;
    }
    let written = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("cli.md");
    std::fs::write(&written, page).unwrap();
    panic!(
        "docs/cli.md is not what `--help` prints: cp {} docs/cli.md",
        written.display()
    );
}

/// Writes the help of a command and of the commands below it.
fn write_help(page: &mut String, command: &[&str]) {
    let done = skills(&[command, &["--help"]].concat());
    assert_eq!(done.code, 0, "{}", done.page());
    let mut help = done.stdout.as_str();
    if !command.is_empty() {
        help = help.split(GLOBAL_OPTIONS).next().unwrap();
    }
    let name = [&["skills"], command].concat().join(" ");
    let help = help.trim_end();
    write!(page, "\n## {name}\n\n```text\n{help}\n```\n").unwrap();
    for below in subcommands(help) {
        write_help(page, &[command, &[below]].concat());
    }
}

/// Returns the names that stand below `Commands:`.
fn subcommands(help: &str) -> Vec<&str> {
    let list = help
        .split_once("\nCommands:\n")
        .map_or("", |(_, list)| list);
    let list = list.split("\n\n").next().unwrap();
    let name = |line: &'_ str| {
        line.strip_prefix("  ")
            .is_some_and(|name| !name.starts_with(' '))
    };
    let lines = list.lines().filter(|line| name(line));
    let names = lines.filter_map(|line| line.split_whitespace().next());
    names.filter(|name| *name != "help").collect()
}

#[test]
fn completions_include_subcommands_and_options() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = skills(&["completions", shell]).stdout;
        assert!(
            ["mentions", "--trust-project", "detect", "build"]
                .iter()
                .all(|word| script.contains(word.trim_start_matches('-'))),
            "{shell}"
        );
    }
    assert_eq!(skills(&["completions", "tcsh"]).code, 2);
}

#[test]
fn invalid_usage_is_exit_code_two() {
    for arguments in [
        ["list", "--nonsense"].as_slice(),
        &["run"],
        &["run", "x", "--timeout", "0"],
        &["run", "x", "--allow", "network"],
        &[],
    ] {
        assert_eq!(skills(arguments).code, 2, "{arguments:?}");
    }
}
