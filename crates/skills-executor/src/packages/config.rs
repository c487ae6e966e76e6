//! Configuration of package setups.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use skills_deps::Store;
use skills_packages::ListedPackage;

/// Where packages that skills declare are from, and where they are installed.
///
/// Defaults: the public indexes, only built packages, ten minutes for each step.
#[derive(Clone)]
#[must_use]
pub struct PackageConfig {
    pub(super) store: Store,
    pub(super) python_index: String,
    pub(super) npm_registry: String,
    pub(super) file_hosts: Vec<String>,
    pub(super) allows_builds: bool,
    pub(super) timeout: Duration,
    pub(super) of_skills: BTreeMap<String, Vec<ListedPackage>>,
}

impl PackageConfig {
    /// Installs into a directory of this user, which is absolute and canonical, and is created when
    /// it is first needed.
    pub fn new(store: impl Into<PathBuf>) -> Self {
        Self {
            store: Store::new(store),
            python_index: "https://pypi.org/simple".to_owned(),
            npm_registry: "https://registry.npmjs.org".to_owned(),
            file_hosts: vec!["files.pythonhosted.org".to_owned()],
            allows_builds: false,
            timeout: Duration::from_secs(600),
            of_skills: BTreeMap::new(),
        }
    }

    /// Sets the URL of the Python index, without credentials.
    pub fn python_index(mut self, url: impl Into<String>) -> Self {
        self.python_index = url.into();
        self
    }

    /// Sets the URL of the registry of Node packages, without credentials.
    pub fn npm_registry(mut self, url: impl Into<String>) -> Self {
        self.npm_registry = url.into();
        self
    }

    /// Adds a host that an index refers to for files, as `HOST` or `HOST:PORT`.
    pub fn file_host(mut self, host: impl Into<String>) -> Self {
        self.file_hosts.push(host.into());
        self
    }

    /// Sets whether packages without a built file are built from source, which runs their code in
    /// the sandbox of the setup.
    pub fn allow_builds(mut self, is_allowed: bool) -> Self {
        self.allows_builds = is_allowed;
        self
    }

    /// Sets how long each step of a setup may take.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Adds packages for the skill of this name, as if it declared them. They are installed under the
    /// same conditions as declared ones.
    pub fn skill_packages(
        mut self,
        skill: impl Into<String>,
        packages: impl IntoIterator<Item = ListedPackage>,
    ) -> Self {
        let known = self.of_skills.entry(skill.into()).or_default();
        known.extend(packages);
        self
    }

    /// Returns the store.
    #[must_use]
    pub fn store(&self) -> &Store {
        &self.store
    }
}

impl fmt::Debug for PackageConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PackageConfig")
            .field("store", &self.store)
            .finish_non_exhaustive()
    }
}
