//! The packages that npm installed, compared with the plan.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use serde_json::{Map, Value};
use skills_packages::{Registry, compare_npm_versions};

use crate::documents::locked_npm_packages;
use crate::environment::NODE_DIR;
use crate::error::{SetupError, SetupErrorKind, shown};
use crate::files::{list_all, read_lossy};
use crate::plan::Plan;

const NODE_MODULES: &str = "node_modules";
/// Entries of a directory of packages that are not packages: links to programs, and the lock that npm
/// writes about what it installed.
const NO_PACKAGES: [&str; 2] = [".bin", ".package-lock.json"];

/// What a package says about itself.
struct Package {
    name: String,
    version: String,
}

/// Compares what each installed package says about itself with the plan. What npm says about them is
/// not read, since it repeats the lock file. Packages for other systems are left out.
pub(in crate::setup) fn verify(plan: &Plan, directory: &Path) -> Result<(), SetupError> {
    let wrong = |reason: String| SetupError::new(SetupErrorKind::Failed, "install", reason);
    let planned = locked_npm_packages(plan.node_lock.as_deref().unwrap_or_default())?;
    let installed = installed_packages(&directory.join(NODE_DIR))
        .map_err(|error| wrong(format!("cannot read what npm installed: {error}")))?;
    for (path, package) in &installed {
        let (name, version) = (shown(&package.name), shown(&package.version));
        let found = format!("`{name}` {version} was installed in `{}`", shown(path));
        let Some(planned) = planned.get(path) else {
            return Err(wrong(format!("{found} and is not planned")));
        };
        let is_version = planned.version == package.version
            || compare_npm_versions(&planned.version, &package.version)
                .is_some_and(|order| order.is_eq());
        if planned.name != package.name || !is_version {
            return Err(wrong(format!(
                "`{}` {} is planned, and {found}",
                planned.name, planned.version
            )));
        }
    }
    let declared = plan
        .packages
        .iter()
        .filter(|package| package.registry == Registry::Npm && package.is_declared);
    for package in declared {
        let path = format!("{NODE_MODULES}/{}", package.name);
        let is_optional = planned
            .get(&path)
            .is_some_and(|planned| planned.is_optional);
        if !is_optional && !installed.contains_key(&path) {
            return Err(wrong(format!("`{}` was not installed", package.name)));
        }
    }
    Ok(())
}

/// Returns the packages below a directory by their paths, as a lock file names them: those of
/// `node_modules`, and of the same directory in each package.
fn installed_packages(directory: &Path) -> io::Result<BTreeMap<String, Package>> {
    let mut packages = BTreeMap::new();
    let mut pending = vec![NODE_MODULES.to_owned()];
    while let Some(parent) = pending.pop() {
        if !is_directory(&directory.join(&parent))? {
            continue;
        }
        for name in list_all(&directory.join(&parent))? {
            let path = format!("{parent}/{name}");
            if NO_PACKAGES.contains(&name.as_str()) {
                continue;
            }
            // A scope is a directory of packages.
            if name.starts_with('@') && parent.ends_with(NODE_MODULES) {
                pending.push(path);
                continue;
            }
            pending.push(format!("{path}/{NODE_MODULES}"));
            let package = read_package(&directory.join(&path))?;
            packages.insert(path, package);
        }
    }
    Ok(packages)
}

/// Reads what a package says about itself; empty texts if it says nothing. The text is read as Node
/// does it: of two fields with one name the last counts.
fn read_package(directory: &Path) -> io::Result<Package> {
    is_directory(directory)?;
    let text = read_lossy(&directory.join("package.json")).unwrap_or_default();
    let fields: Map<String, Value> = serde_json::from_str(&text).unwrap_or_default();
    let field = |name: &str| fields.get(name).and_then(Value::as_str).unwrap_or_default();
    Ok(Package {
        name: field("name").to_owned(),
        version: field("version").to_owned(),
    })
}

/// Returns true for a directory, and false if there is nothing. Node would also find a package in a
/// file, and behind a symlink.
fn is_directory(path: &Path) -> io::Result<bool> {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => Ok(true),
        Ok(_) => {
            let reason = format!("{} is not a directory", path.display());
            Err(io::Error::other(reason))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "files of the test")]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::documents::parse_npm_lock;

    /// Verifies installed packages, each with its path, its name and its version, against a plan with
    /// `a`, `@s/b` in `a`, and `real` in the directory `alias`.
    fn check(change: impl FnOnce(&Path)) -> Result<(), String> {
        let mut plan = Plan::empty();
        let entry = |path: &str, name: &str, version: &str| {
            format!(
                r#""{path}": {{"name": "{name}", "version": "{version}", "integrity": "sha512-A"}}"#
            )
        };
        let entries = [
            entry("node_modules/a", "a", "1.0.0"),
            entry("node_modules/a/node_modules/@s/b", "@s/b", "2.0.0"),
            entry("node_modules/alias", "real", "3.0.0"),
        ];
        let lock = format!(
            r#"{{"lockfileVersion": 3, "packages": {{{}}}}}"#,
            entries.join(", ")
        );
        parse_npm_lock(&mut plan, &lock, "https://registry.npmjs.org").unwrap();
        plan.packages[0].is_declared = true;
        let directory = tempfile::tempdir().unwrap();
        let node = directory.path().join(NODE_DIR);
        package(&node, "node_modules/a", "a", "1.0.0");
        package(
            &node,
            "node_modules/a/node_modules/@s/b",
            "@s/b",
            "v2.0.0+build",
        );
        package(&node, "node_modules/alias", "real", "3.0.0");
        fs::create_dir_all(node.join("node_modules/.bin")).unwrap();
        change(&node);
        verify(&plan, directory.path()).map_err(|error| error.to_string())
    }

    fn package(node: &Path, path: &str, name: &str, version: &str) {
        let text = format!(r#"{{"name": "{name}", "version": "{version}"}}"#);
        fs::create_dir_all(node.join(path)).unwrap();
        fs::write(node.join(path).join("package.json"), text).unwrap();
    }

    #[test]
    fn what_the_lock_file_lists_is_accepted() {
        check(|_| {}).unwrap();
        // Such files of a package are not packages.
        check(|node| package(node, "node_modules/a/lib", "", "")).unwrap();
    }

    #[test]
    fn a_package_is_read_as_node_reads_it() {
        let with_text = |text: &[u8]| {
            check(|node| fs::write(node.join("node_modules/a/package.json"), text).unwrap())
        };
        for text in [
            &b"\xef\xbb\xbf{\"name\": \"a\", \"version\": \"1.0.0\"}"[..],
            b"{\"name\": \"a\", \"version\": \"1.0.0\", \"author\": \"J\xf6rg\"}",
            br#"{"name": "a", "version": "2.0.0", "version": "1.0.0"}"#,
            br#"{"name": "a", "version": "1.0.0", "main": 1, "main": 2}"#,
        ] {
            with_text(text).unwrap();
        }
        let error = with_text(br#"{"name": "a", "version": "1.0.0", "name": "evil"}"#).unwrap_err();
        assert!(error.contains("`evil` 1.0.0 was installed"), "{error}");
        let error = with_text(b"{\"name\": \"a\xf6\", \"version\": \"1.0.0\"}").unwrap_err();
        assert!(error.contains("`a` 1.0.0 is planned"), "{error}");
    }

    #[test]
    fn another_package_than_the_planned_one_is_rejected() {
        let wrong = |path: &str, name: &str, version: &str| {
            check(|node| package(node, path, name, version)).unwrap_err()
        };
        let results = [
            wrong("node_modules/a", "evil", "1.0.0"),
            wrong("node_modules/a", "a", "1.0.1"),
            wrong("node_modules/a/node_modules/@s/b", "@s/evil", "2.0.0"),
            wrong("node_modules/alias", "alias", "3.0.0"),
            wrong("node_modules/evil", "a", "1.0.0"),
            wrong("node_modules/@s/b", "@s/b", "2.0.0"),
            wrong("node_modules/@s/@t/evil", "evil", "1.0.0"),
            wrong("node_modules/.evil", "evil", "1.0.0"),
            wrong("node_modules/alias/node_modules/evil", "evil", "1.0.0"),
            wrong("node_modules/@s/evil/node_modules/x", "x", "1.0.0"),
        ];
        insta::assert_snapshot!(results.join("\n"), @r"
        cannot install packages: `a` 1.0.0 is planned, and `evil` 1.0.0 was installed in `node_modules/a`
        cannot install packages: `a` 1.0.0 is planned, and `a` 1.0.1 was installed in `node_modules/a`
        cannot install packages: `@s/b` 2.0.0 is planned, and `@s/evil` 2.0.0 was installed in `node_modules/a/node_modules/@s/b`
        cannot install packages: `real` 3.0.0 is planned, and `alias` 3.0.0 was installed in `node_modules/alias`
        cannot install packages: `a` 1.0.0 was installed in `node_modules/evil` and is not planned
        cannot install packages: `@s/b` 2.0.0 was installed in `node_modules/@s/b` and is not planned
        cannot install packages: ``  was installed in `node_modules/@s/@t` and is not planned
        cannot install packages: `evil` 1.0.0 was installed in `node_modules/.evil` and is not planned
        cannot install packages: `evil` 1.0.0 was installed in `node_modules/alias/node_modules/evil` and is not planned
        cannot install packages: ``  was installed in `node_modules/@s/evil` and is not planned
        ");
        for path in ["evil", "@s", "alias/node_modules"] {
            let path = Path::new("node_modules").join(path);
            let linked = check(|node| symlink("..", node.join(&path)).unwrap()).unwrap_err();
            assert!(linked.contains("is not a directory"), "{linked}");
        }
        let file = check(|node| fs::write(node.join("node_modules/evil.js"), "").unwrap());
        assert!(file.unwrap_err().contains("is not a directory"));
        let removed = check(|node| fs::remove_dir_all(node.join("node_modules/a")).unwrap());
        assert!(removed.unwrap_err().contains("`a` was not installed"));
        let unread = check(|node| fs::write(node.join("node_modules/a/package.json"), "").unwrap());
        assert!(
            unread
                .unwrap_err()
                .contains("`a` 1.0.0 is planned, and `` ")
        );
    }
}
