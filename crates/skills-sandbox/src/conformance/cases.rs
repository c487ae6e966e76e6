//! The table.

mod files;
mod network;
mod processes;
mod surface;

use super::{Answer, Case, Column, Group};

/// All cases, group by group.
pub const CASES: &[Case] = &numbered();

const COUNT: usize = 101;

/// A row without its group; answers are those of [`Column::ALL`].
#[derive(Clone, Copy)]
struct Row {
    number: u8,
    name: &'static str,
    attempt: &'static str,
    expected: [&'static [Answer]; Column::ALL.len()],
    needs: Option<&'static str>,
}

const fn row(
    number: u8,
    name: &'static str,
    attempt: &'static str,
    expected: [&'static [Answer]; Column::ALL.len()],
) -> Row {
    Row {
        number,
        name,
        attempt,
        expected,
        needs: None,
    }
}

impl Row {
    const fn needs(mut self, what: &'static str) -> Self {
        self.needs = Some(what);
        self
    }
}

const DENIED: &[Answer] = &[Answer::Denied];
const NO_EFFECT: &[Answer] = &[Answer::NoEffect];
const CONTAINED: &[Answer] = &[Answer::Contained];
const WORKS: &[Answer] = &[Answer::Works];
const VISIBLE: &[Answer] = &[Answer::Visible];
const REFUSED: &[Answer] = &[Answer::Refused];
const ABSENT: &[Answer] = &[Answer::Absent];
/// Where the machine has what it takes, else the report says that it does not.
const COUNTED: &[Answer] = &[Answer::Contained, Answer::Visible];
/// Where the kernel is new enough, else the report says that it is not.
const SCOPED: &[Answer] = &[Answer::NoEffect, Answer::Visible];

const GROUPS: [(Group, &[Row]); 11] = [
    (Group::Files, files::FILES),
    (Group::Races, files::RACES),
    (Group::Kernel, files::KERNEL),
    (Group::Network, network::NETWORK),
    (Group::LocalSockets, network::LOCAL_SOCKETS),
    (Group::Processes, processes::PROCESSES),
    (Group::Resources, processes::RESOURCES),
    (Group::Environment, processes::ENVIRONMENT),
    (Group::Output, surface::OUTPUT),
    (Group::Privileges, surface::PRIVILEGES),
    (Group::Runtime, surface::RUNTIME),
];

#[expect(
    clippy::indexing_slicing,
    reason = "computed by the compiler, which refuses an index that is too large"
)]
const fn numbered() -> [Case; COUNT] {
    let first = case(GROUPS[0].0, &GROUPS[0].1[0]);
    let mut cases = [first; COUNT];
    let (mut at, mut group) = (0, 0);
    while group < GROUPS.len() {
        let (kind, rows) = GROUPS[group];
        let mut index = 0;
        while index < rows.len() {
            cases[at] = case(kind, &rows[index]);
            at += 1;
            index += 1;
        }
        group += 1;
    }
    assert!(at == COUNT, "the table is complete");
    cases
}

const fn case(group: Group, row: &Row) -> Case {
    Case {
        number: row.number,
        name: row.name,
        group,
        attempt: row.attempt,
        expected: row.expected,
        needs: row.needs,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn numbers_are_without_gaps_and_names_are_unique() {
        let numbers: BTreeSet<u8> = CASES.iter().map(|case| case.number).collect();
        assert!(numbers.into_iter().eq(1..=u8::try_from(COUNT).unwrap()));
        let names: BTreeSet<&str> = CASES.iter().map(|case| case.name).collect();
        assert_eq!(names.len(), CASES.len());
        for name in names {
            assert!(
                name.bytes()
                    .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-'),
                "{name}"
            );
        }
    }

    #[test]
    fn every_case_has_a_sentence_and_an_answer_in_every_column() {
        for case in CASES {
            assert!(
                case.attempt.ends_with('.') && case.attempt.len() > 20,
                "{}",
                case.name
            );
            for column in Column::ALL {
                let expected = case.expected(column);
                assert!(!expected.is_empty(), "{} {column}", case.name);
                assert_eq!(
                    expected.iter().collect::<BTreeSet<_>>().len(),
                    expected.len(),
                    "{} {column}",
                    case.name
                );
            }
        }
    }

    #[test]
    fn what_a_profile_decides_is_never_skipped() {
        let needs = |number: u8, column| {
            CASES
                .iter()
                .find(|case| case.number == number)
                .unwrap()
                .needs(column)
        };
        assert_eq!(
            (needs(1, Column::Seatbelt), needs(1, Column::Isolated)),
            (None, None)
        );
        assert_eq!(
            (needs(52, Column::Seatbelt), needs(52, Column::Isolated)),
            (Some("macOS"), None)
        );
        assert_eq!(
            (needs(89, Column::Landlock), needs(89, Column::Wasm)),
            (Some("x86-64"), None)
        );
    }
}
