//! The tour of the README is real: every `$ skills …` in it is run, and what it shows is what comes.

use crate::skills::{lacks_landlock, skills, tree};

#[test]
fn the_tour_shows_what_comes() {
    if lacks_landlock(6) {
        return;
    }
    let readme = std::fs::read_to_string(tree().join("README.md")).unwrap();
    let mut commands = 0;
    for block in readme.split("```console\n").skip(1) {
        let block = block.split("```").next().unwrap();
        let (command, expected) = block.split_once('\n').unwrap();
        let words = words(command.strip_prefix("$ skills ").unwrap());
        let done = skills(&words.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(format!("{}{}", done.stdout, done.stderr), expected, "{command}");
        commands += 1;
    }
    assert!(commands >= 5, "the tour has {commands} commands");
}

/// Splits a command line at spaces; single quotes hold words together.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut quoted) = (vec![String::new()], false);
    for c in line.chars() {
        match c {
            '\'' => quoted = !quoted,
            ' ' if !quoted => words.push(String::new()),
            c => words.last_mut().unwrap().push(c),
        }
    }
    words
}
