//! Private copies of skills, so that exactly the hashed bytes run.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use skills_discovery::{DiscoveryError, SkillFiles};
use skills_library::ContentDigests;
use skills_process::SCRATCH_PREFIX;
use skills_sandbox::SandboxError;
use skills_store::PrivateDir;

use crate::RuntimeError;
#[cfg(unix)]
use crate::script_repair::repair_scripts;

/// Maximum number of cached copies. The least recently used copy is evicted first; a copy in use is
/// removed when its run ends.
const MAX_CACHED_COPIES: usize = 64;

/// Maximum size of all cached copies: 512 MiB.
const MAX_CACHED_BYTES: u64 = 512 << 20;

/// Maximum size of the files of a copy in the directory in memory: 1 MiB.
#[cfg(unix)]
const MAX_MEMORY_COPY_BYTES: u64 = 1 << 20;

/// Maximum size of all existing copies, including those of pending approvals and running programs:
/// 1 GiB.
const MAX_LIVE_BYTES: u64 = 1 << 30;

/// Where private copies of skills, private workspaces and scratch directories are created. Default:
/// `/tmp`.
#[derive(Debug, Clone)]
pub struct CopyDirectories {
    /// The parent of scratch directories.
    pub scratch: PathBuf,
    /// A directory in memory for copies of at most 1 MiB.
    pub memory: Option<PathBuf>,
}

impl Default for CopyDirectories {
    fn default() -> Self {
        Self {
            // A constant, since only the command line reads the environment, such as `TMPDIR`.
            scratch: PathBuf::from("/tmp"),
            memory: None,
        }
    }
}

impl CopyDirectories {
    /// Returns the directories for programs that do not see the directory in memory, such as those in
    /// containers.
    pub(crate) fn without_memory(&self) -> Self {
        Self {
            scratch: self.scratch.clone(),
            memory: None,
        }
    }
}

/// A snapshot of a skill: its content digest and, if supported, a copy of exactly the hashed bytes, in
/// which scripts with line ends of Windows are repaired.
///
/// The copy is in a directory with mode 0700 and is removed when it is evicted and its last run
/// ends. A program that runs from it is the one that was authorized, even if another process
/// changes the skill directory, also through a memory mapping that does not update timestamps.
#[derive(Debug)]
pub(crate) struct SkillCopy {
    pub(crate) digest: String,
    directory: Option<(PathBuf, PrivateDir)>,
    is_in_memory: bool,
    /// The paths of the scripts that are repaired.
    repaired: Vec<String>,
    /// Size of the copy in bytes.
    bytes: u64,
    live_bytes: Arc<AtomicU64>,
}

impl Drop for SkillCopy {
    fn drop(&mut self) {
        self.live_bytes.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

impl SkillCopy {
    /// Returns the content of a host command, which has no files.
    pub(crate) fn for_command(digest: String) -> Arc<Self> {
        Arc::new(Self {
            digest,
            directory: None,
            is_in_memory: false,
            repaired: Vec::new(),
            bytes: 0,
            live_bytes: Arc::default(),
        })
    }

    /// Opens the copy.
    pub(crate) fn files(&self) -> Option<Result<SkillFiles, DiscoveryError>> {
        self.path().map(SkillFiles::open_directory)
    }

    /// Returns the paths of the scripts that differ from the hashed ones by their line ends or their
    /// byte order mark.
    pub(crate) fn repaired(&self) -> &[String] {
        &self.repaired
    }

    /// Returns the directory of the copy.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.directory.as_ref().map(|(path, _)| path.as_path())
    }
}

/// Cache of copies. There is one copy per content digest.
#[derive(Debug)]
pub(crate) struct SkillCopyCache {
    digests: Arc<ContentDigests>,
    /// Ordered by last use; the most recently used copy is last.
    copies: Mutex<Vec<Arc<SkillCopy>>>,
    /// Total size of all existing copies.
    live_bytes: Arc<AtomicU64>,
}

impl SkillCopyCache {
    pub(crate) fn new(digests: Arc<ContentDigests>) -> Self {
        Self {
            digests,
            copies: Mutex::default(),
            live_bytes: Arc::default(),
        }
    }

    /// Finds or creates the copy of the current version of a skill. Returns `None` if it has no
    /// digest. Reads the file system, so call it on a blocking thread.
    ///
    /// # Errors
    /// Fails if the skill has a digest, but cannot be copied: the program that runs could differ
    /// from the hashed one.
    pub(crate) fn get_or_create(
        &self,
        files: &SkillFiles,
        parents: &CopyDirectories,
    ) -> Result<Option<Arc<SkillCopy>>, RuntimeError> {
        let digest = self
            .has_copies()
            .then(|| files.cached_digest(&mut self.digests.lock()));
        let digest = digest.and_then(Result::ok).flatten();
        if let Some(copy) = digest.and_then(|digest| self.get(&digest.to_string(), parents)) {
            return Ok(Some(copy));
        }
        // The copy is created even if the digest is known but its copy was evicted: the digest of
        // the copied bytes counts, not that of the files.
        match self.create(files, parents) {
            Ok(content) => Ok(Some(self.insert(content, parents))),
            Err(error) if self.digests.digest(files).is_ok() => {
                Err(SandboxError::setup("copying the skill to run it", error).into())
            }
            Err(_) => Ok(None),
        }
    }

    #[cfg(unix)]
    fn create(&self, files: &SkillFiles, parents: &CopyDirectories) -> std::io::Result<SkillCopy> {
        // Checked, not reserved: the size is known after copying, so concurrent copies can exceed
        // the limit.
        self.check_capacity()?;
        // Larger ones, and those that do not fit into memory, are on the disk.
        if let Some(memory) = &parents.memory
            && let Ok(mut copy) = self.create_in(files, memory, MAX_MEMORY_COPY_BYTES)
        {
            copy.is_in_memory = true;
            return Ok(copy);
        }
        self.create_in(files, &parents.scratch, u64::MAX)
    }

    #[cfg(unix)]
    fn create_in(
        &self,
        files: &SkillFiles,
        parent: &Path,
        max_bytes: u64,
    ) -> std::io::Result<SkillCopy> {
        let scratch = PrivateDir::create(parent, SCRATCH_PREFIX)?;
        let path = scratch.path().canonicalize()?;
        let (digest, bytes) = files
            .copy_to(&path, max_bytes, &mut self.digests.lock())
            .map_err(std::io::Error::other)?;
        // After the digest, which is that of the original bytes.
        let repaired = repair_scripts(&path)?;
        self.live_bytes.fetch_add(bytes, Ordering::Relaxed);
        Ok(SkillCopy {
            digest: digest.to_string(),
            directory: Some((path, scratch)),
            is_in_memory: false,
            repaired,
            bytes,
            live_bytes: Arc::clone(&self.live_bytes),
        })
    }

    fn check_capacity(&self) -> std::io::Result<()> {
        if self.live_bytes.load(Ordering::Relaxed) < MAX_LIVE_BYTES {
            return Ok(());
        }
        Err(std::io::Error::other(
            "copies of skills exceed 1 GiB; try again when other runs have ended",
        ))
    }

    /// On other systems only WebAssembly runs, whose bytes are read once.
    #[cfg(not(unix))]
    fn create(&self, files: &SkillFiles, _parents: &CopyDirectories) -> std::io::Result<SkillCopy> {
        self.check_capacity()?;
        let digest = files
            .digest(&mut self.digests.lock())
            .map_err(std::io::Error::other)?;
        Ok(SkillCopy {
            digest: digest.to_string(),
            directory: None,
            is_in_memory: false,
            repaired: Vec::new(),
            bytes: 0,
            live_bytes: Arc::clone(&self.live_bytes),
        })
    }

    fn has_copies(&self) -> bool {
        let copies = self.copies.lock().unwrap_or_else(PoisonError::into_inner);
        !copies.is_empty()
    }

    fn get(&self, digest: &str, parents: &CopyDirectories) -> Option<Arc<SkillCopy>> {
        let mut copies = self.copies.lock().unwrap_or_else(PoisonError::into_inner);
        let is_usable = |copy: &Arc<SkillCopy>| parents.memory.is_some() || !copy.is_in_memory;
        let index = copies
            .iter()
            .position(|copy| copy.digest == digest && is_usable(copy))?;
        let content = copies.remove(index);
        // A cleaner of temporary files may have removed it.
        if content
            .path()
            .is_some_and(|copy| copy.symlink_metadata().is_err())
        {
            return None;
        }
        copies.push(Arc::clone(&content));
        Some(content)
    }

    /// Caches a copy. If another thread cached the same content first, that copy is returned.
    fn insert(&self, content: SkillCopy, parents: &CopyDirectories) -> Arc<SkillCopy> {
        // The copy of another thread is used, since the bytes are the same; this one is removed on
        // drop.
        if let Some(copy) = self.get(&content.digest, parents) {
            return copy;
        }
        let content = Arc::new(content);
        let mut copies = self.copies.lock().unwrap_or_else(PoisonError::into_inner);
        copies.push(Arc::clone(&content));
        let mut bytes: u64 = copies.iter().map(|content| content.bytes).sum();
        let mut removed = Vec::new();
        // A single copy can exceed the limit. Evicting it would free nothing, since its run holds
        // it.
        while copies.len() > 1 && (copies.len() > MAX_CACHED_COPIES || bytes > MAX_CACHED_BYTES) {
            let oldest = copies.remove(0);
            bytes -= oldest.bytes;
            removed.push(oldest);
        }
        drop(copies);
        // Files are removed after the lock is released, since that takes time.
        drop(removed);
        content
    }
}
