//! Packages that skills declare, mention and import, found in text.
//!
//! ```text
//! files of a skill --> Project: what one of its programs declares
//!                  --> declared_packages: what any file of it declares, as lines
//!                  --> locked_packages: the versions that its lock files fix
//! instructions, scripts --> packages that are mentioned or imported
//! ```
//!
//! A [`Project`] is what a skill declares: `pyproject.toml` with `uv.lock`, `requirements.txt`, the
//! `# /// script` block of a Python script, `package.json` with its lock file, and packages that its
//! frontmatter lists.
//!
//! The crate reads no file: the caller passes files as text. It knows neither which packages a host
//! has nor how they are installed.
//!
//! ```
//! use skills_packages::Project;
//!
//! let files = |path: &str| {
//!     (path == "scripts/requirements.txt").then(|| "pypdf>=4 # PDF files\n".to_owned())
//! };
//! let project = Project::read(&files, Some("scripts/convert.py"), &[]);
//! let python = project.python.unwrap();
//! assert_eq!(python.sources, ["scripts/requirements.txt"]);
//! assert_eq!(python.requirements[0].to_string(), "pypdf>=4");
//! ```

mod declared;
mod files;
mod grammar;
mod imported;
mod listed;
mod locked;
mod mentioned;
mod module_names;
mod node;
mod npm_file;
mod npm_name;
mod project;
mod python;
mod shown_text;

pub use declared::declared_packages;
pub use files::{MAX_FILE_BYTES, ReadFile};
pub use grammar::{
    InvalidRequirement, InvalidToml, PythonRequirement, PythonSystem, PythonVersion, catch_panic,
    compare_npm_versions, normalize_name, npm_range_allows, outside_guard, parse_toml,
};
pub use imported::{
    ImportedPackage, imported_package, imported_packages, imported_python_packages,
};
pub use listed::{InvalidPackage, ListedPackage, Registry};
pub use locked::{LockedPackages, LockedVersion, is_lock_file, locked_packages};
pub use mentioned::mentioned_packages;
pub use module_names::{is_known_module, package_of_module};
pub use node::NodeProject;
pub use npm_file::{is_npm_file, is_npm_registry, npm_file_url, npm_registry};
pub use npm_name::is_npm_package_name;
pub use project::Project;
pub use python::PythonProject;
