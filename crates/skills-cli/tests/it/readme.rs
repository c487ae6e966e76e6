//! Runs every `$ skills …` of the README and compares its output.

use skills_test_support::{skip_without_sandbox, source_tree};

use crate::skills::skills;

#[test]
fn readme_commands_print_the_documented_output() {
    if skip_without_sandbox() {
        return;
    }
    let readme = std::fs::read_to_string(source_tree().join("README.md")).unwrap();
    let mut commands = 0;
    for block in readme.split("```console\n").skip(1) {
        let block = block.split("```").next().unwrap();
        let (command, expected) = block.split_once('\n').unwrap();
        let words = words(command.strip_prefix("$ skills ").unwrap());
        let done = skills(&words.iter().map(String::as_str).collect::<Vec<_>>());
        // The path of the tree is shown as `…`.
        let here = source_tree().canonicalize().unwrap().display().to_string();
        assert_eq!(
            format!("{}{}", done.stdout, done.stderr).replace(&here, "…"),
            expected,
            "{command}"
        );
        commands += 1;
    }
    assert!(commands >= 5, "the README has {commands} commands");
}

/// Splits a command line at spaces; single and double quotes are supported.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut quoted) = (vec![String::new()], None);
    for c in line.chars() {
        match (quoted, c) {
            (None, '\'' | '"') => quoted = Some(c),
            (Some(open), c) if open == c => quoted = None,
            (None, ' ') => words.push(String::new()),
            (_, c) => words.last_mut().unwrap().push(c),
        }
    }
    words
}
