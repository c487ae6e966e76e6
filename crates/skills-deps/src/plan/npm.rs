//! `package-lock.json` of npm.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{Plan, PlannedPackage, host_of, unreadable};
use crate::error::{SetupError, SetupErrorKind};
use skills_packages::{Registry, npm_registry};

/// How npm writes the addresses of files, whichever registry they were downloaded from.
const DEFAULT_REGISTRY: &str = "https://registry.npmjs.org/";

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
        let real_name = package.name.as_deref().unwrap_or(name);
        if is_another_package(url, real_name, &version) {
            let reason = format!(
                "`{}` is another package in the lock file: `{}`",
                real_name.escape_debug(),
                url.escape_debug()
            );
            return Err(SetupError::new(SetupErrorKind::Declaration, "plan", reason));
        }
        if package.integrity.is_none() {
            let reason = format!("`{}` has no digest in the lock file", name.escape_debug());
            return Err(SetupError::new(SetupErrorKind::Declaration, "plan", reason));
        }
        plan.packages.push(PlannedPackage {
            registry: Registry::Npm,
            name: real_name.to_owned(),
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

/// Returns true for a file of the default registry that is not one of the package: npm installs what
/// the URL leads to, whatever the name.
fn is_another_package(url: &str, name: &str, version: &str) -> bool {
    url.starts_with(DEFAULT_REGISTRY) && npm_registry(url, name, version).is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_has_the_file_of_its_name() {
        let plan = |entry: &str| {
            let text = format!(r#"{{"lockfileVersion": 3, "packages": {{{entry}}}}}"#);
            let mut plan = Plan::empty();
            parse_lock(&mut plan, &text, "registry.npmjs.org")
                .map(|()| {
                    plan.packages
                        .iter()
                        .map(|package| package.name.clone())
                        .collect()
                })
                .map_err(|error| error.to_string())
        };
        let file = |path: &str| {
            format!(
                r#""version": "1.0.0", "integrity": "sha512-A",
                    "resolved": "https://registry.npmjs.org/{path}""#
            )
        };
        let names: Result<Vec<String>, String> = plan(&format!(
            r#""node_modules/@s/a": {{{}}}, "node_modules/b": {{"name": "c", {}}}"#,
            file("@s/a/-/a-1.0.0.tgz"),
            file("c/-/c-1.0.0.tgz")
        ));
        assert_eq!(names.unwrap(), ["@s/a", "c"]);
        let other = file("evil/-/evil-1.0.0.tgz");
        let error = plan(&format!(r#""node_modules/left-pad": {{{other}}}"#)).unwrap_err();
        assert!(error.contains("`left-pad` is another package"), "{error}");
    }
}
