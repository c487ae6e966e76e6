//! Skills that are named by a path, and several skills of one name.

use insta::assert_snapshot;
use skills_test_support::skip_without_sandbox;

use crate::fixture::Fixture;

const ECHO: &str = "#!/bin/sh\necho \"${0##*/} $*\"\n";

fn fixture() -> Fixture {
    let fixture = Fixture::new();
    fixture
        .skill("skills/one", "one")
        .file("skills/one/scripts/a.sh", ECHO)
        .file("skills/one/scripts/b", ECHO)
        .skill("away/deep/one", "one")
        .file("away/deep/one/run", "#!/bin/sh\necho away\n");
    fixture
}

#[test]
fn a_path_names_a_skill_that_no_root_contains() {
    if skip_without_sandbox() {
        return;
    }
    let fixture = fixture();
    let away = fixture.path().join("away/deep/one").display().to_string();
    for (directory, path) in [
        ("", "./away/deep/one"),
        ("", "away/deep/one/"),
        ("", "./away/deep/one/SKILL.md"),
        ("", away.as_str()),
        ("away/deep/one", "."),
    ] {
        let root = fixture.path().join("skills").display().to_string();
        let done = fixture.run(directory, &["run", path, "--root", &root]);
        assert_eq!(
            (done.code, done.stdout.as_str()),
            (0, "away\n"),
            "{path}: {}",
            done.stderr
        );
    }
    let shown = fixture.run("", &["show", "./away/deep/one", "--root", "skills"]);
    assert!(
        shown.stdout.contains("PLACE/away/deep/one"),
        "{}",
        shown.page()
    );
    let checked = fixture.run(
        "",
        &["policy", "check", "./away/deep/one", "--root", "skills"],
    );
    assert!(
        checked.stdout.contains("runs     run"),
        "{}",
        checked.page()
    );
    // Other skills stay protected, and a name is not a path.
    assert_eq!(
        fixture.run("", &["run", "away", "--root", "skills"]).code,
        127
    );
}

/// Naming a skill of a cloned repository does not trust the repository.
#[test]
fn a_path_does_not_trust_a_project() {
    let fixture = Fixture::new();
    fixture
        .file("clone/.git/HEAD", "")
        .skill("clone/.claude/skills/one", "one")
        .file("clone/.claude/skills/one/scripts/a.sh", "echo ran\n")
        .skill("clone/sub/.factory/skills/two", "two")
        .file("clone/sub/.factory/skills/two/run.sh", "echo ran\n")
        .file("other/.git/HEAD", "");
    for (directory, path) in [
        ("clone", "./.claude/skills/one"),
        ("clone", ".claude/skills/one/SKILL.md"),
        ("clone", "./sub/.factory/skills/two"),
        ("", "./clone/.claude/skills/one"),
        ("", "clone/sub/.factory/skills/two/SKILL.md"),
        ("clone/sub", "../.claude/skills/one"),
        ("other", "../clone/.claude/skills/one"),
    ] {
        let done = fixture.run(directory, &["run", path]);
        assert_eq!(done.code, 125, "{}", done.page());
        assert!(
            done.stderr.contains("its root is not trusted"),
            "{}",
            done.page()
        );
        assert!(done.stdout.is_empty());
    } // The option is about the project of the working directory.
    let other = ["run", "../clone/.claude/skills/one", "--trust-project"];
    assert_eq!(fixture.run("other", &other).code, 125);
}

/// Each skill of a name runs by its path, and by the name the chosen one is named.
#[test]
fn other_skills_of_the_name_are_named() {
    if skip_without_sandbox() {
        return;
    }
    let fixture = fixture();
    fixture
        .file(
            "home/.claude/skills/two/SKILL.md",
            "---\nname: two\ndescription: d\n---\n",
        )
        .file("home/.claude/skills/two/scripts/a.sh", "echo of the user\n")
        .file("clone/.git/HEAD", "")
        .skill("clone/.claude/skills/two", "two")
        .file(
            "clone/two/SKILL.md",
            "---\nname: two\ndescription: d\n---\n",
        )
        .file("clone/two/scripts/a.sh", "echo nearby\n");
    assert_snapshot!(fixture.run("clone", &["run", "two"]).page(), @"
    exit 0
    -- stdout
    of the user
    -- stderr
    note: `two` is the skill in `PLACE/home/.claude/skills/two`; another skill of this name is in `PLACE/clone/.claude/skills/two` (its root is not trusted) and `PLACE/clone/two` (run it with its path)
    ");
    assert_snapshot!(fixture.run("clone", &["run", "./two"]).page(), @"
    exit 0
    -- stdout
    nearby
    ");
    // One that is hidden by another of its name.
    let profile = ["--profile", "claude", "--trust-project"];
    let hidden = fixture.run(
        "clone",
        &[&["run", "./.claude/skills/two"], &profile[..]].concat(),
    );
    assert!(!hidden.stderr.contains("hidden by"), "{}", hidden.page());
}

#[test]
fn a_word_names_a_script_and_words_after_it_are_arguments() {
    if skip_without_sandbox() {
        return;
    }
    let fixture = fixture();
    let run = |words: &[&str]| {
        let done = fixture.run("", &[&["run", "one", "--root", "skills"], words].concat());
        done.page()
    };
    assert_snapshot!(run(&["a.sh", "3", "x y"]), @"
    exit 0
    -- stdout
    a.sh 3 x y
    ");
    assert_snapshot!(run(&["scripts/b", "3", "--", "--flag"]), @"
    exit 0
    -- stdout
    b 3 --flag
    ");
    assert_snapshot!(run(&["--script", "b", "3"]), @"
    exit 0
    -- stdout
    b 3
    ");
    assert_snapshot!(run(&["c", "3"]), @"
    exit 127
    -- stderr
    error: skill `one` has no script `c`
    help: available: a.sh, b
    ");
}

/// An approval is for the content, so that no program has to be named.
#[test]
fn a_skill_with_several_scripts_is_trusted_as_a_whole() {
    let fixture = fixture();
    let text = "---\nname: one\ndescription: d\nallowed-tools: Bash(git:*)\n---\n";
    fixture.file("skills/one/SKILL.md", text);
    let state = tempfile::tempdir().unwrap();
    let run = |words: &[&str]| {
        let words = [words, &["--root", "skills"]].concat();
        fixture.run_with_state("", &words, state.path())
    };
    assert_snapshot!(run(&["trust", "one"]).page(), @"
    exit 3
    -- stderr
    Allow skill `one` to run any of its 2 scripts?
      note     in PLACE/skills/one
      wants to spawn `git` (requested by `Bash(git:*)`)
    error: cannot ask for confirmation: no terminal is available
    help: pass `--yes`
    ");
    assert_snapshot!(run(&["trust", "one", "--yes"]).page(), @"
    exit 0
    -- stderr
    approved this content of `one`
      granted, the approver responded `always`: spawn `git` (requested by `Bash(git:*)`)
    ");
    assert_snapshot!(run(&["trust", "./skills/one", "--yes"]).page(), @"
    exit 0
    -- stderr
    `one` needs no approval: rules and stored approvals grant everything that it requests
    ");
    // What a single script needs is asked for it.
    fixture
        .skill("skills/one", "one")
        .file("skills/one/scripts/c.R", "#!/usr/bin/env wc\n");
    let again = run(&["trust", "one", "--yes"]);
    assert!(again.stderr.contains("spawn `wc`"), "{}", again.page());
}
