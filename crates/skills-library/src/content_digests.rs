//! The digests of files that did not change.

use std::sync::{Mutex, MutexGuard};

use skills_discovery::{ContentDigest, DigestCache, DigestedContent, DiscoveryError, SkillFiles};
use skills_threads::lock;

/// The digests of unchanged files, for all that read skills.
#[derive(Debug, Default)]
pub struct ContentDigests(Mutex<DigestCache>);

impl ContentDigests {
    /// Returns the digest of the content of a skill.
    ///
    /// # Errors
    /// Fails if the content cannot be read.
    pub fn digest(&self, files: &SkillFiles) -> Result<ContentDigest, DiscoveryError> {
        files.digest(&mut self.lock())
    }

    /// Returns the digest of the content of a skill, and what it does not cover.
    ///
    /// # Errors
    /// Fails if the content cannot be read.
    pub fn digested_content(&self, files: &SkillFiles) -> Result<DigestedContent, DiscoveryError> {
        files.digested_content(&mut self.lock())
    }

    /// Returns the cache. No other digest is computed while it is locked.
    pub fn lock(&self) -> MutexGuard<'_, DigestCache> {
        lock(&self.0)
    }
}
