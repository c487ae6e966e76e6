//! What the lock files of a skill fix.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use toml::Value;

use crate::listed::Registry;
use crate::project::ReadFile;
use crate::python::normalize_name;

/// The start of the addresses from which packages come if nothing else is configured.
const DEFAULT_INDEXES: [&str; 2] = ["https://pypi.org/", "https://registry.npmjs.org/"];

/// One version of a package, as a lock file fixes it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct LockedVersion {
    /// The version; empty if the lock file names none, as for a directory.
    pub version: String,
    /// Where the package comes from: the URL of an index or a file without its path, a repository, a
    /// directory. `None` for the default index of the registry.
    pub origin: Option<String>,
    /// The digests that its files may have, with their algorithms.
    pub digests: BTreeSet<String>,
}

/// The packages that a lock file fixes, by their names with the registry, such as `npm:left-pad` and
/// `pypi:requests`.
pub type LockedPackages = BTreeMap<String, BTreeSet<LockedVersion>>;

/// Reads the lock files of a skill that its packages are installed by: `uv.lock`,
/// `package-lock.json` and `npm-shrinkwrap.json`. `paths` are the files of the skill. A lock file
/// that cannot be parsed, or of a version that is not supported, fixes nothing and is left out.
///
/// ```
/// use skills_packages::locked_packages;
///
/// let files = |path: &str| {
///     (path == "package-lock.json").then(|| {
///         r#"{"lockfileVersion": 3, "packages": {"node_modules/left-pad": {"version": "1.3.0"}}}"#
///             .to_owned()
///     })
/// };
/// let locked = locked_packages(&files, ["SKILL.md", "package-lock.json"]);
/// let versions = &locked["package-lock.json"]["npm:left-pad"];
/// assert_eq!(versions.first().unwrap().version, "1.3.0");
/// ```
#[must_use]
pub fn locked_packages<'a>(
    files: &ReadFile<'_>,
    paths: impl IntoIterator<Item = &'a str>,
) -> BTreeMap<String, LockedPackages> {
    let mut locked = BTreeMap::new();
    for path in paths {
        let name = path.rsplit('/').next().unwrap_or(path);
        let parse = match name {
            "uv.lock" => of_uv,
            "package-lock.json" | "npm-shrinkwrap.json" => of_npm,
            _ => continue,
        };
        if let Some(packages) = files(path).and_then(|text| parse(&text)) {
            locked.insert(path.to_owned(), packages);
        }
    }
    locked
}

#[derive(Deserialize)]
struct UvLock {
    version: u32,
    #[serde(default)]
    package: Vec<UvPackage>,
}

#[derive(Deserialize)]
struct UvPackage {
    name: String,
    version: Option<String>,
    #[serde(default)]
    source: BTreeMap<String, Value>,
    sdist: Option<UvFile>,
    #[serde(default)]
    wheels: Vec<UvFile>,
}

#[derive(Deserialize)]
struct UvFile {
    hash: Option<String>,
}

fn of_uv(text: &str) -> Option<LockedPackages> {
    let lock: UvLock = toml::from_str(text).ok()?;
    if lock.version != 1 {
        return None;
    }
    let mut packages = LockedPackages::new();
    for package in lock.package {
        let is_of_project = ["virtual", "editable"]
            .iter()
            .any(|kind| package.source.contains_key(*kind));
        if is_of_project {
            continue;
        }
        let files = package.wheels.iter().chain(&package.sdist);
        let locked = LockedVersion {
            version: package.version.unwrap_or_default(),
            origin: uv_origin(&package.source),
            digests: files.filter_map(|file| file.hash.clone()).collect(),
        };
        let name = qualified(Registry::Pypi, &normalize_name(&package.name));
        packages.entry(name).or_default().insert(locked);
    }
    Some(packages)
}

fn uv_origin(source: &BTreeMap<String, Value>) -> Option<String> {
    if let Some(Value::String(index)) = source.get("registry") {
        return index_of(index);
    }
    let parts = source
        .iter()
        .map(|(kind, place)| format!("{kind}+{}", place.as_str().unwrap_or_default()));
    let parts: Vec<String> = parts.collect();
    (!parts.is_empty()).then(|| parts.join(" "))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct NpmLock {
    lockfile_version: u64,
    #[serde(default)]
    packages: BTreeMap<String, NpmPackage>,
}

#[derive(Deserialize)]
struct NpmPackage {
    /// The name of the package if its directory has another one.
    name: Option<String>,
    version: Option<String>,
    resolved: Option<String>,
    integrity: Option<String>,
}

fn of_npm(text: &str) -> Option<LockedPackages> {
    let lock: NpmLock = serde_json::from_str(text).ok()?;
    if lock.lockfile_version < 2 {
        return None;
    }
    let mut packages = LockedPackages::new();
    for (path, package) in lock.packages {
        // The project itself, and directories of a workspace, which are files of the skill.
        let Some((_, directory)) = path.rsplit_once("node_modules/") else {
            continue;
        };
        let name = package.name.as_deref().unwrap_or(directory);
        let locked = LockedVersion {
            version: package.version.unwrap_or_default(),
            origin: package.resolved.as_deref().and_then(npm_origin),
            digests: package.integrity.into_iter().collect(),
        };
        let name = qualified(Registry::Npm, name);
        packages.entry(name).or_default().insert(locked);
    }
    Some(packages)
}

/// Returns the origin of a file without what differs between versions.
fn npm_origin(resolved: &str) -> Option<String> {
    match resolved.split_once("://") {
        Some(("https" | "http", rest)) => {
            let host = rest.split('/').next().unwrap_or(rest);
            index_of(&resolved[..resolved.len() - rest.len() + host.len()])
        }
        // A repository with its commit, or a directory.
        _ => Some(resolved.to_owned()),
    }
}

/// Returns the address of an index, unless it is the default one.
fn index_of(address: &str) -> Option<String> {
    let with_slash = format!("{}/", address.trim_end_matches('/'));
    let is_default = DEFAULT_INDEXES
        .iter()
        .any(|index| with_slash.starts_with(index));
    (!is_default).then(|| address.to_owned())
}

fn qualified(registry: Registry, name: &str) -> String {
    match registry {
        Registry::Pypi => format!("pypi:{name}"),
        Registry::Npm => format!("npm:{name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str, text: &str) -> Option<LockedPackages> {
        let files = |_: &str| Some(text.to_owned());
        locked_packages(&files, [name]).remove(name)
    }

    fn lines(packages: &LockedPackages) -> String {
        let mut lines = Vec::new();
        for (name, versions) in packages {
            for locked in versions {
                let origin = locked.origin.as_deref().unwrap_or("-");
                let digests = Vec::from_iter(locked.digests.iter().map(String::as_str));
                lines.push(format!(
                    "{name} {} {origin} {}",
                    locked.version,
                    digests.join(",")
                ));
            }
        }
        lines.join("\n")
    }

    #[test]
    fn a_lock_of_uv_has_versions_origins_and_digests() {
        let text = r#"version = 1
[[package]]
name = "demo"
source = { virtual = "." }
[[package]]
name = "Py_PDF"
version = "4.1"
source = { registry = "https://pypi.org/simple" }
sdist = { url = "https://files.example/a.tar.gz", hash = "sha256:aa" }
wheels = [{ url = "https://files.example/a.whl", hash = "sha256:bb" }]
[[package]]
name = "other"
version = "1"
source = { registry = "https://pypi.org.evil.example/simple" }
[[package]]
name = "repo"
version = "2"
source = { git = "https://git.example/repo?rev=1#abc" }
"#;
        insta::assert_snapshot!(lines(&of("scripts/uv.lock", text).unwrap()), @r#"
        pypi:other 1 https://pypi.org.evil.example/simple 
        pypi:py-pdf 4.1 - sha256:aa,sha256:bb
        pypi:repo 2 git+https://git.example/repo?rev=1#abc
        "#);
        assert_eq!(of("uv.lock", "version = 2"), None);
        assert_eq!(of("uv.lock", "version = "), None);
    }

    #[test]
    fn a_lock_of_npm_has_nested_and_renamed_packages() {
        let text = r#"{"lockfileVersion": 3, "packages": {
            "": {"name": "demo", "dependencies": {"a": "1"}},
            "packages/own": {"version": "1.0.0"},
            "node_modules/a": {"version": "1.0.0", "resolved": "https://registry.npmjs.org/a/-/a-1.0.0.tgz",
                "integrity": "sha512-AA=="},
            "node_modules/a/node_modules/@s/b": {"version": "2.0.0"},
            "node_modules/@s/b": {"version": "1.0.0", "resolved": "https://npm.evil.example/b.tgz"},
            "node_modules/alias": {"name": "real", "version": "3.0.0",
                "resolved": "git+ssh://git@git.example/real.git#abc"}}}"#;
        insta::assert_snapshot!(lines(&of("npm-shrinkwrap.json", text).unwrap()), @r#"
        npm:@s/b 1.0.0 https://npm.evil.example 
        npm:@s/b 2.0.0 - 
        npm:a 1.0.0 - sha512-AA==
        npm:real 3.0.0 git+ssh://git@git.example/real.git#abc
        "#);
        assert_eq!(
            of(
                "package-lock.json",
                r#"{"lockfileVersion": 1, "dependencies": {}}"#
            ),
            None
        );
        assert_eq!(of("package.json", text), None);
    }
}
