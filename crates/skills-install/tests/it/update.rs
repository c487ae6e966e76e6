//! Updates of many skills.

use std::os::unix::fs::PermissionsExt;

use skills_install::{Action, Fetcher, GitOptions, InstallErrorKind, LocalEdits, Plan, Store};

use crate::fixture::{Fixture, fetcher, skill_text, words};

fn plan(store: &mut Store, fetcher: &Fetcher, names: &[&str]) -> Plan {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    store
        .plan_update_all(fetcher, &names, LocalEdits::Refuse, &words)
        .unwrap()
}

/// Returns each change as `NAME ACTION`, and each failure as `NAMES: KIND`.
fn describe(plan: &Plan) -> Vec<String> {
    let changes = plan.changes().iter();
    let changes = changes.map(|change| format!("{} {:?}", change.name(), change.action()));
    let failures = plan.failures().iter();
    let failures = failures.map(|failure| {
        format!(
            "{}: {:?}",
            failure.names().join(","),
            failure.error().kind()
        )
    });
    changes.chain(failures).collect()
}

#[test]
fn a_skill_in_the_directory_of_another_one_is_updated_with_it() {
    let fixture = Fixture::new();
    fixture.skill("source/a", "").skill("source/a/b", "");
    fixture.add("./source").unwrap();
    fixture.add("./source//a/b").unwrap();
    fixture
        .skill("source/a", "license: MIT\n")
        .skill("source/a/b", "license: MIT\n");
    let mut store = fixture.store();
    let planned = plan(&mut store, &fetcher(), &[]);
    assert_eq!(describe(&planned), ["a Update", "b Update"]);
    store.apply(planned).unwrap();
    drop(store);
    assert_eq!(fixture.states(), ["a unchanged", "b unchanged"]);
    assert!(fixture.path("skills/a/b/SKILL.md").exists());
}

#[test]
fn a_source_is_fetched_once_for_all_of_its_skills() {
    let git = match crate::fixture::git_program() {
        Ok(git) => git,
        Err(reason) => return skills_test_support::skip(reason),
    };
    let fixture = Fixture::new();
    for name in ["a", "b", "c"] {
        fixture.skill(&format!("repository/{name}"), "");
    }
    crate::git::commit_at(&fixture, "1000");
    fixture.add("git+./repository").unwrap();
    fixture.skill("repository/b", "license: MIT\n");
    crate::git::commit_at(&fixture, "2000");

    // It writes down what it is started with.
    let log = fixture.path("git.log");
    let script = format!(
        "#!/bin/sh\nprintf '%s\\n' \"$*\" >> '{}'\nexec '{}' \"$@\"\n",
        log.display(),
        git.display()
    );
    fixture.executable("git", &script);
    let mode = std::fs::metadata(fixture.path("git"))
        .unwrap()
        .permissions();
    assert_eq!(mode.mode() & 0o111, 0o111);
    let fetcher = Fetcher::new(GitOptions::new(fixture.path("git")));
    let mut store = fixture.store();
    let planned = plan(&mut store, &fetcher, &[]);
    assert_eq!(describe(&planned), ["a Keep", "b Update", "c Keep"]);
    let log = std::fs::read_to_string(log).unwrap();
    let fetches = log.lines().filter(|line| line.contains("--depth=1"));
    assert_eq!(fetches.count(), 1, "{log}");
    store.apply(planned).unwrap();
    drop(store);
    assert_eq!(
        fixture.states(),
        ["a unchanged", "b unchanged", "c unchanged"]
    );

    let mut store = fixture.store();
    let planned = plan(&mut store, &fetcher, &["c"]);
    assert_eq!(describe(&planned), ["c Keep"]);
}

#[test]
fn a_skill_or_source_that_is_gone_does_not_stop_the_others() {
    let fixture = Fixture::new();
    for directory in ["one/a", "one/b", "one/c", "two/d", "two/e", "three/f"] {
        fixture.skill(directory, "");
    }
    for source in ["./one", "./two", "./three"] {
        fixture.add(source).unwrap();
    }
    std::fs::remove_dir_all(fixture.path("one/b")).unwrap();
    std::fs::remove_dir_all(fixture.path("two")).unwrap();
    fixture
        .skill("one/a", "license: MIT\n")
        .file("one/c/SKILL.md", "no frontmatter")
        .skill("three/f", "license: MIT\n")
        .file("skills/f/edited", "");
    let mut store = fixture.store();
    let planned = plan(&mut store, &fetcher(), &[]);
    assert_eq!(
        describe(&planned),
        ["a Update", "b: Skill", "c: Skill", "d,e: Io", "f: Conflict"]
    );
    store.apply(planned).unwrap();
    assert!(fixture.read("skills/a/SKILL.md").contains("MIT"));
    assert!(fixture.path("skills/b/SKILL.md").exists());
}

#[test]
fn two_sources_whose_skills_take_the_same_name_are_a_failure() {
    let fixture = Fixture::new();
    fixture.skill("one/a", "").skill("two/b", "");
    fixture.add("./one").unwrap();
    fixture.add("./two").unwrap();
    fixture.file("two/b/SKILL.md", skill_text("a", ""));
    let mut store = fixture.store();
    let planned = plan(&mut store, &fetcher(), &[]);
    assert_eq!(planned.changes().len(), 1);
    assert_eq!(planned.failures().len(), 1);
    let error = planned.failures()[0].error();
    assert_eq!(error.kind(), InstallErrorKind::Skill, "{error}");
}

#[test]
fn a_name_that_is_not_locked_is_an_error() {
    let fixture = Fixture::new();
    fixture.skill("one/a", "");
    fixture.add("./one").unwrap();
    let names = ["x".to_owned()];
    let error = fixture
        .store()
        .plan_update_all(&fetcher(), &names, LocalEdits::Refuse, &words)
        .unwrap_err();
    assert_eq!(error.kind(), InstallErrorKind::Conflict);
    let mut store = fixture.store();
    let planned = plan(&mut store, &fetcher(), &["a", "a"]);
    assert_eq!(planned.changes()[0].action(), Action::Keep);
}

#[test]
fn an_update_never_installs_another_skill() {
    let fixture = Fixture::new();
    fixture.skill("one/pdf", "").skill("two/a", "");
    fixture.add("./one").unwrap();
    fixture.add("./two").unwrap();
    fixture.file("one/pdf/SKILL.md", skill_text("other", ""));
    // Its directory has two skills, one of them with its name.
    std::fs::remove_file(fixture.path("two/a/SKILL.md")).unwrap();
    fixture.skill("two/a/a", "").skill("two/a/b", "");
    let mut store = fixture.store();
    let planned = plan(&mut store, &fetcher(), &[]);
    assert_eq!(describe(&planned), ["a: Skill", "pdf: Skill"]);
    let error = planned.failures()[1].error();
    assert_eq!(
        error.to_string(),
        "the source has the skill `other` in place of `pdf`"
    );
}

#[test]
fn only_the_named_skill_of_a_source_is_planned() {
    let fixture = Fixture::new();
    fixture.skill("source/a", "").skill("source/b", "");
    let named = |name: &str, source: &str| (name.to_owned(), fixture.spec(source));
    let sources = vec![
        named("a", "./source"),
        named("b", "./source//b"),
        named("c", "./source"),
        named("d", "./source//a"),
    ];
    let mut store = fixture.store();
    let planned = store.plan_sources(&fetcher(), sources, LocalEdits::Refuse, &words);
    assert_eq!(
        describe(&planned.unwrap()),
        ["a Add", "b Add", "c: Skill", "d: Skill"]
    );
}

#[test]
fn skills_in_directories_of_one_name_are_updated_together() {
    let fixture = Fixture::new();
    fixture
        .file("source/x/pdf/SKILL.md", skill_text("pdf-a", ""))
        .file("source/y/pdf/SKILL.md", skill_text("pdf-b", ""));
    fixture.add("./source//x").unwrap();
    fixture.add("./source//y").unwrap();
    let mut store = fixture.store();
    // One fetch for both.
    let planned = plan(&mut store, &fetcher(), &[]);
    assert_eq!(describe(&planned), ["pdf-a Keep", "pdf-b Keep"]);
}

#[cfg(feature = "npm")]
#[test]
fn a_source_in_the_project_is_recorded_relative_to_the_lock_file() {
    for (directory, repository) in [(".agents/skills", false), ("tools/skills", true)] {
        let fixture = Fixture::new();
        fixture
            .skill("project/team/a", "")
            .skill("other/b", "")
            .file("project/pack/package.json", "{}")
            .skill("project/pack/skills/c", "");
        if repository {
            fixture.file("project/.git", "");
        }
        let root = format!("project/{directory}");
        let mut store = Store::open(&fixture.path(&root)).unwrap();
        for source in ["./project/team", "./other", "npm:./project/pack"] {
            let spec = fixture.spec(source);
            let plan = store.plan_add(&fetcher(), &spec, &[], LocalEdits::Refuse, &words);
            store.apply(plan.unwrap()).unwrap();
            // The same source again is not another one.
            let plan = store.plan_add(&fetcher(), &spec, &[], LocalEdits::Refuse, &words);
            assert!(!plan.unwrap().changes()[0].needs_person());
        }
        drop(store);
        let sources = |fixture: &Fixture, root: &str| -> Vec<String> {
            let store = Store::open(&fixture.path(root)).unwrap();
            let skills = store.lock_file().skills().values();
            skills.map(|locked| locked.source().to_string()).collect()
        };
        let other = format!("{}//b", fixture.path("other").display());
        let recorded = sources(&fixture, &root);
        assert_eq!(recorded[..2], ["../../team//a".to_owned(), other]);
        assert!(recorded[2].starts_with("npm:../../pack//"), "{recorded:?}");

        std::fs::rename(fixture.path("project"), fixture.path("moved")).unwrap();
        let root = format!("moved/{directory}");
        let mut store = Store::open(&fixture.path(&root)).unwrap();
        let planned = plan(&mut store, &fetcher(), &[]);
        assert_eq!(describe(&planned), ["a Keep", "b Keep", "c Keep"]);
        assert!(
            planned
                .changes()
                .iter()
                .all(|change| !change.needs_person())
        );
        store.apply(planned).unwrap();
        drop(store);
        assert_eq!(sources(&fixture, &root), recorded);
    }
}
