//! Packages that an interpreter has already.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use skills_packages::{
    NodeProject, PythonRequirement, PythonSystem, PythonVersion, normalize_name, npm_range_allows,
};

use crate::files::{list_paths, read_bounded, read_lossy};

/// Maximum number of entries of a package directory that are listed.
const MAX_ENTRIES: usize = 20_000;
/// Maximum number of packages whose metadata is read for extras.
const MAX_EXTRAS: usize = 64;
/// The minor version of Python 3 that markers are compared with if that of the interpreter is not
/// known.
const DEFAULT_MINOR_VERSION: u32 = 11;

/// The Python packages that an interpreter finds, read from the names of their metadata directories.
/// No program is executed.
///
/// The default has no packages, and the markers of Python 3.
#[derive(Debug, Clone, Default)]
pub struct InstalledPython {
    packages: BTreeMap<String, InstalledPackage>,
    /// The minor version of Python 3, if it is known.
    minor_version: Option<u32>,
}

#[derive(Debug, Clone)]
struct InstalledPackage {
    version: Option<PythonVersion>,
    extras: Extras,
}

/// What the extras of a package need.
#[derive(Debug, Clone)]
enum Extras {
    /// As its metadata directory, or file, says.
    InMetadata(PathBuf),
    /// Requirements with markers.
    Listed(Vec<String>),
}

/// The packages that an interpreter reported.
#[derive(Debug, Clone, Default, serde::Deserialize, serde::Serialize)]
#[serde(default)]
pub(crate) struct ReportedPython {
    packages: Vec<ReportedPackage>,
    minor_version: Option<u32>,
}

#[derive(Debug, Clone, serde::Deserialize, serde::Serialize)]
struct ReportedPackage {
    name: String,
    version: String,
    extras: Vec<String>,
}

impl InstalledPython {
    /// Lists the packages of the interpreter at this absolute path: those of its virtual
    /// environment, or of the system, without those in home directories, which runs do not see.
    #[must_use]
    pub fn of_interpreter(python: &Path) -> Self {
        let real = python.canonicalize().unwrap_or_else(|_| python.to_owned());
        let mut minor_version = minor_version_of_name(&real);
        let environment = python.parent().and_then(Path::parent);
        let config =
            environment.and_then(|environment| read_bounded(&environment.join("pyvenv.cfg")));
        let mut directories = Vec::new();
        match (environment, config) {
            (Some(environment), Some(config)) => {
                directories.extend(site_packages(environment, minor_version));
                let uses_system = config.lines().any(|line| {
                    let setting: String = line.split_whitespace().collect();
                    setting.eq_ignore_ascii_case("include-system-site-packages=true")
                });
                if uses_system {
                    directories.extend(base_directories(&real, minor_version));
                }
            }
            _ => directories.extend(base_directories(&real, minor_version)),
        }
        minor_version = minor_version.or_else(|| {
            directories
                .iter()
                .find_map(|path| minor_version_of_path(path))
        });
        let mut installed = Self {
            minor_version,
            ..Self::default()
        };
        // The first directory takes precedence, as in the search path of Python.
        directories
            .iter()
            .for_each(|directory| installed.add_directory(directory));
        installed
    }

    /// Takes the packages that an interpreter reported, which this system cannot read.
    pub(crate) fn of_report(report: ReportedPython) -> Self {
        let mut installed = Self {
            minor_version: report.minor_version,
            ..Self::default()
        };
        for package in report.packages {
            let name = normalize_name(&package.name);
            // The first one takes precedence, as in the search path of Python.
            installed
                .packages
                .entry(name)
                .or_insert_with(|| InstalledPackage {
                    version: PythonVersion::parse(&package.version),
                    extras: Extras::Listed(package.extras),
                });
        }
        installed
    }

    /// Returns the version of a package by its normalized name; an empty text if it is unknown.
    #[must_use]
    pub fn version(&self, name: &str) -> Option<String> {
        let package = self.packages.get(name)?;
        Some(
            package
                .version
                .as_ref()
                .map(ToString::to_string)
                .unwrap_or_default(),
        )
    }

    /// Returns the requirements that count on this system and that no installed package satisfies.
    /// Of a package with extras, the packages that the extras need must be installed, too.
    #[must_use]
    pub fn missing(&self, requirements: &[PythonRequirement]) -> Vec<PythonRequirement> {
        let minor_version = self.minor_version.unwrap_or(DEFAULT_MINOR_VERSION);
        let Some(system) = PythonSystem::of_host(minor_version) else {
            // Without values of markers each requirement counts.
            return requirements.to_vec();
        };
        let is_missing = |requirement: &&PythonRequirement| {
            requirement.applies_to(&system)
                && !self.satisfies(requirement, &system, &mut BTreeSet::new())
        };
        requirements.iter().filter(is_missing).cloned().collect()
    }

    fn satisfies(
        &self,
        requirement: &PythonRequirement,
        system: &PythonSystem,
        seen: &mut BTreeSet<String>,
    ) -> bool {
        let name = requirement.name();
        let Some(package) = self.packages.get(name) else {
            return false;
        };
        if !requirement.accepts(package.version.as_ref()) {
            return false;
        }
        // Packages can require each other.
        let has_new_extras =
            requirement.has_extras() && seen.len() < MAX_EXTRAS && seen.insert(name.to_owned());
        !has_new_extras || self.has_extras(package, requirement, system, seen)
    }

    /// Returns true if what the required extras of a package need is installed.
    fn has_extras(
        &self,
        package: &InstalledPackage,
        requirement: &PythonRequirement,
        system: &PythonSystem,
        seen: &mut BTreeSet<String>,
    ) -> bool {
        let required = package.extras.requirements();
        required
            .iter()
            .filter(|required| required.is_required_by_extras_of(requirement, system))
            .all(|required| self.satisfies(required, system, seen))
    }

    fn add_directory(&mut self, directory: &Path) {
        for path in list_paths(directory, MAX_ENTRIES) {
            let name = path.file_name().and_then(|name| name.to_str());
            let Some((name, version)) = name.and_then(package_of_metadata) else {
                continue;
            };
            self.packages
                .entry(name)
                .or_insert_with(|| InstalledPackage {
                    version: version.as_deref().and_then(PythonVersion::parse),
                    extras: Extras::InMetadata(path),
                });
        }
    }
}

impl Extras {
    fn requirements(&self) -> Vec<PythonRequirement> {
        let parse = |text: &str| PythonRequirement::parse(text.trim()).ok();
        match self {
            Self::Listed(texts) => texts.iter().filter_map(|text| parse(text)).collect(),
            Self::InMetadata(directory) => {
                let metadata = read_lossy(&directory.join("METADATA")).unwrap_or_default();
                let fields = metadata.lines().take_while(|line| !line.is_empty());
                let required = fields.filter_map(|line| line.strip_prefix("Requires-Dist:"));
                required.filter_map(parse).collect()
            }
        }
    }
}

/// Returns the packages of a project that the directories of the skill do not have in
/// `node_modules`. `read` reads a file of the skill.
#[must_use]
pub fn missing_node_packages(
    project: &NodeProject,
    read: &dyn Fn(&str) -> Option<String>,
) -> Vec<String> {
    let directories: BTreeSet<&str> = project
        .sources
        .iter()
        .map(|source| {
            source
                .rsplit_once('/')
                .map_or("", |(directory, _)| directory)
        })
        .chain([""])
        .collect();
    let version_of = |name: &str| {
        directories.iter().find_map(|directory| {
            let path = format!("{directory}/node_modules/{name}/package.json");
            let text = read(path.trim_start_matches('/'))?;
            let package: serde_json::Value = serde_json::from_str(&text).ok()?;
            Some(package.get("version")?.as_str()?.to_owned())
        })
    };
    let is_missing = |(name, range): &(&String, &String)| {
        !version_of(name).is_some_and(|version| npm_range_allows(range, &version))
    };
    let missing = project.dependencies.iter().filter(is_missing);
    missing
        .map(|(name, range)| format!("{name}@{range}"))
        .collect()
}

/// Returns the package and the version that the name of a metadata directory or file stands for.
fn package_of_metadata(name: &str) -> Option<(String, Option<String>)> {
    let (stem, is_egg) = match name.strip_suffix(".dist-info") {
        Some(stem) => (stem, false),
        None => (name.strip_suffix(".egg-info")?, true),
    };
    let mut parts = stem.splitn(3, '-');
    let package = normalize_name(parts.next()?);
    let version = parts.next().map(str::to_owned);
    (is_egg || version.is_some()).then_some((package, version))
}

/// Returns the package directories below the prefix of an interpreter that is not in an environment.
fn base_directories(real: &Path, minor_version: Option<u32>) -> Vec<PathBuf> {
    let Some(prefix) = real.parent().and_then(Path::parent) else {
        return Vec::new();
    };
    if prefix != Path::new("/usr") {
        return site_packages(prefix, minor_version);
    }
    // Debian's directories first, in the order of its search path.
    let version = minor_version.map(|minor| format!("/usr/local/lib/python3.{minor}"));
    let local = version
        .iter()
        .flat_map(|lib| ["dist-packages", "site-packages"].map(|name| Path::new(lib).join(name)));
    local
        .chain([PathBuf::from("/usr/lib/python3/dist-packages")])
        .chain(site_packages(prefix, minor_version))
        .collect()
}

/// Returns the directories `lib/python3.*/site-packages` below a prefix.
fn site_packages(prefix: &Path, minor_version: Option<u32>) -> Vec<PathBuf> {
    ["lib", "lib64"]
        .iter()
        .flat_map(|lib| {
            let lib = prefix.join(lib);
            match minor_version {
                Some(minor) => vec![lib.join(format!("python3.{minor}"))],
                None => {
                    let paths = list_paths(&lib, MAX_ENTRIES).into_iter();
                    paths
                        .filter(|path| minor_version_of_path(path).is_some())
                        .collect()
                }
            }
        })
        .map(|python| python.join("site-packages"))
        .collect()
}

fn minor_version_of_name(program: &Path) -> Option<u32> {
    program
        .file_name()?
        .to_str()?
        .strip_prefix("python3.")?
        .parse()
        .ok()
}

fn minor_version_of_path(path: &Path) -> Option<u32> {
    path.components()
        .filter_map(|part| part.as_os_str().to_str())
        .find_map(|part| part.strip_prefix("python3.")?.parse().ok())
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "files of the test")]
mod tests {
    use std::fs;

    use super::*;
    use skills_packages::{ListedPackage, Project};

    fn requirement(text: &str) -> PythonRequirement {
        PythonRequirement::parse(text).unwrap()
    }

    /// A virtual environment with packages, by the names of their metadata directories.
    fn environment(metadata: &[(&str, &str)]) -> (tempfile::TempDir, InstalledPython) {
        let directory = tempfile::tempdir().unwrap();
        let site = directory.path().join("lib/python3.12/site-packages");
        for (name, text) in metadata {
            fs::create_dir_all(site.join(name)).unwrap();
            fs::write(site.join(name).join("METADATA"), text).unwrap();
        }
        fs::create_dir_all(directory.path().join("bin")).unwrap();
        fs::write(directory.path().join("pyvenv.cfg"), "home = /usr/bin\n").unwrap();
        fs::write(directory.path().join("bin/python"), "").unwrap();
        let installed = InstalledPython::of_interpreter(&directory.path().join("bin/python"));
        (directory, installed)
    }

    #[test]
    fn versions_markers_and_extras_decide_what_is_missing() {
        let with_extra = "Name: a\nProvides-Extra: x\nRequires-Dist: b>=2; extra == 'x'\nRequires-Dist: never\n\nRequires-Dist: text; extra == 'x'\n";
        let (_directory, installed) = environment(&[
            ("A_a-1.5.dist-info", with_extra),
            ("b-1.0.dist-info", ""),
            ("old-3.egg-info", ""),
        ]);
        let is_missing = |text: &str| !installed.missing(&[requirement(text)]).is_empty();
        for present in ["a-a", "A.a>=1,<2", "old", "none; sys_platform == 'win64'"] {
            assert!(!is_missing(present), "{present}");
        }
        for missing in ["a-a>=2", "none", "a-a[x]", "none; python_version >= '3.12'"] {
            assert!(is_missing(missing), "{missing}");
        }
        assert!(!is_missing("none; python_version >= '3.13'"));
        assert_eq!(installed.version("a-a").unwrap(), "1.5");
    }

    #[test]
    fn packages_of_the_skill_have_to_be_in_range() {
        let missing = |listed: &[&str]| {
            let listed = listed.iter().map(|text| ListedPackage::parse(text, ""));
            let listed: Vec<ListedPackage> = listed.collect::<Result<_, _>>().unwrap();
            let project = Project::read(&|_| None, None, &listed);
            let read = |path: &str| match path {
                "node_modules/a/package.json" => Some(r#"{"version": "1.9.0"}"#.to_owned()),
                "node_modules/b/package.json" => Some(r#"{"version": "7.0.0"}"#.to_owned()),
                _ => None,
            };
            missing_node_packages(&project.node.unwrap(), &read)
        };
        assert_eq!(missing(&["npm:a@^1.2", "npm:b@latest"]), [""; 0]);
        assert_eq!(missing(&["npm:a@^2"]), ["a@^2"]);
    }
}
