//! The official conformance suite.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::known_failures::KnownFailures;
use super::problem::Problem;
use super::test_server::with_temp_home;

/// Runs the suite, which writes its results to a directory.
pub(super) struct Suite<'a> {
    output_dir: &'a Path,
}

impl<'a> Suite<'a> {
    pub(super) fn new(output_dir: &'a Path) -> Self {
        Self { output_dir }
    }

    /// Checks all requirements of a protocol version. Exactly the known failures may fail.
    pub(super) fn check_requirements(
        &self,
        url: &str,
        version: &str,
        known: &KnownFailures,
    ) -> Result<()> {
        self.run(url, "--requirements", version, known)
    }

    /// Checks one scenario.
    pub(super) fn check_scenario(&self, url: &str, scenario: &str) -> Result<()> {
        self.run(url, "--scenario", scenario, &KnownFailures::default())
    }

    fn run(&self, url: &str, option: &str, name: &str, known: &KnownFailures) -> Result<()> {
        let results = self.output_dir.join(name);
        // Results of an earlier run would be counted again.
        if results.exists() {
            fs::remove_dir_all(&results)?;
        }
        let mut command = Command::new("conformance");
        command
            .args(["server", "--url", url, option, name, "--output-dir"])
            .arg(&results);
        let output = with_temp_home(&mut command, self.output_dir)
            .output()
            .context("cannot run the conformance suite")?;
        let stdout = String::from_utf8_lossy(&output.stdout);
        let report = SuiteReport {
            scenarios: read_results(&results)?,
            // Only the printed text says which scenarios were not required.
            unscored_checks: parse_unscored(&stdout),
        };
        println!("  {name}: {}", report.summary());
        // Reported before the exit status, which they explain.
        let differences = known.differences(&report.problems());
        ensure!(
            differences.is_empty(),
            "{name}:\n  {}",
            differences.join("\n  ")
        );
        ensure!(
            // A suite that ran no check must not pass.
            report.count("SUCCESS") > 0,
            "{name}: the suite checked nothing\n{stdout}"
        );
        ensure!(
            // The suite does not know which failures are expected.
            output.status.success() || !known.is_empty(),
            "{name}: the suite ended with {}\n{stdout}",
            output.status
        );
        Ok(())
    }
}

/// The results of the suite.
struct SuiteReport {
    scenarios: BTreeMap<String, Vec<Check>>,
    /// The scenarios that the protocol version does not require, with the reason.
    unscored_checks: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Check {
    id: String,
    status: String,
    #[serde(default)]
    error_message: Option<String>,
}

/// The reason for scenarios of optional extensions, of which the server offers none (tasks).
const EXTENSION_REASON: &str = "extension";

impl SuiteReport {
    /// Returns the scenarios that count: all except those of extensions.
    fn scored_checks(&self) -> impl Iterator<Item = (&str, &[Check])> {
        let is_counted = |name: &str| {
            self.unscored_checks
                .get(name)
                .is_none_or(|reason| reason != EXTENSION_REASON)
        };
        self.scenarios
            .iter()
            .map(|(name, checks)| (name.as_str(), checks.as_slice()))
            .filter(move |(name, _)| is_counted(name))
    }

    fn count(&self, status: &str) -> usize {
        self.scored_checks()
            .flat_map(|(_, checks)| checks)
            .filter(|check| check.status == status)
            .count()
    }

    fn summary(&self) -> String {
        let [passed, warned, failed] =
            ["SUCCESS", "WARNING", "FAILURE"].map(|status| self.count(status));
        let counted = self.scored_checks().count();
        let others = self.scenarios.len() - counted;
        let others = if others > 0 {
            format!(", without {others} of an extension that is not offered")
        } else {
            String::new()
        };
        let scenarios = if counted > 1 {
            format!(" in {counted} scenarios{others}")
        } else {
            String::new()
        };
        format!("{passed} checks passed, {warned} warned, {failed} failed{scenarios}")
    }

    /// Returns the failures, and the warnings of required scenarios.
    fn problems(&self) -> Vec<Problem> {
        let is_problem = |name: &str, check: &Check| match check.status.as_str() {
            "FAILURE" => true,
            "WARNING" => !self.unscored_checks.contains_key(name),
            _ => false,
        };
        let problem = |name: &str, check: &Check| Problem {
            scenario: name.to_owned(),
            check: check.id.clone(),
            status: check.status.clone(),
            reason: check
                .error_message
                .clone()
                .unwrap_or("no reason given".to_owned()),
        };
        let scenario_problems = |(name, checks): (&str, &[Check])| -> Vec<Problem> {
            checks
                .iter()
                .filter(|check| is_problem(name, check))
                .map(|check| problem(name, check))
                .collect()
        };
        self.scored_checks().flat_map(scenario_problems).collect()
    }
}

/// Reads the results: one directory `server-SCENARIO-TIME_PATTERN` for each scenario.
fn read_results(results: &Path) -> Result<BTreeMap<String, Vec<Check>>> {
    /// The time in the format of the suite.
    const TIME_PATTERN: usize = "-2026-01-01T00-00-00-000Z".len();
    let mut scenarios = BTreeMap::new();
    for entry in fs::read_dir(results).context("the suite wrote no results")? {
        let directory: PathBuf = entry?.path();
        let name = directory
            .file_name()
            .and_then(|name| name.to_str())
            .context("the suite wrote a directory without a scenario name")?;
        let name = name.strip_prefix("server-").unwrap_or(name);
        let name = name
            // Names contain dashes as well, so the time is removed by its length.
            .get(..name.len().saturating_sub(TIME_PATTERN))
            .context("the suite wrote a directory without a scenario name")?;
        let checks = fs::read_to_string(directory.join("checks.json"))
            .with_context(|| format!("cannot read the results of {name}"))?;
        scenarios.insert(
            name.to_owned(),
            serde_json::from_str(&checks)
                .with_context(|| format!("cannot read the results of {name}"))?,
        );
    }
    Ok(scenarios)
}

/// Parses the scenarios that ran without being required: lines such as `  ✓ NAME (REASON)` at the
/// end.
fn parse_unscored(stdout: &str) -> BTreeMap<String, String> {
    let lines = stdout
        .lines()
        .skip_while(|line| !line.starts_with("Not scored for "))
        .skip(1);
    let scenario = |line: &str| {
        let (name, reason) = line
            .trim()
            .trim_start_matches(['✓', '✗'])
            .trim()
            .rsplit_once(" (")?;
        Some((name.to_owned(), reason.strip_suffix(')')?.to_owned()))
    };
    lines.filter_map(scenario).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(checks: &[(&str, &str)], stdout: &str) -> SuiteReport {
        let mut scenarios = BTreeMap::<String, Vec<Check>>::new();
        for (name, status) in checks {
            let check = Check {
                id: "id".to_owned(),
                status: (*status).to_owned(),
                error_message: None,
            };
            scenarios.entry((*name).to_owned()).or_default().push(check);
        }
        SuiteReport {
            scenarios,
            unscored_checks: parse_unscored(stdout),
        }
    }

    const STDOUT: &str = "✗ c: 1 passed, 1 failed\n\nNot scored for 2026-07-28: 2 scenario(s) run.\n  ✗ c (extension)\n  ✓ b/d (added-after-release)\n";

    #[test]
    fn required_scenarios_must_not_warn() {
        let found = report(
            &[
                ("a", "SUCCESS"),
                ("a", "WARNING"),
                ("b/d", "WARNING"),
                ("b/d", "FAILURE"),
                ("c", "FAILURE"),
            ],
            STDOUT,
        );
        let problems: Vec<_> = found.problems().iter().map(ToString::to_string).collect();
        assert_eq!(
            problems,
            [
                "a: WARNING id: no reason given",
                "b/d: FAILURE id: no reason given"
            ]
        );
        let summary = "1 checks passed, 2 warned, 1 failed in 2 scenarios, without 1 of an extension that is not offered";
        assert_eq!(found.summary(), summary);
        assert!(
            report(
                &[
                    ("a", "SUCCESS"),
                    ("a", "INFO"),
                    ("a", "SKIPPED"),
                    ("c", "FAILURE")
                ],
                STDOUT
            )
            .problems()
            .is_empty()
        );
        assert_eq!(
            report(&[("c", "FAILURE")], "").problems().len(),
            1,
            "only the suite can leave a scenario unscored"
        );
    }
}
