//! The crates of this workspace, from `cargo metadata`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::command::{cargo, output};

/// Follows the name of a dependency that has no features.
pub(super) const WITHOUT_FEATURES: &str = " without features";

/// A crate of this workspace.
pub(crate) struct Member {
    pub(crate) name: String,
    pub(crate) features: Vec<String>,
    pub(super) dependencies: Vec<String>,
    /// The first files of its library and programs, the library first.
    pub(super) roots: Vec<PathBuf>,
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
        targets: Vec<Target>,
    }
    #[derive(Deserialize)]
    struct Target {
        kind: Vec<String>,
        src_path: PathBuf,
    }
    #[derive(Deserialize)]
    struct Dependency {
        name: String,
        kind: Option<String>,
        path: Option<String>,
        features: Vec<String>,
        uses_default_features: bool,
    }
    impl Dependency {
        /// `features` are those of the crate that depends on it, which can enable its features.
        fn description(self, features: &BTreeMap<String, Vec<String>>) -> String {
            let is_of_this = |text: &String| {
                let rest = text.strip_prefix(&self.name);
                rest.is_some_and(|rest| rest.starts_with('/') || rest.starts_with("?/"))
            };
            let has_features = !self.features.is_empty()
                || self.uses_default_features
                || features.values().flatten().any(is_of_this);
            if has_features {
                self.name
            } else {
                self.name + WITHOUT_FEATURES
            }
        }
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
        let mut targets = package.targets;
        targets.retain(|target| ["lib", "bin"].contains(&target.kind[0].as_str()));
        targets.sort_by_key(|target| target.kind[0] != "lib");
        Member {
            name: package.name,
            dependencies: internal
                .map(|dependency| dependency.description(&package.features))
                .collect(),
            features: package.features.into_keys().collect(),
            roots: targets.into_iter().map(|target| target.src_path).collect(),
        }
    };
    Ok(metadata.packages.into_iter().map(member).collect())
}
