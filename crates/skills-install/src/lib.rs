//! Fetches skills from directories, archives, repositories, web sites, packages, registries and MCP
//! servers, and keeps them under a lock file.
//!
//! ```text
//! SourceSpec --fetch--> staged files --checks--> difference --caller agrees--> skills and lock file
//! ```
//!
//! This crate must never know policies, prompts or the environment, and executes nothing of a
//! skill: directories, proxies, trusted keys and allowed sources are arguments. It starts one
//! program, the user's git, and talks to no server but those of a source and of its redirects.
//!
//! | source | text | version in the lock file |
//! |---|---|---|
//! | directory | `./skills` | - |
//! | archive (tar, gzip, zip) | `./a.tar.gz`, `https://host/a.zip`, `archive+https://…` | `sha256:` of the archive |
//! | git repository | `owner/repo#v1.2`, `git@host:path`, `git+https://…` | `git:` and the commit |
//! | web site with an index (0.1.0, 0.2.0) | `https://host`, `site+https://…` | `sha256:` of the artifact |
//! | npm package, or directory of packages | `npm:./node_modules` | `npm:NAME@VERSION` |
//! | OCI registry or image layout | `oci://host/name:tag`, `oci:./layout#tag` | `oci:sha256:` of the manifest |
//! | ClawHub registry | `clawhub:SLUG@VERSION`, `clawhub+https://host/SLUG` | `clawhub:` and the version |
//! | MCP server with the Skills extension | `mcp+https://host/mcp` | - |
//!
//! The last four kinds are features (`npm`, `oci`, `clawhub`, `mcp`), which are on by default.
//!
//! Of a source only the wanted skills are downloaded, except for archives and layers, which are one
//! file. All of them pass the same checks of names, links, sizes and content, and the lock file has
//! the content digest of each skill. An MCP server that is started as a program is not a source.
//!
//! A [`Fetcher`] also returns skills that are not installed: those of an MCP server as a live source
//! of scans, and those of any source in memory.
//!
//! Servers are reached as [`WebOptions`] says. Signatures are verified by `skills-signature`, for the
//! signers that the [`Fetcher`] trusts; what is signed is the bytes of an archive or the [`statement`]
//! of a skill, and the signature is beside either.
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

#![cfg_attr(
    not(all(feature = "clawhub", feature = "mcp", feature = "oci")),
    expect(dead_code, reason = "some parts are used by these kinds only")
)]

mod capabilities;
mod error;
mod fetch_options;
mod fetcher;
mod file_batch;
mod file_digest;
mod file_kind;
mod find_skills;
mod foreign_lock;
mod installed;
mod known_sources;
mod limits;
mod lock_file;
mod memory_skills;
mod origin;
mod package_changes;
mod plan;
mod planner;
mod progress;
mod publish;
mod signature;
mod skill_tree;
mod source;
mod staged_skill;
mod staged_tree;
mod store;
mod temporary_dir;
mod trust_change;
mod verify;
mod web;

use skills_discovery::{PathProblem, TreePath};

pub use capabilities::{Capabilities, Difference, ToolWords};
pub use error::{InstallError, InstallErrorKind};
pub use fetcher::Fetcher;
pub use foreign_lock::{ForeignSkill, parse_foreign_lock};
pub use known_sources::KnownSources;
pub use limits::FetchLimits;
pub use lock_file::{LockFile, LockedSkill};
pub use origin::git_command::GitOptions;
#[cfg(feature = "mcp")]
pub use origin::mcp::live::LiveSource;
pub use plan::{Action, LocalEdits, Plan, SkillChange, UpdateFailure};
pub use progress::FetchProgress;
pub use publish::WellKnownSite;
pub use signature::statement;
pub use source::{SourceError, SourceRule, SourceSpec, split_skill};
pub use store::Store;
pub use trust_change::TrustChange;
pub use verify::{SkillState, Verification};
pub use web::{InvalidHost, Lookup, PrivateHost, WebOptions};

/// Passes bytes to each parser of a document that servers send. For fuzzers.
#[doc(hidden)]
pub fn parse_documents(bytes: &[u8]) {
    origin::parse_documents(bytes);
}
