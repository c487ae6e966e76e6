//! Measures how many changes of the code the tests detect, with `cargo mutants`.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::command::{cargo, output, target_dir};

/// The default crates: their tests are fast, and their errors affect what programs may do or what
/// is recorded about them.
const DEFAULT_PACKAGES: [&str; 2] = ["skills-policy", "skills-audit"];
/// The minimum share of mutants that the tests must detect, in percent.
const MIN_CAUGHT_PERCENT: f64 = 95.0;
/// Cases of each property test for each mutant. A property that needs more detects nothing.
const PROPERTY_CASES: &str = "64";

/// The mutants of one package, by result. Mutants that do not compile are not counted.
struct Score {
    caught: u64,
    /// Mutants whose tests timed out, which fails them as well.
    timeout: u64,
    missed: u64,
}

/// Runs the mutants of packages, or of those of their files whose paths match a glob. Prints one
/// line for each package, and fails below the minimum. The missed mutants are in `missed.txt` of
/// the printed directory.
pub(crate) fn mutants(packages: &[String], files: &[String]) -> Result<()> {
    if output(&mut cargo(&["mutants", "--version"])).is_err() {
        bail!("cargo-mutants is not installed: cargo install cargo-mutants --locked");
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
        // A mutant that only causes a warning would otherwise count as one that does not compile.
        "--cap-lints=true",
        "--no-times",
    ]);
    command
        .args(["--package", package, "--test-package", package, "--output"])
        .arg(directory);
    command.args(files.iter().flat_map(|file| ["--file", file]));
    // Debug information doubles the link time.
    command
        .env("CARGO_PROFILE_DEV_DEBUG", "0")
        .env("PROPTEST_CASES", PROPERTY_CASES)
        .env("INSTA_UPDATE", "no");
    // Without doctests, each of which has to be linked.
    command.args(["--", "--lib", "--tests"]);
    let status = command.status().context("cannot run `cargo mutants`")?;
    // Missed mutants (2) or timeouts (3) are results, not errors.
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
        let detected = self.caught + self.timeout;
        #[expect(
            clippy::cast_precision_loss,
            reason = "there are thousands of mutants, not 2^52"
        )]
        // A package may have no mutants.
        let percent = 100.0 * detected as f64 / (detected + self.missed).max(1) as f64;
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
