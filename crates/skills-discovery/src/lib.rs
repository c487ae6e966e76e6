//! Discovers skills: scans [`Root`]s and returns a [`Catalog`], and reads the files of a skill
//! through a directory handle that no path leads out of.
//!
//! ```text
//! Roots --discover--> Catalog: entries in a fixed order, and everything skipped, with the reason
//!                        |
//!                      Entry --open--> SkillFiles: document, resources, bytes
//! ```
//!
//! A catalog contains metadata only. A scan reads the first 1 KiB of each `SKILL.md`, and more only
//! if the frontmatter is longer; bodies, scripts and references are not read until
//! [`Entry::open`] is called. A [`Discovery`] has the options of a scan, a [`ClientProfile`] the
//! roots of a client, and `RootWatcher` (feature `watch`) reports changes.
//!
//! This crate must never know the home directory, the working directory, the environment, prompts
//! or policy: roots are values. It reads the time only to tell when a file stamp is too recent to
//! be relied on. Everything in a skill is untrusted input, so every read is bounded, and one
//! invalid skill never affects another.
//!
//! ```
//! use skills_discovery::{discover, Lookup, Root, ScanLimits, Scope};
//!
//! # let directory = tempfile::tempdir()?;
//! # std::fs::create_dir(directory.path().join("greet"))?;
//! # std::fs::write(directory.path().join("greet/SKILL.md"), "---\nname: greet\ndescription: Says hello.\n---\nHi\n")?;
//! let catalog = discover(&[Root::new(directory.path(), Scope::Repo)], &ScanLimits::default());
//! let Lookup::Found(entry) = catalog.find("greet") else { panic!("`greet` was not found") };
//! assert_eq!(entry.manifest().description(), "Says hello.");
//! assert_eq!(entry.open()?.document()?.body(), "Hi\n");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod catalog;
mod client_profile;
mod config_rule;
mod content_digest;
mod content_lock;
mod directory_visit;
mod discovery;
mod entry;
mod error;
mod explain;
mod file_stamp;
mod generated_files;
mod generation;
mod inactive_entry;
mod installable_name;
mod lazy_metadata;
mod lock_entry;
mod lock_error;
mod locked_content;
mod namespace;
mod omitted_file;
mod open;
mod openai_file;
mod parallel;
mod pending_dir;
mod read_dir;
mod root;
mod scan;
mod scan_limits;
mod skill_files;
mod skipped;
mod stamp_set;
mod stamped_listing;
mod summary;
mod traversal;
mod unread_skills;
mod walk_path;
#[cfg(feature = "watch")]
mod watch;

pub use catalog::{Catalog, Lookup, name_similarity};
pub use client_profile::{ClientProfile, ProfileContext, project_directories};
pub use config_rule::{ConfigRule, Selector, canonical_skill_path};
pub use content_digest::{ContentDigest, ContentFile, DigestCache, DigestedContent, InvalidDigest};
pub use content_lock::ContentLock;
pub use discovery::{Discovery, Precedence};
pub use entry::{Entry, EntryWarning};
pub use error::{DiscoveryError, DiscoveryErrorKind};
pub use explain::{Explanation, ExplanationStep, SkillStatus};
pub use file_stamp::FileStamp;
pub use generated_files::{FOLDER_SETTINGS, is_generated, is_in_generated_directory};
pub use generation::{Generation, Generations, WatcherRegistration};
pub use inactive_entry::{InactiveEntry, InactiveReason, LockDifference};
pub use installable_name::{fold_case, is_installable_name};
pub use lock_entry::{LOCK_FILE, LOCK_VERSION, LockEntry, MAX_LOCK_BYTES};
pub use lock_error::LockError;
pub use omitted_file::{OmissionReason, OmittedFile};
pub use open::read_regular_text;
pub use parallel::parallel_map;
pub use root::{
    DirSymlinks, HiddenDirectories, Namespace, NestedSkills, Root, Scope, SearchDepth,
    SkillFileSymlinks, Trust,
};
pub use scan::discover;
pub use scan_limits::ScanLimits;
pub use skill_files::{Resource, ResourceListing, SkillFiles};
pub use skills_manifest::{DelimiterRule, MissingDescription, NameRule, ReadingRules};
pub use skipped::{SkipReason, Skipped};
pub use stamp_set::StampSet;
pub use stamped_listing::{StampedFile, StampedListing};
pub use summary::CatalogSummary;
#[cfg(feature = "watch")]
pub use watch::{CatalogChange, RootWatcher, WatchOptions, WatchProblem};

/// The name of the directory, beside installed skills, in which skills are staged. No scan searches
/// it.
pub const INSTALL_DIRECTORY: &str = ".skills-install";

/// The name of the file that makes a directory a skill.
pub const SKILL_FILE: &str = "SKILL.md";
