//! Fetches skills from other places and keeps them under a lock file.
//!
//! ```text
//! SourceSpec --fetch--> staged files --checks--> difference --caller agrees--> skills and lock file
//! ```
//!
//! This crate must never know policies, prompts or the environment, and executes nothing of a
//! skill: directories, credentials of git and allowed addresses are arguments.
//!
//! A [`Fetcher`] reads a source, [`Store::plan_add`] says what would change, [`Store::apply`] changes
//! it, and [`Verification`] compares installed skills with the lock file. Scans of `skills-discovery`
//! read the same lock file.
//!
//! ```
//! use skills_install::{Fetcher, GitOptions, LocalEdits, SourceSpec, Store, Verification};
//!
//! # let directory = tempfile::tempdir()?;
//! # std::fs::create_dir_all(directory.path().join("source/pdf"))?;
//! # let text = "---\nname: pdf\ndescription: Fills forms.\nallowed-tools: Bash(qpdf:*)\n---\nUse qpdf.\n";
//! # std::fs::write(directory.path().join("source/pdf/SKILL.md"), text)?;
//! let spec = "./source".parse::<SourceSpec>()?.resolved_at(directory.path());
//! let mut store = Store::open(&directory.path().join("skills"))?;
//! let fetcher = Fetcher::new(GitOptions::new("/usr/bin/git"));
//! let words = |tool: &str, pattern: Option<&str>| Some(format!("{tool} {}", pattern?));
//! let plan = store.plan_add(&fetcher, &spec, &[], LocalEdits::Refuse, &words)?;
//! let change = &plan.changes()[0];
//! assert_eq!(change.difference().to_string(), "+ Bash qpdf:*\n+ SKILL.md\n~ body +1 -0\n");
//! store.apply(plan)?;
//! assert!(Verification::new(store.root())?.is_unchanged());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod capabilities;
mod error;
mod fetcher;
mod foreign_lock;
mod limits;
mod lock_file;
mod origin;
mod plan;
mod publish;
mod skill_tree;
mod source;
mod staged_tree;
mod store;
mod tree_path;
mod verify;

pub use capabilities::{Capabilities, Difference, ToolWords};
pub use error::{InstallError, InstallErrorKind};
pub use fetcher::Fetcher;
pub use foreign_lock::{ForeignSkill, parse_foreign_lock};
pub use limits::FetchLimits;
pub use lock_file::{LockFile, LockedSkill};
pub use origin::GitOptions;
pub use plan::{Action, LocalEdits, Plan, SkillChange, TrustChange};
pub use publish::WellKnownSite;
pub use source::{Source, SourceError, SourceRule, SourceSpec};
pub use store::Store;
pub use tree_path::{PathProblem, TreePath};
pub use verify::{SkillState, Verification};
