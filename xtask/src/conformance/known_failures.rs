//! The checks that fail against the command alone, because it lacks the fixtures of the suite. The
//! list is a table in the documentation.

use std::collections::BTreeSet;
use std::fs;

use anyhow::{Context, Result, ensure};

use super::problem::Problem;
use crate::command::workspace_dir;

const DOCUMENT: &str = "docs/mcp.md";
/// The header of the table: scenarios with their checks, and the protocol versions.
const TABLE_HEADER: &str = "| scenario | checks that fail | versions |";

/// The checks that are expected to fail, each with its scenario.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct KnownFailures(BTreeSet<(String, String)>);

impl KnownFailures {
    /// Reads the list for a protocol version.
    pub(super) fn read(version: &str) -> Result<Self> {
        let document = fs::read_to_string(workspace_dir().join(DOCUMENT))
            .with_context(|| format!("cannot read {DOCUMENT}"))?;
        let known = Self::parse(&document, version)?;
        ensure!(
            !known.is_empty(),
            "{DOCUMENT}: the table of known failures has no scenario of {version}"
        );
        Ok(known)
    }

    fn parse(document: &str, version: &str) -> Result<Self> {
        let (_, table) = document
            .split_once(TABLE_HEADER)
            .with_context(|| format!("{DOCUMENT} has no table `{TABLE_HEADER}`"))?;
        let mut known = BTreeSet::new();
        // The rest of the header line and the line below it are not rows.
        for row in table
            .lines()
            .skip(2)
            .take_while(|line| line.starts_with('|'))
        {
            let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
            let [scenario, checks, versions] = cells[..] else {
                anyhow::bail!("{DOCUMENT}: the row has not three cells: {row}");
            };
            if versions.split(", ").any(|listed| listed == version) {
                let name = |cell: &str| cell.trim_matches('`').to_owned();
                known.extend(
                    checks
                        .split(", ")
                        .map(|check| (name(scenario), name(check))),
                );
            }
        }
        Ok(Self(known))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Describes how the problems of a run differ from the list: problems that are not listed, and
    /// listed checks that passed or did not run.
    pub(super) fn differences(&self, problems: &[Problem]) -> Vec<String> {
        let is_listed = |problem: &&Problem| self.0.contains(&problem.key());
        let found: BTreeSet<_> = problems.iter().map(Problem::key).collect();
        let new = problems.iter().filter(|problem| !is_listed(problem));
        let new = new.map(ToString::to_string);
        let gone = self.0.difference(&found).map(|(scenario, check)| {
            format!("{scenario}: {check} is listed in {DOCUMENT} and does not fail")
        });
        new.chain(gone).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "text\n\n| scenario | checks that fail | versions |\n|---|---|---|\n\
        | `a` | `a` | 2026-07-28, 2025-11-25 |\n| `b` | `b-one`, `b-two` | 2026-07-28 |\n\ntext\n";

    fn known(version: &str) -> KnownFailures {
        KnownFailures::parse(TABLE, version).unwrap()
    }

    fn problem(scenario: &str, check: &str) -> Problem {
        Problem {
            scenario: scenario.to_owned(),
            check: check.to_owned(),
            status: "FAILURE".to_owned(),
            reason: "no".to_owned(),
        }
    }

    #[test]
    fn a_row_counts_for_its_versions() {
        let pairs = |list: &[(&str, &str)]| {
            let pairs = list
                .iter()
                .map(|(scenario, check)| problem(scenario, check).key());
            KnownFailures(pairs.collect())
        };
        assert_eq!(
            known("2026-07-28"),
            pairs(&[("a", "a"), ("b", "b-one"), ("b", "b-two")])
        );
        assert_eq!(known("2025-11-25"), pairs(&[("a", "a")]));
        assert!(known("2025-06-18").is_empty());
        assert!(KnownFailures::parse("text", "2026-07-28").is_err());
        let broken = TABLE.replace("`a` | `a`", "`a`");
        assert!(KnownFailures::parse(&broken, "2026-07-28").is_err());
    }

    #[test]
    fn new_failures_and_listed_ones_that_pass_are_reported() {
        let known = known("2026-07-28");
        let listed = [
            problem("a", "a"),
            problem("b", "b-one"),
            problem("b", "b-two"),
        ];
        assert!(known.differences(&listed).is_empty());
        let found = [
            problem("a", "a"),
            problem("b", "b-two"),
            problem("b", "b-three"),
        ];
        assert_eq!(
            known.differences(&found),
            [
                "b: FAILURE b-three: no",
                "b: b-one is listed in docs/mcp.md and does not fail"
            ]
        );
        let all = KnownFailures::default().differences(&listed);
        assert_eq!(all.len(), 3, "without a list every problem counts");
    }
}
