//! Fetches skills from other places and keeps them under a lock file.
//!
//! ```text
//! SourceSpec --fetch--> staged files --checks--> difference --caller agrees--> skills and lock file
//! ```
//!
//! This crate must never know policies, prompts or the environment, and executes nothing of a
//! skill: directories, credentials of git and allowed addresses are arguments.
//!
//! ```
//! use skills_install::SourceSpec;
//!
//! let spec: SourceSpec = "acme/skills//skills/pdf".parse()?;
//! assert_eq!(spec.identity(), "git:github.com/acme/skills");
//! # Ok::<(), skills_install::SourceError>(())
//! ```

mod source;
mod tree_path;

pub use source::{Source, SourceError, SourceRule, SourceSpec};
pub use tree_path::{PathProblem, TreePath};
