//! The environment of this process: variables, home directory and working directory.
//!
//! No other module reads them. Functions that need one get an [`Environment`].
#![expect(
    clippy::disallowed_methods,
    reason = "the only module that reads the environment"
)]

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use anyhow::Context;
use skills_runtime::discovery::project_directories;
use skills_runtime::{InvalidProxy, UpstreamProxies, memory_scratch_parent};

use crate::temp_dir::TempDir;

/// Entries that mark a directory as the root of a project.
const PROJECT_MARKERS: [&str; 1] = [".git"];

/// A snapshot of the environment of the process.
#[derive(Clone)]
pub(crate) struct Environment {
    variables: Vec<(OsString, OsString)>,
    home: Option<PathBuf>,
    current_dir: Option<PathBuf>,
    temp_dir: OnceLock<TempDir>,
    project_dirs: OnceLock<Vec<PathBuf>>,
    project_root: OnceLock<Option<PathBuf>>,
}

impl Environment {
    /// Reads the environment of this process.
    pub(crate) fn from_process() -> Self {
        Self {
            variables: env::vars_os().collect(),
            // A relative path would depend on the working directory, so it is ignored.
            home: env::home_dir().filter(|home| home.is_absolute()),
            current_dir: env::current_dir().ok(),
            temp_dir: OnceLock::new(),
            project_dirs: OnceLock::new(),
            project_root: OnceLock::new(),
        }
    }

    /// Returns the value of a variable, if it is set.
    pub(crate) fn variable(&self, name: &str) -> Option<&OsStr> {
        let mut variables = self.variables.iter();
        let variable = variables.find(|(known, _)| is_same_name(known, name));
        variable.map(|(_, value)| value.as_os_str())
    }

    /// Returns the value of a variable that is an absolute path. Empty and relative values are
    /// ignored, so that the working directory is never used in their place.
    pub(crate) fn path(&self, name: &str) -> Option<PathBuf> {
        let path = self.variable(name).map(PathBuf::from);
        path.filter(|path| path.is_absolute())
    }

    /// Returns the entries of `PATH`.
    pub(crate) fn search_path(&self) -> Vec<PathBuf> {
        env::split_paths(self.variable("PATH").unwrap_or_default()).collect()
    }

    /// Returns the home directory.
    pub(crate) fn home(&self) -> Option<&Path> {
        self.home.as_deref()
    }

    /// Returns the working directory.
    pub(crate) fn current_dir(&self) -> anyhow::Result<&Path> {
        let directory = self.current_dir.as_deref();
        directory.context("cannot find the working directory")
    }

    /// Returns the parent directory of scratch directories, which is selected once.
    pub(crate) fn temp_dir(&self) -> &TempDir {
        self.temp_dir
            .get_or_init(|| TempDir::select(env::temp_dir(), self.own_temp_dir()))
    }

    /// Returns a directory for temporary files where the system has none. It is not the cache
    /// directory, which programs never see.
    fn own_temp_dir(&self) -> Option<PathBuf> {
        Some(self.cache_dir()?.with_file_name("skills-temporary"))
    }

    /// Returns a directory in memory for private copies of skills, if the system has one and the
    /// user has not chosen a directory for temporary files.
    pub(crate) fn memory_directory(&self) -> Option<&'static Path> {
        match self.variable("TMPDIR") {
            Some(_) => None,
            None => memory_scratch_parent(),
        }
    }

    /// Returns the proxies by which the user reaches other hosts, and the variables that name none.
    pub(crate) fn upstream_proxies(&self) -> (UpstreamProxies, Vec<InvalidProxy>) {
        UpstreamProxies::from_variables(|name| Some(self.variable(name)?.to_str()?.to_owned()))
    }

    /// Returns the directories of the project, from its root to the working directory. They are
    /// searched for once.
    pub(crate) fn project_dirs(&self) -> &[PathBuf] {
        self.project_dirs.get_or_init(|| {
            let current = self.current_dir.as_deref();
            current.map(project_dirs_of).unwrap_or_default()
        })
    }

    /// Returns the root of the project; `None` if that is the home directory, whose skills are those
    /// of the user.
    pub(crate) fn project_root(&self) -> Option<&Path> {
        let root = self.project_root.get_or_init(|| self.find_project_root());
        root.as_deref()
    }

    fn find_project_root(&self) -> Option<PathBuf> {
        let root = self.project_dirs().first()?;
        // A home directory may be reached through a symlink.
        let resolved = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let is_home = self
            .home()
            .is_some_and(|home| resolved(home) == resolved(root));
        (!is_home).then(|| root.clone())
    }

    /// Returns `$XDG_CONFIG_HOME/skills`, else `~/.config/skills`. Like the other directories it is
    /// `None` without a home directory.
    pub(crate) fn config_dir(&self) -> Option<PathBuf> {
        self.xdg_dir("XDG_CONFIG_HOME", ".config")
    }

    /// Returns `$XDG_STATE_HOME/skills`, else `~/.local/state/skills`.
    pub(crate) fn state_dir(&self) -> Option<PathBuf> {
        self.xdg_dir("XDG_STATE_HOME", ".local/state")
    }

    /// Returns `$XDG_CACHE_HOME/skills`, else `~/.cache/skills`.
    pub(crate) fn cache_dir(&self) -> Option<PathBuf> {
        self.xdg_dir("XDG_CACHE_HOME", ".cache")
    }

    /// Returns `$XDG_DATA_HOME/skills/environments`, else `~/.local/share/skills/environments`: the
    /// store of packages.
    #[cfg(feature = "packages")]
    pub(crate) fn environments_dir(&self) -> Option<PathBuf> {
        let data = self.xdg_dir("XDG_DATA_HOME", ".local/share");
        data.map(|data| data.join("environments"))
    }

    /// Returns `$XDG_DATA_HOME/skills/drafts`, else `~/.local/share/skills/drafts`.
    pub(crate) fn drafts_dir(&self) -> Option<PathBuf> {
        let data = self.xdg_dir("XDG_DATA_HOME", ".local/share");
        data.map(|data| data.join("drafts"))
    }

    fn xdg_dir(&self, variable: &str, below_home: &str) -> Option<PathBuf> {
        let below_home = || Some(self.home()?.join(below_home));
        // The XDG specification says that relative paths are invalid and ignored.
        let directory = self.path(variable).or_else(below_home);
        directory.map(|directory| directory.join("skills"))
    }
}

/// Returns true if two names are of the same variable.
fn is_same_name(known: &OsStr, name: &str) -> bool {
    known == name || cfg!(windows) && known.eq_ignore_ascii_case(OsStr::new(name))
}

/// Returns a directory and its parents up to the root of the project, the root first.
pub(crate) fn project_dirs_of(directory: &Path) -> Vec<PathBuf> {
    project_directories(directory, &PROJECT_MARKERS)
}
