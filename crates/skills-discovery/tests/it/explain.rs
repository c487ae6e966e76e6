//! Explanations of why a skill is available or not.

use insta::assert_snapshot;
use skills_discovery::{ConfigRule, Discovery, Precedence, Root, Scope, Selector, Trust};

use crate::tree::Tree;

fn explain(tree: &Tree, discovery: &Discovery, query: &str) -> String {
    let catalog = discovery.scan();
    let explanation = discovery.explain(&catalog, query);
    let steps: String = explanation
        .steps()
        .iter()
        .map(|step| format!("\n  {step}"))
        .collect();
    let text = format!("{}{steps}", explanation.status().as_str());
    text.replace(&tree.path("").display().to_string(), "")
}

#[test]
fn every_status_is_explained() {
    let tree = Tree::new();
    tree.skill("repo/pdf", "pdf")
        .skill("user/pdf", "pdf")
        .skill("user/off", "off")
        .skill("theirs/x", "x");
    tree.file(
        "user/quiet/SKILL.md",
        "---\nname: quiet\ndescription: d\ndisable-model-invocation: true\n---\n",
    );
    tree.file("user/bad/SKILL.md", "no")
        .skill("user/.hidden/h", "h")
        .skill("user/1/2/3/4/5/6/deep", "deep")
        .file("user/empty/readme", "");
    tree.skill("outside/o", "o").symlink("nowhere", "user/gone");
    let roots = [
        Root::new(tree.path("repo"), Scope::Repo),
        Root::new(tree.path("user"), Scope::User),
        Root::new(tree.path("theirs"), Scope::Repo).trust(Trust::Untrusted),
        Root::new(tree.path("absent"), Scope::Admin),
    ];
    let rules = [ConfigRule::disable(
        Selector::Name("off".to_owned()),
        "config.toml",
    )];
    let discovery = Discovery::new(roots)
        .precedence(Precedence::FirstRoot)
        .rules(rules);
    let path = |below: &str| tree.path(below).display().to_string();
    let queries = [
        "pdf",
        "quiet",
        "off",
        "x",
        "bad",
        ".hidden",
        "gone",
        "pfd",
        "nothing-like-it",
        &path("user/pdf"),
        &path("user/bad/SKILL.md"),
        &path("user/.hidden/h"),
        &path("user/1/2/3/4/5/6/deep"),
        &path("user/empty"),
        &path("outside/o"),
        &path("not/there"),
    ];
    let text: String = queries
        .iter()
        .map(|query| {
            let displayed = query.replace(&path(""), "");
            format!("{displayed}: {}\n", explain(&tree, &discovery, query))
        })
        .collect();
    assert_snapshot!(text);
}

#[test]
fn an_ambiguous_name_lists_all_skills() {
    let tree = Tree::new();
    tree.skill("a/pdf", "pdf").skill("b/pdf", "pdf");
    let discovery = Discovery::new([Root::new(tree.path(""), Scope::Repo)]);
    assert_snapshot!(explain(&tree, &discovery, "pdf"));
}

/// Other commands find such a skill, see [`skills_discovery::Catalog::find`].
#[test]
fn a_skill_is_found_by_the_name_of_its_directory() {
    let tree = Tree::new();
    tree.skill("user/directory", "other");
    let discovery = Discovery::new([Root::new(tree.path("user"), Scope::User)]);
    assert_snapshot!(explain(&tree, &discovery, "directory"), @"
    model-invocable
      found `other` at user/directory/SKILL.md in user root user
      warning: name does not match directory `directory`
      active and model-invocable
    ");
}
