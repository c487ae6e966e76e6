//! Checks a `SKILL.md` as other programs do.
//!
//! ```text
//! bytes    --validate-------> errors of skills-ref, the reference validator
//! bytes    --read_properties> its fields, as JSON
//! Document --Client::lint---> problems that one client has with the skill
//! ```
//!
//! Applications that load skills need none of it: the parser of [`skills_manifest`] is lenient and
//! independent of these rules. This crate must never know paths on disk, other skills or policy. It
//! opens no file.
//!
//! ```
//! use skills_ref_compat::{StrictError, read_properties, validate};
//!
//! let file = b"---\nname: pdf\ndescription: Fills forms.\nmodel: inherit\n---\n";
//! let errors = validate(file, "pdf");
//! assert!(errors[0].message().starts_with("Unexpected fields in frontmatter: model."));
//! let properties = read_properties(file)?;
//! assert_eq!(properties.prompt_name(), Some("pdf"));
//! # Ok::<(), StrictError>(())
//! ```

mod client;
mod strict;

pub use client::{Client, Diagnostic, Severity};
pub use strict::{Properties, StrictError, read_properties, validate};
