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

pub(crate) fn check_platforms() -> Result<()> {
    for target in CHECKED_TARGETS {
        if output(
            Command::new("rustup")
                .current_dir(workspace_dir())
                .args(["target", "add", target]),
        )
        .is_err()
        {
            eprintln!("skipped the check for {target}: rustup cannot add it");
            continue;
        }
        let mut check = cargo(&[
            // Not built, since this host has no linker for the target.
            "check",
            "--locked",
            "--quiet",
            "--no-default-features",
            "--features",
            HEAVY_FEATURES,
            "--target",
            target,
        ]);
        // In one call, which checks shared dependencies once.
        run(PORTABLE_CRATES
            .iter()
            .fold(&mut check, |check, name| check.args(["--package", name])))?;
    }
    Ok(())
}
