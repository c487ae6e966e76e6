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
    /// Lock files, and packages of lock files, that are fixed no more.
    pub(crate) unlocked: BTreeSet<String>,
}

impl PackageChanges {
    /// Compares each lock file with the one at the same path: which of them is used depends on the
    /// path.
    pub(crate) fn new(
        old: &BTreeMap<String, LockedPackages>,
        new: &BTreeMap<String, LockedPackages>,
    ) -> Self {
        let mut changes = Self::default();
        let nothing = LockedPackages::new();
        for (path, packages) in new {
            let known = old.get(path).unwrap_or(&nothing);
            for (name, versions) in packages {
                for version in versions {
                    changes.add(name, version, known.get(name));
                }
            }
            let gone = known.keys().filter(|name| !packages.contains_key(*name));
            changes
                .unlocked
                .extend(gone.map(|name| format!("lock of {name} in {path}")));
        }
        let gone = old.keys().filter(|path| !new.contains_key(*path));
        changes
            .unlocked
            .extend(gone.map(|path| format!("lock file {path}")));
        changes
    }

    fn add(&mut self, name: &str, new: &LockedVersion, known: Option<&BTreeSet<LockedVersion>>) {
        let version = &new.version;
        let from = new.origin.as_ref().map(|origin| format!(" from {origin}"));
        let text = format!("{name} {version}{}", from.unwrap_or_default());
        let same_origin: Vec<&LockedVersion> = known
            .into_iter()
            .flatten()
            .filter(|old| old.origin == new.origin)
            .collect();
        if same_origin.is_empty() {
            self.added.insert(text);
            return;
        }
        if new.digests.is_empty() && same_origin.iter().any(|old| !old.digests.is_empty()) {
            self.added.insert(format!("{text}, without digests"));
            return;
        }
        let Some(same) = same_origin.iter().find(|old| old.version == *version) else {
            let from: Vec<&str> = same_origin.iter().map(|old| old.version.as_str()).collect();
            let from = from.join(", ");
            self.changed.insert(format!("{name} {from} -> {version}"));
            return;
        };
        // An index never replaces a file, so a digest that is new stands for a new file.
        if !same.digests.is_empty() && !new.digests.is_subset(&same.digests) {
            self.added.insert(format!("{text}, with other files"));
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
        assert!(changes.added.is_empty() && changes.unlocked.is_empty());
        let without = r#""node_modules/a": {"version": "1"}"#;
        assert_eq!(compare(without, A), PackageChanges::default());
    }

    #[test]
    fn new_packages_origins_and_files_are_additions() {
        for (new, expected) in [
            (r#""node_modules/b": {"version": "1"}"#, "npm:b 1"),
            (
                r#""node_modules/a": {"version": "1", "integrity": "sha512-A",
                    "resolved": "https://npm.evil.example/a.tgz"}"#,
                "npm:a 1 from https://npm.evil.example/a.tgz",
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
                r#""node_modules/a": {"version": "2"}"#,
                "npm:a 2, without digests",
            ),
            (
                r#""node_modules/a": {"version": "2", "integrity": "sha512-B",
                    "resolved": "https://registry.npmjs.org/evil/-/evil-2.tgz"}"#,
                "npm:a 2 from https://registry.npmjs.org/evil/-/evil-2.tgz",
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
    fn lock_files_and_packages_that_are_gone_are_unlocked() {
        let changes = PackageChanges::new(&locks(A), &BTreeMap::new());
        assert_eq!(
            Vec::from_iter(changes.unlocked),
            ["lock file package-lock.json"]
        );
        let changes = compare(A, "");
        assert_eq!(
            Vec::from_iter(changes.unlocked),
            ["lock of npm:a in package-lock.json"]
        );
    }

    #[test]
    fn a_lock_file_at_another_path_approves_nothing() {
        let mut old = locks("");
        let example = locks(A).remove("package-lock.json").unwrap();
        old.insert("examples/package-lock.json".to_owned(), example);
        let changes = PackageChanges::new(&old, &locks(A));
        assert_eq!(Vec::from_iter(changes.added), ["npm:a 1"]);
    }
}
