//! Locked skills: active only with the content of the lock file.

use skills_discovery::{Catalog, ConfigRule, Discovery, Root, Scope, Selector, SkillFiles, Trust};

use crate::tree::Tree;

/// Writes a lock file in `directory` with the current content of the skills in it.
fn lock(tree: &Tree, directory: &str, names: &[&str]) {
    let mut text = "version = 1\n".to_owned();
    for name in names {
        let files = SkillFiles::open_directory(&tree.path(directory).join(name)).unwrap();
        let digest = files.digest(&mut Default::default()).unwrap();
        text.push_str(&format!(
            "\n[[skill]]\nname = \"{name}\"\ncontent = \"{digest}\"\n"
        ));
    }
    tree.file(&format!("{directory}/skills.lock"), text);
}

fn discovery(tree: &Tree, directory: &str) -> Discovery {
    Discovery::new([Root::new(tree.path(directory), Scope::Repo)])
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
            "version = 1\n[[skill]]\nname = \"a\"\ncontent = \"md5:1\"\n",
            "line 4: `md5:1` is not",
        ),
        (
            "version = 1\n[[skill]]\nname = \"../a\"\ncontent = \"sha256:0000000000000000000000000000000000000000000000000000000000000000\"\n",
            "line 3: `../a` is not the name",
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
