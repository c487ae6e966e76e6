//! Skills of untrusted roots that are trusted by their content.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use skills_discovery::{
    Catalog, ContentDigest, Discovery, DiscoveryErrorKind, Entry, Root, Scope, Trust, TrustedSkill,
    TrustedSkills,
};

use crate::tree::Tree;

fn discovery(tree: &Tree, trusted: &TrustedSkills) -> Discovery {
    let root = Root::new(tree.path("skills"), Scope::Repo).trust(Trust::Untrusted);
    Discovery::new([root]).with_trusted_skills(trusted.clone())
}

/// Returns the names of active skills, and of inactive ones with the code of the reason.
fn states(catalog: &Catalog) -> Vec<String> {
    let active = catalog.entries().iter();
    let active = active.map(|entry| entry.name().to_string());
    let inactive = catalog.inactive().iter();
    let inactive = inactive.map(|one| format!("{} {}", one.entry().name(), one.reason().code()));
    active.chain(inactive).collect()
}

fn read(catalog: &Catalog, name: &str) -> TrustedSkill {
    let is_named = |entry: &&Entry| entry.name().as_str() == name;
    TrustedSkill::read(catalog.all_entries().find(is_named).unwrap()).unwrap()
}

#[test]
fn only_the_trusted_content_is_active() {
    let tree = Tree::new();
    tree.skill("skills/a", "a")
        .skill("skills/b", "b")
        .file("skills/a/run.sh", "echo 1");
    let trusted = TrustedSkills::default();
    let discovery = discovery(&tree, &trusted);
    let catalog = discovery.scan();
    assert_eq!(states(&catalog), ["a untrusted", "b untrusted"]);

    // The skill is active with the next scan, also if no file changed.
    trusted.add([read(&catalog, "a")]);
    let catalog = discovery.rescan(&catalog).unwrap();
    assert_eq!(states(&catalog), ["a", "b untrusted"]);
    assert!(catalog.entries()[0].locked_digest().is_some());

    for (path, text) in [
        ("skills/a/run.sh", "echo 2"),
        ("skills/a/new.py", ""),
        (
            "skills/a/SKILL.md",
            "---\nname: a\ndescription: Other.\n---\n",
        ),
    ] {
        let before = fs::read(tree.path(path)).ok();
        tree.file(path, text);
        // A program could still open what the scan before found.
        let error = catalog.entries()[0].open().unwrap_err();
        assert_eq!(error.kind(), DiscoveryErrorKind::Changed, "{path}");
        let newer = discovery.rescan(&catalog).unwrap();
        assert_eq!(states(&newer), ["a untrusted", "b untrusted"], "{path}");
        assert!(newer.inactive()[0].is_of_untrusted_project());
        match before {
            Some(before) => fs::write(tree.path(path), before).unwrap(),
            None => fs::remove_file(tree.path(path)).unwrap(),
        }
        assert_eq!(states(&discovery.scan()), ["a", "b untrusted"], "{path}");
    }
}

#[test]
fn a_mode_that_makes_a_file_executable_is_not_trusted() {
    let tree = Tree::new();
    tree.skill("skills/a", "a").file("skills/a/run.sh", "");
    let trusted = TrustedSkills::default();
    let discovery = discovery(&tree, &trusted);
    trusted.add([read(&discovery.scan(), "a")]);
    assert_eq!(states(&discovery.scan()), ["a"]);
    let run = tree.path("skills/a/run.sh");
    fs::set_permissions(run, fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(states(&discovery.scan()), ["a untrusted"]);
}

#[test]
fn content_is_trusted_only_in_its_directory() {
    let tree = Tree::new();
    tree.skill("skills/a", "a").skill("skills/copy", "a");
    let trusted = TrustedSkills::default();
    let discovery = discovery(&tree, &trusted);
    let catalog = discovery.scan();
    let a = catalog.all_entries().next().unwrap();
    trusted.add([TrustedSkill::read(a).unwrap()]);
    assert_eq!(states(&discovery.scan()), ["a", "a untrusted"]);
    // The directory is replaced by a link to another one.
    tree.file("other/SKILL.md", "---\nname: evil\ndescription: d\n---\n");
    fs::remove_dir_all(tree.path("skills/a")).unwrap();
    tree.symlink("../other", "skills/a");
    let states = states(&discovery.scan());
    assert_eq!(states, ["a untrusted", "evil untrusted"]);
}

#[test]
fn a_lock_file_applies_as_well() {
    let tree = Tree::new();
    tree.skill("skills/a", "a");
    let trusted = TrustedSkills::default();
    let discovery = discovery(&tree, &trusted);
    trusted.add([read(&discovery.scan(), "a")]);
    tree.file("skills/skills.lock", "version = 2\n");
    assert_eq!(states(&discovery.scan()), ["a lock-unreadable"]);
}

#[test]
fn equal_skills_give_equal_settings() {
    let digest: ContentDigest = format!("sha256:{}", "0".repeat(64)).parse().unwrap();
    let skill = |files: [&str; 2]| TrustedSkill::new("/a", digest, files.map(str::to_owned).into());
    let tree = Tree::new();
    tree.skill("skills/a", "a");
    let one: TrustedSkills = [skill(["x", "y"])].into_iter().collect();
    let same: TrustedSkills = [skill(["y", "x"])].into_iter().collect();
    assert_eq!(discovery(&tree, &one), discovery(&tree, &same));
    assert_ne!(
        discovery(&tree, &one),
        discovery(&tree, &Default::default())
    );
}
