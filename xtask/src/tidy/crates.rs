//! Limits the dependencies of each crate.

use super::members::Member;

/// The path of this file, for messages.
const FILE: &str = "xtask/src/tidy/crates.rs";

/// The crates, each with the other crates that it may depend on.
const CRATES: &[(&str, &[&str])] = &[
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

pub(super) fn problems(member: &Member) -> Vec<String> {
    let name = &member.name;
    let Some((_, allowed)) = CRATES.iter().find(|row| row.0 == name) else {
        return vec![format!("{name}: crate missing from CRATES ({FILE})")];
    };
    member
        .dependencies
        .iter()
        .filter(|dependency| !allowed.contains(&dependency.as_str()))
        .map(|dependency| format!("{name} must not depend on {dependency}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependencies_and_crates_that_are_not_listed_are_problems() {
        let problems_of = |name: &str, dependency: &str| {
            let member = Member {
                name: name.to_owned(),
                features: Vec::new(),
                dependencies: vec![dependency.to_owned()],
            };
            problems(&member)
        };
        assert_eq!(problems_of("skills-sandbox", "skills-policy"), [""; 0]);
        assert_eq!(
            problems_of("skills-policy", "skills-manifest"),
            ["skills-policy must not depend on skills-manifest"]
        );
        assert_eq!(problems_of("skills-new", "skills-policy").len(), 1);
    }
}
