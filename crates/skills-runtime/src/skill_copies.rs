//! Private copies of skills: what was hashed is what runs.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use skills_discovery::{ContentDigest, DigestCache, DiscoveryError, SkillFiles};
use skills_sandbox::{SandboxError, ScratchDir};

use crate::RuntimeError;

/// The most copies that are kept between runs; the one that was used longest ago goes first. A copy
/// in use stays until its run ends.
const MAX_CACHED_COPIES: usize = 64;

/// The most bytes of all of them together: 512 MiB.
const MAX_CACHED_BYTES: u64 = 512 << 20;

/// The most bytes of all copies that exist, those of runs and questions under way included: 1 GiB.
const MAX_LIVE_BYTES: u64 = 1 << 30;

/// The content of a skill at one moment: its digest and, where it could be made, a copy of just the
/// bytes that were hashed.
///
/// The copy lies in a directory that only this user can enter, and is removed with the last run
/// that uses it. A program that runs from it is the one that was decided on, whatever happens to
/// the skill's own directory meanwhile: by another user, by another program, or through a mapping
/// that no time tells of.
#[derive(Debug)]
pub(crate) struct SkillCopy {
    pub(crate) digest: String,
    directory: Option<(PathBuf, ScratchDir)>,
    /// How large the copy is.
    bytes: u64,
    live_bytes: Arc<AtomicU64>,
}

impl Drop for SkillCopy {
    fn drop(&mut self) {
        self.live_bytes.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

impl SkillCopy {
    /// Content that has no files of its own: the words of a command.
    pub(crate) fn for_command(digest: String) -> Arc<Self> {
        Arc::new(Self {
            digest,
            directory: None,
            bytes: 0,
            live_bytes: Arc::default(),
        })
    }

    /// Opens the copy.
    pub(crate) fn files(&self) -> Option<Result<SkillFiles, DiscoveryError>> {
        self.path().map(SkillFiles::open_directory)
    }

    /// Returns where the copy lies.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.directory.as_ref().map(|(path, _)| path.as_path())
    }
}

/// The copies that are kept, and the digests of files that were read before. A copy is made once
/// for each digest.
#[derive(Debug, Default)]
pub(crate) struct SkillCopyCache {
    digests: Mutex<DigestCache>,
    /// The one that was used last stands last.
    copies: Mutex<Vec<Arc<SkillCopy>>>,
    /// The bytes of all copies that exist.
    live_bytes: Arc<AtomicU64>,
}

impl SkillCopyCache {
    /// Computes the digest of a skill without copying it; nothing when it has none, because it is
    /// too large or cannot be read.
    pub(crate) fn digest(&self, files: &SkillFiles) -> Option<String> {
        self.try_digest(files).ok().map(|digest| digest.to_string())
    }

    /// As [`digest`](Self::digest), with the reason why there is none.
    pub(crate) fn try_digest(&self, files: &SkillFiles) -> Result<ContentDigest, DiscoveryError> {
        files.digest(&mut self.lock_digests())
    }

    /// Finds or makes the copy of a skill as it is now; nothing when it has no digest. Blocks on
    /// the disk.
    ///
    /// # Errors
    /// When the copy cannot be made although the skill has a digest: what runs would not be what
    /// was hashed.
    pub(crate) fn get_or_create(
        &self,
        files: &SkillFiles,
        parent: &Path,
    ) -> Result<Option<Arc<SkillCopy>>, RuntimeError> {
        let known = files.cached_digest(&mut self.lock_digests()).ok().flatten();
        if let Some(kept) = known.and_then(|digest| self.get(&digest.to_string())) {
            return Ok(Some(kept));
        }
        match self.made(files, parent) {
            Ok(content) => Ok(Some(self.insert(content))),
            Err(error) if self.digest(files).is_some() => {
                Err(SandboxError::setup("copying the skill to run it", error).into())
            }
            Err(_) => Ok(None),
        }
    }

    /// Forgets what is known of files, because one of them changed although it looked the same.
    pub(crate) fn clear_digests(&self) {
        self.lock_digests().clear();
    }

    #[cfg(unix)]
    fn made(&self, files: &SkillFiles, parent: &Path) -> std::io::Result<SkillCopy> {
        self.check_capacity()?;
        let scratch = ScratchDir::new(parent)?;
        let path = scratch.path().canonicalize()?;
        let (digest, bytes) = files
            .copy_to(&path, &mut self.lock_digests())
            .map_err(std::io::Error::other)?;
        self.live_bytes.fetch_add(bytes, Ordering::Relaxed);
        Ok(SkillCopy {
            digest: digest.to_string(),
            directory: Some((path, scratch)),
            bytes,
            live_bytes: Arc::clone(&self.live_bytes),
        })
    }

    fn check_capacity(&self) -> std::io::Result<()> {
        if self.live_bytes.load(Ordering::Relaxed) < MAX_LIVE_BYTES {
            return Ok(());
        }
        Err(std::io::Error::other(
            "copies of large skills take 1 GiB at this moment; try again when their runs have ended",
        ))
    }

    /// Only WebAssembly runs on other systems, and its bytes are read once.
    #[cfg(not(unix))]
    fn made(&self, files: &SkillFiles, _parent: &Path) -> std::io::Result<SkillCopy> {
        self.has_room()?;
        let digest = files
            .digest(&mut self.digests())
            .map_err(std::io::Error::other)?;
        Ok(SkillCopy {
            digest: digest.to_string(),
            copy: None,
            bytes: 0,
            live: Arc::clone(&self.live),
        })
    }

    fn get(&self, digest: &str) -> Option<Arc<SkillCopy>> {
        let mut copies = self.copies.lock().unwrap_or_else(PoisonError::into_inner);
        let index = copies.iter().position(|content| content.digest == digest)?;
        let content = copies.remove(index);
        // A cleaner of temporary files may have been there.
        if content
            .path()
            .is_some_and(|copy| copy.symlink_metadata().is_err())
        {
            return None;
        }
        copies.push(Arc::clone(&content));
        Some(content)
    }

    /// Keeps a copy, unless another thread was faster; then that one counts.
    fn insert(&self, content: SkillCopy) -> Arc<SkillCopy> {
        if let Some(kept) = self.get(&content.digest) {
            return kept;
        }
        let content = Arc::new(content);
        let mut copies = self.copies.lock().unwrap_or_else(PoisonError::into_inner);
        copies.push(Arc::clone(&content));
        let mut bytes: u64 = copies.iter().map(|content| content.bytes).sum();
        let mut removed = Vec::new();
        while copies.len() > 1 && (copies.len() > MAX_CACHED_COPIES || bytes > MAX_CACHED_BYTES) {
            let oldest = copies.remove(0);
            bytes -= oldest.bytes;
            removed.push(oldest);
        }
        drop(copies);
        // Removing files takes time, and the lock is free.
        drop(removed);
        content
    }

    fn lock_digests(&self) -> std::sync::MutexGuard<'_, DigestCache> {
        self.digests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
