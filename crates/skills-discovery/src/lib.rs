//! Discovers skills: scans [`Root`]s and returns a [`Catalog`], and reads the files of a skill
//! through a directory handle that no path leads out of.
//!
//! ```text
//! Roots, SourceRoots --scan--> Catalog: entries in a fixed order, and everything skipped, with
//!                                 |     the reason
//!                               Entry --open--> SkillFiles: document, resources, bytes
//! ```
//!
//! A [`Root`] is a directory. A [`SourceRoot`] has a [`SkillSource`], which lists skills that are in
//! memory, in an archive or at a server; when such a skill is opened its files are written to a
//! private directory, so that everything reads files through the same handle.
//!
//! A catalog contains metadata only. A scan reads the first 1 KiB of each `SKILL.md`, and more only
//! if the frontmatter is longer; bodies, scripts and references are not read until
//! [`Entry::open`] is called. A [`Discovery`] has the options of a scan, a [`ClientProfile`] the
//! roots of a client, and `RootWatcher` (feature `watch`) reports changes. Without the feature `fs`,
//! which is a default, only the types of a catalog are left, and nothing is opened.
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

#![cfg_attr(
    not(feature = "fs"),
    expect(
        dead_code,
        reason = "most of what the types of a catalog can do is for scans"
    )
)]

mod catalog;
mod client_profile;
mod config_rule;
mod content_digest;
#[cfg(feature = "fs")]
mod content_hasher;
#[cfg(feature = "fs")]
mod content_lock;
#[cfg(feature = "fs")]
mod digested_content;
#[cfg(feature = "fs")]
mod directory_visit;
mod discovery;
mod entry;
mod error;
#[cfg(feature = "fs")]
mod explain;
mod file_stamp;
#[cfg(feature = "fs")]
mod generated_files;
mod generation;
mod inactive_entry;
mod lazy_metadata;
#[cfg(feature = "fs")]
mod listed_skill;
mod lock_difference;
#[cfg(feature = "fs")]
mod lock_entry;
mod lock_error;
#[cfg(feature = "fs")]
mod locked_content;
#[cfg(feature = "fs")]
mod memory_source;
#[cfg(feature = "fs")]
mod namespace;
#[cfg(feature = "fs")]
mod omitted_file;
#[cfg(feature = "fs")]
mod open;
#[cfg(feature = "fs")]
mod open_failures;
mod openai_file;
#[cfg(feature = "fs")]
mod parallel;
#[cfg(feature = "fs")]
mod pending_dir;
#[cfg(feature = "fs")]
mod read_dir;
mod reserved_names;
mod root;
#[cfg(feature = "fs")]
mod scan;
mod scan_limits;
#[cfg(feature = "fs")]
mod skill_files;
mod skill_location;
#[cfg(feature = "fs")]
mod skill_source;
mod skipped;
mod slash_path;
#[cfg(feature = "fs")]
mod source_root;
#[cfg(feature = "fs")]
mod source_scan;
#[cfg(feature = "fs")]
mod source_skill;
#[cfg(feature = "fs")]
mod stamp_set;
#[cfg(feature = "fs")]
mod stamped_listing;
#[cfg(feature = "fs")]
mod summary;
mod thread_count;
#[cfg(feature = "fs")]
mod traversal;
#[cfg(feature = "fs")]
mod tree_path;
#[cfg(feature = "fs")]
mod trusted_skills;
#[cfg(feature = "fs")]
mod unread_skills;
mod walk_path;
#[cfg(feature = "watch")]
mod watch;

pub use catalog::{Catalog, Lookup, name_similarity};
pub use client_profile::{ClientProfile, ProfileContext, project_directories};
pub use config_rule::{ConfigRule, Selector, canonical_skill_path};
pub use content_digest::{ContentDigest, InvalidDigest};
#[cfg(feature = "fs")]
pub use content_lock::ContentLock;
#[cfg(feature = "fs")]
pub use digested_content::{ContentFile, DigestCache, DigestedContent};
pub use discovery::{Discovery, Precedence};
pub use entry::{Entry, EntryWarning};
pub use error::{DiscoveryError, DiscoveryErrorKind};
#[cfg(feature = "fs")]
pub use explain::{Explanation, ExplanationStep, SkillStatus};
pub use file_stamp::FileStamp;
#[cfg(feature = "fs")]
pub use generated_files::{FOLDER_SETTINGS, is_generated, is_in_generated_directory};
pub use generation::{Generation, Generations, WatcherRegistration};
pub use inactive_entry::{InactiveEntry, InactiveReason};
#[cfg(feature = "fs")]
pub use listed_skill::{ListedFile, ListedSkill, ListingProblem};
pub use lock_difference::LockDifference;
#[cfg(feature = "fs")]
pub use lock_entry::{LockEntry, MAX_LOCK_BYTES};
pub use lock_error::{LOCK_VERSION, LockError};
#[cfg(feature = "fs")]
pub use memory_source::{MemorySkill, MemorySource};
#[cfg(feature = "fs")]
pub use omitted_file::{OmissionReason, OmittedFile};
#[cfg(feature = "fs")]
pub use open::read_regular_text;
#[cfg(feature = "fs")]
pub use parallel::parallel_map;
pub use reserved_names::{
    INSTALL_DIRECTORY, LOCK_FILE, SKILL_FILE, fold_case, is_installable_name,
};
pub use root::{
    DirSymlinks, HiddenDirectories, Namespace, NestedSkills, Root, Scope, SearchDepth,
    SkillFileSymlinks, Trust,
};
#[cfg(feature = "fs")]
pub use scan::discover;
pub use scan_limits::ScanLimits;
#[cfg(feature = "fs")]
pub use skill_files::{Resource, ResourceListing, SkillFiles};
#[cfg(feature = "fs")]
pub use skill_source::{ReceiveFile, SkillSource, SourceFailure, SourceKind, SourceListing};
pub use skills_manifest::{DelimiterRule, MissingDescription, NameRule, ReadingRules};
pub use skipped::{SkipReason, Skipped};
#[cfg(feature = "fs")]
pub use source_root::{SourceRoot, is_source_path};
#[cfg(feature = "fs")]
pub use stamp_set::StampSet;
#[cfg(feature = "fs")]
pub use stamped_listing::{StampedFile, StampedListing};
#[cfg(feature = "fs")]
pub use summary::CatalogSummary;
#[cfg(feature = "fs")]
pub use tree_path::{PathProblem, TreePath};
#[cfg(feature = "fs")]
pub use trusted_skills::{TrustedSkill, TrustedSkills};
#[cfg(feature = "watch")]
pub use watch::{CatalogChange, RootWatcher, WatchOptions, WatchProblem};
