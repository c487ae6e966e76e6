//! Packages that an installed skill declares: in the lock file, and as growth of an update.

use std::fs;

use insta::assert_snapshot;
use serde_json::Value;

use crate::fixture::Fixture;
use crate::skills::Done;

fn fixture() -> Fixture {
    let fixture = Fixture::new();
    fixture
        .file("project/.git/HEAD", "")
        .skill("source/pdf", "pdf")
        .file("source/pdf/scripts/fill.py", "print('filled')\n");
    fixture
}

fn run(fixture: &Fixture, arguments: &[&str]) -> Done {
    fixture.run("project", arguments)
}

#[test]
fn declared_packages_are_in_the_lock_file() {
    let fixture = fixture();
    fixture
        .file(
            "source/pdf/SKILL.md",
            "---\nname: pdf\ndescription: Fills forms.\nrequires:\n  python-packages: [\"requests>=2\"]\n  node-packages: [left-pad@1]\nmetadata:\n  openclaw:\n    install:\n      - kind: brew\n        formula: qpdf\n      - kind: uv\n        package: rich\n---\nBody\n",
        )
        .file(
            "source/pdf/scripts/fill.py",
            "# /// script\n# dependencies = [\"httpx\"]\n# ///\n",
        )
        .file("source/pdf/tools/requirements.txt", "attrs==1\n")
        .file("source/pdf/web/package.json", "{\"dependencies\": {\"b\": \"^2\"}}\n");
    let added = run(&fixture, &["add", "../source", "--yes"]);
    assert_eq!(added.code, 0, "{}", added.stderr);
    let lock = fixture.path().join("project/.agents/skills/skills.lock");
    let lock: toml::Table = fs::read_to_string(lock).unwrap().parse().unwrap();
    let asks = lock["skill"][0]["asks"].as_array().unwrap().iter();
    let asks: Vec<&str> = asks.map(|ask| ask.as_str().unwrap()).collect();
    assert_snapshot!(asks.join("\n"), @r"
    package:brew:qpdf
    package:npm:b@^2
    package:npm:left-pad@1
    package:pypi:attrs==1
    package:pypi:httpx
    package:pypi:requests>=2
    package:pypi:rich
    ");
}

/// Each place where a skill can declare a package, one at a time.
#[test]
fn an_update_that_declares_another_package_needs_a_person() {
    let frontmatter = |fields: &str| {
        let text = format!("---\nname: pdf\ndescription: About pdf.\n{fields}---\nBody\n");
        ("source/pdf/SKILL.md", text)
    };
    let openclaw =
        "metadata:\n  openclaw:\n    install:\n      - kind: node\n        package: evil\n";
    let changes = [
        (
            frontmatter("requires:\n  python-packages: [evil]\n"),
            "package:pypi:evil",
        ),
        (
            frontmatter("requires:\n  node-packages: [evil@1]\n"),
            "package:npm:evil@1",
        ),
        (frontmatter(openclaw), "package:npm:evil"),
        (
            (
                "source/pdf/scripts/fill.py",
                "# /// script\n# dependencies = ['evil']\n# ///\n".to_owned(),
            ),
            "package:pypi:evil",
        ),
        (
            ("source/pdf/requirements.txt", "evil>=1\n".to_owned()),
            "package:pypi:evil>=1",
        ),
        (
            (
                "source/pdf/pyproject.toml",
                "[project]\ndependencies = ['evil']\n".to_owned(),
            ),
            "package:pypi:evil",
        ),
        (
            (
                "source/pdf/package.json",
                "{\"dependencies\": {\"evil\": \"1\"}}".to_owned(),
            ),
            "package:npm:evil@1",
        ),
    ];
    for ((path, text), expected) in changes {
        let fixture = fixture();
        let added = run(&fixture, &["add", "../source", "--yes"]);
        assert_eq!(added.code, 0, "{}", added.stderr);
        fixture.file(path, &text);
        let check = run(&fixture, &["update", "--check"]);
        let line = format!("  + {expected}\n");
        assert!(check.stdout.contains(&line), "{path}: {}", check.stdout);
        let check = run(&fixture, &["update", "--check", "--json"]);
        let check: Value = serde_json::from_str(&check.stdout).unwrap();
        let change = &check["directories"][0]["changes"][0];
        assert_eq!(change["needs_review"], true, "{path}: {check}");
        let refused = run(&fixture, &["update", "--yes"]);
        assert_eq!(refused.code, 3, "{path}: {}", refused.stderr);
    }
}

#[test]
fn an_update_of_a_lock_file_needs_a_person_for_packages_that_are_new() {
    let lock = |entries: &str| {
        format!(
            "{{\"lockfileVersion\": 3, \"packages\": {{\
             \"node_modules/a\": {{\"version\": \"1.0.0\"}}{entries}}}}}"
        )
    };
    let changes = [
        (
            lock(", \"node_modules/evil\": {\"version\": \"1.0.0\"}"),
            "+ package npm:evil 1.0.0",
            true,
        ),
        (
            lock("").replace(
                "1.0.0\"",
                "1.0.0\", \"resolved\": \"https://evil.example/a.tgz\"",
            ),
            "+ package npm:a 1.0.0 from https://evil.example/a.tgz",
            true,
        ),
        (
            "{}".to_owned(),
            "+ without the restriction lock file package-lock.json",
            true,
        ),
        (
            "{\"lockfileVersion\": 3, \"packages\": {}}".to_owned(),
            "+ without the restriction lock of npm:a in package-lock.json",
            true,
        ),
        (
            lock("").replace("1.0.0", "1.0.1"),
            "~ package npm:a 1.0.0 -> 1.0.1",
            false,
        ),
    ];
    for (text, expected, needs_review) in changes {
        let fixture = fixture();
        let path = "source/pdf/package-lock.json";
        fixture.file(path, &lock(""));
        let added = run(&fixture, &["add", "../source", "--yes"]);
        assert_eq!(added.code, 0, "{}", added.stderr);
        fixture.file(path, &text);
        let check = run(&fixture, &["update", "--check"]);
        let line = format!("  {expected}\n");
        assert!(check.stdout.contains(&line), "{expected}: {}", check.stdout);
        let updated = run(&fixture, &["update", "--yes"]);
        let code = if needs_review { 3 } else { 0 };
        assert_eq!(updated.code, code, "{expected}: {}", updated.stderr);
    }
}
