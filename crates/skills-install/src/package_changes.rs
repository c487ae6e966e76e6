//! What an update changes about the packages that lock files fix.

use std::collections::{BTreeMap, BTreeSet};

use skills_packages::{LockedPackages, LockedVersion};

/// Differences between the lock files of two versions of a skill. Each package is one line.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct PackageChanges {
    /// Packages that are new, and those with another origin or with other files.
    pub(crate) added: BTreeSet<String>,
    /// Packages of the same origin with another version.
    pub(crate) changed: BTreeSet<String>,
    /// Lock files that fix nothing any more.
    pub(crate) unlocked: BTreeSet<String>,
}

impl PackageChanges {
    /// Compares lock files by their paths, and packages wherever they are locked.
    pub(crate) fn new(
        old: &BTreeMap<String, LockedPackages>,
        new: &BTreeMap<String, LockedPackages>,
    ) -> Self {
        let mut changes = Self::default();
        for packages in new.values() {
            for (name, versions) in packages {
                let known = old.values().filter_map(|packages| packages.get(name));
                let known: BTreeSet<&LockedVersion> = known.flatten().collect();
                for version in versions {
                    changes.add(name, version, &known);
                }
            }
        }
        let unlocked = old.keys().filter(|path| !new.contains_key(*path));
        changes.unlocked = unlocked.cloned().collect();
        changes
    }

    fn add(&mut self, name: &str, new: &LockedVersion, known: &BTreeSet<&LockedVersion>) {
        let version = &new.version;
        let from = new.origin.as_ref().map(|origin| format!(" from {origin}"));
        let text = format!("{name} {version}{}", from.unwrap_or_default());
        let same_origin = known.iter().filter(|old| old.origin == new.origin);
        let same_version = same_origin.clone().filter(|old| old.version == *version);
        let digests: BTreeSet<&String> =
            same_version.clone().flat_map(|old| &old.digests).collect();
        if same_version.clone().next().is_some() {
            // An index never replaces a file, so a digest that is new stands for a new file.
            if !new.digests.iter().all(|digest| digests.contains(digest)) {
                self.added.insert(format!("{text}, with other files"));
            } else if new.digests.is_empty() && !digests.is_empty() {
                self.added.insert(format!("{text}, without digests"));
            }
            return;
        }
        let versions: Vec<&str> = same_origin.map(|old| old.version.as_str()).collect();
        if versions.is_empty() {
            self.added.insert(text);
        } else {
            let from = versions.join(", ");
            self.changed.insert(format!("{name} {from} -> {version}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn locks(entries: &str) -> BTreeMap<String, LockedPackages> {
        let lock = format!(r#"{{"lockfileVersion": 3, "packages": {{{entries}}}}}"#);
        let files = |_: &str| Some(lock.clone());
        skills_packages::locked_packages(&files, ["package-lock.json"])
    }

    fn compare(old: &str, new: &str) -> PackageChanges {
        PackageChanges::new(&locks(old), &locks(new))
    }

    const A: &str = r#""node_modules/a": {"version": "1", "integrity": "sha512-A"}"#;

    #[test]
    fn the_same_packages_are_no_change() {
        assert_eq!(compare(A, A), PackageChanges::default());
    }

    #[test]
    fn another_version_is_a_change_and_not_an_addition() {
        let new = r#""node_modules/x/node_modules/a": {"version": "2", "integrity": "sha512-B"}"#;
        let changes = compare(A, new);
        assert_eq!(Vec::from_iter(changes.changed), ["npm:a 1 -> 2"]);
        assert!(changes.added.is_empty());
    }

    #[test]
    fn new_packages_origins_and_files_are_additions() {
        for (new, expected) in [
            (r#""node_modules/b": {"version": "1"}"#, "npm:b 1"),
            (
                r#""node_modules/a": {"version": "1", "integrity": "sha512-A",
                    "resolved": "https://npm.evil.example/a.tgz"}"#,
                "npm:a 1 from https://npm.evil.example",
            ),
            (
                r#""node_modules/a": {"version": "1", "integrity": "sha512-B"}"#,
                "npm:a 1, with other files",
            ),
            (
                r#""node_modules/a": {"version": "1"}"#,
                "npm:a 1, without digests",
            ),
            (
                r#""node_modules/y": {"name": "b", "version": "1"}"#,
                "npm:b 1",
            ),
        ] {
            let changes = compare(A, new);
            assert_eq!(Vec::from_iter(changes.added), [expected]);
            assert!(changes.changed.is_empty(), "{expected}");
        }
    }

    #[test]
    fn a_lock_file_that_is_gone_fixes_nothing() {
        let changes = PackageChanges::new(&locks(A), &BTreeMap::new());
        assert_eq!(Vec::from_iter(changes.unlocked), ["package-lock.json"]);
    }
}
