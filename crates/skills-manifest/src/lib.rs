//! Reads one `SKILL.md`: bytes in, a typed [`Manifest`], a body [`Outline`] and [`Warning`]s out;
//! and writes one from a [`Draft`].
//!
//! ```text
//! bytes --Fence::find--> frontmatter --Manifest::from_frontmatter--> Manifest + warnings
//!                   \--> body        --Outline::of--> headings, relative links
//! Draft --render--> text
//! ```
//!
//! Reading is lenient: what is merely bad becomes a [`Warning`] and the skill still loads; only a
//! file from which no name and description can be had is a [`ManifestError`]. Both carry the line
//! they speak of.
//!
//! Writing is strict: a [`Draft`] takes only what every reader accepts and renders the file, which
//! reads back as the same texts.
//!
//! This crate must never know paths on disk, other skills, policy, async or the model. It opens no
//! file.
//!
//! ```
//! use skills_manifest::Document;
//!
//! let document = Document::parse(b"---\nname: greet\ndescription: Says hello.\n---\n# Greeting\n")?;
//! assert_eq!(document.manifest().description(), "Says hello.");
//! assert_eq!(document.body(), "# Greeting\n");
//! assert!(document.warnings().is_empty());
//! # Ok::<(), skills_manifest::ManifestError>(())
//! ```

mod ambiguity;
mod client;
mod document;
mod draft;
mod error;
mod extensions;
mod field_reader;
mod frontmatter;
mod frontmatter_scan;
mod hooks;
mod invisible;
mod json5;
mod manifest;
mod name;
mod openai_yaml;
mod openclaw;
mod outline;
mod position;
mod repair;
mod requirements;
mod script_spec;
pub mod strict;
mod tool_pattern;
mod warning;
mod yaml;

pub use ambiguity::AmbiguousYaml;
pub use client::{Client, Diagnostic, Severity};
pub use document::Document;
pub use draft::{Draft, DraftError, DraftErrorKind};
pub use error::{ErrorKind, ManifestError};
pub use extensions::{CommandDispatch, ContextMode, Extensions};
pub use frontmatter::Frontmatter;
pub use frontmatter_scan::FrontmatterScan;
pub use hooks::{Hook, HookAction, HookEvent};
pub use invisible::{is_invisible, is_invisible_after};
pub use manifest::{Manifest, Peek};
pub use name::{NameError, SkillName, SpecViolation};
pub use openai_yaml::{Interface, InvocationPolicy, OpenAiMetadata, OpenAiWarning, ToolDependency};
pub use openclaw::{EnvVar, InstallSpec, OpenClaw, RequiresBlock};
pub use outline::{Heading, Link, LinkKind, Outline};
pub use position::Position;
pub use requirements::{RequiredProgram, RequiredServer, Requirements};
pub use script_spec::{ScriptArg, ScriptSpec};
pub use tool_pattern::{ArgumentMatcher, ToolPattern};
pub use warning::{Warning, WarningKind};

/// The largest frontmatter that is read, in bytes: 64 KiB. A closing fence beyond it counts as
/// missing.
pub const MAX_FRONTMATTER_BYTES: usize = 64 * 1024;

/// The largest `SKILL.md` that is read, in bytes: 1 MiB. Readers of files refuse a longer one by
/// its size, before reading it.
pub const MAX_FILE_BYTES: u64 = 1024 * 1024;
