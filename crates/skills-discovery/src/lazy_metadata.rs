//! The metadata of a skill, parsed on first access.

use std::sync::{Arc, OnceLock};

use skills_manifest::{FrontmatterScan, Manifest, Warning};

use crate::openai_file::OpenAiFile;

/// The metadata of a skill: its manifest, parsed on first access, and its `agents/openai.yaml`,
/// read on first access. The scan has checked that the manifest can be parsed.
#[derive(Debug, Default)]
pub(crate) struct LazyMetadata {
    /// The start of the skill file up to its body; empty if the scan had to parse it. Shared, like
    /// the manifest, since copies of an entry are made for each skill of a list.
    head: Arc<[u8]>,
    parsed: OnceLock<Arc<(Manifest, Vec<Warning>)>>,
    /// The path of the skill relative to its plugin.
    below_plugin: Option<Box<str>>,
    openai: OnceLock<OpenAiFile>,
    /// The first line of the body that is not UTF-8, once it was read.
    invalid_line: OnceLock<Option<usize>>,
}

impl LazyMetadata {
    /// Keeps the head of a skill file that the scan has validated, to parse it later.
    pub(crate) fn deferred(head: &[u8], below_plugin: Option<String>) -> Arc<Self> {
        Arc::new(Self {
            head: head.into(),
            below_plugin: below_plugin.map(Into::into),
            ..Self::default()
        })
    }

    /// Keeps a manifest that the scan had to parse.
    pub(crate) fn parsed(
        manifest: Manifest,
        warnings: Vec<Warning>,
        below_plugin: Option<String>,
    ) -> Arc<Self> {
        Arc::new(Self {
            parsed: OnceLock::from(Arc::new((manifest, warnings))),
            below_plugin: below_plugin.map(Into::into),
            ..Self::default()
        })
    }

    /// Returns the metadata of the same skill file, with an `agents/openai.yaml` that is read again
    /// on its first access.
    pub(crate) fn without_openai(&self) -> Arc<Self> {
        Arc::new(Self {
            head: Arc::clone(&self.head),
            parsed: self.parsed.clone(),
            below_plugin: self.below_plugin.clone(),
            openai: OnceLock::new(),
            invalid_line: self.invalid_line.clone(),
        })
    }

    pub(crate) fn manifest(&self) -> &(Manifest, Vec<Warning>) {
        self.parsed.get_or_init(|| {
            let parsed = FrontmatterScan::parse_file(&self.head)
                .and_then(|frontmatter| Manifest::from_frontmatter(&frontmatter));
            // The scan has validated the head. If parsing fails nevertheless, the manifest fails
            // closed: every restriction counts as set.
            Arc::new(parsed.unwrap_or_else(|_| (Manifest::unreadable(), Vec::new())))
        })
    }

    /// Returns `agents/openai.yaml`, which the first call reads with `read`; it gets the path of the
    /// skill relative to its plugin.
    pub(crate) fn openai(&self, read: impl FnOnce(Option<&str>) -> OpenAiFile) -> &OpenAiFile {
        self.openai
            .get_or_init(|| read(self.below_plugin.as_deref()))
    }

    /// Returns the first line of the body that is not UTF-8, which the first call reads with `read`.
    pub(crate) fn invalid_line(&self, read: impl FnOnce() -> Option<usize>) -> Option<usize> {
        *self.invalid_line.get_or_init(read)
    }

    /// Returns true if both skill files have the same content up to the body.
    #[cfg(feature = "watch")]
    pub(crate) fn content_eq(&self, other: &Self) -> bool {
        if self.head.is_empty() || other.head.is_empty() {
            self.manifest() == other.manifest()
        } else {
            self.head == other.head
        }
    }

    /// Returns `agents/openai.yaml` if a caller has accessed it, without reading it.
    pub(crate) fn loaded_openai(&self) -> Option<&OpenAiFile> {
        self.openai.get()
    }
}
