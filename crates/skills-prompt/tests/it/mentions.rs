//! Explicit mentions: the conformance cases M1 to M23 of Codex, and mentions that Codex ignores.

use std::sync::Arc;

use skills_discovery::{Catalog, ConfigRule, Selector};
use skills_prompt::{
    Confidence, ListingMode, ListingModes, MentionIndex, MentionKind, MentionOptions, Mentions,
    Resolution, SuggestionReason, UserInput,
};

use crate::skill_tree::{SkillTree, catalog_of_source};

/// Builds skills: `alpha`, `beta`, `doc` and others in the repository, `twin` in repository and
/// user scope, `gone` to be disabled, `foreign` untrusted.
fn tree() -> SkillTree {
    let tree = SkillTree::new();
    for name in [
        "alpha",
        "beta",
        "doc",
        "twin",
        "gone",
        "pdf-tools",
        "数据分析",
    ] {
        tree.skill(&format!("repo/{name}"), name);
    }
    tree.skill("user/twin", "twin")
        .skill("user/slack-search", "slack:search")
        .skill("foreign/foreign", "foreign");
    tree.file(
        "user/hidden/SKILL.md",
        "---\nname: hidden\ndescription: d\nuser-invocable: false\n---\n",
    );
    tree.file(
        "user/manual/SKILL.md",
        "---\nname: manual\ndescription: d\ndisable-model-invocation: true\n---\n",
    );
    tree
}

fn catalog(tree: &SkillTree) -> Arc<Catalog> {
    tree.catalog_with([ConfigRule::disable(
        Selector::Name("gone".to_owned()),
        "test",
    )])
}

fn resolutions(mentions: &Mentions<'_>) -> Vec<String> {
    mentions
        .all
        .iter()
        .map(|mention| format!("{} {}", mention.name, mention.resolution.code()))
        .collect()
}

fn names(mentions: &Mentions<'_>) -> Vec<String> {
    mentions
        .selected
        .iter()
        .map(|entry| entry.name().to_string())
        .collect()
}

fn check_with(text: &str, options: &MentionOptions, selected: &[&str], expected: &[&str]) {
    let tree = tree();
    let text = text.replace("ROOT", &tree.text(""));
    let index = MentionIndex::new(catalog(&tree));
    let mentions = index.find(&[UserInput::Text(&text)], options);
    assert_eq!(
        (names(&mentions), resolutions(&mentions)),
        (to_owned(selected), to_owned(expected)),
        "{text}"
    );
}

fn to_owned(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

fn check(text: &str, selected: &[&str], expected: &[&str]) {
    check_with(text, &MentionOptions::codex(), selected, expected);
}

#[test]
fn names_with_a_sigil_are_mentions() {
    check(
        "$alpha. ($beta)",
        &["alpha", "beta"],
        &["alpha selected", "beta selected"],
    );
    check(
        "$docs $doc_extra then $doc",
        &["doc"],
        &["docs unknown", "doc_extra unknown", "doc selected"],
    );
    check(
        "$alpha.skill foo$beta",
        &["alpha", "beta"],
        &["alpha selected", "beta selected"],
    );
    check(
        "$slack:search",
        &["slack:search"],
        &["slack:search selected"],
    );
    check("$Alpha", &[], &["Alpha unknown"]);
    check("$PATH $home $5 $FOO_BAR", &[], &[]);
    check("$manual", &["manual"], &["manual selected"]);
    // A sentence continues after a colon; for Codex the colon is a part of the name.
    check("$alpha: please", &[], &["alpha: unknown"]);
    check_with(
        "$alpha: please",
        &MentionOptions::default(),
        &["alpha"],
        &["alpha selected"],
    );
    check(&"$".repeat(256), &[], &[]);
}

#[test]
fn selected_skills_have_the_order_of_the_catalog() {
    check(
        "$doc $beta $alpha $beta",
        &["alpha", "beta", "doc"],
        &[
            "doc selected",
            "beta selected",
            "alpha selected",
            "beta selected",
        ],
    );
}

#[test]
fn names_that_select_no_skill_have_a_reason() {
    check("$twin", &[], &["twin ambiguous"]);
    check("$gone", &[], &["gone disabled"]);
    check("$foreign", &[], &["foreign untrusted"]);
    check("$hidden", &[], &["hidden not-user-invocable"]);
    check("$missing", &[], &["missing unknown"]);
}

#[test]
fn links_select_by_path() {
    check(
        "[$alpha](ROOTrepo/alpha/SKILL.md)",
        &["alpha"],
        &["alpha selected"],
    );
    check(
        "[$x] ( skill://ROOTrepo/alpha/SKILL.md )",
        &["alpha"],
        &["x selected"],
    );
    check("[$alpha](ROOTrepo/alpha)", &[], &["alpha unknown"]);
    check(
        "[$alpha] ROOTrepo/alpha/SKILL.md [$beta]()",
        &["alpha", "beta"],
        &["alpha selected", "beta selected"],
    );
    check("[alpha](ROOTrepo/alpha/SKILL.md)", &[], &[]);
    check("[$x](app://alpha) [$y](mcp://z) [$z](plugin://z)", &[], &[]);
    // A path selects one of two skills, and a wrong path never falls back to the name.
    check(
        "[$twin](ROOTuser/twin/SKILL.md) $twin",
        &["twin"],
        &["twin selected", "twin superseded"],
    );
    check("[$alpha](/nowhere/SKILL.md)", &[], &["alpha unknown"]);
    check("[$gone](ROOTrepo/gone/SKILL.md)", &[], &["gone disabled"]);
    check(
        "[$foreign](ROOTforeign/foreign/SKILL.md)",
        &[],
        &["foreign untrusted"],
    );
    check("[$PATH](ROOTrepo/alpha/SKILL.md)", &[], &[]);
    check(
        "$doc [$beta](ROOTrepo/beta/SKILL.md)",
        &["beta", "doc"],
        &["doc selected", "beta selected"],
    );
}

#[test]
fn a_connector_takes_precedence_over_a_name() {
    let options = MentionOptions::codex().connectors(["Alpha"]);
    check_with("$alpha", &options, &[], &["alpha connector-conflict"]);
    let words = MentionOptions::default().connectors(["pdf-tools"]);
    check_with(
        "use the pdf-tools skill",
        &words,
        &[],
        &["pdf-tools connector-conflict"],
    );
    check_with(
        "[$alpha](ROOTrepo/alpha/SKILL.md) $beta",
        &options,
        &["alpha", "beta"],
        &["alpha selected", "beta selected"],
    );
}

#[test]
fn names_in_other_scripts_need_an_option() {
    check("$数据分析", &[], &[]);
    let options = MentionOptions::codex().unicode_names();
    check_with(
        "用 $数据分析 吧",
        &options,
        &["数据分析"],
        &["数据分析 selected"],
    );
    check_with(
        "$数据分析做报告 $alpha做",
        &options,
        &["alpha", "数据分析"],
        &["数据分析 selected", "alpha selected"],
    );
}

/// A list shows this path.
#[test]
fn a_skill_of_a_source_is_mentioned_by_its_location() {
    let (_scratch, catalog) = catalog_of_source();
    let location = catalog.entries()[0].location();
    let path = location.to_str().unwrap();
    let index = MentionIndex::new(catalog);
    let link = format!("[$deploy]({path})");
    for inputs in [
        [UserInput::Skill {
            name: "deploy",
            path,
        }],
        [UserInput::Text(&link)],
    ] {
        let mentions = index.find(&inputs, &MentionOptions::codex());
        assert_eq!(resolutions(&mentions), ["deploy selected"]);
    }
}

#[test]
fn structured_input_takes_precedence_over_mentions_of_its_name() {
    let tree = tree();
    let index = MentionIndex::new(catalog(&tree));
    let path = |below: &str| tree.text(&format!("{below}/SKILL.md"));
    let find = |skills: &[(&str, &str)], text: &str| {
        let skills = skills
            .iter()
            .map(|(name, path)| UserInput::Skill { name, path });
        let inputs: Vec<UserInput<'_>> =
            [UserInput::Text(text)].into_iter().chain(skills).collect();
        let mentions = index.find(
            &inputs,
            &MentionOptions::codex().working_directory(tree.path("repo")),
        );
        (names(&mentions), resolutions(&mentions))
    };
    let (doc, gone, twin) = (path("repo/doc"), path("repo/gone"), path("user/twin"));
    assert_eq!(find(&[("doc", &doc)], "$alpha").0, ["doc", "alpha"]);
    assert_eq!(
        find(&[("doc", "doc/SKILL.md")], "").0,
        ["doc"],
        "a relative path starts at the working directory"
    );
    assert_eq!(find(&[("doc", &doc)], "$doc").0, ["doc"]);
    assert_eq!(
        find(&[("twin", &twin)], "$twin"),
        (
            vec!["twin".to_owned()],
            to_owned(&["twin superseded", "twin selected"])
        )
    );
    // Even with a wrong path or a disabled skill the name is settled.
    assert_eq!(
        find(&[("alpha", "/nowhere/SKILL.md")], "$alpha"),
        (vec![], to_owned(&["alpha superseded", "alpha unknown"]))
    );
    assert_eq!(find(&[("gone", &gone)], "$gone").0, Vec::<String>::new());
    assert_eq!(find(&[("doc", &doc), ("doc", &doc)], "").0, ["doc"]);
}

/// Names that structured input or a link has settled are settled for phrases as well.
#[test]
fn phrases_do_not_override_resolved_names() {
    let tree = tree();
    let index = MentionIndex::new(catalog(&tree));
    let find = |inputs: &[UserInput<'_>]| {
        let mentions = index.find(inputs, &MentionOptions::default());
        (names(&mentions), resolutions(&mentions))
    };
    let words = UserInput::Text("use the pdf-tools skill");
    assert_eq!(
        find(&[words]),
        (to_owned(&["pdf-tools"]), to_owned(&["pdf-tools selected"]))
    );
    let chosen = UserInput::Skill {
        name: "pdf-tools",
        path: "/nowhere/SKILL.md",
    };
    assert_eq!(
        find(&[chosen, words]),
        (
            vec![],
            to_owned(&["pdf-tools unknown", "pdf-tools superseded"])
        )
    );
    assert_eq!(
        find(&[UserInput::Text("use the twin skill")]).1,
        ["twin ambiguous"]
    );
    let link = format!("[$twin]({})", tree.text("user/twin/SKILL.md"));
    assert_eq!(
        find(&[
            UserInput::Text(&link),
            UserInput::Text("use the twin skill")
        ]),
        (
            to_owned(&["twin"]),
            to_owned(&["twin selected", "twin superseded"])
        )
    );
}

#[test]
fn several_texts_are_processed_in_order() {
    let tree = tree();
    let index = MentionIndex::new(catalog(&tree));
    let mentions = index.find(
        &[UserInput::Text("$doc"), UserInput::Text("$alpha $doc")],
        &MentionOptions::codex(),
    );
    assert_eq!(names(&mentions), ["doc", "alpha"]);
    assert_eq!(
        mentions
            .all
            .iter()
            .map(|mention| mention.input)
            .collect::<Vec<_>>(),
        [0, 1, 1]
    );
    assert_eq!(mentions.all[0].confidence, Confidence::High);
    let words = index.find(
        &[
            UserInput::Text("Hello."),
            UserInput::Text("use the pdf-tools skill"),
        ],
        &MentionOptions::default(),
    );
    assert_eq!(
        words
            .all
            .iter()
            .map(|mention| (mention.input, mention.kind))
            .collect::<Vec<_>>(),
        [(1, MentionKind::Phrase)]
    );
}

#[test]
fn a_skill_is_found_by_the_path_of_its_symlink() {
    let tree = SkillTree::new();
    tree.skill("elsewhere/pack/tool", "tool")
        .file("repo/readme", "");
    std::os::unix::fs::symlink(tree.path("elsewhere/pack"), tree.path("repo/pack")).unwrap();
    let index = MentionIndex::new(tree.catalog());
    let text = format!("[$tool]({})", tree.text("repo/pack/tool/SKILL.md"));
    let mentions = index.find(&[UserInput::Text(&text)], &MentionOptions::codex());
    assert_eq!(
        mentions.selected[0].directory(),
        tree.path("elsewhere/pack/tool"),
        "the path of the skill is canonical"
    );
}

#[test]
fn a_disabled_mode_applies_to_all_kinds_of_mentions() {
    let tree = tree();
    let modes = ListingModes::default()
        .with_rule(Selector::Name("alpha".to_owned()), ListingMode::Off)
        .with_rule(Selector::Name("beta".to_owned()), ListingMode::Manual);
    let index = MentionIndex::with_modes(catalog(&tree), &modes);
    let text = format!(
        "$alpha [$alpha]({}) use the alpha skill. $beta",
        tree.text("repo/alpha/SKILL.md")
    );
    let mentions = index.find(&[UserInput::Text(&text)], &MentionOptions::default());
    assert_eq!(
        resolutions(&mentions),
        ["alpha off", "alpha off", "alpha off", "beta selected"]
    );
}

#[test]
fn similar_names_are_suggested() {
    let tree = tree();
    let index = MentionIndex::new(catalog(&tree));
    assert_eq!(index.nearest("pfd-tools"), ["pdf-tools"]);
    assert_eq!(index.nearest("PDF Tool"), ["pdf-tools"]);
    assert_eq!(index.nearest("zzz"), Vec::<&str>::new());
    // A much shorter name is not similar, even with a common start.
    assert_eq!(index.nearest("pdf"), Vec::<&str>::new());
    assert_eq!(index.nearest("pdf-to"), ["pdf-tools"]);
    let tree = SkillTree::new();
    tree.skill("repo/a", "pdf-ab")
        .skill("repo/b", "code-review")
        .skill("repo/c", "code-reviews")
        .skill("repo/d", "code-reviewed")
        .skill("repo/e", "code-review-x");
    let index = MentionIndex::new(tree.catalog());
    assert_eq!(index.nearest("pdf"), ["pdf-ab"]);
    assert_eq!(
        index.nearest("code-rev"),
        ["code-review", "code-reviews", "code-review-x"],
        "the best three"
    );
    assert!(matches!(
        index
            .find(&[UserInput::Text("$pfd-tools")], &MentionOptions::codex())
            .all[0]
            .resolution,
        Resolution::Unknown
    ));
}

/// These words are used in JSON and in messages.
#[test]
fn kinds_and_resolutions_have_stable_names() {
    let kinds = [
        MentionKind::Structured,
        MentionKind::Link,
        MentionKind::Sigil,
        MentionKind::Command,
        MentionKind::Phrase,
    ]
    .map(MentionKind::as_str);
    assert_eq!(kinds, ["structured", "link", "sigil", "command", "words"]);
    let confidences = [
        Confidence::Low,
        Confidence::Medium,
        Confidence::High,
        Confidence::Certain,
    ]
    .map(Confidence::as_str);
    assert_eq!(confidences, ["low", "medium", "high", "certain"]);
    let tree = tree();
    let index = MentionIndex::new(catalog(&tree));
    let options = MentionOptions::default().connectors(["beta"]);
    let text = "$alpha $twin $missing $gone $hidden $beta. Don't use the pdf-tools skill.";
    let shown: Vec<String> = index
        .find(&[UserInput::Text(text)], &options)
        .all
        .iter()
        .map(|mention| mention.resolution.to_string())
        .collect();
    insta::assert_snapshot!(shown.join("\n"), @r#"
    selected
    ambiguous: 2 skills have this name; use a path
    unknown skill
    inactive: disabled by rule `disable name gone (test)`
    not user-invocable: `user-invocable` is false
    conflict: a connector has this name; use the path of the skill
    suggested: inside a negation (skill `pdf-tools`)
    "#);
    let reasons = [
        SuggestionReason::Negated,
        SuggestionReason::Question,
        SuggestionReason::Conditional,
        SuggestionReason::Quoted,
        SuggestionReason::CommonWord,
        SuggestionReason::Confusable,
    ];
    insta::assert_snapshot!(reasons.map(|reason| format!("{}: {reason}", reason.as_str())).join("\n"), @"
    negated: inside a negation
    question: inside a question
    condition: not a direct request
    quoted: inside a quotation
    ordinary: may not mean a skill
    look-alike: the name only looks the same
    ");
}

/// The resources of MCP have this form.
#[test]
fn a_link_to_the_uri_of_a_skill_is_a_mention() {
    check(
        "[$beta](skill://beta/SKILL.md) [$x](skill://alpha/SKILL.md)",
        &["alpha", "beta"],
        &["beta selected", "x selected"],
    );
    check("[$beta](skill://nothing/SKILL.md)", &[], &["beta unknown"]);
    check("[$beta](skill://beta/notes.md)", &[], &["beta unknown"]);
    check("[$twin](skill://twin/SKILL.md)", &[], &["twin ambiguous"]);
    check("[$gone](skill://gone/SKILL.md)", &[], &["gone disabled"]);
}
