//! The example hosts: each runs, and has in its tree only what it is there to show.

use anyhow::{Result, bail};

use crate::command::{cargo, output, run};

/// Each host, and the crates that must not be in its tree.
const EXAMPLE_HOSTS: [(&str, &[&str]); 5] = [
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
    ("host-everything", &[]),
];

pub(crate) fn check_example_hosts() -> Result<()> {
    for (host, absent) in EXAMPLE_HOSTS {
        let tree = output(&mut cargo(&[
            "tree",
            "--locked",
            "--package",
            host,
            "--edges",
            "normal",
            "--prefix",
            "none",
            "--format",
            "{p}",
        ]))?;
        let found = absent.iter().find(|name| {
            tree.lines()
                .any(|line| line.split(' ').next() == Some(**name))
        });
        if let Some(found) = found {
            bail!("{host} has {found} in its tree, and is there to show that it needs none");
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
