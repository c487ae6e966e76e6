//! Adding, updating and removing skills of a directory.

use std::fs;

use insta::assert_snapshot;
use skills_install::{Action, FetchLimits, InstallErrorKind, LocalEdits, LockFile, Plan, Store};

use crate::fixture::{Fixture, TarEntry, fetcher, skill_text, words};

#[test]
fn all_skills_of_a_directory_are_added_or_those_that_are_named() {
    let fixture = Fixture::new();
    fixture
        .skill("source/a", "")
        .skill("source/deep/b", "")
        .skill("source/a/examples/nested", "")
        .skill("source/.claude/skills/a", "")
        .skill("source/node_modules/c", "");
    let added = fixture.add("./source").unwrap();
    assert_eq!(
        added,
        [("a".to_owned(), Action::Add), ("b".to_owned(), Action::Add)]
    );
    assert_eq!(fixture.states(), ["a unchanged", "b unchanged"]);
    assert!(fixture.path("skills/a/examples/nested/SKILL.md").exists());

    let (_, plan) = fixture
        .plan_with("./source", &["b"], LocalEdits::Refuse)
        .unwrap();
    assert_eq!(plan.changes()[0].action(), Action::Keep);
    assert!(plan.is_empty());
    let error = fixture
        .plan_with("./source", &["x"], LocalEdits::Refuse)
        .err()
        .unwrap();
    assert_eq!(
        error.help().unwrap(),
        "available: a, b; write one of them after `--skill`"
    );
}

#[test]
fn skills_of_hidden_directories_are_added_if_there_are_no_others() {
    let fixture = Fixture::new();
    fixture.skill("source/.claude/skills/a", "");
    fixture.add("./source").unwrap();
    assert_eq!(fixture.states(), ["a unchanged"]);
}

#[test]
fn two_skills_of_one_name_are_an_error() {
    let fixture = Fixture::new();
    fixture.skill("source/x/a", "").skill("source/y/a", "");
    let error = fixture.add("./source").unwrap_err();
    assert_eq!(
        error.to_string(),
        "several skills have the name `a`: x/a, y/a"
    );
    fixture.add("./source//x").unwrap();
    let fixture = Fixture::new();
    fixture.skill("source/a", "");
    fixture.file("source/b/SKILL.md", "---\nname: A\ndescription: d\n---\n");
    let error = fixture.add("./source").unwrap_err();
    assert_eq!(error.kind(), InstallErrorKind::Skill, "{error}");
}

#[test]
fn a_skill_that_is_not_valid_is_not_added() {
    for text in [
        "no frontmatter",
        "---\nname: a\n---\n",
        "---\nname: .hidden\ndescription: d\n---\n",
    ] {
        let fixture = Fixture::new();
        fixture.file("source/a/SKILL.md", text);
        let error = fixture.add("./source").unwrap_err();
        assert_eq!(error.kind(), InstallErrorKind::Skill, "{error}");
        assert!(fixture.states().is_empty());
    }
}

/// Such a skill would replace the lock file by a directory, and disable all skills beside it.
#[test]
fn a_skill_with_the_name_of_a_file_of_the_installer_is_not_added() {
    for name in ["skills.lock", "Skills.Lock", "SKILL.md", "Sources.json"] {
        let fixture = Fixture::new();
        fixture.skill("source/a", "");
        fixture.add("./source").unwrap();
        let before = fixture.read("skills/skills.lock");
        let text = format!("---\nname: {name}\ndescription: d\n---\n");
        fixture.file("evil/x/SKILL.md", text);
        let error = fixture.add("./evil").unwrap_err();
        assert_eq!(error.kind(), InstallErrorKind::Skill, "{error}");
        let expected = format!("`{name}` cannot be the name of a skill directory");
        assert_eq!(error.to_string(), expected);
        assert!(error.help().is_some());
        assert_eq!(fixture.read("skills/skills.lock"), before);
        assert_eq!(fixture.states(), ["a unchanged"]);
        let locked = before.replace("name = \"a\"", &format!("name = \"{name}\""));
        LockFile::parse(&locked, "skills.lock".as_ref()).unwrap_err();
    }
}

#[test]
fn a_symlink_out_of_its_skill_is_refused() {
    let fixture = Fixture::new();
    fixture.skill("source/a", "").file("source/shared.md", "");
    fixture.symlink("../shared.md", "source/a/shared.md");
    let error = fixture.add("./source").unwrap_err();
    assert_eq!(error.kind(), InstallErrorKind::Unsafe, "{error}");
    let fixture = Fixture::new();
    fixture.skill("source/a", "").file("source/a/b.md", "");
    fixture.symlink("b.md", "source/a/c.md");
    fixture.add("./source").unwrap();
    assert_eq!(fixture.states(), ["a unchanged"]);
}

#[test]
fn a_directory_that_is_not_locked_is_not_replaced() {
    let fixture = Fixture::new();
    fixture.skill("source/a", "").file("skills/a/mine.txt", "");
    let error = fixture.add("./source").unwrap_err();
    assert_eq!(error.kind(), InstallErrorKind::Conflict, "{error}");
    let fixture = Fixture::new();
    fixture.skill("source/a", "").file("skills/A/mine.txt", "");
    let error = fixture.add("./source").unwrap_err();
    assert!(error.to_string().contains("confuse it with `A`"), "{error}");
}

#[test]
fn the_difference_of_an_update_is_in_the_words_of_policies() {
    let fixture = Fixture::new();
    fixture
        .skill("source/a", "allowed-tools: Bash(git:*) mcp__x__y\n")
        .file("source/a/notes.md", "one")
        .file("source/a/gone.md", "");
    let (_, plan) = fixture.plan("./source").unwrap();
    assert_snapshot!(plan.changes()[0].difference().to_string(), @r"
    + spawn:git
    + tool:mcp__x__y
    + SKILL.md
    + gone.md
    + notes.md
    ~ body +3 -0
    ");
    fixture.add("./source").unwrap();

    let hooks = "hooks:\n  PreToolUse:\n    - matcher: Bash\n      hooks:\n        - type: command\n          command: scripts/check.sh\n";
    let tools = "allowed-tools: WebFetch(domain:api.example.com)\nrequires:\n  bins: [jq]\n  env: [TOKEN]\n";
    fixture
        .file(
            "source/a/SKILL.md",
            format!("---\nname: a\ndescription: Other.\n{tools}{hooks}---\n# a\n\nNew body.\n"),
        )
        .file("source/a/notes.md", "two")
        .executable("source/a/scripts/check.sh", "");
    std::fs::remove_file(fixture.path("source/a/gone.md")).unwrap();
    let (_, plan) = fixture.plan("./source").unwrap();
    let change = &plan.changes()[0];
    assert!(change.needs_person() && change.difference().grows());
    assert_snapshot!(change.difference().to_string(), @r"
    + env:TOKEN
    + hook:PreToolUse(Bash) scripts/check.sh
    + network:api.example.com
    + spawn:jq
    - spawn:git
    - tool:mcp__x__y
    + scripts/check.sh
    ~ SKILL.md
    ~ notes.md
    - gone.md
    ~ description
    ~ body +1 -1
    ");
}

#[test]
fn an_update_that_asks_for_no_more_needs_no_person() {
    let fixture = Fixture::new();
    fixture
        .skill("source/a", "allowed-tools: Bash Read\n")
        .file("source/a/run.py", "1");
    fixture.add("./source").unwrap();
    fixture
        .skill("source/a", "allowed-tools: Read\n")
        .file("source/a/run.py", "2");
    let (mut store, plan) = fixture.plan("./source").unwrap();
    let change = &plan.changes()[0];
    assert_eq!(change.action(), Action::Update);
    assert!(!change.needs_person());
    store.apply(plan).unwrap();
    assert_eq!(fixture.read("skills/a/run.py"), "2");
    assert_eq!(fixture.states(), ["a unchanged"]);
}

#[test]
fn local_edits_are_lost_or_kept_only_on_request() {
    let fixture = Fixture::new();
    fixture.skill("source/a", "").file("source/a/notes.md", "1");
    fixture.add("./source").unwrap();
    fixture
        .file("skills/a/notes.md", "mine")
        .file("source/a/notes.md", "2");
    let error = fixture.add("./source").unwrap_err();
    assert_eq!(error.kind(), InstallErrorKind::Conflict);
    assert_eq!(fixture.read("skills/a/notes.md"), "mine");

    let (mut store, plan) = fixture
        .plan_with("./source", &[], LocalEdits::Ours)
        .unwrap();
    assert_eq!(plan.changes()[0].action(), Action::KeepEdited);
    store.apply(plan).unwrap();
    assert_eq!(store.lock_file().skills().len(), 1);
    drop(store);
    assert_eq!(fixture.read("skills/a/notes.md"), "mine");
    assert_eq!(fixture.states(), ["a changed"]);

    let (mut store, plan) = fixture
        .plan_with("./source", &[], LocalEdits::Theirs)
        .unwrap();
    store.apply(plan).unwrap();
    drop(store);
    assert_eq!(fixture.read("skills/a/notes.md"), "2");
    assert_eq!(fixture.states(), ["a unchanged"]);
}

#[test]
fn another_source_for_an_installed_skill_needs_a_person() {
    let fixture = Fixture::new();
    fixture
        .skill("source/a", "")
        .skill("other/a", "license: MIT\n");
    fixture.add("./source").unwrap();
    let (_, plan) = fixture.plan("./other").unwrap();
    let change = &plan.changes()[0];
    assert!(change.needs_person() && !change.difference().grows());
    let changes = change.trust_changes();
    assert!(
        changes[0]
            .to_string()
            .starts_with("source changed from `dir:"),
        "{changes:?}"
    );
}

#[test]
fn a_plan_whose_files_change_is_not_applied() {
    let fixture = Fixture::new();
    fixture.skill("source/a", "");
    let (mut store, plan) = fixture.plan("./source").unwrap();
    std::fs::write(plan.changes()[0].staged_directory().join("evil.sh"), "").unwrap();
    let error = store.apply(plan).unwrap_err();
    assert_eq!(error.kind(), InstallErrorKind::Conflict);
    assert!(!fixture.path("skills/a").exists());
}

#[test]
fn a_locked_skill_is_updated_from_its_source_and_removed() {
    let fixture = Fixture::new();
    fixture.skill("source/a", "").skill("source/b", "");
    fixture.add("./source").unwrap();
    fixture
        .skill("source/a", "license: MIT\n")
        .skill("source/b", "license: MIT\n");
    let mut store = fixture.store();
    let plan = store
        .plan_update_all(&fetcher(), &["a".to_owned()], LocalEdits::Refuse, &words)
        .unwrap();
    assert_eq!(plan.changes().len(), 1);
    store.apply(plan).unwrap();
    assert_eq!(store.lock_file().skills()["a"].license(), Some("MIT"));
    assert_eq!(store.lock_file().skills()["b"].license(), None);

    std::fs::write(fixture.path("skills/b/mine.txt"), "").unwrap();
    let error = store
        .remove(&["b".to_owned()], LocalEdits::Refuse)
        .unwrap_err();
    assert_eq!(error.kind(), InstallErrorKind::Conflict);
    store.remove(&["b".to_owned()], LocalEdits::Theirs).unwrap();
    store.remove(&["a".to_owned()], LocalEdits::Refuse).unwrap();
    assert!(store.remove(&["a".to_owned()], LocalEdits::Refuse).is_err());
    drop(store);
    assert!(fixture.states().is_empty());
    assert!(!fixture.path("skills/.skills-install/scratch").exists());
}

#[test]
fn one_process_at_a_time_changes_a_directory() {
    let fixture = Fixture::new();
    let _first = fixture.store();
    let error = Store::open(&fixture.path("skills")).err().unwrap();
    assert_eq!(error.kind(), InstallErrorKind::Busy);
}

#[test]
fn what_was_fetched_is_removed_with_the_store() {
    let fixture = Fixture::new();
    fixture
        .skill("source/a", "")
        .file("source/a/deep/er/x", "")
        .file("outside/kept", "x");
    fixture.symlink("deep", "source/a/link");
    let (store, plan) = fixture.plan("./source").unwrap();
    let staged = plan.changes()[0].staged_directory().to_owned();
    assert!(staged.join("link/er/x").exists());
    // As another process of the user might: it is removed, not followed.
    std::os::unix::fs::symlink(fixture.path("outside"), staged.join("out")).unwrap();
    drop((plan, store));
    assert!(!fixture.path("skills/.skills-install/scratch").exists());
    assert_eq!(fixture.read("outside/kept"), "x");
}

#[test]
fn a_skill_that_is_its_whole_source_has_the_wanted_name() {
    let fixture = Fixture::new();
    fixture.skill("pdf", "");
    let error = fixture.plan_with("./pdf", &["docx"], LocalEdits::Refuse);
    let error = error.err().unwrap();
    assert_eq!(
        error.help().unwrap(),
        "available: pdf; write one of them after `--skill`"
    );
    let plan = fixture.plan_with("./pdf", &["pdf"], LocalEdits::Refuse);
    assert_eq!(plan.unwrap().1.changes()[0].action(), Action::Add);
}

#[test]
fn edits_that_are_made_after_the_plan_are_not_lost() {
    // Without an installed skill, with one of another version, and without its files.
    for case in ["add", "update", "restore"] {
        let fixture = Fixture::new();
        fixture.skill("source/a", "");
        if case != "add" {
            fixture.add("./source").unwrap();
        }
        if case == "update" {
            fixture.file("source/a/notes.md", "new");
        } else if case == "restore" {
            std::fs::remove_dir_all(fixture.path("skills/a")).unwrap();
        }
        let (mut store, plan) = fixture.plan("./source").unwrap();
        fixture.file("skills/a/notes.md", "mine");
        let error = store.apply(plan).unwrap_err();
        assert_eq!(error.kind(), InstallErrorKind::Conflict, "{case}: {error}");
        assert_eq!(fixture.read("skills/a/notes.md"), "mine", "{case}");
    }
}

#[test]
fn another_mode_in_the_source_is_an_update() {
    use std::os::unix::fs::PermissionsExt;
    let fixture = Fixture::new();
    fixture.skill("source/a", "").file("source/a/run", "x");
    fixture.add("./source").unwrap();
    fixture.executable("source/a/run", "x");
    let (mut store, plan) = fixture.plan("./source").unwrap();
    let change = &plan.changes()[0];
    assert_eq!(change.action(), Action::Update);
    assert!(change.needs_person());
    assert_eq!(change.difference().added_code, ["run"]);
    store.apply(plan).unwrap();
    drop(store);
    assert_eq!(fixture.states(), ["a unchanged"]);

    // A mode that was changed here is an edit.
    let path = fixture.path("skills/a/run");
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(fixture.states(), ["a modes-changed"]);
    let error = fixture.add("./source").unwrap_err();
    assert_eq!(error.kind(), InstallErrorKind::Conflict, "{error}");
    let (_, plan) = fixture
        .plan_with("./source", &[], LocalEdits::Theirs)
        .unwrap();
    assert_eq!(plan.changes()[0].action(), Action::Restore);
}

/// Updates a skill that has `notes.md`, `data.json`, `run.py` and the symlink `link.md` to
/// `notes.md`, and returns the new code, and whether a person has to agree.
fn new_code(change: impl FnOnce(&Fixture)) -> (Vec<String>, bool) {
    let fixture = Fixture::new();
    fixture
        .skill("source/a", "")
        .file("source/a/notes.md", "text\n")
        .file("source/a/data.json", "{}\n")
        .file("source/a/run.py", "print()\n")
        .symlink("notes.md", "source/a/link.md");
    fixture.add("./source").unwrap();
    change(&fixture);
    let (_, plan) = fixture.plan("./source").unwrap();
    let change = &plan.changes()[0];
    assert_eq!(change.action(), Action::Update);
    let code = change.difference().added_code.clone();
    (code, change.needs_person())
}

#[test]
fn a_new_file_of_any_kind_that_may_be_code_is_growth() {
    for path in [
        "addon.node",
        "lib/a.pyc",
        "run.pyw",
        "Makefile",
        "tools/run",
        "conftest.py",
        "package.json",
        "setup.cfg",
        ".envrc",
        "Justfile",
        "build.gradle",
        "a.jar",
        "a.rake",
        "a.html",
        "a.svg",
        "a.pth",
        "CMakeLists.txt",
        ".vscode/tasks.md",
        "scripts/notes.md",
        "scripts/run",
        "sub/SKILL.md",
        "AGENTS.md",
        "CLAUDE.md",
    ] {
        let (code, needs_person) = new_code(|fixture| {
            fixture.file(&format!("source/a/{path}"), "text\n");
        });
        assert_eq!((code, needs_person), (vec![path.to_owned()], true));
    }
    for (path, content) in [
        ("notes.txt", &b"#!/bin/sh\nid\n"[..]),
        ("picture.png", b"\x7fELF\x02\x01"),
        ("more.md", b"<!DOCTYPE html><script>"),
        ("table.csv", b"\xcb\r\r\n\0\0\0\0"),
    ] {
        let (code, needs_person) = new_code(|fixture| {
            fixture.file(&format!("source/a/{path}"), content);
        });
        assert_eq!((code, needs_person), (vec![path.to_owned()], true));
    }
    let (code, needs_person) = new_code(|fixture| {
        fixture.executable("source/a/more.md", "text");
    });
    assert_eq!((code, needs_person), (vec!["more.md".to_owned()], true));
}

#[test]
fn a_changed_file_that_becomes_code_is_growth() {
    for (path, content) in [
        ("notes.md", "#!/bin/sh\nid\n"),
        ("notes.md", "<svg onload='x'>"),
        ("notes.md", "\u{0}"),
        ("data.json", "#!/usr/bin/env node\n"),
    ] {
        let (code, needs_person) = new_code(|fixture| {
            fixture.file(&format!("source/a/{path}"), content);
        });
        assert_eq!((code, needs_person), (vec![path.to_owned()], true));
    }
    let (code, needs_person) = new_code(|fixture| {
        std::fs::remove_file(fixture.path("source/a/link.md")).unwrap();
        fixture.symlink("run.py", "source/a/link.md");
    });
    assert_eq!((code, needs_person), (vec!["link.md".to_owned()], true));
    let (code, needs_person) = new_code(|fixture| {
        std::fs::rename(
            fixture.path("source/a/data.json"),
            fixture.path("source/a/package.json"),
        )
        .unwrap();
    });
    assert_eq!(
        (code, needs_person),
        (vec!["package.json".to_owned()], true)
    );
}

#[test]
fn texts_images_and_changed_files_are_not_growth() {
    for (path, content) in [
        ("references/more.md", &b"# More\n"[..]),
        ("table.csv", b"a,b\n"),
        ("LICENSE", b"MIT\n"),
        ("picture.png", b"\x89PNG\r\n\x1a\n\0\0"),
        ("font.woff2", b"wOF2\0"),
        ("notes.md", b"other text\n"),
        ("data.json", b"{\"a\": 1}\n"),
        ("run.py", b"print(1)\n"),
    ] {
        let (code, needs_person) = new_code(|fixture| {
            fixture.file(&format!("source/a/{path}"), content);
        });
        assert_eq!((code, needs_person), (vec![], false), "{path}");
    }
}

#[test]
fn a_skill_that_is_kept_as_edited_takes_no_person() {
    let fixture = Fixture::new();
    fixture.skill("source/a", "").skill("other/a", "");
    fixture.add("./source").unwrap();
    fixture.file("skills/a/notes.md", "mine");
    let (_, plan) = fixture.plan_with("./other", &[], LocalEdits::Ours).unwrap();
    let change = &plan.changes()[0];
    assert_eq!(change.action(), Action::KeepEdited);
    assert!(!change.needs_person() && change.trust_changes().is_empty());
}

/// Returns the difference of an update of a skill whose frontmatter changes, which needs a person.
fn growth(before: &str, after: &str) -> String {
    let fixture = Fixture::new();
    fixture.skill("source/a", before);
    fixture.add("./source").unwrap();
    fixture.skill("source/a", after);
    let (_, plan) = fixture.plan("./source").unwrap();
    let change = &plan.changes()[0];
    assert!(change.needs_person(), "{before} -> {after}");
    let text = change.difference().to_string();
    text.lines().next().unwrap().to_owned()
}

#[test]
fn fewer_restrictions_are_growth() {
    assert_snapshot!(
        growth("allowed-tools: Read\n", ""),
        @"+ without the restriction allowed-tools"
    );
    assert_snapshot!(
        growth("disable-model-invocation: true\n", ""),
        @"+ without the restriction disable-model-invocation"
    );
    assert_snapshot!(
        growth("disallowed-tools: Bash Write\n", "disallowed-tools: Write\n"),
        @"+ without the restriction disallowed-tools: Bash"
    );
    assert_snapshot!(growth("context: fork\n", ""), @"+ without the restriction context: fork");
}

#[test]
fn any_change_of_a_hook_is_growth() {
    let hook = |command: &str, more: &str| {
        let hook = format!("type: command\n          command: {command:?}\n{more}");
        format!("hooks:\n  Stop:\n    - hooks:\n        - {hook}")
    };
    let long = "x ".repeat(1_000);
    let other = format!("{long}curl evil");
    let text = growth(&hook(&long, ""), &hook(&other, ""));
    assert!(text.contains("… (whole text: sha256:"), "{text}");
    let text = growth(&hook(&"x ".repeat(300), ""), &hook(&"x ".repeat(301), ""));
    assert_eq!(text.len(), "+ hook:Stop ".len() + 602);
    assert_snapshot!(growth(&hook("a b", ""), &hook("a\nb", "")), @r#"+ "hook:Stop a\nb""#);
    assert_snapshot!(growth(&hook("a b", ""), &hook("a  b", "")), @"+ hook:Stop a  b");
    assert_snapshot!(
        growth(&hook("a", ""), &hook("a", "          cwd: /tmp\n")),
        @"+ hook:Stop[/tmp] a"
    );
}

#[test]
fn generated_files_of_a_source_are_not_installed() {
    let fixture = Fixture::new();
    fixture
        .skill("source/a", "")
        .file("source/a/run.py", "1")
        .file("source/a/scripts/.clawhub/kept", "");
    fixture.add("./source").unwrap();
    let before = fixture.read("skills/skills.lock");
    fixture
        .file("source/a/__pycache__/run.pyc", "evil")
        .file("source/a/.clawhub/evil", "")
        .file("source/a/.DS_Store", "")
        .file("source/a/web/node_modules/.cache/x.js", "")
        .symlink("../run.py", "source/a/__pycache__/link");
    let text = fixture.read("source/a/SKILL.md");
    let archive = [
        TarEntry::file("a/SKILL.md", &text),
        TarEntry::file("a/run.py", "1"),
        TarEntry::file("a/scripts/.clawhub/kept", ""),
        TarEntry::file("a/__pycache__/run.pyc", "evil"),
        TarEntry::of_kind("a/__pycache__/link", tar::EntryType::Symlink, "../run.py"),
    ];
    fixture.tar_gz("a.tgz", &archive);
    let content = |plan: &Plan| plan.changes()[0].locked().content().to_string();
    let (_, plan) = fixture.plan("./a.tgz").unwrap();
    assert!(before.contains(&content(&plan)));
    fs::remove_dir_all(fixture.path("skills")).unwrap();
    for source in ["./source", "./a.tgz"] {
        fixture.add(source).unwrap();
        assert_eq!(fixture.states(), ["a unchanged"]);
        for generated in ["__pycache__", ".clawhub", ".DS_Store", "web"] {
            assert!(!fixture.path("skills/a").join(generated).exists());
        }
        assert!(fixture.path("skills/a/scripts/.clawhub/kept").exists());
        fs::remove_dir_all(fixture.path("skills")).unwrap();
    }
    fixture.add("./source").unwrap();
    assert_eq!(fixture.read("skills/skills.lock"), before);
}

#[test]
fn generated_files_change_neither_an_update_nor_the_lock_file() {
    let fixture = Fixture::new();
    fixture.skill("source/a", "").file("source/a/run.py", "1");
    fixture.add("./source").unwrap();
    let before = fixture.read("skills/skills.lock");
    fixture.executable("skills/a/__pycache__/run.pyc", "generated");
    assert_eq!(fixture.states(), ["a unchanged"]);
    fixture.add("./source").unwrap();
    assert_eq!(fixture.read("skills/skills.lock"), before);
    fixture.file("source/a/run.py", "2");
    let (_, plan) = fixture.plan("./source").unwrap();
    assert_eq!(plan.changes()[0].difference().to_string(), "~ run.py\n");
    assert!(!plan.changes()[0].needs_person());
}

#[test]
fn a_read_only_store_writes_nothing() {
    let fixture = Fixture::new();
    fixture.skill("source/a", "").file("temporary/x", "");
    let (root, temporary) = (fixture.path("skills"), fixture.path("temporary"));
    let mut store = Store::open_read_only(&root, &temporary).unwrap();
    let spec = fixture.spec("./source");
    let mut plan = || store.plan_add(&fetcher(), &spec, &[], LocalEdits::Refuse, &words);
    let planned = plan().unwrap();
    assert_eq!(planned.changes()[0].action(), Action::Add);
    store.apply(planned).unwrap_err();
    assert!(!root.exists());
    drop(store);
    assert_eq!(fs::read_dir(&temporary).unwrap().count(), 1);

    fixture.add("./source").unwrap();
    fs::remove_dir_all(root.join(".skills-install")).unwrap();
    fixture.skill("source/a", "license: MIT\n");
    let mut store = Store::open_read_only(&root, &temporary).unwrap();
    let plan = store.plan_update_all(&fetcher(), &[], LocalEdits::Refuse, &words);
    assert_eq!(plan.unwrap().changes()[0].action(), Action::Update);
    drop(store);
    assert!(!root.join(".skills-install").exists());
}

/// What a person agrees to is compared with the files that are lost.
#[test]
fn files_of_a_replaced_skill_without_a_lock_are_shown_as_removed() {
    let fixture = Fixture::new();
    fixture.skill("source/beta", "license: MIT\n");
    fixture.skill("skills/beta", "");
    fixture.file("skills/beta/notes/own.txt", "precious");
    let (_, plan) = fixture
        .plan_with("./source/beta", &[], LocalEdits::Theirs)
        .unwrap();
    let difference = plan.changes()[0].difference();
    assert_eq!(difference.removed_files, ["notes/own.txt"]);
    assert!(difference.added_files.is_empty(), "{difference:?}");
}

/// Such as by `git pull`, while a person is asked.
#[test]
fn a_lock_file_that_changes_after_it_was_read_is_kept() {
    let fixture = Fixture::new();
    fixture.skill("source/a", "");
    fixture.add("./source").unwrap();
    fixture.skill("source/a", "license: MIT\n");
    let (mut store, plan) = fixture.plan("./source").unwrap();
    let text = fixture
        .read("skills/skills.lock")
        .replace("unsigned", "minisign:0123456789ABCDEF");
    fixture.file("skills/skills.lock", &text);
    let error = store.apply(plan).unwrap_err();
    assert_eq!(error.kind(), InstallErrorKind::Conflict, "{error}");
    assert_eq!(fixture.read("skills/skills.lock"), text);
    let remove = store.remove(&["a".to_owned()], LocalEdits::Theirs);
    assert!(remove.is_err());
    assert!(fixture.path("skills/a/SKILL.md").exists());
}

/// Returns the directory and error of each skill that a plan leaves out.
fn left_out(plan: &Plan) -> Vec<String> {
    let failures = plan.failures().iter();
    failures
        .map(|failure| format!("{}: {}", failure.names().join(", "), failure.error()))
        .collect()
}

/// One skill that cannot be used is left out with the reason; the others are installed.
#[test]
fn a_bad_skill_of_a_source_does_not_stop_the_others() {
    let fixture = Fixture::new();
    fixture
        .skill("source/good1", "")
        .skill("source/good2", "")
        .file("source/notes/SKILL.md", "# no frontmatter")
        .file("source/unnamed/SKILL.md", skill_text(".hidden", ""))
        .skill("source/colon", "")
        .file("source/colon/a:b.txt", "x")
        .skill("source/out", "");
    fixture.symlink("/etc/passwd", "source/out/x");
    let (mut store, plan) = fixture.plan("./source").unwrap();
    insta::assert_snapshot!(left_out(&plan).join("\n"), @"
    colon: cannot use `colon/a:b.txt` of the source: path contains ':'
    notes: the skill in `notes` is not valid: missing frontmatter: the first line must be `---`
    out: cannot use `out/x` of the source: it is a symlink out of the skill, to `/etc/passwd`
    unnamed: `.hidden` cannot be the name of a skill directory
    ");
    store.apply(plan).unwrap();
    drop(store);
    assert_eq!(fixture.states(), ["good1 unchanged", "good2 unchanged"]);
    assert!(!fixture.path("skills/colon").exists());

    // One that the user names, or the only one, is an error.
    for (source, names) in [
        ("./source", &["colon"][..]),
        ("./source", &["good1", "out"]),
        ("./source//notes", &[]),
        ("./source//colon", &[]),
    ] {
        let planned = fixture.plan_with(source, names, LocalEdits::Refuse);
        assert!(planned.is_err(), "{source} {names:?}");
    }
}

/// A source of bad skills is read a limited number of times, and needs no more space.
#[test]
fn many_bad_skills_of_a_source_are_an_error() {
    let fixture = Fixture::new();
    fixture.skill("source/good", "");
    for number in 0..16 {
        let directory = format!("source/bad{number:02}");
        fixture.skill(&directory, "");
        fixture.file(&format!("{directory}/a:b"), "x");
    }
    let (_store, plan) = fixture.plan("./source").unwrap();
    assert_eq!((plan.changes().len(), plan.failures().len()), (1, 16));
    drop((_store, plan));
    fixture.skill("source/worse", "");
    fixture.file("source/worse/a:b", "x");
    let error = fixture.plan("./source").err().unwrap();
    assert_eq!(error.kind(), InstallErrorKind::Unsafe, "{error}");
}

/// What is not about one skill is an error of the source.
#[test]
fn a_limit_of_a_source_is_an_error_of_all_skills() {
    let fixture = Fixture::new();
    fixture.skill("source/good", "");
    fixture.skill("source/large", "");
    fixture.file("source/large/data", vec![b'x'; 10_000]);
    let mut limits = FetchLimits::default();
    limits.max_bytes = 5_000;
    let error = fixture
        .add_with(&fetcher().limits(limits), "./source")
        .unwrap_err();
    assert_eq!(error.kind(), InstallErrorKind::Limit, "{error}");
    assert!(fixture.states().is_empty());
    // Two of one name: neither is meant more than the other.
    fixture.file("source/other/SKILL.md", skill_text("good", ""));
    let error = fixture.add("./source").unwrap_err();
    assert_eq!(
        error.help().unwrap(),
        "write the directory of one of them after the source, as in `SOURCE//DIR`"
    );
}

/// An application that takes all skills of a source gets all of them, or an error.
#[test]
fn skills_in_memory_are_complete() {
    let fixture = Fixture::new();
    fixture.skill("source/good", "");
    fixture.file("source/notes/SKILL.md", "# no frontmatter");
    let spec = fixture.spec("./source");
    let error = fetcher()
        .fetch_into_memory(&spec, &fixture.path(""))
        .err()
        .unwrap();
    assert_eq!(error.kind(), InstallErrorKind::Skill, "{error}");
}

/// What a refused installation created is gone, and what was there stays.
#[cfg(unix)]
#[test]
fn a_store_that_installs_nothing_leaves_nothing() {
    let fixture = Fixture::new();
    fixture.skill("source/a", "").skill("own/mine", "");
    fs::create_dir(fixture.path("empty")).unwrap();
    for directory in ["x/y/skills", "empty", "own"] {
        let store = Store::open(&fixture.path(directory)).unwrap();
        assert!(
            fixture
                .path(directory)
                .join(".skills-install/lock")
                .exists()
        );
        drop(store);
        assert!(!fixture.path(directory).join(".skills-install").exists());
    }
    assert!(!fixture.path("x").exists());
    assert!(fixture.path("empty").exists() && fixture.path("own/mine/SKILL.md").exists());
    // One that is not new may be in use by an older version.
    fs::create_dir(fixture.path("empty/.skills-install")).unwrap();
    drop(Store::open(&fixture.path("empty")).unwrap());
    assert!(fixture.path("empty/.skills-install/lock").exists());
    // After an installation it stays.
    fixture.add("./source").unwrap();
    assert!(fixture.path("skills/.skills-install/lock").exists());
}

/// A process that waited for the removed file has no lock that another one could have as well.
#[cfg(unix)]
#[test]
fn a_removed_lock_excludes_nobody() {
    let fixture = Fixture::new();
    let root = fixture.path("skills");
    for _ in 0..3 {
        let first = Store::open(&root).unwrap();
        let waiting = std::thread::spawn({
            let root = root.clone();
            move || Store::open(&root)
        });
        drop(first);
        let second = waiting.join().unwrap().unwrap();
        let third = Store::open(&root).err().map(|error| error.kind());
        assert_eq!(third, Some(InstallErrorKind::Busy));
        drop(second);
        assert!(!root.exists());
    }
}
