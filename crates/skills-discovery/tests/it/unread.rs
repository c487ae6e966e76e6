//! Skills that a scan does not read are found on demand, counted and explained.

use skills_discovery::{
    Catalog, Discovery, HiddenDirectories, NestedSkills, Precedence, Root, ScanLimits, Scope,
    SkillStatus,
};

use crate::tree::Tree;

fn root(tree: &Tree) -> Root {
    Root::new(tree.path("root"), Scope::Custom)
}

fn scan(root: Root) -> Catalog {
    Discovery::new([root])
        .precedence(Precedence::FirstRoot)
        .scan()
}

fn names(catalog: &Catalog) -> Vec<&str> {
    catalog
        .entries()
        .iter()
        .map(|entry| entry.name().as_str())
        .collect()
}

/// Returns path and code of each unread skill.
fn unread(tree: &Tree, catalog: &Catalog) -> Vec<String> {
    let base = tree.path("root");
    let text = |path: &std::path::Path| path.strip_prefix(&base).unwrap().display().to_string();
    catalog
        .unread_skills()
        .iter()
        .map(|skipped| format!("{} {}", text(skipped.path()), skipped.reason().code()))
        .collect()
}

#[test]
fn unread_skills_are_found_with_their_reasons() {
    let tree = Tree::new();
    tree.skill("root/a", "a")
        .skill("root/a/sub/nested", "nested")
        .skill("root/a/.claude/skills/own", "own")
        .skill("root/.curated/c", "c")
        .skill("root/.git/g", "g")
        .skill("root/1/2/3/4/5/6/deep", "deep")
        .file("root/broken/SKILL.md", "no frontmatter")
        .skill("root/broken/below", "below")
        .skill("root/both", "both")
        .file("root/both/skill.md", "second");
    let catalog = scan(root(&tree));
    assert_eq!(names(&catalog), ["a", "both"]);
    assert_eq!(
        unread(&tree, &catalog),
        [
            ".curated/c/SKILL.md in-hidden",
            "1/2/3/4/5/6/deep/SKILL.md depth-limit",
            "a/.claude/skills/own/SKILL.md in-hidden",
            "a/sub/nested/SKILL.md nested",
            "both/skill.md case-clash",
            "broken/below/SKILL.md nested",
        ]
    );
    assert_eq!(
        catalog.summary().to_string(),
        "2 read, 1 refused: 1 without frontmatter, 6 not read: 2 below another skill, \
         2 in hidden directories, 1 beside a `SKILL.md`, 1 beyond the depth limit"
    );
}

#[test]
fn a_skill_file_in_lower_case_is_counted() {
    let tree = Tree::new();
    let text = "---\nname: x\ndescription: d\n---\n";
    tree.skill("root/a", "a")
        .file("root/a/sub/lower/skill.md", text)
        .skill("root/a/sub/both", "both")
        .file("root/a/sub/both/skill.md", text)
        .file("root/.curated/c/Skill.md", text)
        .file("root/1/2/3/4/5/6/deep/skill.md", text)
        .file("root/small/skill.md", text.replace('x', "small"))
        .file("root/small/below/skill.md", text);
    let catalog = scan(root(&tree));
    assert_eq!(names(&catalog), ["a", "small"]);
    assert_eq!(
        unread(&tree, &catalog),
        [
            ".curated/c/Skill.md in-hidden",
            "1/2/3/4/5/6/deep/skill.md depth-limit",
            "a/sub/both/SKILL.md nested",
            "a/sub/lower/skill.md nested",
            "small/below/skill.md nested",
        ]
    );
}

#[test]
fn roots_may_search_below_skills_and_in_hidden_directories() {
    let tree = Tree::new();
    tree.skill("root/a", "a")
        .skill("root/a/sub/nested", "nested")
        .skill("root/.curated/c", "c")
        .skill("root/.git/g", "g");
    let nested = scan(root(&tree).nested(NestedSkills::Search));
    assert_eq!(names(&nested), ["a", "nested"]);
    assert_eq!(unread(&tree, &nested), [".curated/c/SKILL.md in-hidden"]);
    let hidden = scan(root(&tree).hidden(HiddenDirectories::Search));
    assert_eq!(names(&hidden), ["a", "c"]);
    assert_eq!(unread(&tree, &hidden), ["a/sub/nested/SKILL.md nested"]);
    let all = scan(
        root(&tree)
            .nested(NestedSkills::Search)
            .hidden(HiddenDirectories::Search),
    );
    assert_eq!(names(&all), ["a", "c", "nested"]);
    assert!(all.summary().is_complete());
}

/// Collections keep copies for single clients in hidden directories.
#[test]
fn a_hidden_skill_does_not_shadow_a_visible_one() {
    let tree = Tree::new();
    tree.skill("root/.claude/skills/a", "a")
        .skill("root/skills/a", "a");
    let catalog = scan(root(&tree).hidden(HiddenDirectories::Search));
    assert_eq!(
        catalog.entries()[0].directory(),
        tree.path("root/skills/a").as_path()
    );
    assert_eq!(catalog.inactive().len(), 1);
}

#[test]
fn a_root_may_have_limits_of_its_own() {
    let tree = Tree::new();
    tree.skill("root/a", "a")
        .skill("root/b", "b")
        .skill("other/c", "c")
        .skill("other/d", "d");
    let mut few = ScanLimits::default();
    few.max_directories = 2;
    let own = root(&tree).limits(ScanLimits::default());
    let other = Root::new(tree.path("other"), Scope::User);
    let catalog = Discovery::new([own, other]).limits(few).scan();
    assert_eq!(names(&catalog), ["a", "b", "c"]);
    assert_eq!(
        catalog.summary().omissions().unwrap(),
        "1 not read: 1 directory limit reached"
    );
}

#[test]
fn a_change_below_a_skill_is_noticed_once_unread_skills_were_searched() {
    let tree = Tree::new();
    tree.skill("root/a", "a").file("root/a/sub/notes.md", "");
    let discovery = Discovery::new([root(&tree)]);
    let mut catalog = discovery.scan();
    // Until the stamps of all files and directories are settled.
    while let Some(next) = discovery.rescan(&catalog) {
        catalog = next;
    }
    let before = catalog.clone();
    loop {
        assert_eq!(unread(&tree, &catalog), [""; 0]);
        match discovery.rescan(&catalog) {
            Some(next) => catalog = next,
            None => break,
        }
    }
    tree.skill("root/a/sub/nested", "nested");
    assert!(discovery.rescan(&before).is_none());
    let now = discovery.rescan(&catalog).unwrap();
    assert_eq!(unread(&tree, &now), ["a/sub/nested/SKILL.md nested"]);
}

#[test]
fn the_limit_of_the_search_for_unread_skills_is_reported() {
    let tree = Tree::new();
    tree.skill("root/a", "a")
        .skill("root/a/1/2/3/4/5/6/7/8/nested", "nested");
    let mut limits = ScanLimits::default();
    let catalog = scan(root(&tree).limits(limits.clone()));
    assert_eq!(
        unread(&tree, &catalog),
        ["a/1/2/3/4/5/6/7/8/nested/SKILL.md nested"]
    );
    limits.max_entries = 4;
    let catalog = scan(root(&tree).limits(limits));
    assert_eq!(unread(&tree, &catalog), ["a/1/2 entry-limit"]);
}

#[test]
fn skills_below_files_that_cannot_be_read_are_found() {
    let tree = Tree::new();
    tree.skill("root/linked/below", "below")
        .symlink("absent.md", "root/linked/SKILL.md")
        .skill("nested/a", "a");
    let other = Root::new(tree.path("nested"), Scope::User).nested(NestedSkills::Search);
    let catalog = Discovery::new([root(&tree), other]).scan();
    assert_eq!(unread(&tree, &catalog), ["linked/below/SKILL.md nested"]);
    assert_eq!(
        catalog.summary().to_string(),
        "1 read, 2 not read: 1 behind a broken symlink, 1 below another skill"
    );
}

#[test]
fn an_unread_skill_is_explained_by_its_name() {
    let tree = Tree::new();
    tree.skill("root/a", "a")
        .skill("root/a/sub/nested", "nested");
    let discovery = Discovery::new([root(&tree)]);
    let explanation = discovery.explain(&discovery.scan(), "nested");
    assert_eq!(explanation.status(), SkillStatus::Skipped);
    assert_eq!(explanation.steps()[0].code(), "nested");
}

#[test]
fn a_body_that_is_not_utf8_is_a_warning() {
    let tree = Tree::new();
    tree.file(
        "root/a/SKILL.md",
        b"---\nname: a\ndescription: d\n---\nfine\n\xff\xfe\n",
    );
    let catalog = scan(root(&tree));
    let entry = &catalog.entries()[0];
    // A scan reads no bodies.
    assert!(!entry.has_scan_warnings());
    let warning = entry.warnings()[0].clone();
    assert_eq!((warning.code(), warning.line()), ("body-encoding", Some(6)));
    assert!(entry.open().unwrap().document().is_err());
}
