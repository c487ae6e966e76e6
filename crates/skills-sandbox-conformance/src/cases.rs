//! The table.

mod files;
mod network;
mod privileges;
mod processes;
mod row;

use crate::{Case, Category};
use row::Row;

/// All cases, ordered by category.
pub const CASES: &[Case] = &numbered_cases();

const COUNT: usize = 104;

const CATEGORIES: [(Category, &[Row]); 11] = [
    (Category::Files, files::FILES),
    (Category::Races, files::RACES),
    (Category::Kernel, files::KERNEL),
    (Category::Network, network::NETWORK),
    (Category::LocalSockets, network::LOCAL_SOCKETS),
    (Category::Processes, processes::PROCESSES),
    (Category::Resources, processes::RESOURCES),
    (Category::Environment, processes::ENVIRONMENT),
    (Category::Output, privileges::OUTPUT),
    (Category::Privileges, privileges::PRIVILEGES),
    (Category::Runtime, privileges::RUNTIME),
];

#[expect(
    clippy::indexing_slicing,
    reason = "evaluated at compile time, where an index out of bounds is an error"
)]
const fn numbered_cases() -> [Case; COUNT] {
    let first = build_case(CATEGORIES[0].0, &CATEGORIES[0].1[0]);
    let mut cases = [first; COUNT];
    // `while`, since `for` is not available in a `const fn`.
    let mut at = 0;
    let mut group = 0;
    while group < CATEGORIES.len() {
        let (kind, rows) = CATEGORIES[group];
        let mut index = 0;
        while index < rows.len() {
            cases[at] = build_case(kind, &rows[index]);
            at += 1;
            index += 1;
        }
        group += 1;
    }
    assert!(at == COUNT, "the table is complete");
    cases
}

const fn build_case(group: Category, row: &Row) -> Case {
    Case {
        number: row.number,
        name: row.name,
        category: group,
        attempt: row.attempt,
        expected: row.expected,
        requirement: row.requirement,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::BackendVariant;

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
    fn every_case_has_a_sentence_and_a_result_in_every_column() {
        for case in CASES {
            assert!(
                case.attempt.ends_with('.') && case.attempt.len() > 20,
                "{}",
                case.name
            );
            for column in BackendVariant::ALL {
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
    fn cases_that_the_profile_decides_are_never_skipped() {
        let needs = |number: u8, column| {
            CASES
                .iter()
                .find(|case| case.number == number)
                .unwrap()
                .requirement(column)
        };
        assert_eq!(
            (
                needs(1, BackendVariant::Seatbelt),
                needs(1, BackendVariant::LinuxNamespaces)
            ),
            (None, None)
        );
        assert_eq!(
            (
                needs(52, BackendVariant::Seatbelt),
                needs(52, BackendVariant::LinuxNamespaces)
            ),
            (Some("macOS"), None)
        );
        assert_eq!(
            (
                needs(89, BackendVariant::LinuxLandlock),
                needs(89, BackendVariant::Wasm)
            ),
            (Some("x86-64"), None)
        );
    }
}
