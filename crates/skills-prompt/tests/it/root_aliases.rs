//! Aliases of roots: Codex's conformance cases R10 to R17.

use insta::assert_snapshot;
use skills_prompt::{Budget, SkillList, SkillListRenderer, SkillSummary};

const LONG: &str =
    "/home/somebody/with/a/very/long/path/to/all/of/the/skills/of/a/project/that/nests";

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

fn roots(catalogue: &SkillList) -> String {
    let body = catalogue.body();
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
fn without_pressure_there_are_none() {
    let catalogue = render(&below(LONG, 20), &[LONG], 100_000);
    assert_eq!(
        (catalogue.report().root_aliases, roots(&catalogue).as_str()),
        (0, "")
    );
}

#[test]
fn used_when_more_fits() {
    let items = below(LONG, 30);
    let catalogue = render(&items, &[LONG], 2_000);
    assert_eq!(
        (catalogue.report().included, catalogue.report().root_aliases),
        (30, 1)
    );
    assert!(
        SkillList::render(&items, Budget::Characters(2_000))
            .report()
            .included
            < 30
    );
    assert!(catalogue.report().cost <= 2_000);
    assert_snapshot!(roots(&catalogue), @"- `r0` = `/home/somebody/with/a/very/long/path/to/all/of/the/skills/of/a/project/that/nests`");
    assert!(
        catalogue
            .body()
            .contains("- skill-0: Does a thing. (file: r0/skill-0/SKILL.md)\n")
    );
    assert_snapshot!(catalogue.body().split("### Available").next().unwrap());
}

/// All skills are listed either way; what the shorter paths save goes to the descriptions.
#[test]
fn used_when_descriptions_keep_more() {
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

/// What has to be changed to be shown is no beginning of a path.
#[test]
fn a_root_that_cannot_be_shown_as_it_is_has_none() {
    for odd in ["`", "<", "\n"] {
        let root = format!("{LONG}/o{odd}dd");
        let catalogue = render(&below(&root, 30), &[&root], 3_000);
        assert_eq!(
            (catalogue.report().root_aliases, roots(&catalogue).as_str()),
            (0, ""),
            "{odd:?}"
        );
    }
}

#[test]
fn not_used_when_the_table_costs_more_than_it_saves() {
    let catalogue = render(&below(LONG, 2), &[LONG], 250);
    assert_eq!(catalogue.report().root_aliases, 0);
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
    let catalogue = render(&items, &list, 1_900);
    let got = roots(&catalogue)
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
fn plugins_with_several_skills_have_one_each() {
    check(&[("market/two/1", 2)], &["market/two/1/skills", "market"]);
}

#[test]
fn several_roots_of_one_version_have_one_each() {
    let version = format!("{LONG}/plugins/cache/market/tool/1");
    let (first, second) = (format!("{version}/skills"), format!("{version}/more"));
    let items: Vec<SkillSummary<'_>> = below(&first, 8)
        .into_iter()
        .chain(below(&second, 8))
        .collect();
    let catalogue = render(&items, &[&first, &second], 1_600);
    assert_eq!(
        roots(&catalogue)
            .replace(LONG, "")
            .replace("/plugins/cache/market/tool/1", ""),
        "- `r0` = `/skills`\n- `r1` = `/more`\n"
    );
}

#[test]
fn paths_elsewhere_stay_whole() {
    let mut items = below(LONG, 30);
    items.push(SkillSummary::new("linked", "Does.", "/elsewhere/linked/SKILL.md").root(LONG));
    let catalogue = render(&items, &[LONG], 2_100);
    assert_eq!(catalogue.report().root_aliases, 1);
    assert!(
        catalogue
            .body()
            .contains("(file: /elsewhere/linked/SKILL.md)")
    );
}
