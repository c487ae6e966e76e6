//! Skills as they are published to clients: all files with their digests, and the unmodified
//! frontmatter.
//!
//! ```text
//! Publisher --where | one-> PublishedSkill     consistent snapshot, cached until a file changes
//!           `-read-------> PublishedContent   exactly the bytes that a snapshot lists
//! ```

mod completion;
mod error;
mod field_rules;
mod published_skill;
mod publisher;
mod snapshot;
mod unpublished;

pub use completion::Completion;
pub use error::{PublicationError, PublicationErrorKind};
pub use published_skill::{PublishedContent, PublishedFile, PublishedSkill, PublishedSkills};
pub(crate) use publisher::Publisher;
pub use unpublished::UnpublishedSkill;
