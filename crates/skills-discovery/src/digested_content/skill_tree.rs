//! The files of a skill that a digest covers.

use std::path::{Path, PathBuf};

use cap_std::fs::Dir;

use crate::FileStamp;
use crate::content_hasher::{MAX_DEPTH, MAX_FILES};
use crate::error::{DiscoveryError, Repr};
use crate::file_stamp::ScanStart;
use crate::generated_files::is_generated;

/// The stamps of what a digest was computed from, relative to the skill directory: directories and
/// files, each taken before it was read. `None` if there is none.
pub(crate) type ContentStamps = Vec<(PathBuf, Option<FileStamp>)>;

/// The directories, files and symlinks below a skill directory.
#[derive(Default)]
pub(super) struct SkillTree {
    /// The directories, each before its subdirectories.
    pub(super) directories: Vec<PathBuf>,
    /// The files and symlinks by path, symlinks with their target. A target is read only once, so
    /// that the hash and the copy cannot differ.
    pub(super) entries: Vec<(PathBuf, Option<PathBuf>)>,
    /// The generated directories, which are not searched.
    pub(super) generated_directories: Vec<PathBuf>,
    /// The number of directory entries so far.
    entry_count: usize,
}

impl SkillTree {
    pub(super) fn scan(handle: &Dir) -> Result<Self, DiscoveryError> {
        Self::scan_stamped(handle, ScanStart::now(), &mut ContentStamps::new())
    }

    pub(super) fn scan_stamped(
        handle: &Dir,
        scan_start: ScanStart,
        stamps: &mut ContentStamps,
    ) -> Result<Self, DiscoveryError> {
        let mut tree = Self::default();
        tree.collect(handle, Path::new(""), 0, &mut |path, handle| {
            let stamp = FileStamp::from_directory(handle, scan_start);
            stamps.push((path.to_owned(), stamp));
        })?;
        // The order of the file system must not change the digest.
        tree.entries.sort();
        tree.generated_directories.sort();
        Ok(tree)
    }

    /// Adds the entries of a directory, after a call of `before_listing`. Symlinks are recorded but
    /// not followed, so that the recursion ends.
    fn collect(
        &mut self,
        handle: &Dir,
        below: &Path,
        depth: usize,
        before_listing: &mut dyn FnMut(&Path, &Dir),
    ) -> Result<(), DiscoveryError> {
        before_listing(below, handle);
        if depth > MAX_DEPTH {
            return Err(Repr::TooManyEntries {
                what: "directory levels",
                limit: MAX_DEPTH as u64,
            }
            .into());
        }
        for entry in handle.entries()? {
            // Counted before anything is read, so that a huge directory ends the scan early.
            self.entry_count += 1;
            if self.entry_count > MAX_FILES {
                return Err(Repr::TooManyEntries {
                    what: "files",
                    limit: MAX_FILES as u64,
                }
                .into());
            }
            let entry = entry?;
            let name = entry.file_name();
            let path = below.join(&name);
            let file_type = entry.file_type()?;
            // Elsewhere runs have no copy, so what they could execute must be part of the digest.
            if cfg!(unix) && is_generated(below, &name, file_type) {
                self.generated_directories
                    .extend(file_type.is_dir().then_some(path));
                continue;
            }
            // A skill with a device, FIFO or socket has no digest: their content is not repeatable,
            // and to ignore them would leave them out of the approval.
            if file_type.is_dir() {
                self.directories.push(path.clone());
                self.collect(&entry.open_dir()?, &path, depth + 1, before_listing)?;
            } else if file_type.is_symlink() {
                let link = handle.read_link_contents(&name)?;
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
