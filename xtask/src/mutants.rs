//! Measures how many changes of the code the tests notice, with `cargo mutants`.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::command::{cargo, output, target_dir};

/// The crates that are measured when none is named: their tests are fast, and an error in them is
/// an error of what programs may do or of what is recorded of it.
const DEFAULT_PACKAGES: [&str; 2] = ["skills-policy", "skills-audit"];
/// The share of mutants that the tests must notice, in percent.
const MIN_CAUGHT_PERCENT: f64 = 95.0;
/// How many cases each property runs for each mutant; a property that needs more finds nothing.
const PROPERTY_CASES: &str = "64";

/// The mutants of one package, by result. A mutant that does not compile does not count.
struct Score {
    caught: u64,
    /// The tests did not end in time, which fails them as well.
    timeout: u64,
    missed: u64,
}

/// Runs the mutants of the packages, or of those of their files whose paths match a glob, prints
/// one line for each package, and fails below the goal. What was missed is in `missed.txt` of the
/// directory that is named at the end.
pub(crate) fn mutants(packages: &[String], files: &[String]) -> Result<()> {
    if output(&mut cargo(&["mutants", "--version"])).is_err() {
        bail!("no cargo-mutants: cargo install cargo-mutants --locked");
    }
    let packages = match packages {
        [] => DEFAULT_PACKAGES.map(str::to_owned).to_vec(),
        named => named.to_vec(),
    };
    let mut below = Vec::new();
    for package in packages {
        let directory = target_dir()?.join("mutants").join(&package);
        let score = measure_package(&package, files, &directory)?;
        println!(
            "{package}: {score}; {}",
            directory.join("mutants.out").display()
        );
        if score.percent() < MIN_CAUGHT_PERCENT {
            below.push(package);
        }
    }
    if !below.is_empty() {
        bail!(
            "less than {MIN_CAUGHT_PERCENT} % caught: {}",
            below.join(", ")
        );
    }
    Ok(())
}

fn measure_package(package: &str, files: &[String], directory: &Path) -> Result<Score> {
    fs::create_dir_all(directory)?;
    let mut command = cargo(&[
        "mutants",
        "--all-features",
        "--cap-lints=true",
        "--no-times",
    ]);
    command
        .args(["--package", package, "--test-package", package, "--output"])
        .arg(directory);
    command.args(files.iter().flat_map(|file| ["--file", file]));
    // Debug information doubles the time to link.
    command
        .env("CARGO_PROFILE_DEV_DEBUG", "0")
        .env("PROPTEST_CASES", PROPERTY_CASES)
        .env("INSTA_UPDATE", "no");
    // Without the examples of the documentation, each of which is a program to link.
    command.args(["--", "--lib", "--tests"]);
    let status = command.status().context("cannot run `cargo mutants`")?;
    // That mutants were missed (2) or timed out (3) is a result.
    ensure!(
        matches!(status.code(), Some(0 | 2 | 3)),
        "`cargo mutants` ended with {status}"
    );
    let path = directory.join("mutants.out/outcomes.json");
    let text =
        fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    Score::parse(&serde_json::from_str(&text)?)
}

impl Score {
    fn parse(outcomes: &Value) -> Result<Self> {
        let number = |name: &str| {
            outcomes[name]
                .as_u64()
                .with_context(|| format!("outcomes.json has no `{name}`"))
        };
        Ok(Self {
            caught: number("caught")?,
            timeout: number("timeout")?,
            missed: number("missed")?,
        })
    }

    fn percent(&self) -> f64 {
        let noticed = self.caught + self.timeout;
        #[expect(
            clippy::cast_precision_loss,
            reason = "there are thousands of mutants, not 2^52"
        )]
        let percent = 100.0 * noticed as f64 / (noticed + self.missed).max(1) as f64;
        percent
    }
}

impl std::fmt::Display for Score {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            caught,
            timeout,
            missed,
        } = self;
        let percent = self.percent();
        write!(
            f,
            "{percent:.1} % caught ({caught} caught, {timeout} timed out, {missed} missed)"
        )
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Score;

    #[test]
    fn timeouts_count_as_caught() {
        let score =
            Score::parse(&json!({"caught": 17, "timeout": 2, "missed": 1, "unviable": 9})).unwrap();
        assert_eq!(
            score.to_string(),
            "95.0 % caught (17 caught, 2 timed out, 1 missed)"
        );
    }
}
