//! Locked skills: active only with the content of the lock file.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use skills_discovery::{
    Catalog, ConfigRule, Discovery, DiscoveryErrorKind, NestedSkills, Root, Scope, Selector,
    SkillFiles, Trust,
};

use crate::tree::Tree;

/// Writes a lock file in `directory` with the current content of the skills in it.
fn lock(tree: &Tree, directory: &str, names: &[&str]) {
    let mut text = "version = 1\n".to_owned();
    for name in names {
        let files = SkillFiles::open_directory(&tree.path(directory).join(name)).unwrap();
        let content = files.digested_content(&mut Default::default()).unwrap();
        let (digest, executable) = (content.digest, content.executables());
        text.push_str(&format!(
            "\n[[skill]]\nname = \"{name}\"\nsource = \"./{name}\"\ncontent = \"{digest}\"\nfiles = 1\nbytes = 1\nexecutable = {executable:?}\nsigner = \"unsigned\"\n"
        ));
    }
    tree.file(&format!("{directory}/skills.lock"), text);
}

fn discovery(tree: &Tree, directory: &str) -> Discovery {
    Discovery::new([Root::new(tree.path(directory), Scope::Repo)])
}

/// Scans until the catalog is current, which it is not in the clock tick of a write.
fn settled(discovery: &Discovery) -> Catalog {
    let mut catalog = discovery.scan();
    while let Some(newer) = discovery.rescan(&catalog) {
        catalog = newer;
    }
    catalog
}

fn chmod(tree: &Tree, path: &str, mode: u32) {
    fs::set_permissions(tree.path(path), fs::Permissions::from_mode(mode)).unwrap();
}

/// Returns the names of active skills, and of inactive ones with the code of the reason.
fn states(catalog: &Catalog) -> Vec<String> {
    let active = catalog
        .entries()
        .iter()
        .map(|entry| entry.name().to_string());
    let inactive = catalog.inactive().iter();
    let inactive = inactive.map(|one| format!("{} {}", one.entry().name(), one.reason().code()));
    active.chain(inactive).collect()
}

#[test]
fn a_locked_skill_is_active_only_while_its_content_is_that_of_the_lock_file() {
    let tree = Tree::new();
    tree.skill("skills/a", "a")
        .skill("skills/b", "b")
        .file("skills/a/run.sh", "echo 1");
    lock(&tree, "skills", &["a"]);
    let discovery = discovery(&tree, "skills");
    let catalog = discovery.scan();
    assert_eq!(states(&catalog), ["a", "b"]);
    let [a, b] = catalog.entries() else { panic!() };
    assert!(a.locked_digest().is_some() && b.locked_digest().is_none());

    tree.file("skills/a/run.sh", "echo 2");
    tree.file("skills/b/run.sh", "echo 2");
    assert_eq!(states(&discovery.scan()), ["b", "a changed"]);
    tree.file("skills/a/run.sh", "echo 1");
    assert_eq!(states(&discovery.scan()), ["a", "b"]);
    tree.file("skills/a/new.sh", "");
    assert_eq!(states(&discovery.scan()), ["b", "a changed"]);
}

#[test]
fn a_locked_skill_is_checked_through_every_root_that_leads_to_it() {
    let tree = Tree::new();
    tree.skill("skills/a", "a");
    lock(&tree, "skills", &["a"]);
    tree.file("skills/a/run.sh", "")
        .file("links/x", "")
        .symlink("../skills/a", "links/a");
    for root in ["skills/a", "links", ""] {
        assert_eq!(
            states(&discovery(&tree, root).scan()),
            ["a changed"],
            "{root}"
        );
    }
}

#[test]
fn skills_beside_a_lock_file_that_cannot_be_read_are_inactive() {
    let tree = Tree::new();
    tree.skill("skills/a", "a");
    for (text, message) in [
        (
            "version = 2\nnew = true\n",
            "line 1: version 2 of the lock file is newer than version 1",
        ),
        ("skill = []\n", "the lock file has no valid version"),
        ("version = 1\n\n[[skill]\n", "line 3:"),
        (
            "version = 1\n[[skill]]\nname = \"a\"\nsource = \"./a\"\ncontent = \"md5:1\"\nfiles = 1\nbytes = 1\nsigner = \"unsigned\"\n",
            "line 5: `md5:1` is not",
        ),
        (
            "version = 1\n[[skill]]\nname = \"../a\"\nsource = \"./a\"\ncontent = \"sha256:0000000000000000000000000000000000000000000000000000000000000000\"\nfiles = 1\nbytes = 1\nsigner = \"unsigned\"\n",
            "line 3: `../a` cannot be the name",
        ),
    ] {
        tree.file("skills/skills.lock", text);
        let catalog = discovery(&tree, "skills").scan();
        assert_eq!(states(&catalog), ["a lock-unreadable"], "{text}");
        let reason = catalog.inactive()[0].reason().to_string();
        assert!(reason.contains(message), "{reason}");
    }
}

#[test]
fn a_lock_file_that_appears_makes_a_catalog_outdated() {
    let tree = Tree::new();
    tree.skill("skills/a", "a");
    let discovery = discovery(&tree, "skills");
    let catalog = discovery.scan();
    lock(&tree, "skills", &["a"]);
    tree.file("skills/a/run.sh", "");
    let newer = discovery.rescan(&catalog).unwrap();
    assert_eq!(states(&newer), ["a changed"]);
}

#[test]
fn the_reason_of_an_untrusted_skill_is_trust_and_no_rule_enables_a_changed_one() {
    let tree = Tree::new();
    tree.skill("skills/a", "a");
    lock(&tree, "skills", &["a"]);
    tree.file("skills/a/run.sh", "");
    let rule = ConfigRule::enable(Selector::Name("a".to_owned()), "test");
    let trusted = discovery(&tree, "skills").rules([rule]);
    assert_eq!(states(&trusted.scan()), ["a changed"]);
    let root = Root::new(tree.path("skills"), Scope::Repo).trust(Trust::Untrusted);
    assert_eq!(states(&trusted.with_roots([root]).scan()), ["a untrusted"]);
}

#[test]
fn skills_that_are_being_installed_are_not_found() {
    let tree = Tree::new();
    tree.skill("skills/.skills-install/new/a", "a");
    let root = Root::new(tree.path("skills"), Scope::Custom)
        .hidden(skills_discovery::HiddenDirectories::Search);
    assert!(states(&Discovery::new([root]).scan()).is_empty());
}

/// The lock file of the directory that contains the symlink decides, not that of its target.
#[test]
fn a_symlink_in_place_of_a_locked_skill_is_changed() {
    for target in ["evil", "evil/group", "p/skills/same"] {
        let tree = Tree::new();
        tree.skill("p/skills/a", "a").skill("p/skills/b", "b");
        lock(&tree, "p/skills", &["a", "b"]);
        let target = tree.path(target);
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        fs::rename(tree.path("p/skills/a"), &target).unwrap();
        if target.ends_with("group") {
            tree.skill("evil/group/sub", "a");
            fs::remove_file(target.join("SKILL.md")).unwrap();
        }
        tree.symlink(&target, "p/skills/a");
        for root in ["p/skills", "p"] {
            let states = states(&discovery(&tree, root).scan());
            assert!(states.contains(&"a changed".to_owned()), "{states:?}");
            assert!(!states.contains(&"a".to_owned()), "{target:?}: {states:?}");
        }
    }
}

#[test]
fn a_root_that_is_a_symlink_in_place_of_a_locked_skill_is_changed() {
    let tree = Tree::new();
    tree.skill("skills/a", "a");
    lock(&tree, "skills", &["a"]);
    fs::rename(tree.path("skills/a"), tree.path("evil")).unwrap();
    tree.symlink(tree.path("evil"), "skills/a");
    assert_eq!(states(&discovery(&tree, "skills/a").scan()), ["a changed"]);
    // A symlink to the directory of the lock file is not in place of a skill.
    fs::remove_file(tree.path("skills/a")).unwrap();
    fs::rename(tree.path("evil"), tree.path("skills/a")).unwrap();
    tree.symlink(tree.path("skills"), "link");
    assert_eq!(states(&discovery(&tree, "link").scan()), ["a"]);
}

#[test]
fn a_directory_in_place_of_a_locked_skill_contains_no_skill() {
    let tree = Tree::new();
    tree.skill("skills/a", "a").skill("skills/b", "b");
    lock(&tree, "skills", &["a"]);
    fs::remove_file(tree.path("skills/a/SKILL.md")).unwrap();
    tree.skill("skills/a/x/y", "new");
    assert_eq!(
        states(&discovery(&tree, "skills").scan()),
        ["b", "new changed"]
    );
}

#[test]
fn skills_inside_a_locked_skill_are_active_only_while_it_is_unchanged() {
    let tree = Tree::new();
    tree.skill("skills/a", "a").skill("skills/a/inner", "inner");
    lock(&tree, "skills", &["a"]);
    let root = Root::new(tree.path("skills"), Scope::Repo).nested(NestedSkills::Search);
    let discovery = Discovery::new([root]);
    let catalog = settled(&discovery);
    assert_eq!(states(&catalog), ["a", "inner"]);
    let inner = &catalog.entries()[1];
    assert!(inner.locked_digest().is_none() && inner.open().is_ok());
    tree.file("skills/a/run.sh", "");
    let error = inner.open().unwrap_err();
    assert_eq!(error.kind(), DiscoveryErrorKind::Changed);
    assert_eq!(
        states(&discovery.rescan(&catalog).unwrap()),
        ["a changed", "inner changed"]
    );
}

#[test]
fn the_name_of_a_locked_skill_is_that_of_no_other_directory_beside_it() {
    let tree = Tree::new();
    tree.skill("skills/a", "a").skill("skills/b", "b");
    lock(&tree, "skills", &["a"]);
    fs::remove_dir_all(tree.path("skills/a")).unwrap();
    tree.skill("skills/c", "a").skill("skills/group/d", "a");
    assert_eq!(
        states(&discovery(&tree, "skills").scan()),
        ["b", "a changed", "a changed"]
    );
}

#[test]
fn a_locked_skill_with_other_executable_files_is_changed() {
    let tree = Tree::new();
    tree.skill("skills/a", "a")
        .file("skills/a/run.sh", "")
        .file("skills/a/notes.md", "");
    chmod(&tree, "skills/a/run.sh", 0o755);
    lock(&tree, "skills", &["a"]);
    let discovery = discovery(&tree, "skills");
    let catalog = settled(&discovery);
    assert_eq!(states(&catalog), ["a"]);
    chmod(&tree, "skills/a/notes.md", 0o755);
    let error = catalog.entries()[0].open().unwrap_err();
    assert_eq!(error.kind(), DiscoveryErrorKind::Changed);
    let changed = discovery.rescan(&catalog).unwrap();
    assert_eq!(states(&changed), ["a changed"]);
    let reason = changed.inactive()[0].reason().to_string();
    assert!(reason.contains(r#"["notes.md"] differ"#), "{reason}");
    chmod(&tree, "skills/a/notes.md", 0o644);
    chmod(&tree, "skills/a/run.sh", 0o644);
    assert_eq!(states(&discovery.scan()), ["a changed"]);
    // Who may execute the file does not matter.
    chmod(&tree, "skills/a/run.sh", 0o700);
    assert_eq!(states(&discovery.scan()), ["a"]);
}

/// The scan stamps all files of locked skills, but only the `SKILL.md` of others.
#[test]
fn a_changed_file_of_a_locked_skill_makes_a_catalog_outdated() {
    let tree = Tree::new();
    for name in ["a", "b"] {
        tree.skill(&format!("skills/{name}"), name)
            .file(&format!("skills/{name}/references/w.md"), "old");
    }
    lock(&tree, "skills", &["a"]);
    let discovery = discovery(&tree, "skills");
    let mut catalog = settled(&discovery);
    tree.file("skills/b/references/w.md", "new");
    assert!(discovery.rescan(&catalog).is_none());
    for (path, text) in [
        ("skills/a/references/w.md", "new"),
        ("skills/a/references/x.md", ""),
    ] {
        tree.file(path, text);
        catalog = discovery.rescan(&catalog).unwrap();
        assert_eq!(states(&catalog), ["b", "a changed"], "{path}");
        // Also the change back is noticed.
        catalog = settled(&discovery);
        tree.file("skills/a/references/w.md", "old");
        if path.ends_with("x.md") {
            fs::remove_file(tree.path(path)).unwrap();
        }
        catalog = discovery.rescan(&catalog).unwrap();
        assert_eq!(states(&catalog), ["a", "b"], "{path}");
        catalog = settled(&discovery);
    }
}

#[test]
fn a_locked_skill_that_changed_since_the_scan_is_not_opened() {
    let tree = Tree::new();
    tree.skill("skills/a", "a")
        .file("skills/a/references/w.md", "old");
    lock(&tree, "skills", &["a"]);
    let catalog = discovery(&tree, "skills").scan();
    let a = &catalog.entries()[0];
    assert!(a.open().is_ok());
    tree.file("skills/a/references/w.md", "new");
    let error = a.open().unwrap_err();
    assert_eq!(error.kind(), DiscoveryErrorKind::Changed);
    assert!(
        error
            .to_string()
            .starts_with("changed: its content is not that of the lock file"),
        "{error}"
    );
    // Only the content counts, not the time of the write.
    tree.file("skills/a/references/w.md", "old");
    assert!(a.open().is_ok());
}

#[test]
fn a_skill_is_not_locked_any_more_without_the_lock_file() {
    let tree = Tree::new();
    tree.skill("skills/a", "a");
    lock(&tree, "skills", &["a"]);
    let discovery = discovery(&tree, "skills");
    let catalog = settled(&discovery);
    fs::remove_file(tree.path("skills/skills.lock")).unwrap();
    tree.file("skills/a/run.sh", "");
    let newer = discovery.rescan(&catalog).unwrap();
    assert_eq!(states(&newer), ["a"]);
    assert!(newer.entries()[0].locked_digest().is_none() && newer.entries()[0].open().is_ok());
}

#[test]
fn a_locked_skill_that_is_missing_is_reported() {
    let skipped = |catalog: &Catalog| -> Vec<String> {
        let skipped = catalog.skipped().iter();
        let skipped = skipped.filter(|one| one.reason().code() == "locked-missing");
        let name = |path: &std::path::Path| path.file_name().unwrap().display().to_string();
        skipped.map(|one| name(one.path())).collect()
    };
    for (case, remaining) in [
        ("removed", &["b"][..]),
        ("emptied", &["b"]),
        ("file", &["b"]),
        ("all", &[]),
    ] {
        let tree = Tree::new();
        tree.skill("skills/a", "a").skill("skills/b", "b");
        lock(&tree, "skills", &["a", "b"]);
        let discovery = discovery(&tree, "skills");
        let catalog = settled(&discovery);
        assert!(skipped(&catalog).is_empty());
        fs::remove_dir_all(tree.path("skills/a")).unwrap();
        match case {
            "emptied" => fs::create_dir(tree.path("skills/a")).unwrap(),
            "file" => drop(tree.file("skills/a", "")),
            "all" => fs::remove_dir_all(tree.path("skills/b")).unwrap(),
            _ => {}
        }
        let catalog = discovery.rescan(&catalog).unwrap();
        assert_eq!(states(&catalog), remaining, "{case}");
        let missing: &[&str] = if case == "all" { &["a", "b"] } else { &["a"] };
        assert_eq!(skipped(&catalog), missing, "{case}");
        let explanation = discovery.explain(&catalog, "a");
        assert_eq!(explanation.steps()[0].code(), "locked-missing", "{case}");
        if case == "file" {
            fs::remove_file(tree.path("skills/a")).unwrap();
        }
        let catalog = settled(&discovery);
        tree.skill("skills/a", "a");
        let restored = discovery.rescan(&catalog).unwrap();
        assert!(!skipped(&restored).contains(&"a".to_owned()), "{case}");
        assert!(states(&restored).contains(&"a".to_owned()), "{case}");
    }
    // An untrusted project does not lock other directories, and what a limit leaves out is not missing.
    let tree = Tree::new();
    tree.skill("skills/a", "a").skill("skills/b", "b");
    lock(&tree, "skills", &["a", "b"]);
    let root = Root::new(tree.path("skills/b"), Scope::Repo);
    fs::remove_dir_all(tree.path("skills/a")).unwrap();
    assert!(skipped(&Discovery::new([root]).scan()).is_empty());
    let root = Root::new(tree.path("skills"), Scope::Repo).trust(Trust::Untrusted);
    assert!(skipped(&Discovery::new([root]).scan()).is_empty());
}
