//! What the lock files of a skill fix.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use toml::Value;

use crate::files::ReadFile;
use crate::grammar::normalize_name;
use crate::listed::Registry;
use crate::npm_file::npm_registry;
use crate::python::lock::{self, UvPackage, UvSource};

/// The addresses of the indexes that are used if nothing else is configured.
const DEFAULT_INDEXES: [&str; 2] = ["https://pypi.org/simple", "https://registry.npmjs.org"];

/// The host of the files of the default index for Python.
const DEFAULT_FILE_HOST: &str = "files.pythonhosted.org";

/// One version of a package, as a lock file fixes it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct LockedVersion {
    /// The version; empty if the lock file names none, as for a directory.
    pub version: String,
    /// Where the package comes from, without what differs between its versions: the URL of an index,
    /// with other hosts of its files. The whole URL of a file that is not at the usual path of an
    /// index, of a repository or a directory. `None` for the default index of the registry.
    pub origin: Option<String>,
    /// The digests that its files may have, with their algorithms.
    pub digests: BTreeSet<String>,
}

/// The packages that a lock file fixes, by their names with the registry, such as `npm:left-pad` and
/// `pypi:requests`.
pub type LockedPackages = BTreeMap<String, BTreeSet<LockedVersion>>;

/// Returns true for the path of a lock file that packages of a skill are installed by: `uv.lock`,
/// `package-lock.json` and `npm-shrinkwrap.json`.
#[must_use]
pub fn is_lock_file(path: &str) -> bool {
    parser_of(path).is_some()
}

type Parse = fn(&str) -> Option<LockedPackages>;

fn parser_of(path: &str) -> Option<Parse> {
    match path.rsplit('/').next()? {
        "uv.lock" => Some(of_uv),
        "package-lock.json" | "npm-shrinkwrap.json" => Some(of_npm),
        _ => None,
    }
}

/// Reads the [lock files](is_lock_file) of a skill. `paths` are the files of the skill. A lock file
/// that cannot be read or parsed, or of a version other than 1 of uv and 2 or 3 of npm, is left out.
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
        let Some(parse) = parser_of(path) else {
            continue;
        };
        if let Some(packages) = files(path).and_then(|text| parse(&text)) {
            locked.insert(path.to_owned(), packages);
        }
    }
    locked
}

fn of_uv(text: &str) -> Option<LockedPackages> {
    let mut packages = LockedPackages::new();
    for package in lock::parse(text).ok()? {
        if package.source_kind() == UvSource::Project {
            continue;
        }
        let hashes = package.files().filter_map(|file| file.hash.clone());
        let locked = LockedVersion {
            origin: uv_origin(&package),
            digests: hashes.collect(),
            version: package.version.unwrap_or_default(),
        };
        let name = format!("{}:{}", Registry::Pypi, normalize_name(&package.name));
        packages.entry(name).or_default().insert(locked);
    }
    Some(packages)
}

fn uv_origin(package: &UvPackage) -> Option<String> {
    let index = package.source.get("registry").and_then(Value::as_str);
    let index_host = index.and_then(host_of);
    let mut origin: BTreeSet<String> = package
        .source
        .iter()
        .filter_map(|(kind, place)| match (kind.as_str(), place.as_str()) {
            ("registry", Some(index)) => index_of(index),
            (kind, place) => Some(format!("{kind}+{}", place.unwrap_or_default())),
        })
        .collect();
    let hosts = package
        .files()
        .filter_map(|file| host_of(file.url.as_deref()?));
    // A file of an index is where the index says, which may be another host.
    let other_hosts = hosts.filter(|host| *host != DEFAULT_FILE_HOST && Some(*host) != index_host);
    origin.extend(other_hosts.map(|host| format!("files of {host}")));
    let origin: Vec<String> = origin.into_iter().collect();
    (!origin.is_empty()).then(|| origin.join(", "))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct NpmLock {
    lockfile_version: u64,
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
    if !(2..=3).contains(&lock.lockfile_version) {
        return None;
    }
    let mut packages = LockedPackages::new();
    for (path, package) in lock.packages {
        // The project itself, and directories of a workspace, which are files of the skill.
        let Some((_, directory)) = path.rsplit_once("node_modules/") else {
            continue;
        };
        let name = package.name.as_deref().unwrap_or(directory);
        let version = package.version.unwrap_or_default();
        let resolved = package.resolved.as_deref();
        let locked = LockedVersion {
            origin: resolved.and_then(|url| npm_origin(url, name, &version)),
            version,
            digests: package.integrity.into_iter().collect(),
        };
        let name = format!("{}:{name}", Registry::Npm);
        packages.entry(name).or_default().insert(locked);
    }
    Some(packages)
}

/// Returns the origin of a file. A URL that is not the usual one of this version in a registry can
/// lead to another package, so it is returned as it is.
fn npm_origin(url: &str, name: &str, version: &str) -> Option<String> {
    match npm_registry(url, name, version) {
        Some(registry) => index_of(&registry),
        None => Some(url.to_owned()),
    }
}

fn host_of(url: &str) -> Option<&str> {
    url.split_once("://")?.1.split('/').next()
}

/// Returns the address of an index, unless it is the default one.
fn index_of(address: &str) -> Option<String> {
    let address = address.trim_end_matches('/');
    (!DEFAULT_INDEXES.contains(&address)).then(|| address.to_owned())
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
sdist = { url = "https://files.pythonhosted.org/a.tar.gz", hash = "sha256:aa" }
wheels = [{ url = "https://files.pythonhosted.org/a.whl", hash = "sha256:bb" }]
[[package]]
name = "elsewhere"
version = "4.1"
source = { registry = "https://pypi.org/simple" }
wheels = [{ url = "https://evil.example/a.whl", hash = "sha256:bb" }]
[[package]]
name = "hidden"
version = "1"
source = { registry = "https://pypi.org/simple", virtual = "." }
[[package]]
name = "other"
version = "1"
source = { registry = "https://pypi.org.evil.example/simple" }
wheels = [{ url = "https://pypi.org.evil.example/a.whl" }]
[[package]]
name = "repo"
version = "2"
source = { git = "https://git.example/repo?rev=1#abc" }
"#;
        insta::assert_snapshot!(lines(&of("scripts/uv.lock", text).unwrap()), @r#"
        pypi:elsewhere 4.1 files of evil.example sha256:bb
        pypi:hidden 1 virtual+. 
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
            "node_modules/a": {"version": "1.0.0", "integrity": "sha512-AA==",
                "resolved": "https://registry.npmjs.org/a/-/a-1.0.0.tgz"},
            "node_modules/a/node_modules/@s/b": {"version": "2.0.0",
                "resolved": "https://npm.example/team/@s/b/-/b-2.0.0.tgz"},
            "node_modules/@s/b": {"version": "1.0.0", "resolved": "https://npm.example/b.tgz"},
            "node_modules/c": {"version": "1.0.1",
                "resolved": "https://registry.npmjs.org/evil/-/evil-1.0.1.tgz"},
            "node_modules/alias": {"name": "real", "version": "3.0.0",
                "resolved": "git+ssh://git@git.example/real.git#abc"}}}"#;
        insta::assert_snapshot!(lines(&of("npm-shrinkwrap.json", text).unwrap()), @r#"
        npm:@s/b 1.0.0 https://npm.example/b.tgz 
        npm:@s/b 2.0.0 https://npm.example/team 
        npm:a 1.0.0 - sha512-AA==
        npm:c 1.0.1 https://registry.npmjs.org/evil/-/evil-1.0.1.tgz 
        npm:real 3.0.0 git+ssh://git@git.example/real.git#abc
        "#);
        let without_packages = r#"{"lockfileVersion": 3, "dependencies": {}}"#;
        assert_eq!(of("package-lock.json", without_packages), None);
        let old = r#"{"lockfileVersion": 1, "packages": {}}"#;
        assert_eq!(of("package-lock.json", old), None);
        assert_eq!(of("package.json", text), None);
    }
}
