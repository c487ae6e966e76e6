//! The inclusion and cost of each skill in a list.

use skills_prompt::{Budget, Inclusion, ListingMode, SkillListRenderer, SkillSummary};

/// Checks name, inclusion and cost of each skill with a limit in characters.
fn check(items: &[SkillSummary<'_>], limit: usize, expected: &[(&str, Inclusion, usize)]) {
    let reports = SkillListRenderer::new(Budget::Characters(limit)).explain(items);
    let got: Vec<(&str, Inclusion, usize)> = reports
        .iter()
        .map(|report| (report.name.as_str(), report.inclusion, report.cost))
        .collect();
    assert_eq!(got, expected);
}

#[test]
fn inclusion_is_how_much_of_a_description_is_shown() {
    let items = [
        SkillSummary::new("a", "abcdef", "/a"),
        SkillSummary::new("b", "uvwxyz", "/b"),
        SkillSummary::new("c", "", "/c"),
    ];
    let bare = "- a: (file: /a)\n".len();
    let full = |name| (name, Inclusion::Full, bare + 7);
    let truncated = |name, characters| {
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
    check(&items, 3 * bare + 14, &[full("a"), full("b"), empty]);
    check(
        &items,
        3 * bare + 13,
        &[full("a"), truncated("b", 5), empty],
    );
    check(
        &items,
        3 * bare + 4,
        &[truncated("a", 1), truncated("b", 1), empty],
    );
    check(
        &items,
        3 * bare + 2,
        &[truncated("a", 1), ("b", Inclusion::NameOnly, bare), empty],
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
fn unlisted_skills_follow_the_listed_ones_with_their_mode() {
    let items = [
        SkillSummary::new("off", "x", "/o").mode(ListingMode::Off),
        SkillSummary::new("manual", "x", "/m").mode(ListingMode::Manual),
        SkillSummary::new("name", "x", "/n").mode(ListingMode::NameOnly),
    ];
    let bare = "- name: (file: /n)\n".len();
    let unlisted = |name, mode| (name, Inclusion::Unlisted(mode), 0);
    check(
        &items,
        1_000,
        &[
            ("name", Inclusion::NameOnly, bare),
            unlisted("off", ListingMode::Off),
            unlisted("manual", ListingMode::Manual),
        ],
    );
}

/// A description has at most 1,024 characters, whatever the budget.
#[test]
fn a_description_beyond_the_maximum_is_truncated() {
    let bare = "- a: (file: /a)\n".len();
    let check_length = |length: usize, expected: Inclusion, shown: usize| {
        check(
            &[SkillSummary::new("a", "x".repeat(length), "/a")],
            10_000,
            &[("a", expected, bare + 1 + shown)],
        );
    };
    check_length(1_024, Inclusion::Full, 1_024);
    check_length(
        1_025,
        Inclusion::Truncated {
            shown_chars: 1_024,
            total_chars: 1_025,
        },
        1_024,
    );
}
