//! The packages of a virtual environment, compared with the plan.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use skills_packages::{PythonVersion, Registry, normalize_name};

use crate::environment::PYTHON_DIR;
use crate::error::{SetupError, SetupErrorKind, shown};
use crate::files::{list_all, read_lossy};
use crate::plan::Plan;

/// The packages that `venv` installs from the interpreter.
const OF_VENV: [&str; 3] = ["pip", "setuptools", "wheel"];
/// The files of a metadata directory with the name and the version of a package.
const METADATA: [&str; 2] = ["METADATA", "PKG-INFO"];

/// What a package says about itself.
struct Package {
    name: String,
    version: String,
    /// The name of its metadata directory or file.
    metadata: String,
}

/// Compares what each installed package says about itself with the plan.
pub(in crate::setup) fn verify(plan: &Plan, directory: &Path) -> Result<(), SetupError> {
    let wrong = |reason: String| SetupError::new(SetupErrorKind::Failed, "install", reason);
    let planned = plan.packages.iter();
    let planned = planned.filter(|package| package.registry == Registry::Pypi);
    let planned: BTreeMap<&str, &str> = planned
        .map(|package| (package.name.as_str(), package.version.as_str()))
        .collect();
    let installed = installed_packages(&directory.join(PYTHON_DIR))
        .map_err(|error| wrong(format!("cannot read what was installed: {error}")))?;
    for package in &installed {
        let Package { name, version, .. } = package;
        let found = format!("`{}` {} was installed", shown(name), shown(version));
        match planned.get(name.as_str()) {
            Some(planned) if is_same_version(planned, version) => {}
            Some(planned) => {
                return Err(wrong(format!("`{name}` {planned} is planned, and {found}")));
            }
            None if OF_VENV.contains(&name.as_str()) => {}
            None => {
                let metadata = shown(&package.metadata);
                return Err(wrong(format!(
                    "{found} with `{metadata}` and is not planned"
                )));
            }
        }
    }
    let is_missing = |name: &&&str| !installed.iter().any(|found| found.name == **name);
    match planned.keys().find(is_missing) {
        Some(name) => Err(wrong(format!("`{name}` was not installed"))),
        None => Ok(()),
    }
}

/// Returns the files of an installed package, by its normalized name, as its `RECORD` lists them.
pub(crate) fn files_of_package(directory: &Path, name: &str) -> Vec<String> {
    let environment = directory.join(PYTHON_DIR);
    let mut files = Vec::new();
    for site in package_directories(&environment).unwrap_or_default() {
        for entry in list_all(&site).unwrap_or_default() {
            if entry.to_ascii_lowercase().ends_with(".dist-info")
                && read_package(&site, entry.clone()).name == name
            {
                let record = read_lossy(&site.join(entry).join("RECORD")).unwrap_or_default();
                files.extend(record.lines().filter_map(file_of_record));
            }
        }
    }
    files
}

/// Returns the path in a line of a `RECORD`, which is a file of comma-separated values.
fn file_of_record(line: &str) -> Option<String> {
    let path = match line.strip_prefix('"') {
        Some(quoted) => quoted.split_once('"')?.0,
        None => line.split_once(',')?.0,
    };
    Some(path.to_owned())
}

/// Returns true if a file is a module or a file of its package, by the path of the module with slashes.
pub(crate) fn is_file_of_module(file: &str, module: &str) -> bool {
    let Some(rest) = file.strip_prefix(module) else {
        return false;
    };
    let is_compiled = rest.starts_with('.') && (rest.ends_with(".so") || rest.ends_with(".pyd"));
    rest == ".py" || is_compiled || rest.starts_with('/') && !rest.ends_with(".pyi")
}

fn is_same_version(left: &str, right: &str) -> bool {
    let parsed = PythonVersion::parse(left);
    left == right || parsed.is_some() && parsed == PythonVersion::parse(right)
}

/// Returns the packages of an environment, by what they say about themselves.
fn installed_packages(environment: &Path) -> io::Result<Vec<Package>> {
    let mut packages = Vec::new();
    for directory in package_directories(environment)? {
        for entry in list_all(&directory)? {
            let lowercase = entry.to_ascii_lowercase();
            if lowercase.ends_with(".dist-info") || lowercase.ends_with(".egg-info") {
                packages.push(read_package(&directory, entry));
            }
        }
    }
    Ok(packages)
}

/// Returns the directories `lib/python3.*/site-packages` of an environment. `lib64` is a symlink to
/// `lib`, or has further packages.
fn package_directories(environment: &Path) -> io::Result<Vec<PathBuf>> {
    let mut directories = Vec::new();
    for lib in ["lib", "lib64"].map(|name| environment.join(name)) {
        if lib.is_symlink() || !lib.exists() {
            continue;
        }
        let versions = list_all(&lib)?;
        let packages = versions
            .iter()
            .map(|version| lib.join(version).join("site-packages"));
        directories.extend(packages.filter(|directory| directory.exists()));
    }
    Ok(directories)
}

/// Reads a metadata directory or file; empty texts if it has no name or version.
fn read_package(directory: &Path, metadata: String) -> Package {
    let path = directory.join(&metadata);
    let files = METADATA.iter().map(|name| path.join(name));
    let text = files
        .chain([path.clone()])
        .find_map(|path| read_lossy(&path))
        .unwrap_or_default();
    let field = |name: &str| {
        let lines = text.lines().take_while(|line| !line.is_empty());
        let fields = lines.filter_map(|line| line.split_once(':'));
        let found = fields
            .map(|(field, value)| (field, value.trim()))
            .find(|(field, _)| field.eq_ignore_ascii_case(name));
        found.map_or("", |(_, value)| value).to_owned()
    };
    Package {
        name: normalize_name(&field("Name")),
        version: field("Version"),
        metadata,
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "files of the test")]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::documents::parse_pip_report;

    /// Verifies metadata directories, each with its text, against a plan with `py-pdf` 1.0.
    fn check(metadata: &[(&str, &str)]) -> Result<(), String> {
        let metadata = metadata.iter().map(|(name, text)| (*name, text.as_bytes()));
        check_bytes(&metadata.collect::<Vec<_>>())
    }

    fn check_bytes(metadata: &[(&str, &[u8])]) -> Result<(), String> {
        let mut plan = Plan::empty();
        let report = r#"{"install": [{"metadata": {"name": "Py_PDF", "version": "1.0"},
            "download_info": {"url": "https://x.example/p.whl",
                "archive_info": {"hashes": {"sha256": "aa"}}}}]}"#;
        parse_pip_report(&mut plan, report).unwrap();
        let directory = tempfile::tempdir().unwrap();
        let python = directory.path().join(PYTHON_DIR);
        let site = python.join("lib/python3.12/site-packages");
        for (name, text) in metadata {
            fs::create_dir_all(site.join(name)).unwrap();
            fs::write(site.join(name).join("METADATA"), text).unwrap();
        }
        fs::create_dir_all(&site).unwrap();
        symlink("lib", python.join("lib64")).unwrap();
        verify(&plan, directory.path()).map_err(|error| error.to_string())
    }

    const PLANNED: (&str, &str) = ("py_pdf-1.0.dist-info", "Name: py.pdf\nVersion: 1.0.0\n\n");

    #[test]
    fn metadata_does_not_have_to_be_utf_8() {
        let names = [
            "Name: py-pdf\nVersion: 1.0\n",
            "Name: py-pdf\nVersion: 2.0\n",
        ];
        let [valid, other] = names.map(|text| [text.as_bytes(), b"Author: J\xf6rg\n\n"].concat());
        let path = "py_pdf-1.0.dist-info";
        check_bytes(&[(path, &valid)]).unwrap();
        check_bytes(&[(path, &[b"\xef\xbb\xbf", &valid[..]].concat())]).unwrap();
        let error = check_bytes(&[(path, &other)]).unwrap_err();
        assert!(error.contains("`py-pdf` 2.0 was installed"), "{error}");
    }

    #[test]
    fn what_a_package_says_about_itself_has_to_be_planned() {
        check(&[PLANNED]).unwrap();
        check(&[PLANNED, ("pip-25.dist-info", "Name: pip\nVersion: 25\n")]).unwrap();
        let other = ("evil-1.dist-info", "Name: evil\nVersion: 1\n");
        let results = [
            check(&[PLANNED, other]),
            check(&[("py_pdf-1.0.dist-info", "Name: evil\nVersion: 1.0\n")]),
            check(&[("py_pdf-1.0.dist-info", "Name: py-pdf\nVersion: 1.1\n")]),
            check(&[("py_pdf-1.0.dist-info", "\nName: py-pdf\nVersion: 1.0\n")]),
            check(&[
                PLANNED,
                ("py_pdf-2.0.DIST-INFO", "Name: py-pdf\nVersion: 2.0\n"),
            ]),
            check(&[]),
        ];
        let results = results.map(|result| result.unwrap_err());
        insta::assert_snapshot!(results.join("\n"), @r"
        cannot install packages: `evil` 1 was installed with `evil-1.dist-info` and is not planned
        cannot install packages: `evil` 1.0 was installed with `py_pdf-1.0.dist-info` and is not planned
        cannot install packages: `py-pdf` 1.0 is planned, and `py-pdf` 1.1 was installed
        cannot install packages: ``  was installed with `py_pdf-1.0.dist-info` and is not planned
        cannot install packages: `py-pdf` 1.0 is planned, and `py-pdf` 2.0 was installed
        cannot install packages: `py-pdf` was not installed
        ");
    }
}
