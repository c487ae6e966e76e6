//! Help texts, which `docs/cli.md` shows.

use std::fmt::Write;

use crate::skills::skills;

/// The heading under which each help text lists the options that all commands have.
const GLOBAL_OPTIONS: &str = "\nOptions of every command:\n";

#[test]
fn the_command_line_reference_matches_help() {
    let mut page =
        "# Command-line reference\n\nGenerated from `--help`. The options of every command \
                    are shown once, with `skills`.\n"
            .to_owned();
    write_help(&mut page, &[]);
    skills_test_support::assert_document("docs/cli.md", &page);
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

/// Returns the names of the commands that a help text lists: below `Commands:`, or in the sections
/// before the options.
fn subcommands(help: &str) -> Vec<&str> {
    let is_list = |part: &&str| {
        let title = part.lines().next().unwrap();
        title.ends_with(':') && !matches!(title, "Arguments:" | "Options:" | "Over HTTP:")
    };
    let lines = help
        .split("\n\n")
        .filter(is_list)
        .flat_map(|part| part.lines().skip(1));
    let names = lines.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    names.filter(|name| !matches!(*name, "" | "help")).collect()
}

#[test]
fn help_lists_commands_in_sections() {
    let help = skills(&["-h"]).stdout;
    let list = help.split("\nOptions:").next().unwrap();
    insta::assert_snapshot!(list);
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
fn invalid_usage_has_a_code_of_its_own() {
    for (arguments, code) in [
        (["list", "--nonsense"].as_slice(), 2),
        (&["call"], 2),
        (&[], 2),
        // 2 can be that of a program.
        (&["run"], 125),
        (&["run", "x", "--timeout", "0"], 125),
        (&["run", "x", "--allow", "network"], 125),
    ] {
        assert_eq!(skills(arguments).code, code, "{arguments:?}");
    }
}
