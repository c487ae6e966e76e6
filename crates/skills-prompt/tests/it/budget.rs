//! The budget of Codex: its golden vectors and its conformance cases R1 to R10.

use insta::assert_snapshot;
use proptest::prelude::*;
use skills_discovery::Scope;
use skills_prompt::{
    Allocation, Budget, ListFormat, ListingMode, SkillList, SkillListRenderer, SkillSummary,
    Truncation,
};

fn list(skill_list: &SkillList) -> String {
    let body = skill_list.body();
    let list = body
        .split("### Available skills\n")
        .nth(1)
        .unwrap_or_default();
    list.split("### How to use skills\n")
        .next()
        .unwrap_or_default()
        .to_owned()
}

/// Returns the cost of the entries without descriptions.
fn bare(items: &[SkillSummary<'_>], unit: fn(usize) -> Budget) -> usize {
    let items: Vec<SkillSummary<'_>> = items
        .iter()
        .map(|item| item.clone().mode(ListingMode::NameOnly))
        .collect();
    SkillList::render(&items, unit(1_000_000)).report().cost
}

fn named<'a>(descriptions: &[&'a str]) -> Vec<SkillSummary<'a>> {
    let item = |(index, description): (usize, &&'a str)| {
        SkillSummary::new(
            format!("s{index}"),
            *description,
            format!("/s{index}/SKILL.md"),
        )
    };
    descriptions.iter().enumerate().map(item).collect()
}

/// Checks the descriptions in a list with a budget of `extra` characters for them.
fn check(descriptions: &[&str], extra: usize, expected: &[&str]) -> SkillList {
    let items = named(descriptions);
    let skill_list = SkillList::render(
        &items,
        Budget::Characters(bare(&items, Budget::Characters) + extra),
    );
    let shown: Vec<String> = list(&skill_list)
        .lines()
        .map(|line| {
            line.split_once(':')
                .unwrap()
                .1
                .rsplit_once(" (file:")
                .unwrap()
                .0
                .trim_start()
                .to_owned()
        })
        .collect();
    assert_eq!(shown, expected);
    skill_list
}

#[test]
fn the_golden_vectors_of_codex_are_reproduced() {
    let skill_list = check(&["abcdef", "uvwxyz"], 6, &["ab", "uv"]);
    assert_eq!(
        (
            skill_list.report().truncated_characters,
            skill_list.report().warning("Codex")
        ),
        (8, None)
    );
    check(&["x", "abcdefghi"], 11, &["x", "abcdefgh"]);
    let long = "a".repeat(250);
    let skill_list = check(&[&long, ""], 49, &[&"a".repeat(48), ""]);
    let report = skill_list.report();
    assert_eq!(
        (
            report.truncated_characters,
            report.truncated_descriptions,
            report.average_truncation()
        ),
        (202, 1, 101)
    );
    assert_snapshot!(report.warning("Codex").unwrap(), @"Skill descriptions were shortened to fit the skills context budget. Codex can still see every skill, but some descriptions are shorter. Disable unused skills or plugins to leave more room for the rest.");
}

#[test]
fn an_average_of_100_characters_gives_no_warning() {
    let long = "a".repeat(248);
    let report = check(&[&long, ""], 49, &[&"a".repeat(48), ""])
        .report()
        .clone();
    assert_eq!(
        (report.average_truncation(), report.warning("Codex")),
        (100, None)
    );
}

#[test]
fn the_warning_mentions_a_share_of_the_window() {
    let long = "a".repeat(900);
    let items = named(&[&long]);
    let limit = bare(&items, Budget::Tokens) + 10;
    let warning = |budget| {
        SkillList::render(&items, budget)
            .report()
            .warning("Codex")
            .unwrap()
    };
    assert!(
        warning(Budget::WindowShare(limit))
            .starts_with("Skill descriptions were shortened to fit the 2% skills context budget.")
    );
    assert!(
        warning(Budget::Tokens(limit))
            .starts_with("Skill descriptions were shortened to fit the skills context budget.")
    );
    assert_snapshot!(warning(Budget::WindowShare(3)), @"Exceeded skills context budget of 2%. All skill descriptions were removed and 1 additional skill was not included in the model-visible skills list.");
}

#[test]
fn skills_at_the_end_of_the_list_are_omitted() {
    let skill = |name: &'static str, scope| {
        SkillSummary::new(name, "d", format!("/{name}/SKILL.md")).scope(scope)
    };
    let items = [
        skill("user", Scope::User),
        skill("repo", Scope::Repo),
        skill("admn", Scope::Admin),
        skill("syst", Scope::System),
    ];
    let one = bare(&items[..1], Budget::Characters);
    let skill_list = SkillList::render(&items, Budget::Characters(2 * one));
    assert_snapshot!(list(&skill_list), @"
    - syst: (file: /syst/SKILL.md)
    - admn: (file: /admn/SKILL.md)
    ");
    assert_eq!(skill_list.report().omitted, ["repo", "user"]);
    assert_eq!(skill_list.report().truncated, ["syst", "admn"]);
    assert_snapshot!(skill_list.report().warning("Codex").unwrap(), @"Exceeded skills context budget. All skill descriptions were removed and 2 additional skills were not included in the model-visible skills list.");
}

#[test]
fn an_entry_that_does_not_fit_does_not_omit_later_ones() {
    let long = "x".repeat(300);
    let items = [
        SkillSummary::new("a", "d", "/a"),
        SkillSummary::new("b", "d", &long),
        SkillSummary::new("c", "d", "/c"),
    ];
    let skill_list = SkillList::render(&items, Budget::Characters(60));
    assert_eq!(
        (
            list(&skill_list).lines().count(),
            skill_list.report().omitted.clone()
        ),
        (2, vec!["b".to_owned()])
    );
    assert!(
        skill_list
            .report()
            .warning("Codex")
            .unwrap()
            .contains("1 additional skill was not")
    );
}

#[test]
fn pinned_skills_keep_their_descriptions() {
    let text = "A description of forty characters, or so.";
    let mut items = named(&[text, text, text]);
    items[2] = items[2].clone().mode(ListingMode::Pinned);
    let limit = bare(&items, Budget::Characters) + 44;
    let skill_list = SkillList::render(&items, Budget::Characters(limit));
    assert_snapshot!(list(&skill_list), @"
    - s2: A description of forty characters, or so. (file: /s2/SKILL.md)
    - s0: A (file: /s0/SKILL.md)
    - s1: (file: /s1/SKILL.md)
    ");
    let skill_list = SkillList::render(&items, Budget::Characters(20));
    assert_eq!(
        skill_list.report().omitted_pinned,
        ["s2"],
        "an omitted pinned skill is reported"
    );
    let warning = SkillList::render(&items, Budget::Characters(limit - 60))
        .report()
        .warning("Codex")
        .unwrap();
    assert!(
        warning.contains(" Most skill descriptions were removed and 2 additional skills were"),
        "{warning}"
    );
}

#[test]
fn ranked_skills_fill_the_budget_in_order() {
    let items = named(&[
        "The first of all descriptions.",
        "The second one.",
        "The third one.",
    ]);
    let ranked: Vec<SkillSummary<'_>> = items.into_iter().rev().collect();
    let renderer = |extra: usize| {
        SkillListRenderer::new(Budget::Characters(
            bare(&ranked, Budget::Characters) + extra,
        ))
        .allocation(Allocation::Ranked)
    };
    assert_snapshot!(list(&renderer(35).render(&ranked)), @"
    - s2: The third one. (file: /s2/SKILL.md)
    - s1: The second one. (file: /s1/SKILL.md)
    - s0: The (file: /s0/SKILL.md)
    ");
    // If not even the paths fit, complete entries get half of the budget, and names the rest.
    let short = named(&["First.", "Second.", "Third."]);
    let skill_list = SkillListRenderer::new(Budget::Characters(80))
        .allocation(Allocation::Ranked)
        .render(&short);
    assert_snapshot!(list(&skill_list), @"
    - s0: First. (file: /s0/SKILL.md)
    Further skills by name: s1, s2.
    ");
    assert_eq!(skill_list.report().named, ["s1", "s2"]);
    let many = named(&["A short description."; 20]);
    let skill_list = SkillListRenderer::new(Budget::Characters(150))
        .allocation(Allocation::Ranked)
        .render(&many);
    assert_snapshot!(list(&skill_list), @"
    - s0: A short description. (file: /s0/SKILL.md)
    Further skills by name: s1, s2, s3, s4, s5, s6, s7, s8, s9, s10, s11. 8 more skills are not listed.
    ");
    assert_eq!(skill_list.report().named.len(), 11);
}

#[test]
fn names_that_could_be_several_are_not_in_the_line_of_names() {
    let mut items = named(&["A short description."; 4]);
    items[1] = SkillSummary::new("a, b", "A short description.", "/s1/SKILL.md");
    let skill_list = SkillListRenderer::new(Budget::Characters(109))
        .allocation(Allocation::Ranked)
        .render(&items);
    assert_snapshot!(list(&skill_list), @"
    - s0: A short description. (file: /s0/SKILL.md)
    Further skills by name: s2, s3. 1 more skill is not listed.
    ");
    assert_eq!(skill_list.report().omitted, ["a, b"]);
}

#[test]
fn a_list_with_a_search_hint_says_how_many_more_there_are() {
    let items = named(&["First.", "Second.", "Third.", "Fourth.", "Fifth."]);
    for format in ListFormat::ALL {
        for budget in 0..700 {
            let renderer = SkillListRenderer::new(Budget::Characters(budget))
                .allocation(Allocation::Ranked)
                .format(format)
                .search_hint("search_skills");
            let skill_list = renderer.render(&items);
            let report = skill_list.report();
            assert!(report.cost <= budget && report.budget == Budget::Characters(budget));
            let line = format!("{} more skill", report.omitted.len());
            let says_more = skill_list.text().contains(&line);
            let is_complete = report.omitted.is_empty() || skill_list.is_empty();
            // A budget that is too small for the line is too small for two entries as well.
            assert!(says_more != is_complete || report.included <= 2, "{budget}");
            let costs: usize = renderer
                .explain(&items)
                .iter()
                .map(|entry| entry.cost)
                .sum();
            assert!(costs <= report.cost);
        }
    }
    let skill_list = SkillListRenderer::new(Budget::Characters(130))
        .allocation(Allocation::Ranked)
        .search_hint("search_skills")
        .render(&items);
    assert_snapshot!(list(&skill_list), @"
    - s0: First. (file: /s0/SKILL.md)
    Further skills by name: s1, s2, s3, s4. Find more with search_skills.
    ");
}

#[test]
fn sentences_that_exclude_a_use_are_kept() {
    let items = named(&[
        "Fills PDF forms. Merges files. Use for PDF. Never use for scans.",
        "Short.",
    ]);
    let limit = bare(&items, Budget::Characters) + 60;
    let renderer =
        SkillListRenderer::new(Budget::Characters(limit)).truncation(Truncation::Sentences);
    let skill_list = renderer.render(&items);
    assert_snapshot!(list(&skill_list), @"
    - s0: Fills PDF forms. Merges files. Never use for scans. (file: /s0/SKILL.md)
    - s1: Short. (file: /s1/SKILL.md)
    ");
    assert_eq!(skill_list.report().truncated, ["s0"]);
}

/// Fewer characters can be more bytes, which is what tokens are counted by.
#[test]
fn sentences_cost_at_most_the_prefix_that_they_replace() {
    let items =
        named(&["Some plain words of a first sentence. Never for 日日日日日日日日日日日日。"]);
    let least = bare(&items, Budget::Tokens);
    for extra in 0..30 {
        let renderer =
            SkillListRenderer::new(Budget::Tokens(least + extra)).truncation(Truncation::Sentences);
        let list = list(&renderer.render(&items));
        assert!(list.len().div_ceil(4) <= least + extra, "{extra}: {list}");
    }
}

#[test]
fn descriptions_beyond_the_maximum_are_reported_as_truncated() {
    let long = format!("{} Never use for scans.", "Does things. ".repeat(90));
    let items = named(&[&long]);
    let renderer = SkillListRenderer::new(Budget::Characters(100_000));
    let (by_characters, by_sentences) = (
        renderer.render(&items),
        renderer
            .clone()
            .truncation(Truncation::Sentences)
            .render(&items),
    );
    assert_eq!(
        (
            by_characters.report().truncated.len(),
            by_sentences.report().truncated.len()
        ),
        (1, 1)
    );
    assert!(
        !list(&by_characters).contains("Never use")
            && list(&by_sentences).contains("Never use for scans.")
    );
    assert!(list(&by_sentences).chars().count() <= 1_024 + bare(&items, Budget::Characters));
}

#[test]
fn characters_that_sentences_do_not_use_are_reported() {
    let text = format!("First words here. {}.", "x".repeat(380));
    let items = named(&[&text]);
    let limit = bare(&items, Budget::Characters) + 360;
    let skill_list = SkillListRenderer::new(Budget::Characters(limit))
        .truncation(Truncation::Sentences)
        .render(&items);
    assert!(list(&skill_list).contains(": First words here. (file"));
    assert_eq!(
        skill_list.report().truncated_characters,
        text.len() - "First words here.".len()
    );
    assert!(skill_list.report().warning("Codex").is_some());
}

#[test]
fn the_tokenizer_of_the_caller_is_used() {
    let words = |text: &str| text.split_whitespace().count();
    let items = named(&["one two three four five six", "one two three four five six"]);
    let bare: usize = 2 * 4;
    let renderer = SkillListRenderer::new(Budget::Tokens(bare + 6)).tokenizer(&words);
    let skill_list = renderer.render(&items);
    // The space after the third word costs nothing here.
    assert_eq!(
        list(&skill_list),
        "- s0: one two three  (file: /s0/SKILL.md)\n- s1: one two three  (file: /s1/SKILL.md)\n"
    );
    assert_eq!(skill_list.report().cost, bare + 6);
    let characters = SkillListRenderer::new(Budget::Characters(10_000))
        .tokenizer(&words)
        .render(&items);
    assert_eq!(
        characters.report().cost,
        list(&characters).len(),
        "a tokenizer has no effect on characters"
    );
}

/// With a tokenizer every description gets the largest common length, and the rest goes to the
/// first ones.
#[test]
fn the_rest_of_a_token_budget_goes_to_the_first_skills() {
    let words = |text: &str| text.split_whitespace().count();
    let items = named(&["one two three d", "one two three d", "e"]);
    let shown = |extra: usize| {
        let skill_list = SkillListRenderer::new(Budget::Tokens(3 * 4 + extra))
            .tokenizer(&words)
            .render(&items);
        assert!(skill_list.report().cost <= 3 * 4 + extra);
        let list = list(&skill_list);
        let lines = list.lines().map(|line| {
            line.split_once(':')
                .unwrap()
                .1
                .rsplit_once(" (file:")
                .unwrap()
                .0
        });
        lines
            .map(|description| description.split_whitespace().count())
            .collect::<Vec<_>>()
    };
    assert_eq!(shown(0), [0, 0, 0]);
    assert_eq!(shown(3), [1, 1, 1]);
    assert_eq!(shown(5), [2, 2, 1]);
    assert_eq!(shown(6), [3, 2, 1]);
    assert_eq!(shown(8), [4, 3, 1]);
    assert_eq!(shown(9), [4, 4, 1]);
}

#[test]
fn all_formats_respect_the_budget() {
    let items = named(&["abcdef<", "uvwxyz"]);
    for format in ListFormat::ALL {
        let full = SkillListRenderer::new(Budget::Characters(10_000))
            .format(format)
            .render(&items)
            .report()
            .cost;
        let skill_list = SkillListRenderer::new(Budget::Characters(full - 4))
            .format(format)
            .render(&items);
        assert_eq!(skill_list.report().included, 2, "{format:?}");
        assert!(skill_list.report().cost <= full - 4);
    }
}

/// A unit of cost, computed independently from its documentation.
#[derive(Debug, Clone, Copy)]
enum Unit {
    Tokens,
    Characters,
}

impl Unit {
    fn budget(self, limit: usize) -> Budget {
        match self {
            Self::Tokens => Budget::Tokens(limit),
            Self::Characters => Budget::Characters(limit),
        }
    }

    /// Returns the cost of an entry with so many characters of its description.
    fn entry(self, index: usize, description: &str, shown: usize) -> usize {
        let text: String = description.chars().take(shown).collect();
        let space = if text.is_empty() { "" } else { " " };
        let entry = format!("- s{index}:{space}{text} (file: /s{index}/SKILL.md)\n");
        match self {
            Self::Tokens => entry.len().div_ceil(4),
            Self::Characters => entry.chars().count(),
        }
    }
}

/// The algorithm of Codex in its simplest form: one character after the other.
fn allocate_one_by_one(descriptions: &[String], mut rest: usize, unit: Unit) -> Vec<usize> {
    let mut shown = vec![0; descriptions.len()];
    loop {
        let mut changed = false;
        for (index, description) in descriptions.iter().enumerate() {
            if shown[index] == description.chars().count() {
                continue;
            }
            let step = unit.entry(index, description, shown[index] + 1)
                - unit.entry(index, description, shown[index]);
            if step <= rest {
                (rest, changed) = (rest - step, true);
                shown[index] += 1;
            }
        }
        if !changed {
            return shown;
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn even_allocation_equals_the_algorithm_of_codex(
        descriptions in proptest::collection::vec("[a-zé日]{0,40}", 1..6),
        extra in 0usize..120,
        unit in prop_oneof![Just(Unit::Tokens), Just(Unit::Characters)],
    ) {
        let texts: Vec<&str> = descriptions.iter().map(String::as_str).collect();
        let cost = |shown: usize| -> usize { texts.iter().enumerate().map(|(index, text)| unit.entry(index, text, shown)).sum() };
        let (least, full) = (cost(0), cost(40));
        prop_assume!(least + extra < full);
        let skill_list = SkillList::render(&named(&texts), unit.budget(least + extra));
        let shown: Vec<usize> = list(&skill_list)
            .lines()
            .map(|line| line.split_once(':').unwrap().1.rsplit_once(" (file:").unwrap().0.trim_start().chars().count())
            .collect();
        prop_assert_eq!(shown, allocate_one_by_one(&descriptions, extra, unit));
    }
}
