//! Checks the workspace against the architecture rules.

mod files;
mod translations;

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::command::{cargo, output, workspace_dir};

/// Allowed dependencies between workspace crates. A crate that is not listed may have none.
const ALLOWED_DEPENDENCIES: &[(&str, &[&str])] = &[
    ("skills-manifest", &[]),
    ("skills-ref-compat", &["skills-manifest"]),
    ("skills-script", &["skills-manifest"]),
    // Data without dependencies: discovery, policy and the command need the same table of clients,
    // and none of them may depend on another.
    ("skills-clients", &[]),
    (
        "skills-discovery",
        &["skills-clients", "skills-manifest", "skills-threads"],
    ),
    ("skills-lint", &["skills-manifest"]),
    ("skills-address", &[]),
    (
        "skills-install",
        &[
            "skills-address",
            "skills-manifest",
            "skills-discovery",
            "skills-packages",
            "skills-threads",
        ],
    ),
    ("skills-prompt", &["skills-manifest", "skills-discovery"]),
    ("skills-search", &["skills-manifest"]),
    // Files that decide what runs are opened in one way; below all crates that have some.
    ("skills-store", &[]),
    // The calls that start threads panic if the system refuses; this crate wraps them for all.
    ("skills-threads", &[]),
    ("skills-audit", &["skills-store"]),
    ("skills-ledger", &["skills-store"]),
    ("skills-build", &[]),
    ("skills-policy", &["skills-clients"]),
    ("skills-sandbox", &["skills-policy"]),
    (
        "skills-sandbox-conformance",
        &["skills-policy", "skills-sandbox"],
    ),
    ("skills-packages", &["skills-manifest"]),
    (
        "skills-deps",
        &["skills-packages", "skills-policy", "skills-sandbox"],
    ),
    (
        "skills-process",
        &["skills-policy", "skills-sandbox", "skills-threads"],
    ),
    (
        "skills-egress",
        &["skills-address", "skills-policy", "skills-threads"],
    ),
    ("skills-seccomp", &[]),
    (
        "skills-sandbox-wasm",
        &[
            "skills-egress",
            "skills-policy",
            "skills-process",
            "skills-sandbox",
            "skills-threads",
        ],
    ),
    (
        "skills-sandbox-linux",
        &[
            "skills-egress",
            "skills-policy",
            "skills-process",
            "skills-sandbox",
            "skills-seccomp",
            "skills-threads",
        ],
    ),
    (
        "skills-sandbox-container",
        &[
            "skills-egress",
            "skills-policy",
            "skills-process",
            "skills-sandbox",
            "skills-seccomp",
            "skills-threads",
        ],
    ),
    (
        "skills-sandbox-seatbelt",
        &[
            "skills-egress",
            "skills-policy",
            "skills-process",
            "skills-sandbox",
            "skills-threads",
        ],
    ),
    (
        "skills-runtime",
        &[
            "skills-manifest",
            "skills-discovery",
            "skills-prompt",
            "skills-search",
            "skills-audit",
            "skills-ledger",
            "skills-store",
            "skills-packages",
            "skills-policy",
            "skills-process",
            "skills-deps",
            "skills-sandbox",
            "skills-sandbox-container",
            "skills-sandbox-wasm",
            "skills-sandbox-linux",
            "skills-sandbox-seatbelt",
            "skills-threads",
        ],
    ),
    (
        "skills-tools",
        &["skills-runtime", "skills-script", "skills-threads"],
    ),
    ("skills-mcp", &["skills-tools", "skills-threads"]),
    (
        "skills-cli",
        &[
            "skills-build",
            "skills-clients",
            "skills-install",
            "skills-lint",
            "skills-mcp",
            "skills-ref-compat",
            "skills-runtime",
            "skills-store",
            "skills-tools",
            "skills-threads",
        ],
    ),
    ("host-text-only", &["skills-discovery", "skills-prompt"]),
    ("host-wasm-only", &["skills-runtime"]),
    ("host-everything", &["skills-runtime"]),
    ("host-middleware", &["skills-runtime", "skills-tools"]),
    ("host-turn", &["skills-runtime"]),
    (
        "host-policy-and-sandbox",
        &["skills-policy", "skills-sandbox", "skills-sandbox-linux"],
    ),
    ("skills-test-support", &[]),
    ("xtask", &["skills-test-support"]),
];

/// A crate of this workspace.
pub(crate) struct Member {
    pub(crate) name: String,
    pub(crate) features: Vec<String>,
    dependencies: Vec<String>,
}

pub(crate) fn tidy() -> Result<()> {
    // All problems are collected, so that one run shows them.
    let mut problems = Vec::new();
    for member in members()? {
        problems.extend(forbidden_dependencies(&member));
    }
    problems.extend(files::problems()?);
    problems.extend(translations::problems(&workspace_dir())?);
    if problems.is_empty() {
        eprintln!("tidy: no problems");
        return Ok(());
    }
    bail!("tidy: problems found\n  {}", problems.join("\n  "))
}

fn forbidden_dependencies(member: &Member) -> Vec<String> {
    let allowed = ALLOWED_DEPENDENCIES
        .iter()
        .find(|(name, _)| *name == member.name)
        .map(|(_, allowed)| *allowed);
    let Some(allowed) = allowed else {
        return vec![format!(
            "{}: crate missing from ALLOWED_DEPENDENCIES (xtask/src/tidy.rs)",
            member.name
        )];
    };
    let forbidden = member
        .dependencies
        .iter()
        .filter(|dependency| !allowed.contains(&dependency.as_str()));
    forbidden
        .map(|dependency| format!("{} must not depend on {dependency}", member.name))
        .collect()
}

/// Returns the crates of the workspace, with their features and their dependencies on each other,
/// without dev-dependencies.
pub(crate) fn members() -> Result<Vec<Member>> {
    #[derive(Deserialize)]
    struct Metadata {
        packages: Vec<Package>,
    }
    #[derive(Deserialize)]
    struct Package {
        name: String,
        features: BTreeMap<String, Vec<String>>,
        dependencies: Vec<Dependency>,
    }
    #[derive(Deserialize)]
    struct Dependency {
        name: String,
        kind: Option<String>,
        path: Option<String>,
    }
    let text = output(&mut cargo(&[
        "metadata",
        "--format-version=1",
        "--no-deps",
        "--locked",
    ]))?;
    let metadata: Metadata =
        serde_json::from_str(&text).context("cannot parse the output of `cargo metadata`")?;
    let member = |package: Package| {
        let internal = package
            .dependencies
            .into_iter()
            // Tests may use any crate of the workspace.
            .filter(|d| d.path.is_some() && d.kind.as_deref() != Some("dev"));
        Member {
            name: package.name,
            features: package.features.into_keys().collect(),
            dependencies: internal.map(|d| d.name).collect(),
        }
    };
    Ok(metadata.packages.into_iter().map(member).collect())
}
