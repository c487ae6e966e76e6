//! Files of a source in a staging directory, on the way to becoming skills.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::Dir;

use skills_discovery::{FOLDER_SETTINGS, is_in_generated_directory};

use crate::error::{InstallError, Refusal, Repr};
use crate::file_batch::{FileBatch, create_below};
use crate::{FetchLimits, TreePath};

/// Size of the parts in which files are written. Smaller files are written in batches.
const BUFFER_BYTES: usize = 64 * 1024;
/// How pointers to files in Git LFS start.
const LFS_POINTER: &[u8] = b"version https://git-lfs.github.com/spec/v1";

/// The kind of a listed entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EntryKind {
    File { is_executable: bool },
    Directory,
    Link,
}

/// The names of a tree, without any two that a file system confuses.
#[derive(Debug, Default)]
pub(crate) struct TreeNames {
    kinds: BTreeMap<TreePath, EntryKind>,
    folded: HashMap<String, TreePath>,
}

impl TreeNames {
    /// Adds an entry and the directories above it.
    ///
    /// # Errors
    /// Fails if it is there already, if a file or link is above it, or if some file systems cannot
    /// tell it from another entry.
    pub(crate) fn add(&mut self, path: &TreePath, kind: EntryKind) -> Result<(), InstallError> {
        let mut parent = path.parent();
        let mut parents = Vec::new();
        while let Some(directory) = parent.filter(|directory| !directory.is_root()) {
            parent = directory.parent();
            parents.push(directory);
        }
        for directory in parents.into_iter().rev() {
            match self.kinds.get(&directory) {
                Some(EntryKind::Directory) => {}
                Some(EntryKind::Link) => {
                    return Err(InstallError::refused(path.as_str(), Refusal::BelowLink));
                }
                Some(EntryKind::File { .. }) => {
                    let refusal = Refusal::FileAndDirectory;
                    return Err(InstallError::refused(directory.as_str(), refusal));
                }
                None => self.insert(&directory, EntryKind::Directory)?,
            }
        }
        match self.kinds.get(path) {
            // Archives list a directory before and after its files.
            Some(EntryKind::Directory) if kind == EntryKind::Directory => Ok(()),
            Some(EntryKind::Directory) => {
                let refusal = Refusal::FileAndDirectory;
                Err(InstallError::refused(path.as_str(), refusal))
            }
            Some(_) => Err(InstallError::refused(path.as_str(), Refusal::Twice)),
            None => self.insert(path, kind),
        }
    }

    fn insert(&mut self, path: &TreePath, kind: EntryKind) -> Result<(), InstallError> {
        if let Some(other) = self.folded.insert(path.folded(), path.clone()) {
            let refusal = Refusal::Clash(other.to_string());
            return Err(InstallError::refused(path.as_str(), refusal));
        }
        self.kinds.insert(path.clone(), kind);
        Ok(())
    }

    /// Returns true if a path is that of a regular file.
    pub(crate) fn has_file(&self, path: &TreePath) -> bool {
        matches!(self.kinds.get(path), Some(EntryKind::File { .. }))
    }

    /// Returns the paths of all entries, sorted.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &TreePath> {
        self.kinds.keys()
    }

    /// Returns the paths of the regular files, sorted.
    pub(crate) fn files(&self) -> impl Iterator<Item = &TreePath> {
        let files = self.kinds.iter();
        let files = files.filter(|(_, kind)| matches!(kind, EntryKind::File { .. }));
        files.map(|(path, _)| path)
    }

    pub(crate) fn len(&self) -> u64 {
        self.kinds.len() as u64
    }
}

/// A staging directory that files of a source are written to.
///
/// Everything is written through the handle of the directory, to new files only. Symlinks are kept
/// in memory until [`link_all`](Self::link_all), so nothing is ever written through one. Generated
/// files of skills are left out: no content digest covers them, so neither a signature nor the lock
/// file would.
#[derive(Debug)]
pub(crate) struct StagedTree {
    path: PathBuf,
    handle: Dir,
    /// The directories of the skills.
    skills: HashMap<String, TreePath>,
    names: TreeNames,
    links: Vec<(TreePath, String)>,
    bytes: u64,
    buffer: Vec<u8>,
    batch: FileBatch,
    limits: FetchLimits,
}

impl StagedTree {
    /// Uses an empty directory, for skills in the given directories of the source.
    pub(crate) fn new(
        path: &Path,
        skills: &[TreePath],
        limits: &FetchLimits,
    ) -> Result<Self, InstallError> {
        let failed = |error| InstallError::io("open", path, error);
        let handle = Dir::open_ambient_dir(path, ambient_authority()).map_err(failed)?;
        Ok(Self {
            path: path.to_owned(),
            batch: FileBatch::default(),
            handle,
            skills: skills
                .iter()
                .map(|skill| (skill.as_str().to_owned(), skill.clone()))
                .collect(),
            names: TreeNames::default(),
            links: Vec::new(),
            bytes: 0,
            buffer: vec![0; BUFFER_BYTES],
            limits: limits.clone(),
        })
    }

    /// Writes a file from a reader, up to the limits.
    pub(crate) fn add_file(
        &mut self,
        path: &TreePath,
        is_executable: bool,
        content: &mut dyn Read,
    ) -> Result<(), InstallError> {
        if self.is_generated(path) || self.is_folder_settings(path) {
            return Ok(());
        }
        self.add_name(path, EntryKind::File { is_executable })?;
        let left = self.limits.max_bytes - self.bytes;
        // One more byte than allowed tells a file at the limit from a larger one.
        let mut content = content.take(left + 1);
        let read = fill(&mut content, &mut self.buffer).map_err(Repr::Archive)?;
        let head = &self.buffer[..read];
        if head.starts_with(LFS_POINTER) {
            return Err(InstallError::refused(path.as_str(), Refusal::LfsPointer));
        }
        let is_whole = read < self.buffer.len();
        let written = if is_whole {
            self.check_bytes(read as u64)?;
            if self.batch.add(path, is_executable, head) {
                self.batch.write(&self.handle, &self.path)?;
            }
            read as u64
        } else {
            self.write_large(path, is_executable, &mut content)?
        };
        self.bytes += written;
        Ok(())
    }

    /// Writes a file that is larger than the buffer, which has its first bytes.
    fn write_large(
        &mut self,
        path: &TreePath,
        is_executable: bool,
        rest: &mut dyn Read,
    ) -> Result<u64, InstallError> {
        let shown = self.path.join(path.as_str());
        let failed = |error| InstallError::io("write", &shown, error);
        let mut file = create_below(&self.handle, path, is_executable).map_err(failed)?;
        let mut written = 0;
        let mut read = self.buffer.len();
        while read > 0 {
            file.write_all(&self.buffer[..read]).map_err(failed)?;
            written += read as u64;
            self.check_bytes(written)?;
            read = fill(rest, &mut self.buffer).map_err(Repr::Archive)?;
        }
        Ok(written)
    }

    /// Fails if the tree has too many bytes with a file of this size.
    fn check_bytes(&self, bytes: u64) -> Result<(), InstallError> {
        if bytes <= self.limits.max_bytes - self.bytes {
            return Ok(());
        }
        Err(InstallError::limit("bytes", self.limits.max_bytes))
    }

    /// Records a symlink, which may lead anywhere for now.
    pub(crate) fn add_link(&mut self, path: &TreePath, target: &str) -> Result<(), InstallError> {
        if self.is_generated(path) {
            return Ok(());
        }
        self.add_name(path, EntryKind::Link)?;
        self.links.push((path.clone(), target.to_owned()));
        Ok(())
    }

    /// Writes the files that wait, and creates the symlinks. Each must stay in the directory
    /// of its skill.
    ///
    /// A target may go up only at its start. So the directory that it starts from is a real one,
    /// and what follows passes only symlinks for which the same is true: no chain leads out.
    pub(crate) fn link_all(&mut self) -> Result<(), InstallError> {
        self.batch.write(&self.handle, &self.path)?;
        for (path, target) in std::mem::take(&mut self.links) {
            let below = self.below_skill(&path);
            if !below.is_some_and(|below| stays_inside(&below, &target)) {
                let refusal = Refusal::LinkOut(target);
                return Err(InstallError::refused(path.as_str(), refusal));
            }
            self.create_parents(&path)?;
            self.create_link(&path, &target)?;
        }
        Ok(())
    }

    #[cfg(unix)]
    fn create_link(&self, path: &TreePath, target: &str) -> Result<(), InstallError> {
        self.handle
            .symlink_contents(target, path.as_str())
            .map_err(|error| InstallError::io("create", &self.path.join(path.as_str()), error))
    }

    #[cfg(not(unix))]
    fn create_link(&self, path: &TreePath, _target: &str) -> Result<(), InstallError> {
        Err(InstallError::refused(
            path.as_str(),
            Refusal::LinkUnsupported,
        ))
    }

    /// Reads a small file that was added, after [`link_all`](Self::link_all).
    pub(crate) fn read_text(
        &self,
        path: &TreePath,
        max_bytes: u64,
    ) -> Result<String, InstallError> {
        let failed = |error| InstallError::io("read", &self.path.join(path.as_str()), error);
        let file = self.handle.open(path.as_str()).map_err(failed)?;
        let mut bytes = Vec::new();
        file.take(max_bytes)
            .read_to_end(&mut bytes)
            .map_err(failed)?;
        // What is not text is not a signature either.
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Returns the directory.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns a path of the source relative to its skill.
    fn below_skill(&self, path: &TreePath) -> Option<TreePath> {
        let mut skills = path.ancestors().filter_map(|above| self.skills.get(above));
        path.strip_prefix(skills.next()?)
    }

    fn is_generated(&self, path: &TreePath) -> bool {
        let directory = self.below_skill(path).and_then(|below| below.parent());
        directory.is_some_and(|directory| is_in_generated_directory(directory.as_str().as_ref()))
    }

    fn is_folder_settings(&self, path: &TreePath) -> bool {
        path.file_name() == Some(FOLDER_SETTINGS) && self.below_skill(path).is_some()
    }

    fn add_name(&mut self, path: &TreePath, kind: EntryKind) -> Result<(), InstallError> {
        self.names.add(path, kind)?;
        check_entries(self.names.len(), &self.limits)
    }

    fn create_parents(&self, path: &TreePath) -> Result<(), InstallError> {
        let Some(parent) = path.parent().filter(|parent| !parent.is_root()) else {
            return Ok(());
        };
        self.handle
            .create_dir_all(parent.as_str())
            .map_err(|error| InstallError::io("create", &self.path.join(parent.as_str()), error))
    }
}

/// Checks the number of entries of a source.
pub(crate) fn check_entries(entries: u64, limits: &FetchLimits) -> Result<(), InstallError> {
    if entries <= limits.max_entries {
        return Ok(());
    }
    Err(InstallError::limit(
        "files and directories",
        limits.max_entries,
    ))
}

/// Returns true if a symlink at `path`, below the skill directory, leads to a path in it.
pub(crate) fn stays_inside(path: &TreePath, target: &str) -> bool {
    if target.is_empty() || target.starts_with('/') || target.contains(['\\', ':', '\0']) {
        return false;
    }
    let parents = path.names().count().saturating_sub(1);
    let up = target.split('/').take_while(|name| *name == "..").count();
    let rest: Vec<&str> = target.split('/').skip(up).collect();
    up <= parents
        && !rest.iter().any(|name| matches!(*name, ".."))
        // The skill directory itself: a tool that follows links would never end.
        && !(up == parents && rest.iter().all(|name| matches!(*name, "" | ".")))
}

/// Reads until a buffer is full or nothing is left, and returns the number of bytes.
fn fill(from: &mut (impl Read + ?Sized), buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match from.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_symlink_stays_inside_by_its_text_alone() {
        let inside = |path: &str, target: &str| stays_inside(&TreePath::new(path).unwrap(), target);
        assert!(inside("a/link", "../b"));
        assert!(inside("link", "b/c"));
        assert!(inside("a/b/link", "../../c"));
        for (path, target) in [
            ("link", "../b"),
            ("link", "/etc/passwd"),
            ("link", ""),
            ("link", "."),
            ("a/link", ".."),
            ("a/link", "../../b"),
            // Safe by its text, but not if `b` is a symlink to a directory that is less deep.
            ("link", "a/b/../.."),
            ("link", "a/.."),
            ("link", "..\\x"),
            ("link", "C:/x"),
        ] {
            assert!(!inside(path, target), "{path} -> {target}");
        }
    }
}
