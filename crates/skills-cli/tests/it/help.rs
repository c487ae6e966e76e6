use insta::assert_snapshot;

use crate::skills::skills;

#[test]
fn help() {
    for (name, arguments) in [
        ("skills", ["--help"].as_slice()),
        ("list", &["list", "--help"]),
        ("validate", &["validate", "--help"]),
        ("read_properties", &["read-properties", "--help"]),
        ("to_prompt", &["to-prompt", "--help"]),
        ("roots", &["roots", "--help"]),
        ("explain", &["explain", "--help"]),
        ("new", &["new", "--help"]),
        ("build", &["build", "--help"]),
        ("doctor", &["doctor", "--help"]),
        ("show", &["show", "--help"]),
        ("prompt", &["prompt", "--help"]),
        ("mentions", &["mentions", "--help"]),
        ("load", &["load", "--help"]),
        ("detect", &["detect", "--help"]),
        ("run", &["run", "--help"]),
        ("precompile", &["precompile", "--help"]),
    ] {
        assert_snapshot!(format!("help_{name}"), skills(arguments).page());
    }
}

#[test]
fn completions_know_the_subcommands() {
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
fn wrong_usage_is_exit_code_two() {
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
