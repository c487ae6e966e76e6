//! Type-checks the crates without C code for other platforms.

use std::process::Command;

use anyhow::Result;

use crate::command::{cargo, output, run, workspace_dir};

const CHECKED_TARGETS: [&str; 2] = ["aarch64-apple-darwin", "x86_64-pc-windows-msvc"];
/// The features with many dependencies, but without C code.
const HEAVY_FEATURES: &str = "skills-runtime/native";
/// The crates without C code in their dependency trees, if other features are off.
const PORTABLE_CRATES: &[&str] = &[
    "host-text-only",
    "skills-audit",
    "skills-build",
    "skills-client-config",
    "skills-clients",
    "skills-discovery",
    "skills-egress",
    "skills-ledger",
    "skills-manifest",
    "skills-policy",
    "skills-process",
    "skills-prompt",
    "skills-ref-compat",
    "skills-runtime",
    "skills-sandbox",
    "skills-sandbox-conformance",
    "skills-sandbox-linux",
    "skills-sandbox-seatbelt",
    "skills-script",
    "skills-seccomp",
    "skills-signature",
    "skills-threads",
    "skills-tools",
    "skills-mcp",
];

/// The target of programs that run in a sandbox of WebAssembly.
const WASI_TARGET: &str = "wasm32-wasip2";
/// The crates that programs in WebAssembly can use.
const WASI_CRATES: &[&str] = &[
    "skills-audit",
    "skills-clients",
    "skills-egress",
    "skills-ledger",
    "skills-lint",
    "skills-manifest",
    "skills-policy",
    "skills-prompt",
    "skills-ref-compat",
    "skills-script",
    "skills-search",
];

pub(crate) fn check_platforms() -> Result<()> {
    for target in CHECKED_TARGETS {
        check_for(target, PORTABLE_CRATES, &["--features", HEAVY_FEATURES])?;
    }
    check_for(WASI_TARGET, WASI_CRATES, &[])
}

/// Checks crates for a target, without default features.
fn check_for(target: &str, crates: &[&str], options: &[&str]) -> Result<()> {
    let add_target = ["target", "add", target];
    let mut rustup = Command::new("rustup");
    if output(rustup.current_dir(workspace_dir()).args(add_target)).is_err() {
        eprintln!("skipped the check for {target}: rustup cannot add it");
        return Ok(());
    }
    // Not built, since this host has no linker for the target.
    let mut check = cargo(&["check", "--locked", "--quiet", "--no-default-features"]);
    check.args(options).args(["--target", target]);
    // In one call, which checks shared dependencies once.
    run(crates
        .iter()
        .fold(&mut check, |check, name| check.args(["--package", name])))
}
