//! Skills that their user trusts one by one, by their content, in roots that are not trusted.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use crate::content_lock::RequiredContent;
use crate::file_stamp::ScanStart;
use crate::locked_content::{LockedContent, SharedDigests};
use crate::{ContentDigest, DigestCache, DiscoveryError, Entry, SkillFiles};

/// Maximum size of a skill that [`TrustedSkill::read`] reads, in bytes.
const MAX_BYTES: u64 = 32 << 20;

/// A skill that its user trusts although its root is not trusted: this content in this directory, and
/// nothing else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustedSkill {
    directory: PathBuf,
    content: RequiredContent,
}

impl TrustedSkill {
    /// Creates the value. `directory` is canonical; `executables` are the paths of the executable files
    /// in it, with `/` as separator, in any order.
    pub fn new(
        directory: impl Into<PathBuf>,
        digest: ContentDigest,
        mut executables: Vec<String>,
    ) -> Self {
        executables.sort_unstable();
        Self {
            directory: directory.into(),
            content: RequiredContent {
                digest,
                executable: executables,
            },
        }
    }

    /// Reads the current content of a skill, active or not. Reads all of its files.
    ///
    /// # Errors
    /// Fails if a file cannot be read, or if the skill is larger than 32 MiB or has no directory.
    pub fn read(entry: &Entry) -> Result<Self, DiscoveryError> {
        let files = SkillFiles::open(&entry.location)?;
        let mut cache = DigestCache::default();
        let content = files.digested_content_up_to(MAX_BYTES, &mut cache)?;
        let executables = content.executables();
        Ok(Self::new(entry.directory(), content.digest, executables))
    }

    /// Returns the canonical path of the skill directory.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Returns the content digest.
    #[must_use]
    pub fn digest(&self) -> ContentDigest {
        self.content.digest
    }

    /// Returns the paths of the executable files, sorted.
    #[must_use]
    pub fn executables(&self) -> &[String] {
        &self.content.executable
    }
}

/// The skills of a [`Discovery`](crate::Discovery) that are trusted by their content.
///
/// A skill in an untrusted root is active while it has the content that is trusted, and nothing of it
/// is read or run with another one. Clones share the skills: a skill that is added is active with the
/// next scan of any of them. Two values are equal if they have the same skills.
#[derive(Debug, Clone, Default)]
pub struct TrustedSkills(Arc<RwLock<TrustedContents>>);

/// The trusted content by the canonical path of the skill directory.
pub(crate) type TrustedContents = Arc<BTreeMap<PathBuf, RequiredContent>>;

impl TrustedSkills {
    /// Adds skills. One of the same directory is replaced.
    pub fn add(&self, skills: impl IntoIterator<Item = TrustedSkill>) {
        let skills = skills.into_iter();
        let mut contents = self.0.write().unwrap_or_else(PoisonError::into_inner);
        Arc::make_mut(&mut contents).extend(skills.map(|skill| (skill.directory, skill.content)));
    }

    pub(crate) fn contents(&self) -> TrustedContents {
        let contents = self.0.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&contents)
    }
}

impl FromIterator<TrustedSkill> for TrustedSkills {
    fn from_iter<I: IntoIterator<Item = TrustedSkill>>(skills: I) -> Self {
        let trusted = Self::default();
        trusted.add(skills);
        trusted
    }
}

impl PartialEq for TrustedSkills {
    fn eq(&self, other: &Self) -> bool {
        self.contents() == other.contents()
    }
}

impl Eq for TrustedSkills {}

/// Returns the content of a skill if it is the trusted one. That of the previous scan is reused if
/// nothing changed.
pub(crate) fn trusted_content(
    trusted: &TrustedContents,
    entry: &Entry,
    digests: &SharedDigests,
    scan_start: ScanStart,
) -> Option<Arc<LockedContent>> {
    let required = trusted.get(entry.directory())?;
    let previous = entry.locked.as_ref();
    let content = match previous.filter(|known| known.is_result_for(&entry.location, required)) {
        Some(known) => Arc::clone(known),
        None => Arc::new(LockedContent::read(
            &entry.location,
            required,
            digests,
            scan_start,
        )),
    };
    content.difference().is_none().then_some(content)
}
