//! Reads the files of an entry.

use skills_manifest::MAX_FILE_BYTES;

use crate::open::{open_canonical_regular, read_opened};
use crate::{ContentDigest, DiscoveryError, Entry, EntryWarning, SkillFiles};

impl Entry {
    /// Opens the skill directory, to read its files through a handle that no path leads out of.
    ///
    /// # Errors
    /// Fails if the directory no longer exists or cannot be read, or if a part of its canonical
    /// path was replaced by a symlink since the scan
    /// ([`OutsideSkill`](crate::DiscoveryErrorKind::OutsideSkill)). Fails if the skill is locked and
    /// changed since the scan ([`Changed`](crate::DiscoveryErrorKind::Changed)), which compares the
    /// metadata of all files of a locked skill; also if a source has other content than it listed.
    /// The first call for a skill of a source waits for the source; that the source failed is
    /// remembered for a minute.
    pub fn open(&self) -> Result<SkillFiles, DiscoveryError> {
        let files = SkillFiles::open(&self.location)?;
        if let Some(locked) = &self.locked {
            locked.check()?;
        }
        Ok(files)
    }

    /// Reads the whole skill file, as [`open`](Self::open) and
    /// [`read_skill_file`](SkillFiles::read_skill_file) do, for callers that read nothing else of
    /// the skill: the directory is not opened. That of a skill of a source is the listed one, for
    /// which the source is not read.
    ///
    /// # Errors
    /// Fails as these two do.
    pub fn read_skill_file(&self) -> Result<Vec<u8>, DiscoveryError> {
        if let Some(source) = &self.location.source {
            return Ok(source.listed().skill_file().to_vec());
        }
        let opened = match self.location.linked_path {
            None => open_canonical_regular(&self.location(), MAX_FILE_BYTES),
            Some(_) => None,
        };
        let Some(opened) = opened else {
            return self.open()?.read_skill_file();
        };
        let (file, stamp) = opened?;
        if let Some(locked) = &self.locked {
            locked.check()?;
        }
        read_opened(file, stamp, MAX_FILE_BYTES)
    }

    /// Returns the content digest that the lock file beside the skill requires, or that is
    /// [trusted](crate::TrustedSkills), which the content had at the time of the scan; `None` if the
    /// skill is not locked. Nothing of a locked skill may
    /// run with another content. A skill of a source is always locked to the digest that the source
    /// listed.
    #[must_use]
    pub fn locked_digest(&self) -> Option<ContentDigest> {
        if let Some(source) = &self.location.source {
            return Some(source.listed().digest());
        }
        let locked = self.locked.as_ref()?;
        (locked.directory() == self.directory()).then(|| locked.digest())
    }

    /// Returns the warnings of the skill: those of its `SKILL.md` in the order of the file, then
    /// those of the scan, then those of `agents/openai.yaml`. The first call reads and parses both
    /// files, if no earlier call has.
    #[must_use]
    pub fn warnings(&self) -> &[EntryWarning] {
        self.warnings.get_or_init(|| {
            let manifest = self
                .metadata
                .manifest()
                .1
                .iter()
                .cloned()
                .map(EntryWarning::Manifest);
            let openai = self
                .openai_file()
                .warnings
                .iter()
                .cloned()
                .map(EntryWarning::OpenAi);
            manifest
                .chain(self.body_warning())
                .chain(self.scan_warnings.iter().cloned())
                .chain(openai)
                .collect()
        })
    }

    /// Returns the warning about a body that is not UTF-8, which makes loading the skill fail. The
    /// first call reads the whole file; a scan does not.
    fn body_warning(&self) -> Option<EntryWarning> {
        let line = self.metadata.invalid_line(|| {
            let bytes = self.read_skill_file().ok()?;
            let error = std::str::from_utf8(&bytes).err()?;
            let valid = &bytes[..error.valid_up_to()];
            Some(1 + valid.iter().filter(|b| **b == b'\n').count())
        })?;
        Some(EntryWarning::BodyNotUtf8 { line })
    }
}
