//! Skills for hosts elsewhere, which read them file by file.

use std::sync::Arc;

use super::ToolSet;
use crate::publication::{
    Completion, PublicationError, PublishedContent, PublishedSkill, PublishedSkills,
};

impl ToolSet {
    /// Lists the skills that can be published, in the order of the catalogue, and says of the
    /// others why they are not.
    ///
    /// Skills are looked for anew. What looks as it did is not read again, so that unchanged skills
    /// cost a look at the metadata of each file. A skill is not published when models may not
    /// choose it, when another one has its name, when its name is one that some client refuses,
    /// when its `SKILL.md` is spelled otherwise, lies elsewhere or is read differently by other
    /// readers of YAML, when it has more than 512 files or 16 MiB or is nested deeper than 8
    /// directories, and while its files cannot be read or change all the time. Blocks on the disk.
    #[must_use]
    pub fn published_skills(&self) -> PublishedSkills {
        self.inner.publisher.publish_all(&self.catalog())
    }

    /// Looks at one skill as [`publications`](Self::published_skills) does; nothing when no skill
    /// of the name is published. Blocks on the disk.
    #[must_use]
    pub fn published_skill(&self, name: &str) -> Option<Arc<PublishedSkill>> {
        self.inner.publisher.publish_one(&self.catalog(), name).ok()
    }

    /// Reads one file of a published skill; `path` is exactly one that the publication lists.
    /// Blocks on the disk.
    ///
    /// The content is what the last publication of the skill lists. When the file has changed since
    /// then, the skill is looked at anew, and [`PublishedContent::skill`] is the new one.
    /// Content that no publication lists is never returned.
    ///
    /// # Errors
    /// When no such skill is published, when it lists no such file, and when the file changes all
    /// the time.
    pub fn published_file(
        &self,
        name: &str,
        path: &str,
    ) -> Result<PublishedContent, PublicationError> {
        self.inner.publisher.read_file(&self.catalog(), name, path)
    }

    /// Completes the name of a published skill. Blocks on the disk.
    #[must_use]
    pub fn complete_skill(&self, prefix: &str) -> Completion {
        self.inner.publisher.complete_skill(&self.catalog(), prefix)
    }

    /// Completes the path of a file of a published skill; one that is not published has none.
    /// Blocks on the disk.
    #[must_use]
    pub fn complete_path(&self, skill: &str, prefix: &str) -> Completion {
        self.inner
            .publisher
            .complete_path(&self.catalog(), skill, prefix)
    }
}
