//! Packages that skills declare: found, planned, installed in isolation, verified, collected.
//!
//! ```text
//! files of a skill --> Project --missing packages--> Plan --a person agrees--> Environment
//!                        \--> all present: nothing to do        \--> SetupError: nothing changed
//! ```
//!
//! A [`Project`] is what a skill declares: `pyproject.toml` with `uv.lock`, `requirements.txt`, the
//! `# /// script` block of a Python script, `package.json` with its lock file, and packages that its
//! frontmatter lists. What the chosen interpreter has already is [present](InstalledPython) and is
//! never installed again.
//!
//! A [`Plan`] lists each package with its version, index and size. Making it asks the index and
//! installs nothing. [`Store`] installs a plan once for each [`EnvironmentKey`], by a package
//! manager that runs in a sandbox with access to the index alone, and publishes the result by one
//! rename. The directory of the skill is never written.
//!
//! The crate reads no skill: the caller passes files as text. It starts no program itself, and reads
//! neither the environment nor the home directory.
//!
//! ```
//! use skills_deps::{InstalledPython, Project};
//!
//! let files = |path: &str| {
//!     (path == "scripts/requirements.txt").then(|| "pypdf>=4 # PDF files\n".to_owned())
//! };
//! let project = Project::read(&files, Some("scripts/convert.py"), &[]);
//! let python = project.python.unwrap();
//! assert_eq!(python.sources, ["scripts/requirements.txt"]);
//!
//! let nothing = InstalledPython::default();
//! let missing = nothing.missing(&python.requirements);
//! assert_eq!(missing[0].to_string(), "pypdf>=4");
//! ```

mod environment;
mod error;
mod files;
mod imported;
mod installed;
mod key;
mod listed;
mod mentioned;
mod module_names;
mod node;
mod plan;
mod project;
mod python;
mod setup;
mod store;

pub use environment::Environment;
pub use error::{SetupError, SetupErrorKind};
pub use imported::{imported_packages, is_local_module};
pub use installed::{InstalledPython, missing_node_packages};
pub use key::{EnvironmentKey, KeyInput};
pub use listed::{InvalidPackage, ListedPackage, Registry};
pub use mentioned::mentioned_packages;
pub use module_names::package_of_module;
pub use node::NodeProject;
pub use plan::{Plan, PlannedPackage};
pub use project::Project;
pub use python::{PythonProject, normalize_name};
pub use setup::{Authorize, Progress, SetupContext, SetupPhase};
pub use store::{CollectedEnvironments, Store, StoredEnvironment};
