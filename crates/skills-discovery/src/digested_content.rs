//! Computes content digests: one hash over all files of a skill.

mod skill_tree;

use std::collections::HashMap;
#[cfg(unix)]
use std::io::Write;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use cap_std::fs::{Dir, File};
use sha2::{Digest as _, Sha256};

pub(crate) use self::skill_tree::ContentStamps;
use self::skill_tree::SkillTree;
use crate::content_hasher::{ContentHasher, MAX_BYTES};
use crate::error::DiscoveryError;
use crate::file_stamp::ScanStart;
use crate::generated_files::is_in_generated_directory;
use crate::open::open_regular;
#[cfg(unix)]
use crate::open::open_root;
use crate::slash_path::to_slash_path;
use crate::{ContentDigest, FileStamp, SkillFiles};

/// The number of digests in one generation of a cache. There are two generations. The files of a
/// large catalog fit into one: a caller that reads more in turn finds none of them again.
const MAX_CACHED: usize = 200_000;
/// The size of the parts in which files are read, unless they are smaller.
const MAX_BUFFER_BYTES: usize = 64 * 1024;

/// The digest of a skill, and what it does not cover.
///
/// Some programs execute files of generated directories: Python loads byte code from `__pycache__` in
/// place of the source. So an application that executes content because of its digest must execute a
/// [copy](SkillFiles::copy_to), and hide these directories if the program can reach the original.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DigestedContent {
    /// The digest.
    pub digest: ContentDigest,
    /// The generated directories that exist, relative to the skill directory, ordered by path. Empty
    /// on systems where the digest covers them.
    pub generated_directories: Vec<PathBuf>,
    /// The files and symlinks that the digest covers, ordered by path.
    pub files: Vec<ContentFile>,
}

/// A file or symlink of a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ContentFile {
    /// The path, relative to the skill directory, with `/` as separator.
    pub path: String,
    /// The size in bytes; for a symlink that of its target path.
    pub bytes: u64,
    /// Whether anyone has the permission to execute it. The digest does not cover it. Always false
    /// on systems without this permission.
    pub is_executable: bool,
    /// Whether it is a symlink.
    pub is_link: bool,
}

impl DigestedContent {
    /// Returns the paths of the files with the permission to execute them, sorted. Empty on systems
    /// without this permission.
    #[must_use]
    pub fn executables(&self) -> Vec<String> {
        let files = self.files.iter().filter(|file| file.is_executable);
        let mut paths: Vec<String> = files.map(|file| file.path.clone()).collect();
        paths.sort_unstable();
        paths
    }
}

/// A cache of the digests of single files, by their stamps, so that unchanged files are not read
/// again.
///
/// It contains at most 400,000 digests, about 50 MiB, and no more than there were files; those that
/// were not used for the longest time are evicted first. One cache can serve any number of skills. Only settled stamps are cached (see
/// [`FileStamp`]), and on systems without a change time nothing is.
///
/// ```
/// use skills_discovery::{DigestCache, SkillFiles};
///
/// # let directory = tempfile::tempdir()?;
/// # std::fs::write(directory.path().join("SKILL.md"), "---\nname: a\n---\n")?;
/// let files = SkillFiles::open_directory(directory.path())?;
/// let mut cache = DigestCache::default();
/// let before = files.digest(&mut cache)?;
/// assert!(before.to_string().starts_with("sha256:"));
/// assert_eq!(files.digest(&mut cache)?, before);
/// std::fs::write(directory.path().join("run.py"), "print(1)")?;
/// assert_ne!(files.digest(&mut cache)?, before);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
pub struct DigestCache {
    files: HashMap<FileStamp, [u8; 32]>,
    /// Digests that were not used since the last rotation; the next rotation drops them. A digest
    /// that is used moves back to `files`.
    previous: HashMap<FileStamp, [u8; 32]>,
    hits: usize,
}

impl DigestCache {
    /// Returns how many files were not read because their digest was cached.
    #[must_use]
    pub fn hits(&self) -> usize {
        self.hits
    }

    /// Returns the cached digest of a file, which counts as a hit.
    fn hit(&mut self, stamp: FileStamp) -> Option<[u8; 32]> {
        let digest = self.get(stamp);
        self.hits += usize::from(digest.is_some());
        digest
    }

    /// Caches a digest, if a change of the file will change its stamp.
    fn insert_unless_racy(&mut self, stamp: FileStamp, digest: [u8; 32]) {
        // Elsewhere a stamp has no change time, and programs can set the time of modification back.
        if cfg!(unix) && stamp.is_settled() {
            self.insert(stamp, digest);
        }
    }

    /// Removes all digests, for callers that found a file changed although its stamp is the same.
    pub fn clear(&mut self) {
        self.files.clear();
        self.previous.clear();
    }

    fn get(&mut self, stamp: FileStamp) -> Option<[u8; 32]> {
        if let Some(digest) = self.files.get(&stamp) {
            return Some(*digest);
        }
        let digest = self.previous.remove(&stamp)?;
        self.insert(stamp, digest);
        Some(digest)
    }

    fn insert(&mut self, stamp: FileStamp, digest: [u8; 32]) {
        // Two generations approximate eviction by last use, without a timestamp per digest. A skill
        // that changes constantly cannot grow the cache.
        if self.files.len() >= MAX_CACHED {
            self.previous = std::mem::take(&mut self.files);
        }
        self.files.insert(stamp, digest);
    }
}

impl SkillFiles {
    /// Computes the content digest of the skill, reading only files that `cache` does not contain.
    ///
    /// The skill must not change meanwhile; to run exactly the files of a digest, use `copy_to`.
    ///
    /// # Errors
    /// Fails if a file cannot be read, if the skill has more than 10,000 files and directories, 256
    /// MiB or 32 directory levels, or if an entry is not a regular file, a directory or a symlink.
    pub fn digest(&self, cache: &mut DigestCache) -> Result<ContentDigest, DiscoveryError> {
        Ok(self.digested_content(cache)?.digest)
    }

    /// Computes the content digest like [`digest`](Self::digest), and returns the files that it covers
    /// and the generated directories that it does not cover, from the same walk.
    ///
    /// # Errors
    /// As [`digest`](Self::digest).
    pub fn digested_content(
        &self,
        cache: &mut DigestCache,
    ) -> Result<DigestedContent, DiscoveryError> {
        self.digest_at(cache, ScanStart::now(), MAX_BYTES)
    }

    /// Computes the content digest as [`digest`](Self::digest) does, of a skill with at most
    /// `max_bytes` bytes: for callers to whom the digest is not worth the time of reading more.
    ///
    /// # Errors
    /// As [`digest`](Self::digest), and if the skill is larger.
    pub fn digest_up_to(
        &self,
        max_bytes: u64,
        cache: &mut DigestCache,
    ) -> Result<ContentDigest, DiscoveryError> {
        Ok(self.digested_content_up_to(max_bytes, cache)?.digest)
    }

    pub(crate) fn digested_content_up_to(
        &self,
        max_bytes: u64,
        cache: &mut DigestCache,
    ) -> Result<DigestedContent, DiscoveryError> {
        self.digest_at(cache, ScanStart::now(), max_bytes.min(MAX_BYTES))
    }

    fn digest_at(
        &self,
        cache: &mut DigestCache,
        scan_start: ScanStart,
        max_bytes: u64,
    ) -> Result<DigestedContent, DiscoveryError> {
        let stamps = &mut ContentStamps::new();
        self.digest_with_stamps(scan_start, max_bytes, stamps, |use_cache| use_cache(cache))
    }

    /// Computes the content digest as [`digested_content`](Self::digested_content) does, with a
    /// shared cache, and adds to `stamps` what the result depends on, also if it is an error.
    pub(crate) fn stamped_content(
        &self,
        cache: &Mutex<DigestCache>,
        scan_start: ScanStart,
        stamps: &mut ContentStamps,
    ) -> Result<DigestedContent, DiscoveryError> {
        // Locked for each access only, so that threads read files at the same time.
        self.digest_with_stamps(scan_start, MAX_BYTES, stamps, |use_cache| {
            use_cache(&mut cache.lock().unwrap_or_else(PoisonError::into_inner))
        })
    }

    /// Computes the content digest; `access` calls a function with the cache.
    fn digest_with_stamps(
        &self,
        scan_start: ScanStart,
        max_bytes: u64,
        stamps: &mut ContentStamps,
        mut access: impl FnMut(&mut dyn FnMut(&mut DigestCache)),
    ) -> Result<DigestedContent, DiscoveryError> {
        let tree = SkillTree::scan_stamped(self.directory(), scan_start, stamps)?;
        let mut budget = ByteBudget(max_bytes);
        let mut files = Vec::new();
        let digest = self.combine_digests(&tree, |path| {
            let opened = budget.open(self.directory(), path);
            let stamp = match &opened {
                Ok((_, stamp)) => Some(*stamp),
                Err(_) => self.stamp_of(path),
            };
            let stamp = stamp.map(|stamp| stamp.with_scan_start(scan_start));
            stamps.push((path.to_owned(), stamp));
            let (file, stamp) = opened?;
            files.push(ContentFile {
                path: to_slash_path(path),
                bytes: stamp.bytes(),
                is_executable: is_executable(&file)?,
                is_link: false,
            });
            let stamp = stamp.with_scan_start(scan_start);
            let mut cached = None;
            access(&mut |cache| cached = cache.hit(stamp));
            if let Some(digest) = cached {
                return Ok(digest);
            }
            let digest = hash_file(&file, stamp.bytes(), |_| Ok(()))?;
            access(&mut |cache| cache.insert_unless_racy(stamp, digest));
            Ok(digest)
        })?;
        let links = tree
            .entries
            .iter()
            .filter_map(|(path, link)| Some((path, link.as_ref()?)));
        files.extend(links.map(|(path, link)| ContentFile {
            path: to_slash_path(path),
            bytes: link.as_os_str().len() as u64,
            is_executable: false,
            is_link: true,
        }));
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(DigestedContent {
            digest,
            generated_directories: tree.generated_directories,
            files,
        })
    }

    /// Returns the stamp of a file that cannot be opened.
    fn stamp_of(&self, path: &Path) -> Option<FileStamp> {
        let metadata = self.directory().symlink_metadata(path).ok()?;
        Some(FileStamp::from_metadata(&metadata))
    }

    /// Computes the content digest from `cache` only, without reading a file; `None` if the cache
    /// does not contain the current digest of every file.
    ///
    /// # Errors
    /// As [`digest`](Self::digest), also if the result would be `None`.
    pub fn cached_digest(
        &self,
        cache: &mut DigestCache,
    ) -> Result<Option<ContentDigest>, DiscoveryError> {
        let tree = SkillTree::scan(self.directory())?;
        let mut budget = ByteBudget::default();
        let mut is_cached = true;
        let digest = self.combine_digests(&tree, |path| {
            let (_, stamp) = budget.open(self.directory(), path)?;
            let digest = cache.get(stamp);
            is_cached &= digest.is_some();
            // Without a digest the walk continues, so that limits are checked as in `digest`.
            Ok(digest.unwrap_or_default())
        })?;
        Ok(is_cached.then_some(digest))
    }

    /// Copies the skill into `target`, an empty directory, and computes the content digest of
    /// exactly the bytes that were copied. Returns the digest and the total size of the files, which
    /// is at most `max_bytes` and never more than 256 MiB.
    ///
    /// The owner can read the copies, and execute those that were executable, but not write them.
    /// Modification times are kept. Symlinks are copied as they are, generated files not at all.
    ///
    /// # Errors
    /// As [`digest`](Self::digest), and if the copy cannot be written or an entry of it exists. A
    /// partial copy is left behind.
    #[cfg(unix)]
    pub fn copy_to(
        &self,
        target: &Path,
        max_bytes: u64,
        cache: &mut DigestCache,
    ) -> Result<(ContentDigest, u64), DiscoveryError> {
        self.copy_at(target, max_bytes, cache, ScanStart::now())
    }

    #[cfg(unix)]
    fn copy_at(
        &self,
        target: &Path,
        max_bytes: u64,
        cache: &mut DigestCache,
        scan_start: ScanStart,
    ) -> Result<(ContentDigest, u64), DiscoveryError> {
        let target = open_root(target)?;
        let tree = SkillTree::scan(self.directory())?;
        // Parents come before their subdirectories.
        for directory in &tree.directories {
            target.create_dir(directory)?;
        }
        for (path, link) in &tree.entries {
            if let Some(link) = link {
                target.symlink_contents(link, path)?;
            }
        }
        let max_bytes = max_bytes.min(MAX_BYTES);
        let mut budget = ByteBudget(max_bytes);
        let digest = self.combine_digests(&tree, |path| {
            let (file, stamp) = budget.open(self.directory(), path)?;
            // Hashing what is written, not the file again, ties the digest to the copy even if the
            // skill changes meanwhile.
            let mut copy = copy::create_file(&target, path)?;
            let digest = hash_file(&file, stamp.bytes(), |bytes| copy.write_all(bytes))?;
            copy::copy_attributes(&file, &copy)?;
            cache.insert_unless_racy(stamp.with_scan_start(scan_start), digest);
            Ok(digest)
        })?;
        Ok((digest, max_bytes - budget.0))
    }

    /// Combines the digests of the files with their paths and kinds.
    fn combine_digests(
        &self,
        tree: &SkillTree,
        mut digest_file: impl FnMut(&Path) -> Result<[u8; 32], DiscoveryError>,
    ) -> Result<ContentDigest, DiscoveryError> {
        let mut hasher = ContentHasher::default();
        for (path, link) in &tree.entries {
            // The separator is `/` on all systems, so that the digest is the same.
            let text = path
                .components()
                .map(|part| part.as_os_str().as_encoded_bytes())
                .collect::<Vec<_>>()
                .join(&b'/');
            match link {
                Some(link) => hasher.add_link(&text, link),
                None => hasher.add_file(&text, digest_file(path)?),
            }
        }
        // A linked skill file may be outside of the tree, but it is what a model reads.
        if self.is_skill_file_linked() || self.is_skill_file_generated(tree) {
            hasher.add_outer_skill_file(&self.read_skill_file()?);
        }
        Ok(hasher.finish())
    }

    /// Returns true if the skill file is a symlink into a generated directory, which the tree does
    /// not contain.
    fn is_skill_file_generated(&self, tree: &SkillTree) -> bool {
        !tree.generated_directories.is_empty()
            && self
                .directory()
                .canonicalize(self.file_name())
                .is_ok_and(|path| is_in_generated_directory(&path))
    }
}

/// The number of bytes of a skill that may still be read.
struct ByteBudget(u64);

impl Default for ByteBudget {
    fn default() -> Self {
        Self(MAX_BYTES)
    }
}

impl ByteBudget {
    /// Opens a file of the skill and subtracts its size.
    fn open(&mut self, directory: &Dir, path: &Path) -> Result<(File, FileStamp), DiscoveryError> {
        let (file, stamp) = open_regular(directory, path, self.0)?;
        self.0 -= stamp.bytes();
        Ok((file, stamp))
    }
}

#[cfg(unix)]
pub(crate) fn is_executable(file: &File) -> io::Result<bool> {
    use cap_std::fs::PermissionsExt as _;
    Ok(file.metadata()?.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
pub(crate) fn is_executable(_file: &File) -> io::Result<bool> {
    Ok(false)
}

/// Hashes the first `length` bytes of a file and passes them to `consume`.
fn hash_file(
    file: &File,
    length: u64,
    mut consume: impl FnMut(&[u8]) -> io::Result<()>,
) -> Result<[u8; 32], DiscoveryError> {
    // Streamed: a file may be as large as the limit of the whole skill.
    let mut hasher = Sha256::new();
    let size = usize::try_from(length).unwrap_or(usize::MAX);
    // Most files are small: a full buffer for each would cost more than their digests.
    let mut buffer = vec![0; size.min(MAX_BUFFER_BYTES)];
    // The length is that of the stamp: a file that grows meanwhile would be read without end.
    let mut file = file.take(length);
    loop {
        let read = file.read(&mut buffer)?;
        if read == 0 {
            return Ok(hasher.finalize().into());
        }
        hasher.update(&buffer[..read]);
        consume(&buffer[..read])?;
    }
}

/// Creates the files of a copy.
#[cfg(unix)]
mod copy {
    use std::io;
    use std::path::Path;

    use cap_std::fs::{Dir, File, OpenOptions, OpenOptionsExt, Permissions, PermissionsExt as _};
    use rustix::fs::{Timespec, Timestamps};

    pub(super) fn create_file(target: &Dir, path: &Path) -> io::Result<File> {
        let mut options = OpenOptions::new();
        // An existing file may be a symlink out of the copy, so only new files are written.
        options.write(true).create_new(true).mode(0o600);
        target.open_with(path, &options)
    }

    /// Gives a copy the modification time and the execute permission of the original. It is
    /// writable for its owner, since programs that copy a template keep its mode; that it does not
    /// change during a run is up to the sandbox.
    pub(super) fn copy_attributes(original: &File, copy: &File) -> io::Result<()> {
        let stat = rustix::fs::fstat(original)?;
        let modified = Timespec {
            tv_sec: stat.st_mtime,
            tv_nsec: stat.st_mtime_nsec as _,
        };
        let times = Timestamps {
            last_access: modified,
            last_modification: modified,
        };
        rustix::fs::futimens(copy, &times)?;
        let mode = if stat.st_mode & 0o111 == 0 {
            0o644
        } else {
            0o755
        };
        copy.set_permissions(Permissions::from_mode(mode))
    }
}

#[cfg(test)]
#[cfg(unix)]
#[expect(clippy::disallowed_methods, reason = "tests make their own files")]
mod tests;
