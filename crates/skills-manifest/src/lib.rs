//! Parses one `SKILL.md`: bytes in, a typed [`Manifest`], a body [`Outline`] and [`Warning`]s out.
//! It also writes one from a [`Draft`].
//!
//! ```text
//! bytes --FrontmatterScan--> frontmatter --Manifest::from_frontmatter--> Manifest, warnings
//!                       \--> body        --Outline::parse--> headings, relative links
//! Draft --render--> text
//! ```
//!
//! Parsing is lenient: a problem becomes a [`Warning`] and the skill still loads; only a file from
//! which no description can be recovered is a [`ManifestError`]. Both carry the line that they
//! refer to. Restrictions fail closed: one that is present but cannot be parsed counts as set, and
//! the skill then neither runs scripts nor is listed to a model.
//!
//! Writing is strict: a [`Draft`] accepts only text that all clients read in the same way, and the
//! file that it renders parses to the same texts.
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
mod comment_in_text;
mod document;
mod draft;
mod error;
mod extensions;
mod field_names;
mod field_reader;
mod frontmatter;
mod frontmatter_scan;
mod hooks;
mod invisible;
mod json5;
mod manifest;
mod mapping;
mod missing_description;
mod name;
mod openai_yaml;
mod openclaw;
mod outline;
mod position;
mod reading_rules;
mod repair;
mod requirements;
mod script_spec;
mod skill_directory;
mod spelled_list;
mod tool_pattern;
mod warning;
mod yaml;

pub use ambiguity::AmbiguousYaml;
pub use document::Document;
pub use draft::{Draft, DraftError, DraftErrorKind};
pub use error::{ManifestError, ManifestErrorKind};
pub use extensions::{CommandDispatch, ContextMode, Extensions};
pub use frontmatter::{Frontmatter, MAX_FILE_BYTES, MAX_FRONTMATTER_BYTES};
pub use frontmatter_scan::FrontmatterScan;
pub use hooks::{Hook, HookAction, HookEvent};
pub use invisible::{escape_characters, escape_invisible, is_invisible, is_invisible_after};
pub use manifest::{Manifest, Peek};
pub use missing_description::MissingDescription;
pub use name::{NameError, SkillName, SpecViolation};
pub use openai_yaml::{Interface, InvocationPolicy, OpenAiMetadata, OpenAiWarning, ToolDependency};
pub use openclaw::{EnvVar, InstallSpec, OpenClaw, RequiresBlock};
pub use outline::{Heading, Link, LinkKind, Outline};
pub use position::Position;
pub use reading_rules::{DelimiterRule, NameRule, ReadingRules};
pub use requirements::{RequiredPackage, RequiredProgram, RequiredServer, Requirements};
pub use script_spec::{ScriptArg, ScriptSpec};
pub use skill_directory::{expand_skill_directory, skill_directory_word};
pub use tool_pattern::{ArgumentMatcher, ToolPattern};
pub use warning::{Warning, WarningKind};
