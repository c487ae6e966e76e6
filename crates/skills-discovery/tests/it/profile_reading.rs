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
fn codex_and_goose_search_below_skills() {
    let tree = Tree::new();
    tree.skill("root/a", "a").skill("root/a/b", "b");
    assert_eq!(
        profiles_reading(&tree, &["a: About a.", "b: About b."]),
        ["codex", "goose"]
    );
}

#[test]
fn goose_searches_to_any_depth_and_in_hidden_directories() {
    for directory in ["root/1/2/3/4/5/6/a", "root/.curated/a"] {
        let tree = Tree::new();
        tree.skill(directory, "a");
        assert_eq!(profiles_reading(&tree, &["a: About a."]), ["goose"]);
    }
}

/// Returns the profiles that read a file below `root/a`, and the names that they read.
fn names_of(file: &str) -> Vec<String> {
    let tree = Tree::new();
    tree.file("root/a/SKILL.md", file);
    let name = |profile: ClientProfile| {
        let catalog = scan(profile, &tree);
        let name = catalog.entries().first().map(|entry| entry.name().clone());
        name.map(|name| format!("{profile} {name}"))
    };
    ClientProfile::ALL.into_iter().filter_map(name).collect()
}

#[test]
fn clients_read_names_differently() {
    let long = "n".repeat(65);
    for (name, others, different) in [
        // The other profiles read a name as written, or else that of the directory.
        ("b", "b", &["copilot a"][..]),
        ("b:c", "b:c", &["copilot a", "gemini b-c"]),
        ("b/c", "a", &["gemini b-c", "goose -"]),
        ("''", "a", &["gemini -", "goose -"]),
        (&long, &long, &["codex -", "copilot a"]),
    ] {
        let mut expected: Vec<String> = Vec::new();
        for profile in ClientProfile::ALL {
            let prefix = format!("{profile} ");
            let own = different.iter().find(|line| line.starts_with(&prefix));
            match own {
                Some(line) if line.ends_with('-') => {}
                Some(line) => expected.push((*line).to_owned()),
                None => expected.push(format!("{profile} {others}")),
            }
        }
        let file = format!("---\nname: {name}\ndescription: d\n---\n");
        assert_eq!(names_of(&file), expected, "{name}");
    }
}

#[test]
fn codex_accepts_only_dashes_as_delimiters() {
    const FIELDS: &str = "name: a\ndescription: d\n";
    for (file, is_read) in [
        (format!("---\n{FIELDS}---\n"), true),
        (format!(" ---\n{FIELDS}\t--- \n"), true),
        (format!("\u{FEFF}---\n{FIELDS}---\n"), false),
        (format!("\n---\n{FIELDS}---\n"), false),
        (format!("<!-- x -->\n---\n{FIELDS}---\n"), false),
        (format!("```yaml\n{FIELDS}```\n"), false),
        (format!("{FIELDS}\n# Title\n"), false),
        (format!("---\n{FIELDS}----\n"), false),
        (format!("---\n{FIELDS}\n# Title\n"), false),
    ] {
        let names = names_of(&file);
        assert!(names.contains(&"universal a".to_owned()), "{file:?}");
        assert_eq!(names.contains(&"codex a".to_owned()), is_read, "{file:?}");
    }
}

/// Claude Code reads no field of broken YAML, and so loses restrictions; here they are kept.
#[test]
fn no_profile_loses_the_restrictions_of_broken_yaml() {
    let tree = Tree::new();
    let file = "---\nname: a\ndescription: b: c\ndisable-model-invocation: true\n---\nBody\n";
    tree.file("root/a/SKILL.md", file);
    for profile in ClientProfile::ALL {
        let catalog = scan(profile, &tree);
        assert!(!catalog.entries()[0].manifest().model_invocable());
    }
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
