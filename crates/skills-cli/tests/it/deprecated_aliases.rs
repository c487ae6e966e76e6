//! Former spellings of commands do exactly what the new ones do.

use crate::skills::{Done, EXAMPLES, skills_in};

/// Former arguments, and the new ones.
const SPELLINGS: [(&[&str], &[&str]); 24] = [
    (&["roots"], &["list", "--roots"]),
    (&["roots", "--json"], &["list", "--roots", "--json"]),
    (&["explain", "weather"], &["show", "--why", "weather"]),
    (&["explain", "wether"], &["show", "--why", "wether"]),
    (
        &["explain", "wether", "--json"],
        &["show", "--why", "wether", "--json"],
    ),
    (
        &["prompt", "--budget", "600"],
        &["prompt", "list", "--budget", "600"],
    ),
    (
        &["prompt", "--budget", "x"],
        &["prompt", "list", "--budget", "x"],
    ),
    (&["load", "weather"], &["prompt", "load", "weather"]),
    (&["load", "absent"], &["prompt", "load", "absent"]),
    (&["load"], &["prompt", "load"]),
    (
        &["mentions", "use $weather"],
        &["prompt", "mentions", "use $weather"],
    ),
    (
        &["mentions", "x", "--skill", "y"],
        &["prompt", "mentions", "x", "--skill", "y"],
    ),
    (
        &[
            "detect",
            "--cwd",
            "examples/skills/weather",
            "--",
            "cat SKILL.md",
        ],
        &[
            "prompt",
            "detect",
            "--cwd",
            "examples/skills/weather",
            "--",
            "cat SKILL.md",
        ],
    ),
    (
        &["read-properties", "examples/skills/weather"],
        &["compat", "read-properties", "examples/skills/weather"],
    ),
    (
        &["read-properties", "absent"],
        &["compat", "read-properties", "absent"],
    ),
    (
        &["to-prompt", "examples/skills/weather"],
        &["compat", "to-prompt", "examples/skills/weather"],
    ),
    (
        &["validate", "--strict", "examples/skills/weather"],
        &["compat", "validate", "examples/skills/weather"],
    ),
    (
        &["validate", "--strict", "examples/skills", "--json"],
        &["compat", "validate", "examples/skills", "--json"],
    ),
    (
        &["precompile", "weather"],
        &["wasm", "precompile", "weather"],
    ),
    (&["precompile", "absent"], &["wasm", "precompile", "absent"]),
    (
        &["precompile", "--clear", "--json"],
        &["wasm", "precompile", "--clear", "--json"],
    ),
    (&["call", "skills_list"], &["tools", "call", "skills_list"]),
    (
        &["tools", "change", "skills_list", "--reset"],
        &["tools", "reset", "skills_list"],
    ),
    (&["adopt", "absent"], &["accept", "absent"]),
];

#[test]
fn former_spellings_print_the_same() {
    for (former, new) in SPELLINGS {
        let run = |arguments: &[&str]| {
            let state = tempfile::tempdir().unwrap();
            skills_in(&[&EXAMPLES, arguments].concat(), "", state.path())
        };
        // Usage errors name the command.
        let page = |done: &Done| done.page().replace(&usage(new), &usage(former));
        let (former_page, new_page) = (page(&run(former)), page(&run(new)));
        assert_eq!(former_page, new_page, "{former:?}");
    }
}

/// Returns how a usage error names a command.
fn usage(arguments: &[&str]) -> String {
    let is_name = |word: &&&str| {
        word.bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte == b'-')
    };
    let names = arguments.iter().take_while(is_name).take(2).copied();
    format!("Usage: skills {}", names.collect::<Vec<_>>().join(" "))
}

#[test]
fn former_spellings_are_hidden() {
    let state = tempfile::tempdir().unwrap();
    let help = skills_in(&["--help"], "", state.path()).stdout;
    for name in [
        "roots",
        "explain",
        "load",
        "mentions",
        "detect",
        "read-properties",
        "precompile",
    ] {
        assert!(!help.contains(&format!("\n  {name} ")), "{name}");
    }
}
