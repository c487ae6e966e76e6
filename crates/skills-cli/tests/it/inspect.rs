use insta::{assert_json_snapshot, assert_snapshot};
use serde_json::Value;
use skills_test_support::source_tree;

use crate::skills::{examples, skills};

/// Replaces paths of this machine in a document.
fn redacted(document: &Value) -> Value {
    let tree = source_tree().canonicalize().unwrap().display().to_string();
    serde_json::from_str(&document.to_string().replace(&tree, "TREE")).unwrap()
}

#[test]
fn list() {
    assert_snapshot!(examples(&["list"]).page());
    assert_json_snapshot!("list_json", redacted(&examples(&["list", "--json"]).json()));
}

#[test]
fn search() {
    let page = |arguments: &[&str]| {
        let arguments: Vec<&str> = ["search"].iter().chain(arguments).copied().collect();
        examples(&arguments).page()
    };
    assert_snapshot!(page(&["how much customs duty do I pay"]), @"
    exit 0
    -- stdout
    tax_calculator  Calculates import duty and value added tax for goods by customs value (CIF) and HS code.
    ");
    assert_snapshot!(page(&["thanks,", "great", "job!"]), @"
    exit 0
    -- stderr
    no skill fits this query
    help: Name the task and what it is about in a few words, in the language of the descriptions (mostly English).
    ");
    assert_snapshot!(page(&["--explain", "--limit", "1", "review my python code"]), @"
    exit 0
    -- stdout
      2.31  code-review  Reviews source code for bugs, security problems and maintainability, and names line, severity and rule of each finding.
      0.95    review: in 2 skills; here: name 1, description 2, body 2
      0.45    python: in 2 skills; here: description 1
      0.91    code: in 2 skills; here: name 1, description 1, body 3
    -- stderr
    2 more; see `--limit`
    ");
    assert_snapshot!(page(&["--in", "incident-handbook", "--limit", "1", "who writes the review?"]), @r#"
    exit 0
    -- stdout
    references/review.md:1-8  Review
    # Review

    1. Timeline: first sign, alarm, first action, containment, end; all in UTC.
    2. What made it possible, what made it visible late, what made it worse.
    3. What went well.
    4. Actions, each with an owner and a date. At least one must make the same thing visible earlier.

    Ask "how", not "who".
    "#);
    let json = examples(&["search", "--json", "weather forecast"]).json();
    assert_eq!(
        (
            json["skills"][0]["name"].as_str(),
            json["confidence"].as_str()
        ),
        (Some("weather"), Some("high"))
    );
    let none = examples(&["search", "--json", "thanks"]).json();
    assert!(
        none["advice"]
            .as_str()
            .is_some_and(|advice| advice.contains("English"))
    );
}

#[test]
fn missing_and_empty_roots_are_reported() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().display().to_string();
    let empty = skills(&["list", "--root", &root]);
    let missing = skills(&["list", "--root", "/nowhere/skills"]);
    assert_snapshot!(missing.page(), @"
    exit 0
    -- stderr
    warning: root `/nowhere/skills` does not exist
    no skills found
    help: pass `--root DIR`, or list the searched directories with `skills list --roots --root /nowhere/skills`
    ");
    assert_snapshot!(empty.page().replace(&root, "ROOT"), @"
    exit 0
    -- stderr
    no skills found
    help: pass `--root DIR`, or list the searched directories with `skills list --roots --root ROOT`
    ");
}

#[test]
fn invalid_skills_are_reported_with_path_and_line() {
    let directory = tempfile::tempdir().unwrap();
    for (name, text) in [
        ("none", "# Title\n"),
        ("yaml", "---\nname: yaml\ndescription: a: b\n---\n"),
        ("good", "---\ndescription: fine\n---\n"),
    ] {
        std::fs::create_dir(directory.path().join(name)).unwrap();
        std::fs::write(directory.path().join(name).join("SKILL.md"), text).unwrap();
    }
    let root = directory
        .path()
        .canonicalize()
        .unwrap()
        .display()
        .to_string();
    assert_snapshot!(skills(&["list", "--root", &root]).page().replace(&root, "ROOT"), @"
    exit 0
    -- stdout
    good  fine
    yaml  a: b
    -- stderr
    2 read, 1 refused: 1 without frontmatter
    help: see each with its reason in `skills list --long --root ROOT`
    skills with warnings: 2; see `skills list --long --root ROOT`
    ");
}

#[test]
fn show() {
    assert_snapshot!(examples(&["show", "tax_calculator"]).page());
    assert_json_snapshot!(
        "show_json",
        redacted(&examples(&["show", "code-review", "--json"]).json())
    );
}

/// Text of a skill cannot forge output lines or send terminal sequences, also through pipes.
#[test]
fn text_of_a_skill_is_escaped() {
    let directory = tempfile::tempdir().unwrap();
    let skill = directory.path().join("one");
    std::fs::create_dir(&skill).unwrap();
    let text = "---\nname: one\ndescription: \"a\\e[31mred\\nscope  forged\"\nlicense: \"MIT\\nscope           system\"\n---\nBody\u{1b}]0;title\u{7}\n";
    std::fs::write(skill.join("SKILL.md"), text).unwrap();
    std::fs::write(skill.join("bad\nfile  forged"), "").unwrap();
    std::fs::create_dir(directory.path().join("broken\nerror: forged")).unwrap();
    let root = directory
        .path()
        .canonicalize()
        .unwrap()
        .display()
        .to_string();
    assert_snapshot!(skills(&["show", "one", "--root", &root]).page().replace(&root, "ROOT"), @r"
    exit 0
    -- stdout
    one
      a\u{1b}[31mred scope forged

    directory       ROOT/one
    scope           custom
    license         MIT\nscope           system
    omitted         `bad\nfile  forged` is not used: its name is not UTF-8 or contains invisible characters

    Body\u{1b}]0;title\u{7}
    -- stderr
    warning: line 3: `description` contains the invisible character U+001B
    ");
    assert_snapshot!(skills(&["list", "--root", &root]).page().replace(&root, "ROOT"), @r"
    exit 0
    -- stdout
    one  a\u{1b}[31mred scope forged
    -- stderr
    1 read, 1 not read: 1 with an unprintable name
    help: see each with its reason in `skills list --long --root ROOT`
    skills with warnings: 1; see `skills list --long --root ROOT`
    ");
    assert!(
        skills(&["list", "--long", "--root", &root])
            .stderr
            .contains(r"broken\nerror: forged: name is not UTF-8")
    );
    assert!(
        !skills(&["list", "--json", "--root", &root])
            .stdout
            .contains('\u{1b}')
    );
}

#[cfg(unix)]
#[test]
fn paths_that_are_not_utf8_are_skipped_and_reported() {
    use std::os::unix::ffi::OsStrExt;
    let directory = tempfile::tempdir().unwrap();
    std::fs::create_dir(
        directory
            .path()
            .join(std::ffi::OsStr::from_bytes(b"bad\xff")),
    )
    .unwrap();
    let list = skills(&[
        "list",
        "--json",
        "--root",
        &directory.path().display().to_string(),
    ]);
    assert_eq!(
        (list.code, list.json()["skipped"][0]["code"].as_str()),
        (0, Some("unprintable"))
    );
}

#[test]
fn windows_line_ends_are_printed_as_line_ends() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::create_dir(directory.path().join("one")).unwrap();
    std::fs::write(
        directory.path().join("one/SKILL.md"),
        "---\r\nname: one\r\ndescription: d\r\n---\r\nline one\r\nline two\r\n",
    )
    .unwrap();
    let show = skills(&[
        "show",
        "one",
        "--root",
        &directory.path().display().to_string(),
    ]);
    assert!(
        show.stdout.ends_with("\nline one\nline two\n"),
        "{}",
        show.stdout
    );
}

#[test]
fn a_skill_can_be_given_by_its_directory() {
    assert_eq!(examples(&["show", "examples/skills/weather"]).code, 0);
    assert_eq!(
        examples(&["show", "./examples/skills/weather/SKILL.md"]).code,
        0
    );
}

#[test]
fn an_unknown_skill_suggests_similar_names() {
    assert_snapshot!(examples(&["show", "tax-calculator"]).page(), @"
    exit 1
    -- stderr
    error: skill `tax-calculator` not found
    help: did you mean one of tax_calculator, gcd-calculator?
    ");
    assert_snapshot!(examples(&["run", "wether"]).page(), @"
    exit 127
    -- stderr
    error: skill `wether` not found
    help: did you mean `weather`?
    ");
    assert_snapshot!(examples(&["show", "nothing-like-it", "--json"]).page(), @r#"
    exit 1
    -- stdout
    {
      "error": {
        "code": "unknown-skill",
        "message": "skill `nothing-like-it` not found",
        "candidates": [],
        "hint": null
      }
    }
    "#);
}
