//! `uv.lock`.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{PythonProject, normalize_name};

/// The part of a lock file that says which files are meant.
#[derive(Deserialize)]
struct Lock {
    version: u32,
    #[serde(default)]
    package: Vec<LockedPackage>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct LockedPackage {
    name: String,
    version: Option<String>,
    #[serde(default)]
    source: BTreeMap<String, toml::Value>,
    #[serde(default)]
    resolution_markers: Vec<String>,
    sdist: Option<LockedFile>,
    #[serde(default)]
    wheels: Vec<LockedFile>,
}

#[derive(Deserialize)]
struct LockedFile {
    hash: Option<String>,
}

/// Adds the versions and digests that a lock file fixes. Only these are installed.
pub(super) fn add(project: &mut PythonProject, file: &str, text: &str) {
    let lock: Lock = match toml::from_str(text) {
        Ok(lock) => lock,
        Err(error) => return project.add_problem(file, None, error.message()),
    };
    if lock.version != 1 {
        let reason = format!("version {} of the lock file is not supported", lock.version);
        return project.add_problem(file, None, &reason);
    }
    for package in lock.package {
        let is_of_index = package.source.contains_key("registry");
        let is_of_project = ["virtual", "editable"]
            .iter()
            .any(|kind| package.source.contains_key(*kind));
        match package.version {
            Some(version) if is_of_index => {
                let name = normalize_name(&package.name);
                let markers = package.resolution_markers.join(" or ");
                let marker = if markers.is_empty() {
                    markers
                } else {
                    format!(" ; {markers}")
                };
                project
                    .constraints
                    .push(format!("{name}=={version}{marker}"));
                let files = package.wheels.iter().chain(&package.sdist);
                let hashes = files.filter_map(|file| file.hash.as_deref()?.strip_prefix("sha256:"));
                let locked = project.locked_hashes.entry(name).or_default();
                locked.extend(hashes.map(str::to_ascii_lowercase));
            }
            _ if is_of_project => {}
            _ => {
                let reason = format!("`{}` is not from an index", package.name.escape_debug());
                project.add_problem(file, None, &reason);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
