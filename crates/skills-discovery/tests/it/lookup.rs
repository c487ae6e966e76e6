//! Lookup of skills by name and by path.

use skills_discovery::{Catalog, Discovery, Lookup, Root, Scope, Trust};

use crate::tree::Tree;

fn catalog(tree: &Tree) -> Catalog {
    let user = Root::new(tree.path("user"), Scope::User);
    let repo = Root::new(tree.path("repo"), Scope::Repo).trust(Trust::Untrusted);
    Discovery::new([user, repo]).scan()
}

/// Returns the result of looking up a path below the tree, as text.
fn found_at(tree: &Tree, catalog: &Catalog, path: &str) -> String {
    match catalog.find(&tree.path(path).display().to_string()) {
        Lookup::Found(entry) => format!("active {}", entry.name()),
        Lookup::Inactive(inactive) => format!("inactive {}", inactive.entry().name()),
        Lookup::Ambiguous(_) => "ambiguous".to_owned(),
        Lookup::Unknown(_) => "unknown".to_owned(),
    }
}

#[test]
fn a_skill_is_found_by_its_directory_or_skill_file() {
    let tree = Tree::new();
    tree.skill("user/pdf", "pdf")
        .skill("user/docx", "docx")
        .file("user/pdf/other.md", "");
    tree.skill("repo/secret", "secret").file(
        "repo/lower/skill.md",
        "---\nname: lower\ndescription: d\n---\n",
    );
    let catalog = catalog(&tree);
    let at = |path: &str| found_at(&tree, &catalog, path);
    assert_eq!(
        (at("user/pdf"), at("user/pdf/SKILL.md")),
        ("active pdf".to_owned(), "active pdf".to_owned())
    );
    assert_eq!(
        (at("repo/secret"), at("repo/secret/SKILL.md")),
        ("inactive secret".to_owned(), "inactive secret".to_owned())
    );
    assert_eq!(
        (at("repo/lower/skill.md"), at("repo/lower/SKILL.md")),
        ("inactive lower".to_owned(), "unknown".to_owned())
    );
    for path in [
        "user",
        "user/pdf/other.md",
        "user/SKILL.md",
        "user/absent/SKILL.md",
    ] {
        assert_eq!(at(path), "unknown", "{path}");
    }
}

/// A model must not learn whether a path exists, so its lookups are by name only.
#[test]
fn a_lookup_by_name_ignores_paths() {
    let tree = Tree::new();
    tree.skill("user/pdf", "pdf").skill("repo/secret", "secret");
    let catalog = catalog(&tree);
    assert!(
        matches!(catalog.find_by_name("pdf"), Lookup::Found(entry) if entry.name().as_str() == "pdf")
    );
    assert!(
        matches!(catalog.find_by_name("secret"), Lookup::Inactive(inactive) if inactive.entry().name().as_str() == "secret")
    );
    for path in ["user/pdf", "user/pdf/SKILL.md", "repo/secret"] {
        assert!(
            matches!(
                catalog.find_by_name(&tree.path(path).display().to_string()),
                Lookup::Unknown(_)
            ),
            "{path}"
        );
    }
}

#[test]
fn an_unknown_name_returns_up_to_three_similar_names() {
    let tree = Tree::new();
    tree.skill("user/one/alpha", "alpha")
        .skill("user/two/alpha", "alpha")
        .skill("user/zebra", "zebra");
    for name in ["alphe", "alphd", "alphc"] {
        tree.skill(&format!("user/{name}"), name);
    }
    let catalog = catalog(&tree);
    let nearest = |name: &str| match catalog.find(name) {
        Lookup::Unknown(nearest) => nearest.join(" "),
        other => panic!("{other:?}"),
    };
    assert_eq!(nearest("alphaa"), "alpha alphc alphd");
    assert_eq!(nearest("ALPHAA"), "alpha alphc alphd", "case is ignored");
    assert_eq!(nearest("zebar"), "zebra");
    assert_eq!(nearest("unrelated-words"), "");
}

#[test]
fn a_skill_is_found_by_the_name_of_its_directory_if_no_other_has_it() {
    let tree = Tree::new();
    tree.skill("user/settings", "Plugin Settings")
        .skill("user/a/same", "One")
        .skill("user/b/same", "Two")
        .skill("user/pdf", "docx")
        .skill("user/other", "pdf")
        .skill("repo/hidden", "Hidden Skill");
    let catalog = catalog(&tree);
    let find = |name: &str| match catalog.find(name) {
        Lookup::Found(entry) => entry.name().to_string(),
        _ => String::new(),
    };
    assert_eq!(find("settings"), "Plugin Settings");
    // A name goes before a directory.
    assert_eq!(find("pdf"), "pdf");
    assert_eq!([find("same"), find("hidden")], ["", ""]);
}
