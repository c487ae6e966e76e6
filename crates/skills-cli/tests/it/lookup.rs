//! Tests of errors of skills that cannot be used.

use insta::assert_snapshot;

use crate::fixture::Fixture;

/// A root `skills` with one skill, and a skill outside of it.
fn fixture() -> Fixture {
    let fixture = Fixture::new();
    fixture
        .skill("skills/good", "good")
        .skill("elsewhere/other", "other");
    fixture
}

#[test]
fn a_skipped_skill_refers_to_explain() {
    let fixture = fixture();
    fixture.file("skills/bad/SKILL.md", "no frontmatter");
    assert_snapshot!(fixture.run("", &["run", "bad", "--root", "skills"]).page(), @"
    exit 127
    -- stderr
    error: skill `bad` not found: skipped PLACE/skills/bad/SKILL.md: line 1: missing frontmatter: the first line must be `---`
    help: run `skills show --why bad --root skills` to see why
    ");
    assert_snapshot!(fixture.run("", &["show", "skills/bad", "--root", "skills"]).page(), @"
    exit 1
    -- stderr
    error: skill `PLACE/skills/bad` not found: skipped PLACE/skills/bad/SKILL.md: line 1: missing frontmatter: the first line must be `---`
    help: run `skills show --why PLACE/skills/bad --root skills` to see why
    ");
    let document = fixture.run("", &["prompt", "load", "bad", "--root", "skills", "--json"]);
    assert_snapshot!(document.page(), @r#"
    exit 1
    -- stdout
    {
      "error": {
        "code": "unknown-skill",
        "message": "skill `bad` not found: skipped PLACE/skills/bad/SKILL.md: line 1: missing frontmatter: the first line must be `---`",
        "candidates": [],
        "hint": "run `skills show --why bad --root skills` to see why"
      }
    }
    "#);
}

#[test]
fn an_inactive_skill_refers_to_explain() {
    let disabled = ["--root", "skills", "--disable", "good"];
    let fixture = fixture();
    assert_snapshot!(fixture.run("", &[&["show", "good"], &disabled[..]].concat()).page(), @"
    exit 1
    -- stderr
    error: skill `good` (PLACE/skills/good/SKILL.md) is inactive: disabled by rule `disable name good (--disable)`
    help: run `skills show --why good --root skills --disable good` to see why
    ");
    let checked = fixture.run("", &[&["policy", "check", "good"], &disabled[..]].concat());
    assert_snapshot!(checked.page(), @"
    exit 1
    -- stderr
    error: skill `good` (PLACE/skills/good/SKILL.md) is inactive: disabled by rule `disable name good (--disable)`
    help: run `skills show --why good --root skills --disable good` to see why
    ");
    assert_eq!(
        fixture
            .run("", &[&["trust", "good"], &disabled[..]].concat())
            .page(),
        checked.page()
    );
}

#[test]
fn a_path_outside_of_all_roots_is_reported_with_its_root() {
    let fixture = fixture();
    let load = ["prompt", "load"];
    let outside = fixture.run(
        "",
        &[&load[..], &["./elsewhere/other", "--root", "skills"]].concat(),
    );
    assert_snapshot!(outside.page(), @"
    exit 1
    -- stderr
    error: skill `PLACE/elsewhere/other` not found: not below any root
    help: search its parent directory with `--root PLACE/elsewhere`; `skills list --roots --root skills` lists the roots in use
    ");
    // The name of a directory without a separator is a skill name, but the cause is the same.
    let bare = fixture.run("elsewhere", &["show", "other", "--root", "../skills"]);
    assert_snapshot!(bare.page(), @"
    exit 1
    -- stderr
    error: skill `other` not found: not below any root
    help: search its parent directory with `--root PLACE/elsewhere`; `skills list --roots --root ../skills` lists the roots in use
    ");
    fixture.skill("skills/good/nested", "nested");
    let nested = fixture.run(
        "",
        &[&load[..], &["skills/good/nested", "--root", "skills"]].concat(),
    );
    assert_snapshot!(nested.page(), @"
    exit 1
    -- stderr
    error: skill `PLACE/skills/good/nested` not found: skipped PLACE/skills/good/nested/SKILL.md: below the skill `PLACE/skills/good`, where its root is not searched
    help: search below skills with `--nested`
    ");
}

#[test]
fn a_path_that_is_not_a_skill_is_reported_with_its_cause() {
    let fixture = fixture();
    assert_snapshot!(fixture.run("", &["run", "./elsewhere", "--root", "skills"]).page(), @"
    exit 127
    -- stderr
    error: skill `PLACE/elsewhere` not found: no `SKILL.md` in the directory
    help: pass the name or the directory of a skill; `skills list --root skills` shows all
    ");
    let file = "./skills/good/notes.md";
    fixture.file(file, "notes");
    assert_snapshot!(fixture.run("", &["show", file, "--root", "skills"]).page(), @"
    exit 1
    -- stderr
    error: skill `PLACE/skills/good/notes.md` not found: not a directory
    help: pass the name or the directory of a skill; `skills list --root skills` shows all
    ");
    assert_snapshot!(fixture.run("", &["prompt", "load", "./absent", "--root", "skills"]).page(), @"
    exit 1
    -- stderr
    error: skill `./absent` not found: no such file or directory
    help: check the path
    ");
    // A directory that is not a skill says nothing about a skill of the same name.
    assert_snapshot!(fixture.run("", &["show", "elsewhere", "--root", "skills"]).page(), @"
    exit 1
    -- stderr
    error: skill `elsewhere` not found
    ");
}

#[test]
fn explain_reports_an_unknown_skill_like_every_command() {
    let fixture = fixture();
    for query in ["godo", "nope", "./elsewhere", "./absent"] {
        let explained = fixture.run("", &["show", "--why", query, "--root", "skills"]);
        let shown = fixture.run("", &["show", query, "--root", "skills"]);
        assert_eq!(explained.page(), shown.page());
    }
    // Every command finds a skill that is named by its path; the explanation is about the roots.
    let outside = ["show", "--why", "./elsewhere/other", "--root", "skills"];
    assert!(
        fixture
            .run("", &outside)
            .stderr
            .contains("not below any root")
    );
    let document = fixture.run("", &["show", "--why", "nope", "--root", "skills", "--json"]);
    assert_eq!(
        (document.code, &document.json()["status"]),
        (1, &"not-found".into())
    );
}
