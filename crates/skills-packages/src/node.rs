//! Declarations of Node packages.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::files::ReadFile;
use crate::listed::ListedPackage;
use crate::npm_name::{is_npm_package_name, is_range_of_registry, split_version};

/// The fields of `package.json` that decide which packages are installed. Others, such as scripts
/// and workspaces, are not passed to npm.
const FIELDS: [&str; 7] = [
    "name",
    "version",
    "dependencies",
    "optionalDependencies",
    "devDependencies",
    "peerDependencies",
    "overrides",
];

/// The packages that a skill declares for Node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct NodeProject {
    /// The files that declare them, as paths in the skill.
    pub sources: Vec<String>,
    /// The declared packages with their ranges of versions.
    pub dependencies: BTreeMap<String, String>,
    /// `package.json` as npm gets it.
    pub package_json: Map<String, Value>,
    /// The lock file.
    pub lock: Option<String>,
    /// Declarations that cannot be installed, each with its file and reason.
    pub problems: Vec<String>,
}

impl NodeProject {
    /// Reads the first `package.json` in `directories`; `None` if there is none, or if it declares
    /// nothing.
    pub(crate) fn read(files: &ReadFile<'_>, directories: &[String]) -> Option<Self> {
        let (directory, text) = directories
            .iter()
            .find_map(|directory| Some((directory, files(&format!("{directory}package.json"))?)))?;
        let file = format!("{directory}package.json");
        let mut project = Self {
            sources: vec![file.clone()],
            ..Self::default()
        };
        match serde_json::from_str::<Value>(&text) {
            Ok(Value::Object(package)) => project.add_package(&file, &package),
            Ok(_) => project.problems.push(format!("{file}: is not an object")),
            Err(error) => {
                let line = error.line();
                project.problems.push(format!("{file}:{line}: {error}"));
            }
        }
        let names = ["package-lock.json", "npm-shrinkwrap.json"];
        let lock = names.iter().find_map(|name| {
            let path = format!("{directory}{name}");
            Some((files(&path)?, path))
        });
        if project.dependencies.is_empty() && project.problems.is_empty() {
            return None;
        }
        if let Some((text, path)) = lock {
            // npm ignores such a file, and installs other versions than those that it fixed.
            project.problems.extend(lock_problem(&path, &text));
            project.sources.push(path);
            project.lock = Some(text);
        }
        Some(project)
    }

    /// Adds listed packages.
    pub(crate) fn with_listed<'a>(
        declared: Option<Self>,
        listed: impl Iterator<Item = &'a ListedPackage>,
    ) -> Option<Self> {
        let mut listed = listed.peekable();
        if listed.peek().is_none() {
            return declared;
        }
        let mut project = declared.unwrap_or_default();
        for package in listed {
            if !project.sources.contains(&package.source) {
                project.sources.push(package.source.clone());
            }
            let (name, range) = split_version(&package.requirement);
            project.add(&package.source, name, range);
        }
        // The lock file does not contain what was added.
        project.lock = None;
        let added = project.dependencies.iter();
        let added = added.map(|(name, range)| (name.clone(), range.clone().into()));
        let added: Map<String, Value> = added.collect();
        project
            .package_json
            .insert("dependencies".to_owned(), added.into());
        Some(project)
    }

    /// Adds the packages that npm installs because others need them beside themselves.
    pub(crate) fn with_peers(mut self) -> Self {
        let file = self.sources.first().cloned().unwrap_or_default();
        let peers = self.package_json.get("peerDependencies").cloned();
        for (name, range) in peers
            .as_ref()
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
        {
            self.add(&file, name, range.as_str().unwrap_or_default());
        }
        self
    }

    fn add_package(&mut self, file: &str, package: &Map<String, Value>) {
        for field in ["dependencies", "optionalDependencies"] {
            let listed = package.get(field).and_then(Value::as_object);
            for (name, range) in listed.into_iter().flatten() {
                self.add(file, name, range.as_str().unwrap_or_default());
            }
        }
        let kept = FIELDS
            .iter()
            .filter_map(|field| Some(((*field).to_owned(), package.get(*field)?.clone())));
        self.package_json = kept.collect();
    }

    fn add(&mut self, file: &str, name: &str, range: &str) {
        if is_npm_package_name(name) && is_range_of_registry(range) {
            self.dependencies.insert(name.to_owned(), range.to_owned());
        } else {
            let (name, range) = (name.escape_debug(), range.escape_debug());
            self.problems
                .push(format!("{file}: `{name}` `{range}` is not from a registry"));
        }
    }
}

/// Returns why a lock file cannot be used; `None` if it can be parsed.
fn lock_problem(file: &str, text: &str) -> Option<String> {
    let (line, reason) = match serde_json::from_str::<Value>(text) {
        Ok(Value::Object(lock)) => {
            let lists = ["packages", "dependencies"].map(|field| Some((field, lock.get(field)?)));
            let mut wrong = lists.into_iter().flatten();
            let (field, _) = wrong.find(|(_, list)| !list.is_object())?;
            (String::new(), format!("`{field}` is not an object"))
        }
        Ok(_) => (String::new(), "is not an object".to_owned()),
        Err(error) => (format!(":{}", error.line()), error.to_string()),
    };
    Some(format!(
        "{file}{line}: {reason}; create the lock file again with `npm install`, or remove it"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependencies_are_read_and_other_fields_dropped() {
        let text = r#"{"name": "x", "scripts": {"postinstall": "evil"}, "workspaces": ["a"],
            "dependencies": {"left-pad": "^1", "a": "file:../a", "-g": "1"},
            "optionalDependencies": {"@s/b": "2"}, "devDependencies": {"c": "1"}}"#;
        let files = |path: &str| match path {
            "package.json" => Some(text.to_owned()),
            "package-lock.json" => Some("{}".to_owned()),
            _ => None,
        };
        let project = NodeProject::read(&files, &["scripts/".to_owned(), String::new()]).unwrap();
        assert_eq!(project.sources, ["package.json", "package-lock.json"]);
        let names: Vec<&String> = project.dependencies.keys().collect();
        assert_eq!(names, ["@s/b", "left-pad"]);
        assert!(!project.package_json.contains_key("scripts"));
        insta::assert_snapshot!(project.problems.join("\n"), @r"
        package.json: `a` `file:../a` is not from a registry
        package.json: `-g` `1` is not from a registry
        ");
    }

    /// npm would install other versions without a word.
    #[test]
    fn a_lock_file_that_cannot_be_parsed_is_a_problem() {
        for name in ["package-lock.json", "npm-shrinkwrap.json"] {
            let problems = |lock: &str| {
                let files = |path: &str| match path {
                    "a/package.json" => Some(r#"{"dependencies": {"b": "1"}}"#.to_owned()),
                    path if path == format!("a/{name}") => Some(lock.to_owned()),
                    _ => None,
                };
                let project = NodeProject::read(&files, &["a/".to_owned()]).unwrap();
                project.problems.join("\n")
            };
            let remedy = "create the lock file again with `npm install`, or remove it";
            for (lock, reason) in [
                ("{ not json", ":1: key must be a string at line 1 column 3"),
                (
                    "{\n\"packages\": {},\n<<<<<<< HEAD\n",
                    ":3: key must be a string at line 3 column 1",
                ),
                ("", ":1: EOF while parsing a value at line 1 column 0"),
                ("[]", ": is not an object"),
                (
                    r#"{"lockfileVersion": 3, "packages": []}"#,
                    ": `packages` is not an object",
                ),
                (
                    r#"{"dependencies": "x"}"#,
                    ": `dependencies` is not an object",
                ),
            ] {
                assert_eq!(problems(lock), format!("a/{name}{reason}; {remedy}"));
            }
            for lock in [
                "{}",
                r#"{"lockfileVersion": 3, "packages": {}}"#,
                r#"{"dependencies": {}}"#,
            ] {
                assert_eq!(problems(lock), "");
            }
        }
        let without_packages = |path: &str| match path {
            "package.json" => Some("{}".to_owned()),
            "package-lock.json" => Some("{".to_owned()),
            _ => None,
        };
        assert_eq!(NodeProject::read(&without_packages, &[String::new()]), None);
    }

    #[test]
    fn listed_packages_have_versions() {
        let listed = ["@s/a@1.2", "b", "../c"].map(ListedPackage::of_npm);
        let project = NodeProject::with_listed(None, listed.iter()).unwrap();
        let all = project
            .dependencies
            .iter()
            .map(|(name, range)| format!("{name} {range}"));
        assert_eq!(all.collect::<Vec<_>>(), ["@s/a 1.2", "b *"]);
        assert_eq!(project.problems.len(), 1);
    }
}
