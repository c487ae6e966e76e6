//! What the files of a skill say, read when somebody asks.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use skills_manifest::{FrontmatterScan, Manifest, Warning};

use crate::openai_file::OpenAiFile;

/// What the files of a skill say. The first look at a `SKILL.md` makes sure that it can be read;
/// its fields are taken apart when somebody asks, and so is `agents/openai.yaml`.
#[derive(Debug, Default)]
pub(crate) struct LazyMetadata {
    /// The file up to its body, when it was not taken apart at once.
    head: Box<[u8]>,
    parsed: OnceLock<(Manifest, Vec<Warning>)>,
    /// The skill's path below its plugin.
    below_plugin: Option<Box<str>>,
    openai: OnceLock<OpenAiFile>,
}

impl LazyMetadata {
    /// Keeps a head that a glance has found good.
    pub(crate) fn deferred(head: &[u8], below_plugin: Option<String>) -> Arc<Self> {
        Arc::new(Self {
            head: head.into(),
            below_plugin: below_plugin.map(Into::into),
            ..Self::default()
        })
    }

    pub(crate) fn parsed(
        manifest: Manifest,
        warnings: Vec<Warning>,
        below_plugin: Option<String>,
    ) -> Arc<Self> {
        let parsed = OnceLock::from((manifest, warnings));
        Arc::new(Self {
            parsed,
            below_plugin: below_plugin.map(Into::into),
            ..Self::default()
        })
    }

    /// The same `SKILL.md` beside an `agents/openai.yaml` that may have changed.
    pub(crate) fn without_openai(&self) -> Arc<Self> {
        let (head, parsed, below_plugin) = (
            self.head.clone(),
            self.parsed.clone(),
            self.below_plugin.clone(),
        );
        Arc::new(Self {
            head,
            parsed,
            below_plugin,
            openai: OnceLock::new(),
        })
    }

    pub(crate) fn manifest(&self) -> &(Manifest, Vec<Warning>) {
        self.parsed.get_or_init(|| {
            let read = FrontmatterScan::parse_file(&self.head)
                .and_then(|frontmatter| Manifest::from_frontmatter(&frontmatter));
            // A glance has promised that it can be read; a skill of which nothing is known may do
            // nothing.
            read.unwrap_or_else(|_| (Manifest::unreadable(), Vec::new()))
        })
    }

    pub(crate) fn openai(&self, directory: &Path) -> &OpenAiFile {
        self.openai
            .get_or_init(|| OpenAiFile::read(directory, self.below_plugin.as_deref()))
    }

    /// Whether the `SKILL.md` says the same.
    pub(crate) fn content_eq(&self, other: &Self) -> bool {
        if self.head.is_empty() || other.head.is_empty() {
            self.manifest() == other.manifest()
        } else {
            self.head == other.head
        }
    }

    /// What was read of `agents/openai.yaml`, if anybody has asked.
    pub(crate) fn loaded_openai(&self) -> Option<&OpenAiFile> {
        self.openai.get()
    }
}
