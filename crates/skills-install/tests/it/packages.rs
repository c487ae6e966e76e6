//! Packages of npm that carry skills.

use skills_install::InstallErrorKind;

use crate::fixture::{Fixture, fetcher};

/// Returns the name, path and version of each installed skill.
fn installed(fixture: &Fixture) -> Vec<String> {
    let store = fixture.store();
    let skills = store.lock_file().skills().values();
    skills
        .map(|skill| {
            let revision = skill.revision().unwrap_or("-");
            format!("{} {} {revision}", skill.name(), skill.source().path())
        })
        .collect()
}

#[test]
fn skills_of_all_packages_are_found_at_their_places() {
    let fixture = Fixture::new();
    fixture
        .file(
            "node_modules/one/package.json",
            r#"{"name": "one", "version": "1.2.3"}"#,
        )
        .skill("node_modules/one/skills/a", "")
        .file("node_modules/one/skills/README.md", "")
        .skill("node_modules/one/src/templates/not-a-skill", "")
        .file(
            "node_modules/@acme/two/package.json",
            r#"{"name": "@acme/two", "version": "2.0.0"}"#,
        )
        .skill("node_modules/@acme/two/dist/skills/b", "")
        // A build copies it; the source wins.
        .skill("node_modules/@acme/two/skills/c", "")
        .skill("node_modules/@acme/two/dist/skills/c", "")
        .skill(
            "node_modules/@acme/two/node_modules/three/skills/nested",
            "",
        )
        .skill("node_modules/.cache/skills/cached", "")
        .file("node_modules/plain/index.js", "");
    fixture.add("npm:./node_modules").unwrap();
    assert_eq!(
        installed(&fixture),
        [
            "a one/skills/a npm:one@1.2.3",
            "b @acme/two/dist/skills/b npm:@acme/two@2.0.0",
            "c @acme/two/skills/c npm:@acme/two@2.0.0",
        ]
    );

    let fixture = Fixture::new();
    fixture
        .file(
            "package/package.json",
            r#"{"name": "p", "version": "1.0.0"}"#,
        )
        .skill("package/skills/a", "");
    fixture.add("npm:./package").unwrap();
    assert_eq!(installed(&fixture), ["a skills/a npm:p@1.0.0"]);
    let spec = fixture.store().lock_file().skills()["a"]
        .source()
        .identity();
    assert_eq!(spec, format!("npm:{}", fixture.path("package").display()));
}

#[test]
fn directories_that_a_package_lists_are_found_if_they_are_in_it() {
    let fixture = Fixture::new();
    fixture
        .file(
            "package/package.json",
            r#"{"skills": ["./lib/a", "acme/other", "npm:other", {"path": "lib/b/SKILL.md"}, {"source": "x"}],
                "agents": {"skills": [{"name": "c", "path": "./lib/c"}]},
                "agentskills": {"skills": "no list"}}"#,
        )
        .skill("package/lib/a", "")
        .skill("package/lib/b", "")
        .skill("package/lib/c", "")
        .skill("package/lib/d", "");
    fixture.add("npm:./package").unwrap();
    assert_eq!(installed(&fixture), ["a lib/a -", "b lib/b -", "c lib/c -"]);
    let fixture = Fixture::new();
    fixture
        .file("package/package.json", r#"{"skills": ["./lib"]}"#)
        .skill("package/lib/a", "")
        .skill("package/lib/b", "");
    fixture.add("npm:./package").unwrap();
    assert_eq!(installed(&fixture), ["a lib/a -", "b lib/b -"]);
}

#[test]
fn a_listed_directory_outside_of_the_package_is_refused() {
    for listed in [
        r#"{"skills": ["../other"]}"#,
        r#"{"skills": ["./lib/../../other"]}"#,
        r#"{"skills": ["/etc"]}"#,
        r#"{"skills": [{"path": "C:\\other"}]}"#,
        r#"{"agents": {"skills": [{"path": "..\\other"}]}}"#,
    ] {
        let fixture = Fixture::new();
        fixture
            .skill("node_modules/other", "")
            .skill("node_modules/good/skills/g", "")
            .file("node_modules/evil/package.json", listed)
            .skill("node_modules/evil/skills/e", "");
        let error = fixture.add("npm:./node_modules/evil").unwrap_err();
        assert_eq!(error.kind(), InstallErrorKind::Unsafe, "{listed}: {error}");
        let error = fixture.add("npm:./node_modules").unwrap_err();
        assert_eq!(error.kind(), InstallErrorKind::Unsafe, "{listed}: {error}");
        assert!(error.to_string().contains("evil/package.json"), "{error}");
        // One package does not hide the others.
        fixture.add("npm:./node_modules//good").unwrap();
        assert_eq!(fixture.states(), ["g unchanged"]);
    }
}

/// As pnpm arranges packages, and as workspaces link their own.
#[test]
fn packages_behind_symlinks_are_read_inside_of_the_directory_only() {
    let fixture = Fixture::new();
    fixture
        .skill("node_modules/.pnpm/one@1/node_modules/one/skills/a", "")
        .skill("outside/skills/secret", "")
        .skill("node_modules/two/real/b", "");
    fixture
        .symlink(".pnpm/one@1/node_modules/one", "node_modules/one")
        .symlink("../outside", "node_modules/linked")
        .symlink(fixture.path("outside"), "node_modules/absolute")
        .symlink("../../outside/skills", "node_modules/two/skills");
    fixture.add("npm:./node_modules").unwrap();
    assert_eq!(installed(&fixture), ["a one/skills/a -"]);
    let fixture = Fixture::new();
    fixture
        .skill("node_modules/one/skills/a", "")
        .file("secret", "x");
    fixture.symlink("../../../../secret", "node_modules/one/skills/a/link");
    let error = fixture.add("npm:./node_modules").unwrap_err();
    assert_eq!(error.kind(), InstallErrorKind::Unsafe, "{error}");
}

#[test]
fn a_skill_of_two_packages_needs_a_choice() {
    let fixture = Fixture::new();
    fixture
        .skill("node_modules/one/skills/a", "")
        .skill("node_modules/two/skills/a", "");
    let error = fixture.add("npm:./node_modules").unwrap_err();
    assert_eq!(
        error.to_string(),
        "several skills have the name `a`: one/skills/a, two/skills/a"
    );
    fixture.add("npm:./node_modules//two").unwrap();
    assert_eq!(fixture.states(), ["a unchanged"]);
    let error = fixture.add_with(&fetcher(), "npm:./missing").unwrap_err();
    assert_eq!(error.kind(), InstallErrorKind::Io);
}

/// A package is one version of one name; other content of it takes a person.
#[test]
fn older_versions_other_names_and_replaced_versions_of_packages_need_a_person() {
    let fixture = Fixture::new();
    let package = |name: &str, version: &str, extra: &str| {
        let text = format!(r#"{{"name": "{name}", "version": "{version}"}}"#);
        fixture.file("node_modules/q/package.json", text);
        fixture.skill("node_modules/q/skills/a", extra);
    };
    package("q", "1.10.0", "");
    fixture.add("npm:./node_modules").unwrap();
    for (name, version, expected) in [
        (
            "q",
            "1.9.0",
            "the new version is older than the installed one",
        ),
        (
            "q",
            "1.10.0",
            "`npm:q@1.10.0` has other content than before",
        ),
        (
            "evil",
            "1.11.0",
            "source changed from `npm package q` to `npm package evil`",
        ),
        ("q", "1.11.0", ""),
    ] {
        package(name, version, "license: MIT\n");
        let (_, plan) = fixture.plan("npm:./node_modules").unwrap();
        let changes = plan.changes()[0].trust_changes().iter();
        let changes: Vec<String> = changes.map(ToString::to_string).collect();
        assert_eq!(changes.join("; "), expected, "{name} {version}");
    }
}
