//! The content of a skill as one number.

use std::collections::HashMap;
use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};

use cap_std::fs::Dir;
use sha2::{Digest as _, Sha256};

use crate::error::{DiscoveryError, Repr};
use crate::handle::open_regular;
use crate::stamp::Moment;
use crate::{SkillFiles, Stamp};

/// The most files and directories of a skill that are looked at for its digest.
const MAX_FILES: usize = 10_000;
/// The most bytes of a skill that are read for its digest: 256 MiB.
const MAX_BYTES: u64 = 256 << 20;
/// How many digests are kept before the older ones go: so many lasting ones, and as many that were not asked for since.
const MAX_KEPT: usize = 20_000;
/// How deep directories are searched.
const MAX_DEPTH: usize = 32;

/// The SHA-256 over all files of a skill: for each, in the order of their paths, path, kind and content.
///
/// Hidden files count, and so do symlinks, with the text of their target. Two skills with the same digest have the same files; where the
/// skill lies, who owns it and when it was written do not matter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest([u8; 32]);

impl Digest {
    /// Returns the bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for Digest {
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
    files: HashMap<Stamp, [u8; 32]>,
    /// Those that were asked for before: whichever is asked for again becomes one of the others, and the rest goes at the next turn.
    older: HashMap<Stamp, [u8; 32]>,
    hits: usize,
}

impl DigestCache {
    /// Returns how many files were not read because they looked the same.
    #[must_use]
    pub fn hits(&self) -> usize {
        self.hits
    }

    fn of(&mut self, directory: &Dir, path: &Path, moment: Moment, budget: &mut u64) -> Result<[u8; 32], DiscoveryError> {
        let (mut file, stamp) = open_regular(directory, path, *budget)?;
        *budget -= stamp.bytes();
        if let Some(known) = self.known(stamp) {
            self.hits += 1;
            return Ok(known);
        }
        let mut hasher = Sha256::new();
        let mut buffer = vec![0; 64 * 1024];
        // No more than it had when it was opened: a file that grows is not read for ever.
        let mut left = stamp.bytes();
        while left > 0 {
            let wanted = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            let read = file.read(&mut buffer[..wanted]).map_err(DiscoveryError::from_io)?;
            if read == 0 {
                break;
            }
            hasher.update(&buffer[..read]);
            left -= read as u64;
        }
        let digest = hasher.finalize().into();
        // What may change unseen is read again.
        if cfg!(unix) && stamp.at(moment).is_settled() {
            self.keep(stamp, digest);
        }
        Ok(digest)
    }

    fn known(&mut self, stamp: Stamp) -> Option<[u8; 32]> {
        if let Some(known) = self.files.get(&stamp) {
            return Some(*known);
        }
        let known = self.older.remove(&stamp)?;
        self.keep(stamp, known);
        Some(known)
    }

    fn keep(&mut self, stamp: Stamp, digest: [u8; 32]) {
        if self.files.len() >= MAX_KEPT {
            self.older = std::mem::take(&mut self.files);
        }
        self.files.insert(stamp, digest);
    }
}

impl SkillFiles {
    /// Computes the digest of the skill.
    ///
    /// # Errors
    /// When a file cannot be read, when the skill has more than 10,000 files or 256 MiB, when it nests deeper than 32 directories, or when a
    /// file is neither a regular file, a directory nor a symlink.
    pub fn digest(&self, cache: &mut DigestCache) -> Result<Digest, DiscoveryError> {
        let mut paths = Vec::new();
        collect(self.directory(), Path::new(""), 0, &mut 0, &mut paths)?;
        paths.sort();
        let mut hasher = Sha256::new();
        let (moment, mut budget) = (Moment::now(), MAX_BYTES);
        for (path, is_symlink) in paths {
            let text = path.components().map(|part| part.as_os_str().as_encoded_bytes()).collect::<Vec<_>>().join(&b'/');
            hasher.update((text.len() as u64).to_le_bytes());
            hasher.update(&text);
            if is_symlink {
                let target = self.directory().read_link_contents(&path).map_err(DiscoveryError::from_io)?;
                hasher.update([1]);
                hasher.update(Sha256::digest(target.as_os_str().as_encoded_bytes()));
            } else {
                hasher.update([0]);
                hasher.update(cache.of(self.directory(), &path, moment, &mut budget)?);
            }
        }
        // The instructions are content wherever they lie.
        if self.is_text_elsewhere() {
            hasher.update([2]);
            hasher.update(Sha256::digest(self.text()?));
        }
        Ok(Digest(hasher.finalize().into()))
    }
}

/// Lists all files and symlinks below a directory.
fn collect(handle: &Dir, below: &Path, depth: usize, seen: &mut usize, paths: &mut Vec<(PathBuf, bool)>) -> Result<(), DiscoveryError> {
    if depth > MAX_DEPTH {
        return Err(Repr::TooMany { what: "levels of directories", limit: MAX_DEPTH as u64 }.into());
    }
    for entry in handle.entries().map_err(DiscoveryError::from_io)? {
        *seen += 1;
        if *seen > MAX_FILES {
            return Err(Repr::TooMany { what: "files", limit: MAX_FILES as u64 }.into());
        }
        let entry = entry.map_err(DiscoveryError::from_io)?;
        let path = below.join(entry.file_name());
        let file_type = entry.file_type().map_err(DiscoveryError::from_io)?;
        if file_type.is_dir() {
            collect(&entry.open_dir().map_err(DiscoveryError::from_io)?, &path, depth + 1, seen, paths)?;
        } else if file_type.is_file() || file_type.is_symlink() {
            paths.push((path, file_type.is_symlink()));
        } else {
            return Err(Repr::NotRegular.into());
        }
    }
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_changes_for_ever_does_not_fill_the_memory() {
        let directory = tempfile::tempdir().unwrap();
        let mut stat = rustix::fs::stat(directory.path()).unwrap();
        let mut stamp = |number: usize| {
            stat.st_size = number.try_into().unwrap();
            Stamp::of(&stat)
        };
        let (mut cache, lasting) = (DigestCache::default(), stamp(0));
        cache.keep(lasting, [7; 32]);
        for number in 1..10 * MAX_KEPT {
            cache.keep(stamp(number), [0; 32]);
            if number % MAX_KEPT == 0 {
                assert_eq!(cache.known(lasting), Some([7; 32]), "what is asked for stays");
            }
        }
        assert!(cache.files.len() + cache.older.len() <= 2 * MAX_KEPT);
        assert_eq!(cache.known(stamp(1)), None);
    }
}
