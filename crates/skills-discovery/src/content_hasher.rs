//! The format of content digests, and the limits of what has one.

use std::path::Path;

use sha2::{Digest as _, Sha256};

use crate::ContentDigest;

/// The maximum number of files and directories of a skill with a digest.
pub(crate) const MAX_FILES: usize = 10_000;
/// The maximum number of directory levels below the skill directory.
pub(crate) const MAX_DEPTH: usize = 32;
/// The maximum total size of the files of a skill with a digest: 256 MiB.
pub(crate) const MAX_BYTES: u64 = 256 << 20;

/// Combines the digests of files and symlinks, which are added in the order of their paths.
#[derive(Default)]
pub(crate) struct ContentHasher(Sha256);

impl ContentHasher {
    pub(crate) fn add_file(&mut self, path: &[u8], digest: [u8; 32]) {
        self.add_path(path);
        self.0.update([0]);
        self.0.update(digest);
    }

    pub(crate) fn add_link(&mut self, path: &[u8], target: &Path) {
        self.add_path(path);
        self.0.update([1]);
        self.0
            .update(Sha256::digest(target.as_os_str().as_encoded_bytes()));
    }

    pub(crate) fn add_outer_skill_file(&mut self, content: &[u8]) {
        self.0.update([2]);
        self.0.update(Sha256::digest(content));
    }

    fn add_path(&mut self, path: &[u8]) {
        // The length separates the path from what follows, so that no two skills feed the same
        // bytes to the hasher.
        self.0.update((path.len() as u64).to_le_bytes());
        self.0.update(path);
    }

    pub(crate) fn finish(self) -> ContentDigest {
        ContentDigest(self.0.finalize().into())
    }
}
