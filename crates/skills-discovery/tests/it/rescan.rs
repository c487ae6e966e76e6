//! Incremental rescans.

use skills_discovery::{Catalog, Discovery, Entry, Root, ScanLimits, Scope};

use crate::tree::Tree;

fn discovery(tree: &Tree) -> Discovery {
    Discovery::new([Root::new(tree.path("skills"), Scope::Repo)])
}

/// Returns the names of the directories that changed since `previous`; `None` if nothing did.
fn changes(tree: &Tree, previous: &Catalog) -> Option<String> {
    let catalog = discovery(tree).rescan(previous)?;
    let [added, removed, changed] = differences(previous, &catalog);
    // Files that were just written count as changed once more.
    let is_same = added.is_empty() && removed.is_empty() && changed.is_empty();
    if is_same && tree.print(previous) == tree.print(&catalog) {
        return None;
    }
    assert_eq!(
        tree.print(&catalog),
        tree.print(&discovery(tree).scan()),
        "a rescan and a scan have the same result"
    );
    Some(format!("+[{added}] -[{removed}] *[{changed}]"))
}

/// Returns the names of the directories of the active skills that were added, removed and changed.
fn differences(before: &Catalog, after: &Catalog) -> [String; 3] {
    let find = |catalog: &Catalog, entry: &Entry| {
        let mut entries = catalog.entries().iter();
        entries
            .find(|other| other.directory() == entry.directory())
            .cloned()
    };
    let is_changed = |entry: &&Entry| {
        find(before, entry).is_some_and(|old| {
            (old.name(), old.stamp(), old.is_model_invocable())
                != (entry.name(), entry.stamp(), entry.is_model_invocable())
        })
    };
    let names = |entries: Vec<&Entry>| {
        let names = entries.into_iter().map(|entry| {
            let name = entry.directory().file_name().unwrap();
            name.to_str().unwrap().to_owned()
        });
        names.collect::<Vec<_>>().join(" ")
    };
    let added = after.entries().iter();
    let added = added.filter(|entry| find(before, entry).is_none());
    let removed = before.entries().iter();
    let removed = removed.filter(|entry| find(after, entry).is_none());
    let changed = after.entries().iter().filter(is_changed);
    [
        names(added.collect()),
        names(removed.collect()),
        names(changed.collect()),
    ]
}

fn previous(tree: &Tree) -> Catalog {
    tree.skill("skills/a", "a")
        .skill("skills/group/b", "b")
        .file("skills/c/SKILL.md", "broken");
    settled(&discovery(tree))
}

/// Scans until the stamps of all files are settled.
fn settled(discovery: &Discovery) -> Catalog {
    let mut catalog = discovery.scan();
    while let Some(next) = discovery.rescan(&catalog) {
        catalog = next;
    }
    catalog
}

#[test]
fn an_unchanged_tree_has_no_new_catalog() {
    let tree = Tree::new();
    let previous = previous(&tree);
    assert_eq!(changes(&tree, &previous), None);
    // A catalog does not depend on resources.
    tree.file("skills/a/references/more.md", "x");
    assert_eq!(changes(&tree, &previous), None);
}

#[test]
fn added_removed_and_changed_skills_are_found() {
    let tree = Tree::new();
    let start = previous(&tree);
    tree.skill("skills/group/d", "d");
    assert_eq!(changes(&tree, &start).as_deref(), Some("+[d] -[] *[]"));
    tree.file(
        "skills/a/SKILL.md",
        "---\nname: a\ndescription: another text\n---\n",
    );
    assert_eq!(changes(&tree, &start).as_deref(), Some("+[d] -[] *[a]"));
    std::fs::remove_dir_all(tree.path("skills/group/b")).unwrap();
    assert_eq!(changes(&tree, &start).as_deref(), Some("+[d] -[b] *[a]"));
    tree.skill("skills/c", "c");
    assert_eq!(changes(&tree, &start).as_deref(), Some("+[c d] -[b] *[a]"));
    std::fs::remove_dir_all(tree.path("skills")).unwrap();
    assert_eq!(changes(&tree, &start).as_deref(), Some("+[] -[a b] *[]"));
}

#[test]
fn a_root_that_is_created_is_a_change() {
    let tree = Tree::new();
    let start = discovery(&tree).scan();
    assert_eq!(changes(&tree, &start), None);
    tree.skill("skills/a", "a");
    assert_eq!(changes(&tree, &start).as_deref(), Some("+[a] -[] *[]"));
}

/// A file of the same size has another inode or another time of change.
#[test]
fn another_text_of_the_same_length_is_a_change() {
    let tree = Tree::new();
    let start = previous(&tree);
    let text = std::fs::read_to_string(tree.path("skills/a/SKILL.md")).unwrap();
    tree.file("skills/a/new", text.replace("About a.", "about A."));
    std::fs::rename(tree.path("skills/a/new"), tree.path("skills/a/SKILL.md")).unwrap();
    assert_eq!(changes(&tree, &start).as_deref(), Some("+[] -[] *[a]"));
}

#[test]
fn changes_of_openai_metadata_are_found() {
    let tree = Tree::new();
    let start = previous(&tree);
    assert!(
        start
            .entries()
            .iter()
            .all(skills_discovery::Entry::is_model_invocable)
    );
    tree.file(
        "skills/a/agents/openai.yaml",
        "policy:\n  allow_implicit_invocation: false\n",
    );
    assert_eq!(changes(&tree, &start).as_deref(), Some("+[] -[] *[a]"));
    let now = discovery(&tree).rescan(&start).unwrap();
    assert_eq!(
        now.entries()
            .iter()
            .filter(|entry| entry.is_model_invocable())
            .count(),
        1
    );
}

#[test]
fn a_plugin_manifest_is_a_change_if_names_depend_on_it() {
    let tree = Tree::new();
    tree.skill("plugin/skills/a", "a");
    let root = Root::new(tree.path("plugin/skills"), Scope::User)
        .namespace(skills_discovery::Namespace::FromManifests);
    let discovery = Discovery::new([root]);
    let start = settled(&discovery);
    assert!(discovery.rescan(&start).is_none());
    tree.file("plugin/.codex-plugin/plugin.json", r#"{"name": "ns"}"#);
    assert_eq!(
        discovery.rescan(&start).unwrap().entries()[0]
            .name()
            .as_str(),
        "ns:a"
    );
}

#[test]
fn the_number_of_threads_does_not_change_the_catalog() {
    let tree = Tree::new();
    for index in 0..700 {
        tree.skill(
            &format!("skills/group-{}/skill-{index}", index % 7),
            &format!("skill-{index}"),
        );
    }
    tree.file("skills/group-1/bad/SKILL.md", "bad");
    let one = tree.print(&discovery(&tree).threads(1).scan());
    for threads in [2, 5] {
        assert_eq!(tree.print(&discovery(&tree).threads(threads).scan()), one);
    }
    let mut limits = ScanLimits::default();
    limits.max_directories = 300;
    let one = tree.print(&discovery(&tree).limits(limits.clone()).threads(1).scan());
    assert_eq!(
        tree.print(&discovery(&tree).limits(limits).threads(4).scan()),
        one,
        "limits have the same effect"
    );
}

#[test]
fn a_flat_root_may_have_many_skills() {
    const SKILLS: usize = 60_000;
    let tree = Tree::new();
    for index in 0..SKILLS {
        tree.skill(
            &format!("skills/skill-{index:05}"),
            &format!("skill-{index:05}"),
        );
    }
    let mut limits = ScanLimits::default();
    (limits.max_directories, limits.max_entries) = (SKILLS + 1, SKILLS + 1);
    let catalog = discovery(&tree).limits(limits).scan();
    assert_eq!(
        (catalog.entries().len(), catalog.skipped().len()),
        (SKILLS, 0)
    );
    assert!(
        catalog
            .entries()
            .windows(2)
            .all(|pair| pair[0].name() < pair[1].name())
    );
    // The default limits are reported.
    let cut = discovery(&tree).scan();
    assert_eq!(cut.entries().len(), 1_999);
    assert_eq!(cut.skipped()[0].reason().code(), "directory-limit");
}

#[test]
fn another_target_of_a_symlink_is_a_change() {
    let tree = Tree::new();
    tree.skill("v1/a", "a")
        .skill("v2/b", "b")
        .symlink(tree.path("v1"), "current")
        .file("skills/readme", "");
    tree.symlink(tree.path("current"), "skills/pack");
    let through_root = Discovery::new([Root::new(tree.path("current"), Scope::Repo)]);
    let (previous, below) = (settled(&through_root), settled(&discovery(&tree)));
    std::fs::remove_file(tree.path("current")).unwrap();
    tree.symlink(tree.path("v2"), "current");
    for (discovery, previous) in [(through_root, previous), (discovery(&tree), below)] {
        let now = discovery.rescan(&previous).unwrap();
        assert_eq!(now.entries()[0].name().as_str(), "b");
    }
}

#[test]
fn a_directory_that_becomes_a_skill_is_a_change_at_every_depth() {
    let tree = Tree::new();
    tree.file("skills/new/readme", "")
        .skill("skills/old", "old");
    for depth in [
        skills_discovery::SearchDepth::Limited,
        skills_discovery::SearchDepth::OneLevel,
        skills_discovery::SearchDepth::Children,
    ] {
        let discovery = Discovery::new([Root::new(tree.path("skills"), Scope::Repo).depth(depth)]);
        let previous = settled(&discovery);
        tree.skill("skills/new", "new");
        assert_eq!(
            discovery.rescan(&previous).unwrap().entries().len(),
            2,
            "{depth:?}"
        );
        std::fs::remove_file(tree.path("skills/new/SKILL.md")).unwrap();
    }
}

#[test]
fn other_rules_and_other_trust_are_a_change() {
    let tree = Tree::new();
    tree.skill("skills/a", "a");
    let previous = settled(&discovery(&tree));
    let disabled = discovery(&tree).rules([skills_discovery::ConfigRule::disable(
        skills_discovery::Selector::Name("a".to_owned()),
        "test",
    )]);
    assert!(disabled.rescan(&previous).unwrap().entries().is_empty());
    let untrusted =
        discovery(&tree)
            .with_roots([Root::new(tree.path("skills"), Scope::Repo)
                .trust(skills_discovery::Trust::Untrusted)]);
    assert!(untrusted.rescan(&previous).unwrap().entries().is_empty());
    assert!(
        discovery(&tree).threads(1).rescan(&previous).is_none(),
        "the number of threads is not a setting"
    );
}
