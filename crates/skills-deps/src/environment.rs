//! An installed environment.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::{SetupError, SetupErrorKind, shown};
use crate::plan::Plan;
use crate::setup::{files_of_package, is_file_of_module};

/// The record of an environment, beside its files.
pub(crate) const RECORD_FILE: &str = "environment.json";
/// The virtual environment, below the directory of an environment.
pub(crate) const PYTHON_DIR: &str = "python";
/// The packages for Node, below it.
pub(crate) const NODE_DIR: &str = "node";

/// Installed packages, for runs to use. They are not [collected](crate::Store::collect) while this
/// value or a clone of it exists.
#[derive(Debug, Clone)]
pub struct Environment {
    pub(crate) directory: PathBuf,
    pub(crate) plan: Plan,
    /// The locked record.
    pub(crate) _in_use: Arc<File>,
}

impl Environment {
    /// Returns the directory, without symlinks.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Returns what was installed.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Returns the interpreter of its virtual environment, if it has one.
    #[must_use]
    pub fn python(&self) -> Option<PathBuf> {
        let python = self.directory.join(PYTHON_DIR).join("bin/python");
        self.plan.python_lock.is_some().then_some(python)
    }

    /// Checks that an installed Python package has a module among its files, as its `RECORD` lists them.
    /// `package` is a full name, such as `pypi:pypdf`, and `module` can be dotted.
    ///
    /// # Errors
    /// Fails if it has not: a package of that name is another one.
    pub fn check_module(&self, package: &str, module: &str) -> Result<(), SetupError> {
        let name = package.strip_prefix("pypi:").unwrap_or(package);
        let files = files_of_package(&self.directory, name);
        let path = module.replace('.', "/");
        if files.iter().any(|file| is_file_of_module(file, &path)) {
            return Ok(());
        }
        let reason = format!(
            "`{}` has no module `{}`, so it is another package than the one that the script imports",
            shown(name),
            shown(module)
        );
        Err(SetupError::new(
            SetupErrorKind::Declaration,
            "install",
            reason,
        ))
    }

    /// Returns the directory of its packages for Node, if it has any.
    #[must_use]
    pub fn node_modules(&self) -> Option<PathBuf> {
        let directory = self.directory.join(NODE_DIR).join("node_modules");
        self.plan.node_lock.is_some().then_some(directory)
    }
}
