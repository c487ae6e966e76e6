//! Finds skills: [`Root`]s in, a [`Catalog`] out, and one skill's files through a handle that cannot leave it.
//!
//! ```text
//! Roots --discover--> Catalog: entries in a fixed order + everything skipped, with its reason
//!                        |
//!                      Entry --open--> SkillFiles: document, resources, bytes
//! ```
//!
//! Only metadata is kept. A scan reads the first 4 KiB of each `SKILL.md` and more only when the frontmatter is longer; bodies,
//! scripts and references stay on the disk until somebody opens the skill.
//!
//! This crate must never know HOME, the working directory, the environment, clocks, prompts or policy: it gets roots as values.
//!
//! ```
//! use skills_discovery::{discover, Limits, Lookup, Root, Scope};
//!
//! # let directory = tempfile::tempdir()?;
//! # std::fs::create_dir(directory.path().join("greet"))?;
//! # std::fs::write(directory.path().join("greet/SKILL.md"), "---\nname: greet\ndescription: Says hello.\n---\nHi\n")?;
//! let catalog = discover(&[Root::new(directory.path(), Scope::Repo)], &Limits::default());
//! let Lookup::Found(entry) = catalog.find("greet") else { panic!("greet is there") };
//! assert_eq!(entry.manifest().description(), "Says hello.");
//! assert_eq!(entry.open()?.document()?.body(), "Hi\n");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod catalog;
mod entry;
mod error;
mod files;
mod handle;
mod limits;
mod root;
mod scan;
mod skipped;

pub use catalog::{Catalog, Lookup};
pub use entry::{Entry, EntryWarning};
pub use error::{DiscoveryError, ErrorKind};
pub use files::{Listing, Resource, SkillFiles};
pub use limits::Limits;
pub use root::{Root, Scope, Symlinks};
pub use scan::discover;
pub use skipped::{SkipReason, Skipped};

/// The file that makes a directory a skill.
pub const SKILL_FILE: &str = "SKILL.md";
