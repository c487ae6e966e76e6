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
    exit 1
    -- stderr
    error: skill `bad` not found: skipped by the scan
    help: run `skills explain bad` with the same global options to see why
    ");
    assert_snapshot!(fixture.run("", &["show", "skills/bad", "--root", "skills"]).page(), @"
    exit 1
    -- stderr
    error: skill `PLACE/skills/bad` not found: skipped by the scan
    help: run `skills explain PLACE/skills/bad` with the same global options to see why
    ");
    let document = fixture.run("", &["load", "bad", "--root", "skills", "--json"]);
    assert_snapshot!(document.page(), @r#"
    exit 1
    -- stdout
    {
      "error": {
        "code": "unknown-skill",
        "message": "skill `bad` not found: skipped by the scan",
        "candidates": [],
        "hint": "run `skills explain bad` with the same global options to see why"
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
    help: run `skills explain good` with the same global options to see why
    ");
    let checked = fixture.run("", &[&["policy", "check", "good"], &disabled[..]].concat());
    assert_snapshot!(checked.page(), @"
    exit 1
    -- stderr
    error: skill `good` (PLACE/skills/good/SKILL.md) is inactive: disabled by rule `disable name good (--disable)`
    help: run `skills explain good` with the same global options to see why
    ");
    assert_eq!(
        fixture
            .run("", &[&["trust", "good"], &disabled[..]].concat())
            .page(),
        checked.page()
    );
}
