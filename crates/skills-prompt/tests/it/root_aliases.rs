//! Root aliases: the conformance cases R10 to R17 of Codex.

use insta::assert_snapshot;
use skills_prompt::{Budget, SkillList, SkillListRenderer, SkillSummary};

const LONG: &str =
    "/home/username/with/a/very/long/path/to/all/of/the/skills/of/a/project/that/nests";

fn below<'a>(root: &'a str, count: usize) -> Vec<SkillSummary<'a>> {
    let item = |index: usize| {
        SkillSummary::new(
            format!("skill-{index}"),
            "Does a thing.",
            format!("{root}/skill-{index}/SKILL.md"),
        )
        .root(root)
    };
    (0..count).map(item).collect()
}

fn roots(skill_list: &SkillList) -> String {
    let body = skill_list.body();
    body.split("### Skill roots\n")
        .nth(1)
        .map(|rest| rest.split("###").next().unwrap().to_owned())
        .unwrap_or_default()
}

fn render(items: &[SkillSummary<'_>], roots: &[&str], budget: usize) -> SkillList {
    SkillListRenderer::new(Budget::Characters(budget))
        .roots(roots.iter().copied())
        .render(items)
}

#[test]
fn there_are_no_aliases_if_everything_fits() {
    let skill_list = render(&below(LONG, 20), &[LONG], 100_000);
    assert_eq!(
        (
            skill_list.report().root_aliases,
            roots(&skill_list).as_str()
        ),
        (0, "")
    );
}

#[test]
fn aliases_are_used_if_more_skills_fit() {
    let items = below(LONG, 30);
    let skill_list = render(&items, &[LONG], 2_000);
    assert_eq!(
        (
            skill_list.report().included,
            skill_list.report().root_aliases
        ),
        (30, 1)
    );
    assert!(
        SkillList::render(&items, Budget::Characters(2_000))
            .report()
            .included
            < 30
    );
    assert!(skill_list.report().cost <= 2_000);
    assert_snapshot!(roots(&skill_list), @"- `r0` = `/home/username/with/a/very/long/path/to/all/of/the/skills/of/a/project/that/nests`");
    assert!(
        skill_list
            .body()
            .contains("- skill-0: Does a thing. (file: r0/skill-0/SKILL.md)\n")
    );
    assert_snapshot!(skill_list.body().split("### Available").next().unwrap());
}

/// All skills are listed in both cases; the shorter paths leave more for the descriptions.
#[test]
fn aliases_are_used_if_less_is_truncated() {
    let items = below(LONG, 30);
    let limit = SkillList::render(&items, Budget::Characters(100_000))
        .report()
        .cost
        - 1;
    let (plain, aliased) = (
        SkillList::render(&items, Budget::Characters(limit)),
        render(&items, &[LONG], limit),
    );
    assert_eq!(
        (
            plain.report().included,
            plain.report().truncated_characters > 0
        ),
        (30, true)
    );
    assert_eq!(
        (
            aliased.report().included,
            aliased.report().truncated_characters,
            aliased.report().root_aliases
        ),
        (30, 0, 1)
    );
}

/// An alias must stand for the exact path, so a root that would be escaped gets none.
#[test]
fn a_root_that_would_be_escaped_gets_no_alias() {
    for special in ["`", "<", "\n"] {
        let root = format!("{LONG}/a{special}bc");
        let skill_list = render(&below(&root, 30), &[&root], 3_000);
        assert_eq!(
            (
                skill_list.report().root_aliases,
                roots(&skill_list).as_str()
            ),
            (0, ""),
            "{special:?}"
        );
    }
}

#[test]
fn aliases_are_not_used_if_their_table_costs_more_than_it_saves() {
    let skill_list = render(&below(LONG, 2), &[LONG], 250);
    assert_eq!(skill_list.report().root_aliases, 0);
    assert_eq!(render(&below(LONG, 2), &[LONG], 10).report().included, 0);
}

/// Skills of plugins: the directory below the cache, and whether each version brings one skill or
/// two.
fn plugins(parts: &[(&str, usize)]) -> (Vec<String>, Vec<(String, String)>) {
    let root = |part: &str| format!("{LONG}/plugins/cache/{part}/skills");
    let skills = parts.iter().flat_map(|(part, count)| {
        (0..*count).map(move |index| (root(part), format!("{}-{index}", part.replace('/', "-"))))
    });
    (
        parts.iter().map(|(part, _)| root(part)).collect(),
        skills.collect(),
    )
}

fn check(parts: &[(&str, usize)], expected: &[&str]) {
    // Enough others, so that the table is worth its price.
    let filler: Vec<(String, usize)> = (0..12)
        .map(|index| (format!("market/filler-{index}/1"), 1))
        .collect();
    let all: Vec<(&str, usize)> = parts
        .iter()
        .copied()
        .chain(filler.iter().map(|(part, count)| (part.as_str(), *count)))
        .collect();
    let (list, skills) = plugins(&all);
    let item = |(root, name): &'_ (String, String)| {
        SkillSummary::new(name.clone(), "Does.", format!("{root}/{name}/SKILL.md"))
            .root(root.clone())
    };
    let items: Vec<SkillSummary<'_>> = skills.iter().map(item).collect();
    let list: Vec<&str> = list.iter().map(String::as_str).collect();
    let skill_list = render(&items, &list, 1_900);
    let got = roots(&skill_list)
        .replace(LONG, "")
        .replace("/plugins/cache/", "");
    let got: Vec<&str> = got
        .lines()
        .map(|line| line.split(" = ").nth(1).unwrap().trim_matches('`'))
        .collect();
    assert_eq!(got, expected);
}

#[test]
fn plugins_with_one_skill_share_the_alias_of_their_marketplace() {
    check(&[("market/one/1", 1)], &["market"]);
    check(&[("market/one/1", 1), ("market/two/1", 1)], &["market"]);
    check(&[("market/one/1", 1), ("market/one/2", 1)], &["market"]);
    check(&[("other/one/1", 1)], &["other", "market"]);
}

#[test]
fn plugins_with_several_skills_get_an_alias_each() {
    check(&[("market/two/1", 2)], &["market/two/1/skills", "market"]);
}

#[test]
fn several_roots_of_one_version_get_an_alias_each() {
    let version = format!("{LONG}/plugins/cache/market/tool/1");
    let (first, second) = (format!("{version}/skills"), format!("{version}/more"));
    let items: Vec<SkillSummary<'_>> = below(&first, 8)
        .into_iter()
        .chain(below(&second, 8))
        .collect();
    let skill_list = render(&items, &[&first, &second], 1_600);
    assert_eq!(
        roots(&skill_list)
            .replace(LONG, "")
            .replace("/plugins/cache/market/tool/1", ""),
        "- `r0` = `/skills`\n- `r1` = `/more`\n"
    );
}

#[test]
fn paths_outside_of_the_root_stay_absolute() {
    let mut items = below(LONG, 30);
    items.push(SkillSummary::new("linked", "Does.", "/elsewhere/linked/SKILL.md").root(LONG));
    let skill_list = render(&items, &[LONG], 2_100);
    assert_eq!(skill_list.report().root_aliases, 1);
    assert!(
        skill_list
            .body()
            .contains("(file: /elsewhere/linked/SKILL.md)")
    );
}
