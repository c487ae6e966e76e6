//! Compares `skills compat` with recorded output of
//! skills-ref 0.1.0, byte for byte.

use std::path::Path;

use serde_json::Value;
use skills_test_support::source_tree;

use crate::skills::{Done, skills};

/// Returns the cases, shared with skills-manifest. `BASE` is the parent directory of the skill.
fn cases() -> Vec<Value> {
    let text = std::fs::read_to_string(
        source_tree().join("crates/skills-ref-compat/tests/it/skills_ref.jsonl"),
    )
    .unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Creates the skill of a case and returns its path. Returns `None` if this test does not support a
/// file name or content.
fn make(case: &Value, base: &Path) -> Option<String> {
    let directory = base.join(case["directory"].as_str()?);
    std::fs::create_dir_all(&directory).unwrap();
    let names = |value: &Value| match value {
        Value::Array(items) => items.clone(),
        Value::Null => Vec::new(),
        item => vec![item.clone()],
    };
    let (files, contents) = (names(&case["file"]), names(&case["content"]));
    if files.len() != contents.len() {
        return None;
    }
    for (file, content) in files.iter().zip(contents) {
        std::fs::write(directory.join(file.as_str()?), content.as_str()?).unwrap();
    }
    directory.to_str().map(str::to_owned)
}

fn same(case: &Value, command: &str, done: &Done, base: &str) -> Option<String> {
    let expected = &case[command];
    if expected.get("crash").is_some() {
        // The reference tool crashes here; this command fails with a message.
        return (done.code != 1 || done.stderr.is_empty())
            .then(|| format!("{} {command}: {}", case["id"], done.page()));
    }
    let text = |key: &str| expected[key].as_str().unwrap().replace("BASE", base);
    let is_same = done.code == expected["exit"]
        && done.stdout == text("stdout")
        && done.stderr == text("stderr");
    (!is_same).then(|| {
        format!(
            "{} {command}\n--- ours\n{}--- theirs\nexit {}\n{}{}",
            case["id"],
            done.page(),
            expected["exit"],
            text("stdout"),
            text("stderr")
        )
    })
}

/// Runs one command on every `step`th case.
fn check(command: &str, arguments: &[&str], step: usize) {
    let (mut checked, mut wrong) = (0, Vec::new());
    for case in cases().iter().step_by(step) {
        // The recordings are from Python 3.11, which supports Unicode 14.
        if case["id"].as_str().unwrap().contains("-unicode1") {
            continue;
        }
        let directory = tempfile::tempdir().unwrap();
        let base = directory.path().canonicalize().unwrap();
        let Some(path) = make(case, &base) else {
            continue;
        };
        checked += 1;
        wrong.extend(same(
            case,
            command,
            &skills(&[arguments, &[&path]].concat()),
            base.to_str().unwrap(),
        ));
    }
    assert!(
        wrong.is_empty(),
        "{} of {checked} differ\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(checked * step > 700, "{checked} cases");
}

#[test]
fn validate_matches_the_reference_tool() {
    check("validate", &["compat", "validate"], 3);
}

#[test]
fn read_properties_matches_the_reference_tool() {
    check("read_properties", &["compat", "read-properties"], 5);
}

#[test]
fn to_prompt_matches_the_reference_tool() {
    check("to_prompt", &["compat", "to-prompt"], 5);
}

#[test]
fn several_skills_and_files_as_paths() {
    let directory = tempfile::tempdir().unwrap();
    let base = directory.path().canonicalize().unwrap();
    for name in ["one", "two"] {
        std::fs::create_dir(base.join(name)).unwrap();
        std::fs::write(
            base.join(name).join("SKILL.md"),
            format!("---\nname: {name}\ndescription: d & e\n---\n"),
        )
        .unwrap();
    }
    let base = base.to_str().unwrap();
    let (one, two) = (format!("{base}/one/SKILL.md"), format!("{base}/./two//"));
    let redacted = |done: Done| done.page().replace(base, "BASE");
    insta::assert_snapshot!(redacted(skills(&["compat", "validate", &one, &two])), @"
    exit 0
    -- stdout
    Valid skill: BASE/one
    Valid skill: BASE/two
    ");
    insta::assert_snapshot!(redacted(skills(&["compat", "to-prompt", &one, &two])));
    let missing = format!("{base}/three");
    assert_eq!(skills(&["compat", "validate", &missing]).code, 2);
    let file = format!("{base}/one/notes.txt");
    std::fs::write(&file, "").unwrap();
    insta::assert_snapshot!(redacted(skills(&["compat", "validate", &file])), @"
    exit 1
    -- stderr
    Validation failed for BASE/one/notes.txt:
      - Not a directory: BASE/one/notes.txt
    ");
}
