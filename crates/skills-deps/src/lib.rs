//! Packages that skills declare: planned, installed in isolation, verified, collected.
//!
//! ```text
//! Project --missing packages--> Plan --a person agrees--> Environment
//!     \--> all present: nothing to do        \--> SetupError: nothing changed
//! ```
//!
//! A [`Project`](skills_packages::Project) is what a skill declares. What the chosen interpreter has
//! already is [present](InstalledPython) and is never installed again.
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
//! use skills_deps::InstalledPython;
//! use skills_packages::Project;
//!
//! let files = |path: &str| {
//!     (path == "scripts/requirements.txt").then(|| "pypdf>=4 # PDF files\n".to_owned())
//! };
//! let project = Project::read(&files, Some("scripts/convert.py"), &[]);
//! let python = project.python.unwrap();
//! let nothing = InstalledPython::default();
//! let missing = nothing.missing(&python.requirements);
//! assert_eq!(missing[0].to_string(), "pypdf>=4");
//! ```

mod documents;
mod environment;
mod error;
mod files;
mod installed;
mod key;
mod plan;
mod setup;
mod store;

pub use documents::parse_documents;
pub use environment::Environment;
pub use error::{SetupError, SetupErrorKind};
pub use installed::{InstalledPython, missing_node_packages};
pub use key::{EnvironmentKey, KeyInput};
pub use plan::{PackageOrigin, Plan, PlannedPackage, host_of};
pub use setup::{Authorize, Progress, SetupContext, SetupPhase, check_declarations};
pub use store::{CollectedEnvironments, Store, StoredEnvironment};
