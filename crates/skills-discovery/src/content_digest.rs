//! The content of a skill as one number.

use std::collections::HashMap;
use std::fmt;
#[cfg(unix)]
use std::io::Write;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use cap_std::fs::{Dir, File};
use sha2::{Digest as _, Sha256};

use crate::error::{DiscoveryError, Repr};
use crate::file_stamp::ScanStart;
use crate::open::open_regular;
#[cfg(unix)]
use crate::open::open_root;
use crate::{FileStamp, SkillFiles};

/// The most files and directories of a skill that are looked at for its digest.
const MAX_FILES: usize = 10_000;
/// The most bytes of a skill that are read for its digest: 256 MiB.
const MAX_BYTES: u64 = 256 << 20;
/// How many digests are kept before the older ones go: so many lasting ones, and as many that were
/// not asked for since.
const MAX_CACHED: usize = 20_000;
/// How deep directories are searched.
const MAX_DEPTH: usize = 32;

/// The SHA-256 over all files of a skill: for each, in the order of their paths, path, kind and
/// content.
///
/// Hidden files count, and so do symlinks, with the text of their target. Two skills with the same
/// digest have the same files; where the skill lies, who owns it and when it was written do not
/// matter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ContentDigest([u8; 32]);

impl ContentDigest {
    /// Returns the bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for ContentDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("sha256:")?;
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// The digests of files that were read before. A file that looks the same is not read again.
///
/// At most 40,000 are kept; those that were not asked for longest go first.
#[derive(Debug, Default)]
pub struct DigestCache {
    files: HashMap<FileStamp, [u8; 32]>,
    /// Those that were asked for before: whichever is asked for again becomes one of the others,
    /// and the rest goes at the next turn.
    previous: HashMap<FileStamp, [u8; 32]>,
    hits: usize,
}

impl DigestCache {
    /// Returns how many files were not read because they looked the same.
    #[must_use]
    pub fn hits(&self) -> usize {
        self.hits
    }

    fn digest_file(
        &mut self,
        directory: &Dir,
        path: &Path,
        moment: ScanStart,
        budget: &mut ByteBudget,
    ) -> Result<[u8; 32], DiscoveryError> {
        let (file, stamp) = budget.open(directory, path)?;
        if let Some(known) = self.get(stamp) {
            self.hits += 1;
            return Ok(known);
        }
        let digest = hash_file(&file, stamp.bytes(), |_| Ok(()))?;
        self.insert_unless_racy(stamp.with_scan_start(moment), digest);
        Ok(digest)
    }

    /// Keeps the digest of a file that cannot change unseen; any other is read again.
    fn insert_unless_racy(&mut self, stamp: FileStamp, digest: [u8; 32]) {
        if cfg!(unix) && stamp.is_settled() {
            self.insert(stamp, digest);
        }
    }

    /// Forgets everything, because a file changed although it looked the same.
    pub fn clear(&mut self) {
        self.files.clear();
        self.previous.clear();
    }

    fn get(&mut self, stamp: FileStamp) -> Option<[u8; 32]> {
        if let Some(known) = self.files.get(&stamp) {
            return Some(*known);
        }
        let known = self.previous.remove(&stamp)?;
        self.insert(stamp, known);
        Some(known)
    }

    fn insert(&mut self, stamp: FileStamp, digest: [u8; 32]) {
        if self.files.len() >= MAX_CACHED {
            self.previous = std::mem::take(&mut self.files);
        }
        self.files.insert(stamp, digest);
    }
}

impl SkillFiles {
    /// Computes the digest of the skill.
    ///
    /// # Errors
    /// When a file cannot be read, when the skill has more than 10,000 files or 256 MiB, when it
    /// nests deeper than 32 directories, or when a file is neither a regular file, a directory nor
    /// a symlink.
    pub fn digest(&self, cache: &mut DigestCache) -> Result<ContentDigest, DiscoveryError> {
        self.digest_at(cache, ScanStart::now())
    }

    fn digest_at(
        &self,
        cache: &mut DigestCache,
        moment: ScanStart,
    ) -> Result<ContentDigest, DiscoveryError> {
        let found = SkillTree::scan(self.directory())?;
        let mut budget = ByteBudget::default();
        self.combine_digests(&found, |path| {
            cache.digest_file(self.directory(), path, moment, &mut budget)
        })
    }

    /// Computes the digest by what `cache` knows, without reading a file; nothing when it does not
    /// know all of them as they are now.
    ///
    /// # Errors
    /// As [`digest`](Self::digest).
    pub fn cached_digest(
        &self,
        cache: &mut DigestCache,
    ) -> Result<Option<ContentDigest>, DiscoveryError> {
        let found = SkillTree::scan(self.directory())?;
        let (mut budget, mut is_known) = (ByteBudget::default(), true);
        let digest = self.combine_digests(&found, |path| {
            let (_, stamp) = budget.open(self.directory(), path)?;
            let known = cache.get(stamp).filter(|_| is_known);
            is_known = known.is_some();
            Ok(known.unwrap_or_default())
        })?;
        Ok(is_known.then_some(digest))
    }

    /// Copies the skill into `target`, an empty directory, and computes the digest of just the
    /// bytes that were copied. Files can be read, and executed if they could be before, but not
    /// written; their times are kept. Symlinks are copied as they are. Returns the digest and how
    /// many bytes the files have.
    ///
    /// # Errors
    /// As [`digest`](Self::digest), and when the copy cannot be written.
    #[cfg(unix)]
    pub fn copy_to(
        &self,
        target: &Path,
        cache: &mut DigestCache,
    ) -> Result<(ContentDigest, u64), DiscoveryError> {
        self.copy_at(target, cache, ScanStart::now())
    }

    #[cfg(unix)]
    fn copy_at(
        &self,
        target: &Path,
        cache: &mut DigestCache,
        moment: ScanStart,
    ) -> Result<(ContentDigest, u64), DiscoveryError> {
        let target = open_root(target)?;
        let found = SkillTree::scan(self.directory())?;
        for directory in &found.directories {
            target
                .create_dir(directory)
                .map_err(DiscoveryError::from_io)?;
        }
        for (path, link) in &found.entries {
            if let Some(link) = link {
                target
                    .symlink_contents(link, path)
                    .map_err(DiscoveryError::from_io)?;
            }
        }
        let mut budget = ByteBudget::default();
        let digest = self.combine_digests(&found, |path| {
            let (file, stamp) = budget.open(self.directory(), path)?;
            let mut copy = copy::create_file(&target, path)?;
            let digest = hash_file(&file, stamp.bytes(), |bytes| copy.write_all(bytes))?;
            copy::copy_attributes(&file, &copy)?;
            cache.insert_unless_racy(stamp.with_scan_start(moment), digest);
            Ok(digest)
        })?;
        Ok((digest, budget.used()))
    }

    /// Puts the digest together from those of the files.
    fn combine_digests(
        &self,
        found: &SkillTree,
        mut of_file: impl FnMut(&Path) -> Result<[u8; 32], DiscoveryError>,
    ) -> Result<ContentDigest, DiscoveryError> {
        let mut hasher = Sha256::new();
        for (path, link) in &found.entries {
            let text = path
                .components()
                .map(|part| part.as_os_str().as_encoded_bytes())
                .collect::<Vec<_>>()
                .join(&b'/');
            hasher.update((text.len() as u64).to_le_bytes());
            hasher.update(&text);
            if let Some(link) = link {
                hasher.update([1]);
                hasher.update(Sha256::digest(link.as_os_str().as_encoded_bytes()));
            } else {
                hasher.update([0]);
                hasher.update(of_file(path)?);
            }
        }
        // The instructions are content wherever they lie.
        if self.is_skill_file_linked() {
            hasher.update([2]);
            hasher.update(Sha256::digest(self.read_skill_file()?));
        }
        Ok(ContentDigest(hasher.finalize().into()))
    }
}

/// How many bytes of a skill may still be read for its digest.
struct ByteBudget(u64);

impl Default for ByteBudget {
    fn default() -> Self {
        Self(MAX_BYTES)
    }
}

impl ByteBudget {
    /// Opens a file of the skill, and takes its length off.
    fn open(&mut self, directory: &Dir, path: &Path) -> Result<(File, FileStamp), DiscoveryError> {
        let (file, stamp) = open_regular(directory, path, self.0)?;
        self.0 -= stamp.bytes();
        Ok((file, stamp))
    }

    #[cfg(unix)]
    fn used(&self) -> u64 {
        MAX_BYTES - self.0
    }
}

/// What lies below the directory of a skill.
#[derive(Default)]
struct SkillTree {
    /// The directories, each before those in it.
    directories: Vec<PathBuf>,
    /// The files and symlinks in the order of their paths, each symlink with its target: it is read
    /// once, so that what is hashed is what is copied.
    entries: Vec<(PathBuf, Option<PathBuf>)>,
    entry_count: usize,
}

impl SkillTree {
    fn scan(handle: &Dir) -> Result<Self, DiscoveryError> {
        let mut found = Self::default();
        found.collect(handle, Path::new(""), 0)?;
        found.entries.sort();
        Ok(found)
    }

    fn collect(&mut self, handle: &Dir, below: &Path, depth: usize) -> Result<(), DiscoveryError> {
        if depth > MAX_DEPTH {
            return Err(Repr::TooManyEntries {
                what: "levels of directories",
                limit: MAX_DEPTH as u64,
            }
            .into());
        }
        for entry in handle.entries().map_err(DiscoveryError::from_io)? {
            self.entry_count += 1;
            if self.entry_count > MAX_FILES {
                return Err(Repr::TooManyEntries {
                    what: "files",
                    limit: MAX_FILES as u64,
                }
                .into());
            }
            let entry = entry.map_err(DiscoveryError::from_io)?;
            let path = below.join(entry.file_name());
            let file_type = entry.file_type().map_err(DiscoveryError::from_io)?;
            if file_type.is_dir() {
                self.directories.push(path.clone());
                self.collect(
                    &entry.open_dir().map_err(DiscoveryError::from_io)?,
                    &path,
                    depth + 1,
                )?;
            } else if file_type.is_symlink() {
                let link = handle
                    .read_link_contents(entry.file_name())
                    .map_err(DiscoveryError::from_io)?;
                self.entries.push((path, Some(link)));
            } else if file_type.is_file() {
                self.entries.push((path, None));
            } else {
                return Err(Repr::NotRegular.into());
            }
        }
        Ok(())
    }
}

/// Hashes the first `length` bytes of a file, and hands them on. A file that grows is not read for
/// ever.
fn hash_file(
    file: &File,
    length: u64,
    mut each: impl FnMut(&[u8]) -> io::Result<()>,
) -> Result<[u8; 32], DiscoveryError> {
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 64 * 1024];
    let mut file = file.take(length);
    loop {
        let read = file.read(&mut buffer).map_err(DiscoveryError::from_io)?;
        if read == 0 {
            return Ok(hasher.finalize().into());
        }
        hasher.update(&buffer[..read]);
        each(&buffer[..read]).map_err(DiscoveryError::from_io)?;
    }
}

/// The files of a copy.
#[cfg(unix)]
mod copy {
    use std::path::Path;

    use cap_std::fs::{Dir, File, OpenOptions, OpenOptionsExt, Permissions, PermissionsExt as _};
    use rustix::fs::{Timespec, Timestamps};

    use crate::error::DiscoveryError;

    pub(super) fn create_file(target: &Dir, path: &Path) -> Result<File, DiscoveryError> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o600);
        target
            .open_with(path, &options)
            .map_err(DiscoveryError::from_io)
    }

    /// Takes the right to write from a copy, and gives it the times and the right to execute of the
    /// original.
    pub(super) fn copy_attributes(original: &File, copy: &File) -> Result<(), DiscoveryError> {
        let stat =
            rustix::fs::fstat(original).map_err(|error| DiscoveryError::from_io(error.into()))?;
        let modified = Timespec {
            tv_sec: stat.st_mtime,
            tv_nsec: stat.st_mtime_nsec as _,
        };
        let times = Timestamps {
            last_access: modified,
            last_modification: modified,
        };
        rustix::fs::futimens(copy, &times)
            .map_err(|error| DiscoveryError::from_io(error.into()))?;
        let mode = if stat.st_mode & 0o111 == 0 {
            0o400
        } else {
            0o500
        };
        copy.set_permissions(Permissions::from_mode(mode))
            .map_err(DiscoveryError::from_io)
    }
}

#[cfg(test)]
#[cfg(unix)]
#[expect(clippy::disallowed_methods, reason = "tests make their own files")]
mod tests;
