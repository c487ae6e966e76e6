//! What becomes of each skill in a list.

use skills_prompt::{Budget, Item, Mode, Place, Rendering};

/// Renders within as many characters and returns name, place and cost of each skill.
fn check(items: &[Item<'_>], limit: usize, expected: &[(&str, Place, usize)]) {
    let fates = Rendering::new(Budget::Characters(limit)).explain(items);
    let got: Vec<(&str, Place, usize)> = fates.iter().map(|fate| (fate.name.as_str(), fate.place, fate.cost)).collect();
    assert_eq!(got, expected);
}

#[test]
fn a_place_says_how_much_of_a_description_is_shown() {
    let items = [Item::new("a", "abcdef", "/a"), Item::new("b", "uvwxyz", "/b"), Item::new("c", "", "/c")];
    let bare = "- a: (file: /a)\n".len();
    let whole = |name| (name, Place::Whole, bare + 7);
    let short = |name, characters| (name, Place::Shortened { characters, of: 6 }, bare + 1 + characters);
    let empty = ("c", Place::Bare, bare);
    check(&items, 3 * bare + 14, &[whole("a"), whole("b"), empty]);
    check(&items, 3 * bare + 13, &[whole("a"), short("b", 5), empty]);
    check(&items, 3 * bare + 4, &[short("a", 1), short("b", 1), empty]);
    check(&items, 3 * bare + 2, &[short("a", 1), ("b", Place::Bare, bare), empty]);
    check(&items, 3 * bare, &[("a", Place::Bare, bare), ("b", Place::Bare, bare), empty]);
    check(&items, 3 * bare - 1, &[("a", Place::Bare, bare), ("b", Place::Bare, bare), ("c", Place::Omitted, 0)]);
    check(&items, bare - 1, &[("a", Place::Omitted, 0), ("b", Place::Omitted, 0), ("c", Place::Omitted, 0)]);
}

#[test]
fn a_mode_is_said_behind_what_is_listed() {
    let items = [
        Item::new("off", "x", "/o").mode(Mode::Off),
        Item::new("manual", "x", "/m").mode(Mode::Manual),
        Item::new("name", "x", "/n").mode(Mode::NameOnly),
    ];
    let bare = "- name: (file: /n)\n".len();
    let unlisted = |name, mode| (name, Place::Unlisted(mode), 0);
    check(&items, 1_000, &[("name", Place::Bare, bare), unlisted("off", Mode::Off), unlisted("manual", Mode::Manual)]);
}

/// No model is shown more than 1,024 characters, whatever the budget.
#[test]
fn a_description_beyond_the_longest_is_not_whole() {
    let bare = "- a: (file: /a)\n".len();
    let place = |length: usize, expected: Place, shown: usize| {
        check(&[Item::new("a", "x".repeat(length), "/a")], 10_000, &[("a", expected, bare + 1 + shown)]);
    };
    place(1_024, Place::Whole, 1_024);
    place(1_025, Place::Shortened { characters: 1_024, of: 1_025 }, 1_024);
}
