//! `pylock.toml`, the standard lock file (PEP 751), as uv writes it.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::error::SetupError;
use crate::plan::{Plan, PlannedPackage, host_of};
use skills_packages::Registry;
use skills_packages::{normalize_name, parse_toml};

#[derive(Deserialize)]
struct Lock {
    #[serde(default)]
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    version: Option<String>,
    #[serde(default)]
    wheels: Vec<File>,
    sdist: Option<File>,
}

#[derive(Deserialize)]
struct File {
    url: Option<String>,
    size: Option<u64>,
    #[serde(default)]
    hashes: BTreeMap<String, String>,
}

/// Adds the packages of a lock file to a plan.
pub(crate) fn parse_lock(plan: &mut Plan, text: &str) -> Result<(), SetupError> {
    let lock: Lock =
        parse_toml(text).map_err(|error| SetupError::unreadable("the lock file", error))?;
    for package in lock.packages {
        let (Some(version), Some(file)) = (
            package.version,
            package.wheels.first().or(package.sdist.as_ref()),
        ) else {
            return Err(SetupError::unreadable(
                "the lock file",
                format!("`{}` has no file", package.name),
            ));
        };
        let files = package.wheels.iter().chain(&package.sdist);
        let sha256 = files.filter_map(|file| file.hashes.get("sha256")).cloned();
        plan.packages.push(PlannedPackage {
            registry: Registry::Pypi,
            name: normalize_name(&package.name),
            version,
            host: file.url.as_deref().and_then(host_of).unwrap_or_default(),
            size: file.size,
            is_declared: false,
            is_built: package.wheels.is_empty(),
            sha256: sha256.collect(),
        });
    }
    plan.python_lock = Some(text.to_owned());
    Ok(())
}
