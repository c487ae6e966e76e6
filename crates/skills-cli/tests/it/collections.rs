//! Whole collections: what is read, what is missing and why, and `validate` of all skills.

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::Duration;

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::fixture::Fixture;
use crate::skills::{Done, command};

/// A collection with one skill of each kind that a scan does not use.
fn collection() -> Fixture {
    let fixture = Fixture::new();
    fixture
        .skill("root/good", "good")
        .skill("root/good/sub/inner", "inner")
        .skill("root/.curated/hidden", "hidden")
        .skill("root/x/good", "good")
        .skill("root/1/2/3/4/5/6/deep", "deep")
        .file("root/none/SKILL.md", "# Title\n")
        .file("root/empty/SKILL.md", "")
        .file(
            "root/todo/SKILL.md",
            concat!("---\nname: todo\ndescription: [TO", "DO: say it]\n---\n"),
        );
    fixture
}

fn run(fixture: &Fixture, arguments: &[&str]) -> Done {
    fixture.run("", arguments)
}

#[test]
fn a_list_starts_with_counts() {
    let fixture = collection();
    assert_snapshot!(run(&fixture, &["list", "--root", "root"]).page());
    assert_snapshot!(
        "list_long_of_a_collection",
        run(&fixture, &["list", "--long", "--root", "root"]).page()
    );
    let json = run(&fixture, &["list", "--json", "--root", "root"]).json();
    assert_eq!(
        json["summary"],
        json!({
            "read": 3, "inactive": 1, "refused": 3, "not_read": 2,
            "text": "3 read, 1 inactive: 1 hidden by a skill of the same name, 3 refused: 1 empty, \
                     1 without a description, 1 without frontmatter, 2 not read: 1 below another skill, \
                     1 beyond the depth limit",
        })
    );
    let codes = |name: &str| -> Vec<Value> {
        let list = json[name].as_array().unwrap().iter();
        list.map(|one| one["code"].clone()).collect()
    };
    assert_eq!(
        codes("skipped"),
        [
            "depth-limit",
            "empty",
            "frontmatter-missing",
            "description-missing",
            "depth-limit",
            "nested"
        ]
    );
}

#[test]
fn options_find_what_a_scan_leaves_out() {
    let fixture = collection();
    let names = |options: &[&str]| -> Vec<String> {
        let arguments = [&["list", "--json", "--root", "root"], options].concat();
        let json = run(&fixture, &arguments).json();
        let skills = json["skills"].as_array().unwrap().iter();
        skills
            .map(|skill| skill["name"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(names(&[]), ["good", "hidden"]);
    assert_eq!(names(&["--nested"]), ["good", "hidden", "inner"]);
    assert_eq!(names(&["--max-depth", "7"]), ["deep", "good", "hidden"]);
    assert_eq!(names(&["--max-directories", "1"]), [""; 0]);
    // As the client does.
    assert_eq!(names(&["--profile", "openclaw"]), ["good"]);
    let limited = run(
        &fixture,
        &["list", "--root", "root", "--max-directories", "1"],
    );
    assert!(
        limited.stderr.contains("--max-directories"),
        "{}",
        limited.page()
    );
}

/// Every command that takes a name says why a known skill is not in use.
#[test]
fn a_known_skill_that_is_not_in_use_says_why() {
    let fixture = collection();
    for command in [&["show"][..], &["run"], &["prompt", "load"]] {
        for (name, reason, help) in [
            ("inner", "below the skill", "--nested"),
            ("deep", "deeper than 6 directories", "--max-depth"),
            ("none", "missing frontmatter", "--why"),
            ("todo", "placeholder of a template", "--why"),
        ] {
            let arguments = [command, &[name, "--root", "root"]].concat();
            let done = run(&fixture, &arguments);
            let code = if command == ["run"] { 127 } else { 1 };
            assert_eq!(done.code, code, "{}", done.page());
            assert!(
                done.stderr.contains(reason) && done.stderr.contains(help),
                "{arguments:?}: {}",
                done.page()
            );
        }
    }
}

#[test]
fn a_collection_is_validated_as_a_whole() {
    let fixture = collection();
    let text = run(&fixture, &["validate", "root"]);
    assert_snapshot!(text.page());
    let json = run(&fixture, &["validate", "root", "--json"]).json();
    assert_eq!(json["results"].as_array().unwrap().len(), 7);
    assert_eq!(
        json["counts"],
        json!({"valid": 4, "invalid": 3, "warnings": 1,
               "errors": {"description-missing": 1, "empty": 1, "frontmatter-missing": 1}})
    );
    // A skill is checked as before, and a directory without any skill is an error.
    assert_eq!(run(&fixture, &["validate", "root/good"]).code, 0);
    assert_eq!(run(&fixture, &["validate", "root/none"]).code, 1);
    assert_eq!(run(&fixture, &["validate", "root", "root/absent"]).code, 1);
    fixture.file("nothing/readme.txt", "");
    assert_eq!(run(&fixture, &["validate", "nothing"]).code, 1);
}

#[test]
fn findings_are_reported_to_github() {
    let fixture = collection();
    fixture.file(
        "root/odd,%:/SKILL.md",
        "---\nname: odd\ndescription: d\nallowed-tools: 7\n---\n",
    );
    let done = run(&fixture, &["validate", "root", "--format", "github"]);
    assert_snapshot!(done.page());
}

#[test]
fn findings_are_reported_as_sarif() {
    let fixture = Fixture::new();
    fixture.file(
        "root/odd name/SKILL.md",
        "---\nname: odd\ndescription: d\nallowed-tools: 7\n---\n",
    );
    let done = run(&fixture, &["validate", "root", "--format", "sarif"]);
    assert_eq!(done.code, 1, "{}", done.page());
    let sarif = done.json();
    assert_eq!(
        (
            &sarif["version"],
            &sarif["runs"][0]["tool"]["driver"]["name"]
        ),
        (&json!("2.1.0"), &json!("skills validate"))
    );
    let result = &sarif["runs"][0]["results"][0];
    assert_eq!(
        (&result["ruleId"], &result["level"]),
        (&json!("restriction-unread"), &json!("error"))
    );
    assert_eq!(
        result["locations"][0]["physicalLocation"],
        json!({"artifactLocation": {"uri": "root/odd%20name/SKILL.md"},
               "region": {"startLine": 4, "startColumn": 16}})
    );
    let rules = sarif["runs"][0]["tool"]["driver"]["rules"]
        .as_array()
        .unwrap();
    let results = sarif["runs"][0]["results"].as_array().unwrap();
    for result in results {
        assert!(rules.iter().any(|rule| rule["id"] == result["ruleId"]));
    }
}

#[test]
fn claude_reads_skills_without_a_description() {
    let fixture = Fixture::new();
    fixture.file("root/a/SKILL.md", "# Title\n\nDoes it.\n");
    let list = run(&fixture, &["list", "--root", "root", "--profile", "claude"]);
    assert!(list.stdout.contains("a  Does it."), "{}", list.page());
    let show = run(
        &fixture,
        &["show", "a", "--root", "root", "--profile", "claude"],
    );
    assert_eq!(show.code, 0, "{}", show.page());
    assert_eq!(run(&fixture, &["show", "a", "--root", "root"]).code, 1);
}

/// The log names counts and no paths; it is written while the server serves.
#[test]
fn the_log_of_the_server_says_what_is_not_available() {
    let fixture = collection();
    let scratch = tempfile::tempdir().unwrap();
    let mut child = command(&["mcp", "--root", "root"], scratch.path())
        .current_dir(fixture.path())
        .env("HOME", scratch.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let input = child.stdin.take();
    // Ends the server also if the line never comes.
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_secs(60));
        drop(input);
    });
    let lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let line = lines
        .map_while(Result::ok)
        .find(|line| line.contains("not available"))
        .unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(
        line.contains(
            "3 refused: 1 empty, 1 without a description, 1 without frontmatter, 2 not read"
        ),
        "{line}"
    );
}
