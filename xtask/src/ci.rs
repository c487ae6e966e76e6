//! All checks, in the order in which they fail fastest.

use std::process::Command;

use anyhow::Result;

use crate::clients::clients;
use crate::command::{cargo, output, run};
use crate::conformance::conformance;
use crate::demo::demo;
use crate::fuzz::{Inputs, SECONDS, fuzz};
use crate::guests::{Mode, guests};
use crate::hosts::hosts;
use crate::platforms::platforms;
use crate::skips::Strictness;
use crate::test::test;
use crate::tidy::{members, tidy};

/// Whether the tests belong to this call.
#[derive(PartialEq)]
pub(crate) enum Tests {
    Run,
    Skip,
}

pub(crate) fn ci(tests: Tests) -> Result<()> {
    run(&mut cargo(&["fmt", "--all", "--check"]))?;
    run(&mut cargo(&["fmt", "--manifest-path", "fuzz/Cargo.toml", "--check"]))?;
    tidy()?;
    run(&mut cargo(&["clippy", "--workspace", "--all-targets", "--locked", "--quiet", "--", "-D", "warnings"]))?;
    // Before the tests, which put fresh artifacts in place.
    guests(Mode::Check)?;
    if tests == Tests::Run {
        test(Strictness::Fail)?;
    }
    demo()?;
    hosts()?;
    run(cargo(&["doc", "--workspace", "--no-deps", "--locked", "--quiet"]).env("RUSTDOCFLAGS", "-D warnings"))?;
    deny()?;
    features()?;
    platforms()?;
    fuzz(None, SECONDS, Inputs::Repeatable)?;
    clients()?;
    conformance()
}

fn deny() -> Result<()> {
    if output(Command::new("cargo-deny").arg("--version")).is_err() {
        eprintln!("skipped cargo deny: not installed (cargo install cargo-deny)");
        return Ok(());
    }
    run(&mut cargo(&["deny", "check", "bans", "licenses", "sources"]))
}

/// Checks each crate alone, without its default features and with each feature alone.
fn features() -> Result<()> {
    for member in members()? {
        let check = ["check", "--locked", "--quiet", "--no-default-features", "--package", &member.name];
        run(&mut cargo(&check))?;
        for feature in member.features.iter().filter(|feature| *feature != "default") {
            run(cargo(&check).args(["--features", feature]))?;
        }
    }
    Ok(())
}
