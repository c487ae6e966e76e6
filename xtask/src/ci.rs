//! Runs all checks, the fastest first.

use std::process::Command;

use anyhow::Result;

use crate::agents::{Conditions, OnDifference, agents};
use crate::command::{cargo, output, run};
use crate::conformance::conformance;
use crate::demo::demo;
use crate::example_hosts::check_example_hosts;
use crate::fuzz::{DEFAULT_SECONDS, InputMode, fuzz};
use crate::guests::{GuestMode, guests};
use crate::interop::interop;
use crate::platforms::check_platforms;
use crate::skips::Strictness;
use crate::test::test;
use crate::tidy::{members, tidy};

/// Whether to run the tests.
#[derive(PartialEq)]
pub(crate) enum Tests {
    Run,
    Skip,
}

pub(crate) fn ci(tests: Tests) -> Result<()> {
    run(&mut cargo(&["fmt", "--all", "--check"]))?;
    run(&mut cargo(&[
        "fmt",
        // The fuzzers are a workspace of their own, which `--all` leaves out.
        "--manifest-path",
        "fuzz/Cargo.toml",
        "--check",
    ]))?;
    tidy()?;
    run(&mut cargo(&[
        "clippy",
        "--workspace",
        "--all-targets",
        "--locked",
        "--quiet",
        "--",
        "-D",
        "warnings",
    ]))?;
    // A workspace of its own: no other step compiles it.
    fuzz(None, DEFAULT_SECONDS, InputMode::Deterministic)?;
    // Before the tests, which update artifacts.
    guests(GuestMode::Check)?;
    if tests == Tests::Run {
        test(Strictness::Fail)?;
    }
    check_optional_feature(&tests)?;
    demo()?;
    check_example_hosts()?;
    run(
        // Broken links and other warnings of rustdoc are errors only with this variable.
        cargo(&["doc", "--workspace", "--no-deps", "--locked", "--quiet"])
            .env("RUSTDOCFLAGS", "-D warnings"),
    )?;
    check_dependencies()?;
    check_features()?;
    check_platforms()?;
    interop()?;
    agents(None, None, Conditions::All, OnDifference::Report)?;
    conformance()
}

/// Checks and tests the code and tests of the feature that no default build has. With its crate and
/// the one that uses it, since the workspace would be built twice.
fn check_optional_feature(tests: &Tests) -> Result<()> {
    let feature = [
        "--package",
        "skills-signature",
        "--package",
        "skills-install",
        "--features",
        "sigstore",
        "--locked",
        "--quiet",
    ];
    run(cargo(&["clippy", "--all-targets"])
        .args(feature)
        .args(["--", "-D", "warnings"]))?;
    if *tests == Tests::Run {
        run(cargo(&["test", "--lib", "--test", "it"])
            .args(feature)
            .args(["--", "sigstore"]))?;
    }
    Ok(())
}

fn check_dependencies() -> Result<()> {
    // Like other tools that a host may lack, it is skipped with a message.
    if output(Command::new("cargo-deny").arg("--version")).is_err() {
        eprintln!("skipped cargo deny: not installed (cargo install cargo-deny)");
        return Ok(());
    }
    run(&mut cargo(&[
        "deny", "check", "bans", "licenses", "sources",
    ]))
}

/// Checks each crate alone, without its default features and with each feature alone.
fn check_features() -> Result<()> {
    // Together, a crate could use a feature that only another crate enables.
    for member in members()? {
        let check = [
            "check",
            "--locked",
            "--quiet",
            "--no-default-features",
            "--package",
            &member.name,
        ];
        run(&mut cargo(&check))?;
        for feature in member
            .features
            .iter()
            .filter(|feature| *feature != "default")
        {
            run(cargo(&check).args(["--features", feature]))?;
        }
    }
    Ok(())
}
