//! `uv.lock`.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::project::PythonProject;
use crate::grammar::{PythonRequirement, PythonVersion, normalize_name, parse_toml};
use crate::shown_text::shown;

/// The part of a lock file that says which files are meant.
#[derive(Deserialize)]
struct Lock {
    version: u32,
    #[serde(default)]
    package: Vec<UvPackage>,
}

/// A package of a lock file.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct UvPackage {
    pub(crate) name: String,
    pub(crate) version: Option<String>,
    #[serde(default)]
    pub(crate) source: BTreeMap<String, toml::Value>,
    #[serde(default)]
    resolution_markers: Vec<String>,
    sdist: Option<UvFile>,
    #[serde(default)]
    wheels: Vec<UvFile>,
}

/// A file of a package.
#[derive(Deserialize)]
pub(crate) struct UvFile {
    pub(crate) hash: Option<String>,
    pub(crate) url: Option<String>,
}

/// Where a package of a lock file comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UvSource {
    /// An index, or a directory with files.
    Index,
    /// The project itself.
    Project,
    /// A repository, a file or a directory.
    Other,
}

impl UvPackage {
    pub(crate) fn source_kind(&self) -> UvSource {
        let is_of_project = |kind: &String| ["virtual", "editable"].contains(&kind.as_str());
        if self.source.contains_key("registry") {
            UvSource::Index
        } else if !self.source.is_empty() && self.source.keys().all(is_of_project) {
            UvSource::Project
        } else {
            UvSource::Other
        }
    }

    pub(crate) fn files(&self) -> impl Iterator<Item = &UvFile> {
        self.wheels.iter().chain(&self.sdist)
    }
}

/// Reads the packages of a lock file.
///
/// # Errors
/// Returns why it cannot be read, with its line if the parser knows it.
pub(crate) fn parse(text: &str) -> Result<Vec<UvPackage>, (Option<usize>, String)> {
    let lock: Lock = parse_toml(text).map_err(|error| (error.line(), error.to_string()))?;
    if lock.version != 1 {
        let version = lock.version;
        let reason = format!("version {version} of the lock file is not supported");
        return Err((None, reason));
    }
    Ok(lock.package)
}

/// Adds the versions and digests that a lock file fixes. Only these are installed.
pub(super) fn add(project: &mut PythonProject, file: &str, text: &str) {
    let packages = match parse(text) {
        Ok(packages) => packages,
        Err((line, reason)) => {
            let reason =
                format!("{reason}; create the lock file again with `uv lock`, or remove it");
            return project.add_problem(file, line, &reason);
        }
    };
    for package in packages {
        match (package.source_kind(), &package.version) {
            (UvSource::Index, Some(version)) => {
                let name = normalize_name(&package.name);
                let Some(constraint) = constraint(&name, version, &package.resolution_markers)
                else {
                    let reason = format!(
                        "cannot parse the version or the markers of `{}`",
                        shown(&name)
                    );
                    project.add_problem(file, None, &reason);
                    continue;
                };
                project.constraints.push(constraint);
                let files = package.files();
                let hashes = files.filter_map(|file| file.hash.as_deref()?.strip_prefix("sha256:"));
                let locked = project.locked_hashes.entry(name).or_default();
                locked.extend(hashes.map(str::to_ascii_lowercase));
            }
            (UvSource::Project, _) => {}
            (UvSource::Index | UvSource::Other, _) => {
                let reason = format!("`{}` is not from an index", shown(&package.name));
                project.add_problem(file, None, &reason);
            }
        }
    }
}

/// Returns the line that fixes a version, as package managers read it; `None` unless each part of it
/// is what it seems to be.
fn constraint(name: &str, version: &str, markers: &[String]) -> Option<String> {
    let version = PythonVersion::parse(version)?;
    let fixed = format!("{name}=={version}");
    let is_of_name = PythonRequirement::parse(&fixed).is_ok_and(|parsed| parsed.name() == name);
    let is_marker =
        |marker: &String| PythonRequirement::parse(&format!("{name} ; {marker}")).is_ok();
    if !is_of_name || !markers.iter().all(is_marker) {
        return None;
    }
    let markers: Vec<String> = markers.iter().map(|marker| format!("({marker})")).collect();
    Some(match markers.as_slice() {
        [] => fixed,
        markers => format!("{fixed} ; {}", markers.join(" or ")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_file_that_cannot_be_parsed_is_a_problem() {
        for (text, start) in [
            ("version = 1\n<<<<<<< HEAD\n", "uv.lock:2: "),
            ("version = 1\n[[package]]\nname = 3\n", "uv.lock:3: "),
            (
                "version = 2\n",
                "uv.lock: version 2 of the lock file is not supported; ",
            ),
        ] {
            let mut project = PythonProject::of_file("pyproject.toml");
            add(&mut project, "uv.lock", text);
            let problems = project.problems.join("\n");
            assert!(
                problems.starts_with(start)
                    && problems
                        .ends_with("; create the lock file again with `uv lock`, or remove it"),
                "{problems}"
            );
        }
    }

    #[test]
    fn a_locked_version_is_one_line_of_the_constraints() {
        let constraints = |version: &str, markers: &str| {
            let text = format!(
                "version = 1\n[[package]]\nname = 'a'\nversion = {version}\n\
                 source = {{ registry = 'https://pypi.org/simple' }}\nresolution-markers = {markers}\n"
            );
            let mut project = PythonProject::default();
            add(&mut project, "uv.lock", &text);
            project
                .constraints
                .into_iter()
                .chain(project.problems)
                .collect::<Vec<_>>()
        };
        assert_eq!(constraints("'1.0'", "[]"), ["a==1.0"]);
        assert_eq!(
            constraints("'1.0'", "[\"os_name == 'nt'\", \"python_version < '3.9'\"]"),
            ["a==1.0 ; (os_name == 'nt') or (python_version < '3.9')"]
        );
        let problem = ["uv.lock: cannot parse the version or the markers of `a`"];
        for version in [
            r#""1.0\n-e .""#,
            r#""1.0 ; os_name""#,
            r#""1.0 --hash=sha256:aa""#,
            "'1.*'",
        ] {
            assert_eq!(constraints(version, "[]"), problem, "{version}");
        }
        for marker in [
            r#"["os_name == 'nt\n-e .\n'"]"#,
            r#"["os_name == 'nt') or (os_name"]"#,
        ] {
            assert_eq!(constraints("'1.0'", marker), problem, "{marker}");
        }
    }

    #[test]
    fn versions_and_digests_of_the_index_are_fixed() {
        let text = r#"version = 1
[[package]]
name = "demo"
source = { virtual = "." }
[[package]]
name = "Py_PDF"
version = "4.1"
source = { registry = "https://pypi.org/simple" }
sdist = { url = "https://x.example/p.tar.gz", hash = "sha256:AA", size = 1 }
wheels = [{ url = "https://x.example/p.whl", hash = "sha256:bb" }]
[[package]]
name = "other"
version = "1"
source = { git = "https://x.example" }
"#;
        let mut project = PythonProject::default();
        add(&mut project, "uv.lock", text);
        assert_eq!(project.constraints, ["py-pdf==4.1"]);
        assert_eq!(
            project.locked_hashes["py-pdf"].iter().collect::<Vec<_>>(),
            ["aa", "bb"]
        );
        assert_eq!(project.problems, ["uv.lock: `other` is not from an index"]);
    }
}
