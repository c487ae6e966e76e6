//! What a skill declares.

use crate::files::ReadFile;
use crate::listed::{ListedPackage, Registry};
use crate::node::NodeProject;
use crate::python::{self, PythonProject};

/// The directory of the scripts of a skill.
const SCRIPTS: &str = "scripts";
/// Maximum number of directories above a script that are searched.
const MAX_DEPTH: usize = 8;

/// The packages that a skill declares for one of its programs, by ecosystem.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Project {
    /// Packages for Python.
    pub python: Option<PythonProject>,
    /// Packages for Node.
    pub node: Option<NodeProject>,
}

impl Project {
    /// Reads what a skill declares for `script`, a path in the skill; `None` stands for any command
    /// of the skill, which may start scripts of every kind.
    ///
    /// The files are searched in the directory of the script, then in those above it, then in
    /// `scripts`; the first declaration of each ecosystem counts. The `# /// script` block of a
    /// Python script takes precedence over files, as for `uv run`. `listed` packages are added.
    ///
    /// Text that cannot be parsed becomes a [problem](PythonProject::problems), never an error: the
    /// script may not need it.
    #[must_use]
    pub fn read(files: &ReadFile<'_>, script: Option<&str>, listed: &[ListedPackage]) -> Self {
        let directories = directories(script);
        let kind = script.map(extension);
        let uses_python = !matches!(kind, Some("js" | "mjs" | "cjs" | "ts"));
        let uses_node = kind != Some("py");
        let python = || python::read(files, script, &directories);
        let node = || NodeProject::read(files, &directories);
        let declared = Self {
            python: uses_python.then(python).flatten(),
            node: uses_node.then(node).flatten(),
        };
        declared.with_listed(listed.iter().filter(|package| match package.registry {
            Registry::Pypi => uses_python,
            Registry::Npm => uses_node,
        }))
    }

    /// Adds listed packages.
    pub(crate) fn with_listed<'a>(self, listed: impl Iterator<Item = &'a ListedPackage>) -> Self {
        let (python, node): (Vec<_>, Vec<_>) =
            listed.partition(|package| package.registry == Registry::Pypi);
        Self {
            python: PythonProject::with_listed(self.python, python.into_iter()),
            node: NodeProject::with_listed(self.node, node.into_iter()),
        }
    }

    /// Reads the `# /// script` block of a script; nothing for other files.
    pub(crate) fn of_script_block(files: &ReadFile<'_>, path: &str) -> Self {
        Self {
            python: python::read(files, Some(path), &[]),
            node: None,
        }
    }

    /// Reads all files of one directory that declare packages. `directory` is empty or ends with
    /// `/`.
    pub(crate) fn of_directory(files: &ReadFile<'_>, directory: &str) -> Self {
        Self {
            python: python::read_all(files, directory),
            node: NodeProject::read(files, &[directory.to_owned()]).map(NodeProject::with_peers),
        }
    }

    /// Returns true if another project declares the same for each ecosystem of this one, so that its
    /// environment has the packages of this one.
    #[must_use]
    pub fn is_part_of(&self, other: &Self) -> bool {
        (self.python.is_none() || self.python == other.python)
            && (self.node.is_none() || self.node == other.node)
    }

    /// Returns true if the package is declared, in any version.
    #[must_use]
    pub fn declares(&self, package: &ListedPackage) -> bool {
        let name = package.name();
        let name = name.split_once(':').map_or("", |(_, name)| name);
        self.declares_name(package.registry, name)
    }

    /// Returns true if a package is declared, by its normalized name, in any version.
    #[must_use]
    pub fn declares_name(&self, registry: Registry, name: &str) -> bool {
        match registry {
            Registry::Pypi => self.python.as_ref().is_some_and(|python| {
                let mut declared = python.requirements.iter();
                declared.any(|requirement| requirement.name() == name)
            }),
            Registry::Npm => self
                .node
                .as_ref()
                .is_some_and(|node| node.dependencies.contains_key(name)),
        }
    }

    /// Returns the declarations that cannot be installed, each with its file and reason.
    pub fn problems(&self) -> impl Iterator<Item = &str> {
        let python = self.python.iter().flat_map(|python| &python.problems);
        let node = self.node.iter().flat_map(|node| &node.problems);
        python.chain(node).map(String::as_str)
    }

    /// Returns true if the skill declares no packages.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.python.is_none() && self.node.is_none()
    }
}

fn extension(script: &str) -> &str {
    script
        .rsplit_once('.')
        .map_or("", |(_, extension)| extension)
}

/// Returns the directories that are searched, the nearest first, each empty or with a final `/`.
fn directories(script: Option<&str>) -> Vec<String> {
    let mut directories = Vec::new();
    let mut directory = script
        .and_then(|script| script.rsplit_once('/'))
        .map(|(parent, _)| parent);
    while let Some(path) = directory.filter(|_| directories.len() < MAX_DEPTH) {
        directories.push(format!("{path}/"));
        directory = path.rsplit_once('/').map(|(parent, _)| parent);
    }
    for fallback in [format!("{SCRIPTS}/"), String::new()] {
        if !directories.contains(&fallback) {
            directories.push(fallback);
        }
    }
    directories
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_of_a_script_come_from_the_inside() {
        assert_eq!(
            directories(Some("scripts/office/x.py")),
            ["scripts/office/", "scripts/", ""]
        );
        assert_eq!(directories(Some("x.py")), ["scripts/", ""]);
        assert_eq!(directories(None), ["scripts/", ""]);
    }

    #[test]
    fn a_script_reads_the_declarations_of_its_ecosystem() {
        let files = |path: &str| match path {
            "requirements.txt" => Some("a\n".to_owned()),
            "package.json" => Some(r#"{"dependencies": {"b": "1"}}"#.to_owned()),
            _ => None,
        };
        let has = |script| {
            let project = Project::read(&files, script, &[]);
            (project.python.is_some(), project.node.is_some())
        };
        assert_eq!(has(Some("scripts/x.py")), (true, false));
        assert_eq!(has(Some("scripts/x.mjs")), (false, true));
        assert_eq!(has(Some("scripts/x.sh")), (true, true));
        assert_eq!(has(None), (true, true));
    }

    #[test]
    fn a_script_needs_a_part_of_what_the_skill_declares() {
        let files = |path: &str| match path {
            "requirements.txt" => Some("a\n".to_owned()),
            "package.json" => Some(r#"{"dependencies": {"b": "1"}}"#.to_owned()),
            "scripts/own/requirements.txt" => Some("c\n".to_owned()),
            _ => None,
        };
        let of_skill = Project::read(&files, None, &[]);
        let is_part = |script| Project::read(&files, Some(script), &[]).is_part_of(&of_skill);
        assert!(is_part("scripts/x.py"));
        assert!(is_part("scripts/x.mjs"));
        assert!(!is_part("scripts/own/x.py"));
        let package = |text| ListedPackage::parse(text, "settings").unwrap();
        assert!(of_skill.declares(&package("A>=2")));
        assert!(of_skill.declares(&package("npm:b")));
        assert!(!of_skill.declares(&package("b")));
    }
}
