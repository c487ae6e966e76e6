//! Finds skills: [`Root`]s in, a [`Catalog`] out, and one skill's files through a handle that cannot leave it.
//!
//! ```text
//! Roots --discover--> Catalog: entries in a fixed order + everything skipped, with its reason
//!                        |
//!                      Entry --open--> SkillFiles: document, resources, bytes
//! ```
//!
//! Only metadata is kept. A scan reads the first 1 KiB of each `SKILL.md` and more only when the frontmatter is longer; bodies,
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
mod content;
mod diff;
mod digest;
mod discovery;
mod entry;
mod error;
mod explain;
mod files;
mod fingerprint;
mod handle;
mod host;
mod inactive;
mod limits;
mod names;
mod namespace;
mod parallel;
mod place;
mod profile;
mod root;
mod rule;
mod seen;
mod skipped;
mod stamp;
mod stamped;
mod stamps;
mod visit;
mod walk;
#[cfg(feature = "watch")]
mod watch;

pub use catalog::{Catalog, Lookup, Precedence};
pub use diff::CatalogDiff;
pub use digest::{Digest, DigestCache};
pub use discovery::{Discovery, discover};
pub use entry::{Entry, EntryWarning};
pub use error::{DiscoveryError, ErrorKind};
pub use explain::{Explanation, Step, Verdict};
pub use files::{Listing, Resource, SkillFiles};
pub use fingerprint::Fingerprint;
pub use inactive::{Inactive, InactiveReason};
pub use limits::Limits;
pub use profile::{Profile, Surroundings, project_directories};
pub use root::{Depth, FileLinks, Namespace, Nested, Root, Scope, Symlinks, Trust};
pub use rule::{Rule, Selector, canonical_skill_path};
pub use skipped::{SkipReason, Skipped};
pub use stamp::Stamp;
pub use stamped::{StampedFile, StampedListing};
pub use stamps::Stamps;
#[cfg(feature = "watch")]
pub use watch::{Change, EventCount, Look, WatchOptions, Watcher};

/// The file that makes a directory a skill.
pub const SKILL_FILE: &str = "SKILL.md";
