//! Runs the example hosts and checks their dependency trees.

use anyhow::{Result, bail};

use crate::command::{cargo, output, run};

/// The example hosts, with the crates that they must not depend on.
const EXAMPLE_HOSTS: [(&str, &[&str]); 7] = [
    (
        "host-text-only",
        &[
            "skills-sandbox",
            "skills-policy",
            "wasmtime",
            "landlock",
            "tokio",
        ],
    ),
    (
        "host-wasm-only",
        &["skills-sandbox-linux", "landlock", "seccompiler"],
    ),
    (
        "host-policy-and-sandbox",
        &[
            "skills-manifest",
            "serde_yaml",
            "pulldown-cmark",
            "wasmtime",
        ],
    ),
    ("host-middleware", &["wasmtime", "axum", "clap"]),
    ("host-turn", &["wasmtime", "landlock", "axum", "clap"]),
    ("host-streaming", &["axum", "clap"]),
    ("host-everything", &[]),
];

pub(crate) fn check_example_hosts() -> Result<()> {
    for (host, forbidden) in EXAMPLE_HOSTS {
        let tree = output(&mut cargo(&[
            "tree",
            "--locked",
            "--package",
            host,
            // Dependencies of tests are not part of a host.
            "--edges",
            "normal",
            "--prefix",
            "none",
            "--format",
            "{p}",
        ]))?;
        let found = forbidden.iter().find(|name| {
            tree.lines()
                // The name of a crate is followed by its version.
                .any(|line| line.split(' ').next() == Some(**name))
        });
        if let Some(found) = found {
            bail!("`{host}` must not depend on `{found}`");
        }
        run(&mut cargo(&[
            "run",
            "--locked",
            "--quiet",
            "--package",
            host,
        ]))?;
    }
    Ok(())
}
