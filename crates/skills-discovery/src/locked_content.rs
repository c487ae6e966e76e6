//! The content of a locked skill: what the lock file requires, and what a scan found.

use std::path::Path;
use std::sync::{Arc, Mutex};

use crate::content_lock::RequiredContent;
use crate::digested_content::ContentStamps;
use crate::error::{DiscoveryError, Repr};
use crate::file_stamp::ScanStart;
use crate::skill_location::SkillLocation;
use crate::thread_count::ThreadCount;
use crate::{ContentDigest, DigestCache, LockDifference, SkillFiles, StampSet};

/// The digests of the files of locked skills, shared by the catalogs of one program.
pub(crate) type SharedDigests = Arc<Mutex<DigestCache>>;

/// The content of a locked skill at the time of a scan.
#[derive(Debug)]
pub(crate) struct LockedContent {
    skill: SkillLocation,
    required: RequiredContent,
    difference: Option<LockDifference>,
    /// All files and directories that the comparison read.
    stamps: StampSet,
    digests: SharedDigests,
}

impl LockedContent {
    /// Compares the files of a skill with what the lock file requires.
    pub(crate) fn read(
        skill: &SkillLocation,
        required: &RequiredContent,
        digests: &SharedDigests,
        scan_start: ScanStart,
    ) -> Self {
        let mut read = ContentStamps::new();
        let difference = compare(skill, required, digests, scan_start, &mut read);
        let mut stamps = StampSet::default();
        for (path, stamp) in read {
            stamps.push(skill.directory.join(path), stamp);
        }
        Self {
            skill: skill.clone(),
            required: required.clone(),
            difference,
            stamps,
            digests: Arc::clone(digests),
        }
    }

    /// Returns the canonical path of the skill directory.
    pub(crate) fn directory(&self) -> &Path {
        &self.skill.directory
    }

    pub(crate) fn digest(&self) -> ContentDigest {
        self.required.digest
    }

    /// Returns how the content differed at the scan; `None` if it did not.
    pub(crate) fn difference(&self) -> Option<&LockDifference> {
        self.difference.as_ref()
    }

    /// Returns true if another comparison of the skill would have the same result.
    pub(crate) fn is_result_for(&self, skill: &SkillLocation, required: &RequiredContent) -> bool {
        self.directory() == &*skill.directory && self.required == *required && self.is_current()
    }

    /// Returns true if no file of the skill was written since the scan.
    pub(crate) fn is_current(&self) -> bool {
        // One thread: the caller compares many skills at the same time.
        self.stamps.is_current_on(ThreadCount::new(1))
    }

    /// Compares the current files with the lock file. Files are only read if their metadata changed.
    ///
    /// # Errors
    /// Fails if the content is another one.
    pub(crate) fn check(&self) -> Result<(), DiscoveryError> {
        let difference = if self.is_current() {
            self.difference.clone()
        } else {
            let (scan_start, mut read) = (ScanStart::now(), ContentStamps::new());
            compare(
                &self.skill,
                &self.required,
                &self.digests,
                scan_start,
                &mut read,
            )
        };
        difference.map_or(Ok(()), |difference| Err(Repr::Changed(difference).into()))
    }
}

/// Returns how the files of a skill differ from what a lock file requires, and adds the stamps of
/// all that was read.
fn compare(
    skill: &SkillLocation,
    required: &RequiredContent,
    digests: &SharedDigests,
    scan_start: ScanStart,
    stamps: &mut ContentStamps,
) -> Option<LockDifference> {
    let files = SkillFiles::open(skill);
    let content = files.and_then(|files| files.stamped_content(digests, scan_start, stamps));
    let Ok(content) = content else {
        return Some(LockDifference::Unreadable);
    };
    // Other systems have no such permission.
    let executables = if cfg!(unix) {
        content.executables()
    } else {
        required.executable.clone()
    };
    required.difference(content.digest, &executables)
}
