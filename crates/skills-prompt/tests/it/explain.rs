//! What becomes of each skill in a list.

use skills_prompt::{Budget, Inclusion, ListingMode, SkillListRenderer, SkillSummary};

/// Renders within as many characters and returns name, place and cost of each skill.
fn check(items: &[SkillSummary<'_>], limit: usize, expected: &[(&str, Inclusion, usize)]) {
    let fates = SkillListRenderer::new(Budget::Characters(limit)).explain(items);
    let got: Vec<(&str, Inclusion, usize)> = fates
        .iter()
        .map(|fate| (fate.name.as_str(), fate.inclusion, fate.cost))
        .collect();
    assert_eq!(got, expected);
}

#[test]
fn a_place_says_how_much_of_a_description_is_shown() {
    let items = [
        SkillSummary::new("a", "abcdef", "/a"),
        SkillSummary::new("b", "uvwxyz", "/b"),
        SkillSummary::new("c", "", "/c"),
    ];
    let bare = "- a: (file: /a)\n".len();
    let whole = |name| (name, Inclusion::Full, bare + 7);
    let short = |name, characters| {
        (
            name,
            Inclusion::Truncated {
                shown_chars: characters,
                total_chars: 6,
            },
            bare + 1 + characters,
        )
    };
    let empty = ("c", Inclusion::NameOnly, bare);
    check(&items, 3 * bare + 14, &[whole("a"), whole("b"), empty]);
    check(&items, 3 * bare + 13, &[whole("a"), short("b", 5), empty]);
    check(&items, 3 * bare + 4, &[short("a", 1), short("b", 1), empty]);
    check(
        &items,
        3 * bare + 2,
        &[short("a", 1), ("b", Inclusion::NameOnly, bare), empty],
    );
    check(
        &items,
        3 * bare,
        &[
            ("a", Inclusion::NameOnly, bare),
            ("b", Inclusion::NameOnly, bare),
            empty,
        ],
    );
    check(
        &items,
        3 * bare - 1,
        &[
            ("a", Inclusion::NameOnly, bare),
            ("b", Inclusion::NameOnly, bare),
            ("c", Inclusion::Omitted, 0),
        ],
    );
    check(
        &items,
        bare - 1,
        &[
            ("a", Inclusion::Omitted, 0),
            ("b", Inclusion::Omitted, 0),
            ("c", Inclusion::Omitted, 0),
        ],
    );
}

#[test]
fn a_mode_is_said_behind_what_is_listed() {
    let items = [
        SkillSummary::new("off", "x", "/o").mode(ListingMode::Disabled),
        SkillSummary::new("manual", "x", "/m").mode(ListingMode::UserOnly),
        SkillSummary::new("name", "x", "/n").mode(ListingMode::NameOnly),
    ];
    let bare = "- name: (file: /n)\n".len();
    let unlisted = |name, mode| (name, Inclusion::Unlisted(mode), 0);
    check(
        &items,
        1_000,
        &[
            ("name", Inclusion::NameOnly, bare),
            unlisted("off", ListingMode::Disabled),
            unlisted("manual", ListingMode::UserOnly),
        ],
    );
}

/// No model is shown more than 1,024 characters, whatever the budget.
#[test]
fn a_description_beyond_the_longest_is_not_whole() {
    let bare = "- a: (file: /a)\n".len();
    let place = |length: usize, expected: Inclusion, shown: usize| {
        check(
            &[SkillSummary::new("a", "x".repeat(length), "/a")],
            10_000,
            &[("a", expected, bare + 1 + shown)],
        );
    };
    place(1_024, Inclusion::Full, 1_024);
    place(
        1_025,
        Inclusion::Truncated {
            shown_chars: 1_024,
            total_chars: 1_025,
        },
        1_024,
    );
}
