//! What would be installed.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::error::{SetupError, SetupErrorKind};
use skills_packages::Project;
use skills_packages::Registry;

/// The packages that an environment needs, with exact versions and digests. A plain value that a
/// person can approve, and that is installed as it is: a file with another digest is rejected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Plan {
    /// All packages, sorted by registry and name.
    pub packages: Vec<PlannedPackage>,
    /// The package managers that made it, with their versions.
    pub tools: Vec<String>,
    /// The lock for Python: of `uv` in the standard form (PEP 751), of `pip` lines with digests.
    pub(crate) python_lock: Option<String>,
    /// `package-lock.json`.
    pub(crate) node_lock: Option<String>,
    /// What the index says about the packages that it was [asked](crate::SetupContext::described) for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub origins: Vec<PackageOrigin>,
}

/// What an index says about the origin of a package. An index does not have to say it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PackageOrigin {
    /// The normalized name.
    pub name: String,
    /// The date of the first release that the index has, such as `2011-06-26`.
    pub first_release: Option<String>,
    /// The users and organizations that own it at the index, at most three.
    pub owners: Vec<String>,
}

/// Writes a phrase: `since 2011-06-26, owned by Ada`.
impl fmt::Display for PackageOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.first_release {
            Some(date) => write!(f, "since {date}")?,
            None => f.write_str("since an unknown date")?,
        }
        match self.owners.as_slice() {
            [] => f.write_str(", owner unknown"),
            owners => write!(f, ", owned by {}", owners.join(", ")),
        }
    }
}

/// A package of a plan.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PlannedPackage {
    /// The registry.
    pub registry: Registry,
    /// The normalized name.
    pub name: String,
    /// The exact version.
    pub version: String,
    /// The host that its file is from.
    pub host: String,
    /// The size of the file in bytes, if the index knows it.
    pub size: Option<u64>,
    /// True if the skill declares it, false if another package needs it.
    pub is_declared: bool,
    /// True if it is built from source, which runs its code during the setup.
    pub is_built: bool,
    /// The SHA-256 digests, in hexadecimal, of the files that may be installed.
    pub(crate) sha256: BTreeSet<String>,
}

impl PlannedPackage {
    /// Returns the name with the registry, as rules name it: `pypi:pypdf`.
    #[must_use]
    pub fn full_name(&self) -> String {
        format!("{}:{}", self.registry, self.name)
    }
}

impl Plan {
    pub(crate) fn empty() -> Self {
        Self {
            packages: Vec::new(),
            tools: Vec::new(),
            python_lock: None,
            node_lock: None,
            origins: Vec::new(),
        }
    }

    /// Returns true if it has the origins of packages, by their normalized names.
    pub(crate) fn has_origins(&self, names: &[String]) -> bool {
        let has_origin = |name: &String| self.origins.iter().any(|origin| origin.name == *name);
        names.iter().all(has_origin)
    }

    /// Marks the declared packages, sorts all, and compares digests with those of the lock files.
    pub(crate) fn finish(mut self, project: &Project) -> Result<Self, SetupError> {
        self.packages.sort();
        self.packages.dedup();
        for package in &mut self.packages {
            package.is_declared = project.declares_name(package.registry, &package.name);
        }
        self.check_locked(project)?;
        Ok(self)
    }

    /// Rejects files that the lock file of the skill does not list.
    fn check_locked(&self, project: &Project) -> Result<(), SetupError> {
        let Some(python) = &project.python else {
            return Ok(());
        };
        let of_python = self
            .packages
            .iter()
            .filter(|package| package.registry == Registry::Pypi);
        for package in of_python {
            let Some(locked) = python.locked_hashes.get(&package.name) else {
                continue;
            };
            if !locked.is_empty() && package.sha256.is_disjoint(locked) {
                let reason = format!(
                    "the index has other files of `{}` {} than the lock file lists",
                    package.name, package.version
                );
                return Err(SetupError::new(SetupErrorKind::Declaration, "plan", reason));
            }
        }
        Ok(())
    }

    /// Returns the packages that are built from source.
    pub fn built(&self) -> impl Iterator<Item = &PlannedPackage> {
        self.packages.iter().filter(|package| package.is_built)
    }

    /// Returns the size of all files with a known size, in bytes.
    #[must_use]
    pub fn known_size(&self) -> u64 {
        self.packages
            .iter()
            .filter_map(|package| package.size)
            .sum()
    }

    /// Returns the hosts that the files are from.
    #[must_use]
    pub fn hosts(&self) -> BTreeSet<&str> {
        self.packages
            .iter()
            .map(|package| package.host.as_str())
            .collect()
    }
}

/// Writes one line for a person: `3 packages, 9.1 MB, from files.pythonhosted.org: pypdf 4.1, …`.
impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.packages.len();
        let noun = if count == 1 { "package" } else { "packages" };
        write!(f, "{count} {noun}")?;
        let size = self.known_size();
        if size > 0 {
            write!(f, ", {}", display_size(size))?;
        }
        let hosts: Vec<&str> = self.hosts().into_iter().collect();
        write!(f, ", from {}: ", hosts.join(", "))?;
        let listed = self.packages.iter().take(MAX_LISTED).map(|package| {
            let built = if package.is_built {
                " (built from source)"
            } else {
                ""
            };
            format!("{} {}{built}", package.name, package.version)
        });
        f.write_str(&listed.collect::<Vec<_>>().join(", "))?;
        match count.saturating_sub(MAX_LISTED) {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}

/// Maximum number of packages in one line.
const MAX_LISTED: usize = 40;

/// Writes a size with decimal units: `421 kB`, `9.1 MB`.
pub(crate) fn display_size(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} bytes"),
        1_000..1_000_000 => format!("{} kB", bytes / 1_000),
        _ => {
            let tenths = bytes / 100_000;
            format!("{}.{} MB", tenths / 10, tenths % 10)
        }
    }
}

/// Returns the host of a URL, with its port if it is not that of the scheme.
#[must_use]
pub fn host_of(url: &str) -> Option<String> {
    let url = url::Url::parse(url).ok()?;
    let host = url.host_str()?;
    Some(match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    })
}
