//! Each profile reads skills as its client does; the cases of the table in `docs/skill-format.md`.

use skills_discovery::{Catalog, ClientProfile, Discovery, Root, Scope};

use crate::tree::Tree;

fn scan(profile: ClientProfile, tree: &Tree) -> Catalog {
    let root = profile.configure_root(Root::new(tree.path("root"), Scope::User));
    Discovery::new([root]).scan()
}

/// Returns name and description of each skill.
fn read(profile: ClientProfile, tree: &Tree) -> Vec<String> {
    scan(profile, tree)
        .entries()
        .iter()
        .map(|entry| format!("{}: {}", entry.name(), entry.manifest().description()))
        .collect()
}

/// The profiles that read a tree with the same result.
fn profiles_reading(tree: &Tree, expected: &[&str]) -> Vec<&'static str> {
    ClientProfile::ALL
        .into_iter()
        .filter(|profile| read(*profile, tree) == expected)
        .map(ClientProfile::as_str)
        .collect()
}

#[test]
fn claude_needs_neither_name_nor_description() {
    let tree = Tree::new();
    tree.file(
        "root/a/SKILL.md",
        "---\nlicense: MIT\n---\n# T\n\nDoes it.\n",
    )
    .file("root/b/SKILL.md", "# T\n\nDoes that.\n");
    assert_eq!(
        profiles_reading(&tree, &["a: Does it.", "b: Does that."]),
        ["claude"]
    );
    let catalog = scan(ClientProfile::Claude, &tree);
    let loaded = catalog.entries()[1].open().unwrap().document().unwrap();
    assert_eq!(loaded.manifest().description(), "Does that.");
}

#[test]
fn goose_reads_a_missing_description_as_empty() {
    let tree = Tree::new();
    tree.file("root/a/SKILL.md", "---\nname: a\n---\nDoes it.\n");
    assert_eq!(profiles_reading(&tree, &["a: "]), ["goose"]);
}

#[test]
fn gemini_follows_skill_files_inside_of_its_root() {
    let tree = Tree::new();
    tree.file("root/shared/a.md", "---\nname: a\ndescription: d\n---\n")
        .file("outside.md", "---\nname: b\ndescription: d\n---\n")
        .file("root/a/notes.md", "")
        .file("root/b/notes.md", "")
        .symlink(tree.path("root/shared/a.md"), "root/a/SKILL.md")
        .symlink(tree.path("outside.md"), "root/b/SKILL.md");
    assert_eq!(profiles_reading(&tree, &["a: d"]), ["gemini"]);
}

#[test]
fn codex_searches_below_skills() {
    let tree = Tree::new();
    tree.skill("root/a", "a").skill("root/a/b", "b");
    assert_eq!(
        profiles_reading(&tree, &["a: About a.", "b: About b."]),
        ["codex"]
    );
}

#[test]
fn claude_and_gemini_search_one_level() {
    let tree = Tree::new();
    tree.skill("root/a", "a").skill("root/group/b", "b");
    assert_eq!(
        profiles_reading(&tree, &["a: About a."]),
        ["claude", "gemini"]
    );
}

#[test]
fn claude_reads_no_skill_in_the_root_itself() {
    let tree = Tree::new();
    tree.skill("root", "r").skill("root/a", "a");
    assert_eq!(profiles_reading(&tree, &["a: About a."]), ["claude"]);
}

#[test]
fn openclaw_follows_no_link_out_of_its_root() {
    let tree = Tree::new();
    tree.skill("root/a", "a")
        .skill("elsewhere/b", "b")
        .symlink(tree.path("elsewhere/b"), "root/b");
    assert_eq!(profiles_reading(&tree, &["a: About a."]), ["openclaw"]);
}
