//! Which skills are active: trust, rules, precedence and confusable names.

use insta::assert_snapshot;
use skills_discovery::{ConfigRule, Discovery, Lookup, Precedence, Root, Scope, Selector, Trust};

use crate::tree::Tree;

fn two_roots() -> (Tree, Discovery) {
    let tree = Tree::new();
    tree.skill("repo/pdf", "pdf")
        .skill("repo/docx", "docx")
        .skill("user/pdf", "pdf")
        .skill("user/xlsx", "xlsx");
    let roots = [
        Root::new(tree.path("repo"), Scope::Repo),
        Root::new(tree.path("user"), Scope::User),
    ];
    let discovery = Discovery::new(roots);
    (tree, discovery)
}

#[test]
fn untrusted_skills_are_inactive() {
    let tree = Tree::new();
    tree.skill("repo/a", "a").skill("user/b", "b");
    let roots = [
        Root::new(tree.path("repo"), Scope::Repo).trust(Trust::Untrusted),
        Root::new(tree.path("user"), Scope::User),
    ];
    let catalog = Discovery::new(roots).scan();
    assert_snapshot!(tree.print(&catalog), @"
    user b user/b/SKILL.md
    repo a repo/a/SKILL.md untrusted: its root is not trusted
    ");
    assert!(
        matches!(catalog.find("a"), Lookup::Inactive(inactive) if inactive.reason().code() == "untrusted")
    );
    let directory = tree.path("repo/a").display().to_string();
    assert!(
        matches!(catalog.find(&directory), Lookup::Inactive(_)),
        "its path does not select it either"
    );
}

/// An untrusted skill neither hides a trusted one nor makes its name ambiguous.
#[test]
fn untrusted_skills_hide_no_other() {
    let (tree, discovery) = two_roots();
    let roots = [
        Root::new(tree.path("repo"), Scope::Repo).trust(Trust::Untrusted),
        Root::new(tree.path("user"), Scope::User),
    ];
    for precedence in [Precedence::KeepAll, Precedence::FirstRoot] {
        let catalog = discovery
            .clone()
            .with_roots(roots.clone())
            .precedence(precedence)
            .scan();
        assert!(
            matches!(catalog.find("pdf"), Lookup::Found(entry) if entry.scope() == Scope::User)
        );
    }
}

#[test]
fn precedence_decides_which_skill_hides_the_others() {
    let (tree, discovery) = two_roots();
    assert_snapshot!(tree.print(&discovery.clone().precedence(Precedence::FirstRoot).scan()), @"
    repo docx repo/docx/SKILL.md
    repo pdf repo/pdf/SKILL.md
    user xlsx user/xlsx/SKILL.md
    user pdf user/pdf/SKILL.md shadowed: hidden by the skill of the same name in repo/pdf
    ");
    assert_snapshot!(tree.print(&discovery.clone().precedence(Precedence::LastRoot).scan()), @"
    repo docx repo/docx/SKILL.md
    user pdf user/pdf/SKILL.md
    user xlsx user/xlsx/SKILL.md
    repo pdf repo/pdf/SKILL.md shadowed: hidden by the skill of the same name in user/pdf
    ");
    assert!(matches!(discovery.scan().find("pdf"), Lookup::Ambiguous(both) if both.len() == 2));
}

#[test]
fn within_one_root_the_first_by_path_wins() {
    let tree = Tree::new();
    tree.skill("b/x", "same").skill("a/y", "same");
    let catalog = Discovery::new([Root::new(tree.path(""), Scope::Repo)])
        .precedence(Precedence::LastRoot)
        .scan();
    assert!(catalog.entries()[0].directory().ends_with("a/y"));
}

fn disable(selector: Selector) -> ConfigRule {
    ConfigRule::disable(selector, "test")
}

fn active(discovery: &Discovery, rules: &[ConfigRule]) -> Vec<String> {
    let catalog = discovery.clone().rules(rules.to_vec()).scan();
    catalog
        .entries()
        .iter()
        .map(|entry| format!("{}/{}", entry.scope(), entry.name()))
        .collect()
}

/// Names and paths as in Codex; patterns and scopes are additions.
#[test]
fn the_last_matching_rule_decides() {
    let (tree, discovery) = two_roots();
    let name = |name: &str| Selector::Name(name.to_owned());
    assert_eq!(
        active(&discovery, &[disable(name("pdf"))]),
        ["repo/docx", "user/xlsx"]
    );
    let path = Selector::Path(tree.path("repo/pdf/SKILL.md"));
    assert_eq!(
        active(&discovery, &[disable(path.clone())]),
        ["repo/docx", "user/pdf", "user/xlsx"]
    );
    let enable = ConfigRule::enable(name("pdf"), "session");
    assert_eq!(
        active(&discovery, &[disable(path.clone()), enable.clone()]).len(),
        4,
        "a later name rule overrides a path rule"
    );
    assert_eq!(active(&discovery, &[enable, disable(path)]).len(), 3);
    assert_eq!(
        active(&discovery, &[disable(Selector::Pattern("*x".to_owned()))]),
        ["repo/pdf", "user/pdf"]
    );
    assert_eq!(
        active(&discovery, &[disable(Selector::Scope(Scope::User))]),
        ["repo/docx", "repo/pdf"]
    );
    tree.symlink(tree.path("repo"), "alias");
    assert_eq!(
        active(
            &discovery,
            &[disable(Selector::Path(tree.path("alias/pdf")))]
        )
        .len(),
        3,
        "a path rule applies to the file, through whichever path"
    );
}

#[test]
fn rules_match_names_with_their_namespace() {
    let tree = Tree::new();
    tree.file("p/.codex-plugin/plugin.json", r#"{"name": "github"}"#)
        .skill("p/skills/yeet", "yeet");
    let root = Root::new(tree.path("p/skills"), Scope::User)
        .namespace(skills_discovery::Namespace::FromManifests);
    let discovery = Discovery::new([root]);
    assert_eq!(
        active(&discovery, &[disable(Selector::Name("yeet".to_owned()))]).len(),
        1
    );
    assert_eq!(
        active(
            &discovery,
            &[disable(Selector::Name("github:yeet".to_owned()))]
        )
        .len(),
        0
    );
}

#[test]
fn a_disabled_skill_hides_no_other_and_names_its_rule() {
    let (tree, discovery) = two_roots();
    let rules = [disable(Selector::Path(tree.path("repo/pdf")))];
    let catalog = discovery
        .precedence(Precedence::FirstRoot)
        .rules(rules)
        .scan();
    assert_snapshot!(tree.print(&catalog), @"
    repo docx repo/docx/SKILL.md
    user pdf user/pdf/SKILL.md
    user xlsx user/xlsx/SKILL.md
    repo pdf repo/pdf/SKILL.md disabled: disabled by rule `disable path repo/pdf (test)`
    ");
}

#[test]
fn names_that_differ_only_in_case_or_composition_have_a_warning() {
    let tree = Tree::new();
    tree.skill("a", "Report")
        .skill("b", "report")
        .skill("c", "cafe\u{301}")
        .skill("d", "caf\u{e9}")
        .skill("e", "other");
    let catalog = Discovery::new([Root::new(tree.path(""), Scope::Repo)]).scan();
    let clashes: Vec<&str> = (catalog.entries().iter())
        .filter(|entry| {
            entry
                .warnings()
                .iter()
                .any(|warning| warning.code() == "name-clash")
        })
        .map(|entry| entry.directory().file_name().unwrap().to_str().unwrap())
        .collect();
    assert_eq!(clashes, ["a", "c", "d", "b"]);
    assert!(
        matches!(catalog.find("report"), Lookup::Found(entry) if entry.directory().ends_with("b")),
        "lookups by name are exact"
    );
}

#[test]
fn a_second_file_in_another_case_is_reported() {
    let tree = Tree::new();
    tree.skill("group", "group")
        .file("group/skill.md", "---\nname: other\ndescription: d\n---\n");
    // Only a directory that is listed shows both: the root itself, and those with nested skills.
    let catalog = Discovery::new([Root::new(tree.path("group"), Scope::Repo)]).scan();
    if tree.path("group/SKILL.MD").exists() {
        return skills_test_support::skip("this file system ignores case");
    }
    assert_eq!(catalog.skipped()[0].reason().code(), "case-clash");
    assert_eq!(catalog.entries()[0].name().as_str(), "group");
}

/// An untrusted root may link to a trusted one, but its skills stay those of the trusted root.
#[test]
fn an_untrusted_root_does_not_claim_trusted_skills() {
    let tree = Tree::new();
    tree.skill("home/good", "good")
        .file("repo/readme", "")
        .symlink(tree.path("home"), "repo/all");
    let roots = [
        Root::new(tree.path("repo"), Scope::Repo).trust(Trust::Untrusted),
        Root::new(tree.path("home"), Scope::User),
    ];
    let catalog = Discovery::new(roots).scan();
    assert!(
        matches!(catalog.find("good"), Lookup::Found(entry) if entry.scope() == Scope::User),
        "{}",
        tree.print(&catalog)
    );
}

#[test]
fn roots_may_be_nested() {
    let tree = Tree::new();
    tree.skill("r/a", "a")
        .skill("r/synced/foo", "foo")
        .skill("d/1/2/3/4/5/6/deep", "deep");
    let shallow =
        Root::new(tree.path("r"), Scope::User).depth(skills_discovery::SearchDepth::Children);
    let catalog = Discovery::new([shallow, Root::new(tree.path("r/synced"), Scope::User)]).scan();
    assert_eq!(catalog.entries().len(), 2, "{}", tree.print(&catalog));
    let catalog = Discovery::new([
        Root::new(tree.path("d"), Scope::User),
        Root::new(tree.path("d/1/2/3"), Scope::Repo),
    ])
    .scan();
    assert_eq!(catalog.entries().len(), 1, "{}", tree.print(&catalog));
    // A skill that both roots find belongs to the first.
    let catalog = Discovery::new([
        Root::new(tree.path("r"), Scope::User),
        Root::new(tree.path("r/synced"), Scope::Repo),
    ])
    .scan();
    assert!(
        catalog
            .entries()
            .iter()
            .all(|entry| entry.scope() == Scope::User),
        "{}",
        tree.print(&catalog)
    );
}
