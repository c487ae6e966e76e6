//! Explicit mentions: Codex's conformance cases M1 to M23, and what it leaves silent.

use std::sync::Arc;

use skills_discovery::{Catalog, ConfigRule, Selector};
use skills_prompt::{
    Confidence, ListingMode, ListingModes, MentionIndex, MentionKind, MentionOptions, Mentions,
    Resolution, SuggestionReason, UserInput,
};

use crate::skill_tree::SkillTree;

/// `alpha`, `beta`, `doc` in the repository; `twin` in repository and user; `github:yeet`; `gone`
/// disabled; `foreign` untrusted.
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

fn told(mentions: &Mentions<'_>) -> Vec<String> {
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
        (names(&mentions), told(&mentions)),
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
fn plain_names() {
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
    // A sentence goes on behind a colon; for Codex it is a part of the name.
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
fn the_order_is_that_of_the_catalogue() {
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
fn names_that_select_nobody_say_why() {
    check("$twin", &[], &["twin ambiguous"]);
    check("$gone", &[], &["gone disabled"]);
    check("$foreign", &[], &["foreign blocked"]);
    check("$hidden", &[], &["hidden not-for-users"]);
    check("$nobody", &[], &["nobody unknown"]);
}

#[test]
fn links() {
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
    // Which of two, and no falling back to the name.
    check(
        "[$twin](ROOTuser/twin/SKILL.md) $twin",
        &["twin"],
        &["twin selected", "twin settled"],
    );
    check("[$alpha](/nowhere/SKILL.md)", &[], &["alpha unknown"]);
    check("[$gone](ROOTrepo/gone/SKILL.md)", &[], &["gone disabled"]);
    check(
        "[$foreign](ROOTforeign/foreign/SKILL.md)",
        &[],
        &["foreign blocked"],
    );
    check("[$PATH](ROOTrepo/alpha/SKILL.md)", &[], &[]);
    check(
        "$doc [$beta](ROOTrepo/beta/SKILL.md)",
        &["beta", "doc"],
        &["doc selected", "beta selected"],
    );
}

#[test]
fn connectors() {
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
fn names_of_other_scripts_are_an_option() {
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

#[test]
fn structured_input_comes_first_and_decides_on_its_name() {
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
        (names(&mentions), told(&mentions))
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
            to_owned(&["twin settled", "twin selected"])
        )
    );
    // Wrong or disabled, it still keeps the name from being looked up.
    assert_eq!(
        find(&[("alpha", "/nowhere/SKILL.md")], "$alpha"),
        (vec![], to_owned(&["alpha settled", "alpha unknown"]))
    );
    assert_eq!(find(&[("gone", &gone)], "$gone").0, Vec::<String>::new());
    assert_eq!(find(&[("doc", &doc), ("doc", &doc)], "").0, ["doc"]);
}

/// What structured input or a link decides on is decided for words as well.
#[test]
fn words_do_not_decide_again() {
    let tree = tree();
    let index = MentionIndex::new(catalog(&tree));
    let find = |inputs: &[UserInput<'_>]| {
        let mentions = index.find(inputs, &MentionOptions::default());
        (names(&mentions), told(&mentions))
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
            to_owned(&["pdf-tools unknown", "pdf-tools settled"])
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
            to_owned(&["twin selected", "twin settled"])
        )
    );
}

#[test]
fn several_texts_are_read_in_turn() {
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
        "its own path is the canonical one"
    );
}

#[test]
fn a_mode_of_off_stops_all_ways() {
    let tree = tree();
    let modes = ListingModes::default()
        .with_rule(Selector::Name("alpha".to_owned()), ListingMode::Disabled)
        .with_rule(Selector::Name("beta".to_owned()), ListingMode::UserOnly);
    let index = MentionIndex::with_modes(catalog(&tree), &modes);
    let text = format!(
        "$alpha [$alpha]({}) use the alpha skill. $beta",
        tree.text("repo/alpha/SKILL.md")
    );
    let mentions = index.find(&[UserInput::Text(&text)], &MentionOptions::default());
    assert_eq!(
        told(&mentions),
        ["alpha off", "alpha off", "alpha off", "beta selected"]
    );
}

#[test]
fn the_nearest_names_are_offered() {
    let tree = tree();
    let index = MentionIndex::new(catalog(&tree));
    assert_eq!(index.nearest("pfd-tools"), ["pdf-tools"]);
    assert_eq!(index.nearest("PDF Tool"), ["pdf-tools"]);
    assert_eq!(index.nearest("zzz"), Vec::<&str>::new());
    // A name that is much shorter is not alike, even where it begins the same.
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

/// What JSON shows, and what users read.
#[test]
fn ways_and_outcomes_have_stable_words() {
    let ways = [
        MentionKind::Structured,
        MentionKind::Link,
        MentionKind::Sigil,
        MentionKind::Command,
        MentionKind::Phrase,
    ]
    .map(MentionKind::as_str);
    assert_eq!(ways, ["structured", "link", "sigil", "command", "words"]);
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
    let text = "$alpha $twin $nobody $gone $hidden $beta. Don't use the pdf-tools skill.";
    let shown: Vec<String> = index
        .find(&[UserInput::Text(text)], &options)
        .all
        .iter()
        .map(|mention| mention.resolution.to_string())
        .collect();
    insta::assert_snapshot!(shown.join("\n"), @r#"
    selected
    ambiguous: 2 skills have this name; name one by its path
    no skill has this name
    not used: disabled by the rule: disable "gone" (test)
    not used: the skill says that users cannot call it
    not used: a connector has the same name; name the skill by its path
    not used, the text says not to: the skill pdf-tools
    "#);
    let doubts = [
        SuggestionReason::Negated,
        SuggestionReason::Question,
        SuggestionReason::Conditional,
        SuggestionReason::Quoted,
        SuggestionReason::CommonWord,
        SuggestionReason::Confusable,
    ];
    insta::assert_snapshot!(doubts.map(|doubt| format!("{}: {doubt}", doubt.as_str())).join("\n"), @"
    negated: the text says not to
    question: the text asks about it
    condition: the text speaks of when or who, not of now
    quoted: the text quotes it
    ordinary: nothing says that a skill is meant
    look-alike: the name only looks like it
    ");
}
