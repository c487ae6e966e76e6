//! `package-lock.json` of npm.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{Plan, PlannedPackage, host_of, unreadable};
use crate::error::{SetupError, SetupErrorKind};
use skills_packages::Registry;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Lock {
    #[serde(default)]
    lockfile_version: u32,
    #[serde(default)]
    packages: BTreeMap<String, Package>,
}

#[derive(Deserialize)]
struct Package {
    name: Option<String>,
    version: Option<String>,
    resolved: Option<String>,
    integrity: Option<String>,
    #[serde(default)]
    dev: bool,
    #[serde(default)]
    link: bool,
}

/// Adds the packages of a lock file to a plan. `registry` is the host of packages without a URL.
pub(crate) fn parse_lock(plan: &mut Plan, text: &str, registry: &str) -> Result<(), SetupError> {
    let lock: Lock =
        serde_json::from_str(text).map_err(|error| unreadable("the lock file of npm", error))?;
    if !(2..=3).contains(&lock.lockfile_version) {
        let reason = format!("version {} is not supported", lock.lockfile_version);
        return Err(unreadable("the lock file of npm", reason));
    }
    for (path, package) in lock.packages {
        // The first entry is the project itself.
        let Some((_, name)) = path.rsplit_once("node_modules/").filter(|_| !package.dev) else {
            continue;
        };
        let url = package.resolved.as_deref().unwrap_or_default();
        let is_of_registry =
            url.is_empty() || url.starts_with("https://") || url.starts_with("http://");
        let (Some(version), true) = (package.version, is_of_registry && !package.link) else {
            let reason = format!("`{}` is not from a registry", name.escape_debug());
            return Err(SetupError::new(SetupErrorKind::Declaration, "plan", reason));
        };
        if package.integrity.is_none() {
            let reason = format!("`{}` has no digest in the lock file", name.escape_debug());
            return Err(SetupError::new(SetupErrorKind::Declaration, "plan", reason));
        }
        plan.packages.push(PlannedPackage {
            registry: Registry::Npm,
            name: package.name.unwrap_or_else(|| name.to_owned()),
            version,
            host: host_of(url).unwrap_or_else(|| registry.to_owned()),
            size: None,
            is_declared: false,
            is_built: false,
            sha256: [].into(),
        });
    }
    plan.node_lock = Some(text.to_owned());
    Ok(())
}
