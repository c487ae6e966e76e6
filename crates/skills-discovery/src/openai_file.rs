//! The file `agents/openai.yaml` of a skill.

#[cfg(feature = "fs")]
mod read;

use skills_manifest::{OpenAiMetadata, OpenAiWarning};

use crate::FileStamp;

/// The path of the file, relative to the skill directory.
pub(crate) const OPENAI_FILE: &str = "agents/openai.yaml";

/// The metadata of `agents/openai.yaml`, and its stamp at the time of reading.
#[derive(Debug, Clone, Default)]
pub(crate) struct OpenAiFile {
    /// `None` if the skill has no such file.
    pub(crate) metadata: Option<Box<OpenAiMetadata>>,
    pub(crate) stamp: Option<FileStamp>,
    pub(crate) warnings: Vec<OpenAiWarning>,
}

impl OpenAiFile {
    /// Returns the metadata of a file that this build cannot read.
    #[cfg(not(feature = "fs"))]
    pub(crate) fn read(_directory: &std::path::Path, _below_plugin: Option<&str>) -> Self {
        Self::unreadable("built without the feature `fs`".to_owned())
    }

    /// Returns the metadata of a file that exists but cannot be read.
    fn unreadable(reason: String) -> Self {
        // The file may forbid implicit invocation, so it must count as if it did. A policy of an
        // invalid type has this effect.
        let (metadata, _) = OpenAiMetadata::parse(b"policy: unread", None);
        Self {
            metadata: Some(Box::new(metadata)),
            stamp: None,
            warnings: vec![OpenAiWarning {
                field: String::new(),
                reason,
            }],
        }
    }
}
