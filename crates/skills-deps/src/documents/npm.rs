//! `package-lock.json` of npm.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::error::{SetupError, SetupErrorKind, shown};
use crate::plan::{Plan, PlannedPackage, host_of};
use skills_packages::{
    Registry, is_npm_file, is_npm_package_name, is_npm_registry, npm_file_url, npm_registry,
};

/// The directory of installed packages.
const NODE_MODULES: &str = "node_modules/";

/// A package of a lock file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LockedPackage {
    /// Its name in the registry, which its directory does not need to have.
    pub(crate) name: String,
    pub(crate) version: String,
    /// True if npm leaves it out on some systems.
    pub(crate) is_optional: bool,
}

/// Adds the packages of a lock file to a plan. `registry` is the URL from which npm installs them.
///
/// npm gets no URL that the lock file has, so that no lock file decides from where it downloads, and
/// no list in the form of earlier versions of npm, which names packages a second time.
pub(crate) fn parse_lock(plan: &mut Plan, text: &str, registry: &str) -> Result<(), SetupError> {
    let mut lock: Map<String, Value> = serde_json::from_str(text)
        .map_err(|error| SetupError::unreadable("the lock file of npm", error))?;
    let version = lock.get("lockfileVersion").and_then(Value::as_u64);
    if !version.is_some_and(|version| (2..=3).contains(&version)) {
        let version = version.unwrap_or_default();
        let reason = format!("version {version} is not supported");
        return Err(SetupError::unreadable("the lock file of npm", reason));
    }
    lock.remove("dependencies");
    let packages = lock.get_mut("packages").and_then(Value::as_object_mut);
    let packages = packages
        .ok_or_else(|| SetupError::unreadable("the lock file of npm", "it lists no packages"))?;
    if !is_npm_registry(registry) {
        // It may have a password, so it is not shown.
        let reason = "the registry of npm is not a URL without a user, a query and a fragment";
        let error = SetupError::new(SetupErrorKind::Declaration, "plan", reason);
        return Err(error.with_help("change the setting `npm-registry`"));
    }
    for (path, package) in packages.iter_mut().filter(|(path, _)| !path.is_empty()) {
        let Some(locked) = locked_package(path, package)? else {
            continue;
        };
        check_file(&locked, package, registry)?;
        plan.packages.push(PlannedPackage {
            registry: Registry::Npm,
            name: locked.name,
            version: locked.version,
            host: host_of(registry).unwrap_or_default(),
            size: None,
            is_declared: false,
            is_built: false,
            sha256: [].into(),
        });
    }
    plan.node_lock = Some(Value::Object(lock).to_string());
    Ok(())
}

/// Returns the packages of the lock file of a plan, by their directories.
pub(crate) fn locked_packages(text: &str) -> Result<BTreeMap<String, LockedPackage>, SetupError> {
    let lock: Value = serde_json::from_str(text)
        .map_err(|error| SetupError::unreadable("the lock file of npm", error))?;
    let packages = lock.get("packages").and_then(Value::as_object);
    let mut locked = BTreeMap::new();
    for (path, package) in packages.into_iter().flatten() {
        if path.is_empty() {
            continue;
        }
        if let Some(package) = locked_package(path, package)? {
            locked.insert(path.clone(), package);
        }
    }
    Ok(locked)
}

/// Reads a package of a lock file; `None` if it is not installed, as it is for development.
fn locked_package(path: &str, package: &Value) -> Result<Option<LockedPackage>, SetupError> {
    let text = |field: &str| package.get(field).and_then(Value::as_str);
    let is_true = |field: &str| package.get(field).and_then(Value::as_bool) == Some(true);
    if is_true("dev") {
        return Ok(None);
    }
    let directory = package_of_directory(path);
    let name = text("name")
        .or(directory)
        .filter(|name| is_npm_package_name(name));
    match (directory, name, text("version")) {
        (Some(_), Some(name), Some(version)) if !is_true("link") => Ok(Some(LockedPackage {
            name: name.to_owned(),
            version: version.to_owned(),
            is_optional: is_true("optional") || is_true("devOptional"),
        })),
        _ => {
            let reason = format!("`{}` is not from a registry", shown(path));
            Err(SetupError::new(SetupErrorKind::Declaration, "plan", reason))
        }
    }
}

/// Returns the last name of a directory of packages that contain each other, such as
/// `node_modules/a/node_modules/@s/b`; `None` for every other path.
fn package_of_directory(path: &str) -> Option<&str> {
    let names: Vec<&str> = path
        .strip_prefix(NODE_MODULES)?
        .split("/node_modules/")
        .collect();
    let is_directory = names.iter().all(|name| is_npm_package_name(name));
    names.last().copied().filter(|_| is_directory)
}

/// Checks that a package has a digest and, at any registry, the URL of its own file, and replaces
/// that URL by the one of the configured registry.
fn check_file(
    locked: &LockedPackage,
    package: &mut Value,
    registry: &str,
) -> Result<(), SetupError> {
    let LockedPackage { name, version, .. } = locked;
    let invalid = |reason: String| SetupError::new(SetupErrorKind::Declaration, "plan", reason);
    if package.get("integrity").and_then(Value::as_str).is_none() {
        return Err(invalid(format!("`{name}` has no digest in the lock file")));
    }
    let Some(expected) = npm_file_url(registry, name, version) else {
        let version = shown(version);
        return Err(invalid(format!("`{name}` has no version `{version}`")));
    };
    let url = package.get("resolved").and_then(Value::as_str);
    let Some(url) = url.filter(|url| !url.is_empty()) else {
        // The registry says where the file is.
        return Ok(());
    };
    let Some(origin) = npm_registry(url, name, version) else {
        let reason = format!(
            "`{name}` is another package in the lock file: `{}`",
            shown(url)
        );
        let help = format!("the file of `{name}` {version} is {expected}");
        return Err(invalid(reason).with_help(help));
    };
    if is_npm_file(url, &origin, name, version) {
        package["resolved"] = expected.into();
    } else if let Some(fields) = package.as_object_mut() {
        // Where files have unusual URLs, only their registry knows them.
        fields.remove("resolved");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const REGISTRY: &str = "https://registry.npmjs.org";

    fn plan_of(text: &str, registry: &str) -> Result<Plan, String> {
        let mut plan = Plan::empty();
        let parsed = parse_lock(&mut plan, text, registry);
        parsed.map(|()| plan).map_err(|error| error.to_string())
    }

    fn plan(entries: &str) -> Result<Plan, String> {
        let text = format!(r#"{{"lockfileVersion": 3, "packages": {{{entries}}}}}"#);
        plan_of(&text, REGISTRY)
    }

    fn entry(path: &str, url: &str) -> String {
        format!(r#""{path}": {{"version": "1.0.0", "integrity": "sha512-A", "resolved": "{url}"}}"#)
    }

    #[test]
    fn a_package_has_the_file_of_its_name() {
        let url = |path: &str| format!("{REGISTRY}/{path}");
        let renamed = entry("node_modules/a/node_modules/b", &url("c/-/c-1.0.0.tgz"));
        let renamed = renamed.replace("\"version\"", "\"name\": \"c\", \"version\"");
        let scoped = entry("node_modules/@s/a", &url("@s/a/-/a-1.0.0.tgz"));
        let plan_of_both =
            plan(&[r#""": {"name": "demo"}"#, &scoped, &renamed].join(", ")).unwrap();
        let names: Vec<&str> = plan_of_both
            .packages
            .iter()
            .map(|p| p.name.as_str())
            .collect();
        assert_eq!(names, ["@s/a", "c"]);
        for evil in [
            "https://registry.npmjs.org/evil/-/evil-1.0.0.tgz",
            "https://registry.npmjs.org:443/evil/-/evil-1.0.0.tgz",
            "https://REGISTRY.npmjs.org/evil/-/evil-1.0.0.tgz",
            "http://registry.npmjs.org/evil/-/evil-1.0.0.tgz",
            "https://registry.npmjs.org/evil/-/evil-1.0.0.tgz#/left-pad/-/left-pad-1.0.0.tgz",
            "https://registry.npmjs.org/evil/-/evil-1.0.0.tgz?/left-pad/-/left-pad-1.0.0.tgz",
            "https://npm.example/left-pad/-/left-pad-1.0.1.tgz",
            "https://npm.example/download/evil/1.0.0/abc",
            "git+ssh://git@git.example/evil.git",
            "file:../evil.tgz",
        ] {
            let error = plan(&entry("node_modules/left-pad", evil)).unwrap_err();
            assert!(error.contains("`left-pad` is another package"), "{error}");
        }
    }

    #[test]
    fn npm_gets_one_form_of_each_url_and_one_list_of_packages() {
        let text = format!(
            r#"{{"lockfileVersion": 2, "dependencies": {{"evil": {{"version": "1.0.0"}}}},
                "packages": {{{}}}}}"#,
            entry(
                "node_modules/a",
                "https://Registry.NPMJS.org:443/a/-/a-1.0.0.tgz"
            )
        );
        let plan = plan_of(&text, "https://npm.example/team/").unwrap();
        assert_eq!(
            plan.node_lock.unwrap(),
            r#"{"lockfileVersion":2,"packages":{"node_modules/a":{"version":"1.0.0","integrity":"sha512-A","resolved":"https://npm.example/team/a/-/a-1.0.0.tgz"}}}"#
        );
        assert_eq!(plan.packages[0].host, "npm.example");
        let old = r#"{"lockfileVersion": 2, "dependencies": {"evil": {"version": "1.0.0"}}}"#;
        let error = plan_of(old, REGISTRY).unwrap_err();
        assert!(error.contains("it lists no packages"), "{error}");
    }

    #[test]
    fn a_file_of_any_registry_is_installed_from_the_configured_one() {
        let lock_of = |name: &str, url: &str| {
            let entry = entry(&format!("node_modules/{name}"), url);
            let text = format!(r#"{{"lockfileVersion": 3, "packages": {{{entry}}}}}"#);
            let plan = plan_of(&text, "https://npm.example/team").unwrap();
            assert_eq!(plan.packages[0].host, "npm.example", "{url}");
            let lock: Value = serde_json::from_str(&plan.node_lock.unwrap()).unwrap();
            let package = &lock["packages"][format!("node_modules/{name}")];
            assert_eq!(package["integrity"], "sha512-A", "{url}");
            package.get("resolved").cloned()
        };
        for registry in [
            "https://registry.npmjs.org",
            "https://registry.npmmirror.com",
            "https://registry.yarnpkg.com",
            "https://npm.other.example/repository/npm",
            "https://npm.example/evil",
            "https://npm.example/team",
            "http://npm.example/team",
            "http://localhost:4873",
        ] {
            let resolved = lock_of("@s/a", &format!("{registry}/@s/a/-/a-1.0.0.tgz"));
            let expected = "https://npm.example/team/@s/a/-/a-1.0.0.tgz";
            assert_eq!(resolved.unwrap(), expected, "{registry}");
            for path in ["@s/a/-/@s/a-1.0.0.tgz", "download/@s/a/1.0.0/abc"] {
                assert_eq!(lock_of("@s/a", &format!("{registry}/{path}")), None);
            }
        }
    }

    #[test]
    fn a_registry_with_a_user_or_a_query_is_named_as_the_cause() {
        let entry = entry("node_modules/a", "https://npm.example/a/-/a-1.0.0.tgz");
        let text = format!(r#"{{"lockfileVersion": 3, "packages": {{{entry}}}}}"#);
        for registry in [
            "https://user:secret@npm.example",
            "https://npm.example/?token=secret",
        ] {
            let error = plan_of(&text, registry).unwrap_err();
            assert!(
                error.contains("the registry of npm is not a URL"),
                "{error}"
            );
            assert!(!error.contains("secret"), "{error}");
        }
    }

    #[test]
    fn only_directories_of_packages_are_installed() {
        for path in [
            "../node_modules/a",
            "node_modules/../../node_modules/a",
            "node_modules/.a",
            "node_modules/a/",
            "node_modules/a/lib/node_modules/b",
            "node_modules/@s",
            "packages/own",
        ] {
            let url = format!("{REGISTRY}/a/-/a-1.0.0.tgz");
            let error = plan(&entry(path, &url)).unwrap_err();
            assert!(error.contains("is not from a registry"), "{path}: {error}");
        }
    }
}
