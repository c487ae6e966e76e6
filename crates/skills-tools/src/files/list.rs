//! Paged directory listings.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io::Result;
use std::path::PathBuf;

use cap_fs_ext::DirExt;
use cap_std::fs::{Dir, DirEntry, Metadata};
use cap_std::time::SystemTime;

use super::join_parts;
use crate::folded_paths::FoldedPaths;
use crate::virtual_path::{escape_for_display, invalid_part_reason};

#[derive(Debug, Clone, Copy)]
pub(crate) struct ListLimits {
    /// Maximum number of entries of a directory; larger ones are not listed.
    pub(crate) max_entries: usize,
    /// Maximum number of entries that a recursive listing visits.
    pub(crate) max_visited: usize,
}

impl ListLimits {
    /// The defaults: 1,000,000 entries in one directory, 20,000 in a recursive listing.
    pub(crate) const DEFAULT: Self = Self {
        max_entries: 1_000_000,
        max_visited: 20_000,
    };
}

/// The directory to list.
pub(crate) struct ListRoot<'a> {
    /// The directory that symlinks must not leave.
    pub(crate) root: &'a Dir,
    /// Host path of `root`.
    pub(crate) root_path: PathBuf,
    /// Directories that are not listed.
    pub(crate) hidden: FoldedPaths,
    /// Path of the listed directory below `root`.
    pub(crate) relative_path: PathBuf,
    pub(crate) directory: &'a Dir,
}

/// Whether names that begin with a dot are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HiddenFiles {
    Include,
    Exclude,
}

#[derive(Debug, Default)]
pub(crate) struct Page {
    /// Ordered by the bytes of the names; a directory comes before its entries.
    pub(crate) items: Vec<ListedEntry>,
    /// Number of entries on all pages together.
    pub(crate) total: usize,
    /// Whether there is a next page.
    pub(crate) has_more: bool,
    /// Whether entries were omitted from all pages.
    pub(crate) is_truncated: bool,
}

#[derive(Debug)]
pub(crate) struct ListedEntry {
    /// Names of the path below the listed directory.
    pub(crate) names: Vec<OsString>,
    pub(crate) kind: EntryKind,
    pub(crate) bytes: u64,
    /// In seconds since 1970.
    pub(crate) modified: Option<i64>,
    pub(crate) is_executable: bool,
    pub(crate) is_symlink: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EntryKind {
    File,
    Directory,
    /// A symlink that is dangling or leaves the mount.
    Symlink,
    Special,
}

/// Lists one page of a directory, after the name `after`. Only one page is held in memory. Returns
/// `None` if the directory has too many entries.
pub(crate) fn list_directory(
    list_root: &ListRoot<'_>,
    hidden_files: HiddenFiles,
    after: Option<&OsStr>,
    limit: usize,
    limits: ListLimits,
) -> Result<Option<Page>> {
    let mut names = BTreeSet::new();
    let (mut total, mut has_more) = (0, false);
    for (index, entry) in list_root.directory.entries()?.enumerate() {
        // Reading more would take too long. A truncated set of names would depend on the order on
        // disk.
        if index >= limits.max_entries {
            return Ok(None);
        }
        let entry = entry?;
        let name = entry.file_name();
        if is_excluded(&name, hidden_files) || list_root.is_hidden(&entry, &[]) {
            continue;
        }
        total += 1;
        if after.is_some_and(|after| name.as_os_str() <= after) {
            continue;
        }
        // A page of the smallest names only, so that a directory of a million entries needs little
        // memory.
        names.insert(name);
        if names.len() > limit {
            names.pop_last();
            has_more = true;
        }
    }
    let items = names
        .into_iter()
        .filter_map(|name| ListedEntry::read(list_root, list_root.directory, vec![name]))
        .collect();
    Ok(Some(Page {
        items,
        total,
        has_more,
        is_truncated: false,
    }))
}

/// Lists a directory recursively, `depth` levels deep, after the entry `after`.
pub(crate) fn list_recursive(
    list_root: &ListRoot<'_>,
    hidden_files: HiddenFiles,
    depth: usize,
    after: Option<&[OsString]>,
    limit: usize,
    limits: ListLimits,
) -> Page {
    let mut walk = Walk {
        root: list_root,
        hidden_files,
        after,
        limit,
        remaining: limits.max_visited,
        page: Page::default(),
    };
    walk.visit_directory(list_root.directory, &[], depth);
    walk.page
}

struct Walk<'a> {
    root: &'a ListRoot<'a>,
    hidden_files: HiddenFiles,
    after: Option<&'a [OsString]>,
    limit: usize,
    remaining: usize,
    page: Page,
}

impl Walk<'_> {
    fn visit_directory(&mut self, directory: &Dir, parents: &[OsString], depth: usize) {
        let Some(names) = self.read_names(directory, parents) else {
            self.page.is_truncated = true;
            return;
        };
        for name in names {
            let names = [parents, std::slice::from_ref(&name)].concat();
            let Some(item) = ListedEntry::read(self.root, directory, names.clone()) else {
                continue;
            };
            // Symlinks are listed and not followed: they could form a cycle or lead out of the
            // mount.
            let descends = item.kind == EntryKind::Directory && !item.is_symlink && depth > 1;
            // Counted on every page, so that the total does not depend on the cursor.
            self.page.total += 1;
            if self.after.is_none_or(|after| names.as_slice() > after) {
                if self.page.items.len() < self.limit {
                    self.page.items.push(item);
                } else {
                    self.page.has_more = true;
                }
            }
            if descends {
                // Without following symlinks: the entry may have been replaced since its metadata
                // were read.
                match directory.open_dir_nofollow(&name) {
                    Ok(inner) => self.visit_directory(&inner, &names, depth - 1),
                    Err(_) => self.page.is_truncated = true,
                }
            }
        }
    }

    /// Returns the names in a directory, or `None` if there are too many, since a truncated set
    /// would depend on the order on disk.
    fn read_names(&mut self, directory: &Dir, parents: &[OsString]) -> Option<BTreeSet<OsString>> {
        let mut names = BTreeSet::new();
        for entry in directory.entries().ok()? {
            // Counted before filtering, since hidden entries cost as much to read.
            self.remaining = self.remaining.checked_sub(1)?;
            let entry = entry.ok()?;
            let name = entry.file_name();
            if !is_excluded(&name, self.hidden_files) && !self.root.is_hidden(&entry, parents) {
                names.insert(name);
            }
        }
        Some(names)
    }
}

impl ListRoot<'_> {
    /// Returns true if an entry of the directory `above` is hidden, or is a symlink to a hidden
    /// directory.
    fn is_hidden(&self, entry: &DirEntry, parents: &[OsString]) -> bool {
        // Avoids a system call per symlink in the common case.
        if self.hidden.is_empty() {
            return false;
        }
        let path = join_parts(&self.relative_path, parents).join(entry.file_name());
        // An entry of unknown type is treated as a symlink, which has the stricter check.
        let is_link = entry.file_type().map_or(true, |kind| kind.is_symlink());
        let target = if is_link {
            self.root.canonicalize(&path).ok()
        } else {
            None
        };
        self.hidden.contains(&self.root_path.join(&path))
            || target.is_some_and(|target| self.hidden.contains(&self.root_path.join(target)))
    }
}

impl ListedEntry {
    /// Reads the metadata of an entry. Returns `None` if it was removed in the meantime.
    fn read(list_root: &ListRoot<'_>, directory: &Dir, names: Vec<OsString>) -> Option<Self> {
        // Without following the link, whose target may be outside.
        let link_metadata = directory.symlink_metadata(names.last()?).ok()?;
        let is_symlink = link_metadata.is_symlink();
        let path = || join_parts(&list_root.relative_path, &names);
        let target = if is_symlink {
            list_root.root.metadata(path()).ok()
        } else {
            None
        };
        let metadata = target.as_ref().unwrap_or(&link_metadata);
        let modified = metadata.modified().ok().and_then(|time| {
            let since = time
                .duration_since(SystemTime::from_std(std::time::UNIX_EPOCH))
                .ok()?;
            i64::try_from(since.as_secs()).ok()
        });
        let (kind, is_executable) = (EntryKind::from_metadata(metadata), is_executable(metadata));
        let bytes = if kind == EntryKind::File {
            metadata.len()
        } else {
            0
        };
        Some(Self {
            names,
            kind,
            bytes,
            modified,
            is_executable,
            is_symlink,
        })
    }

    /// Returns the names as text, and whether they can be used in a path.
    pub(crate) fn display_names(&self) -> (Vec<String>, bool) {
        let names: Vec<(String, bool)> = self.names.iter().map(|name| display_name(name)).collect();
        let all_readable = names.iter().all(|(_, is_readable)| *is_readable);
        (
            names.into_iter().map(|(name, _)| name).collect(),
            all_readable,
        )
    }
}

impl EntryKind {
    fn from_metadata(metadata: &Metadata) -> Self {
        match () {
            // The metadata of an accessible target, so a symlink here has no such target.
            () if metadata.is_dir() => Self::Directory,
            () if metadata.is_file() => Self::File,
            () if metadata.is_symlink() => Self::Symlink,
            () => Self::Special,
        }
    }

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Directory => "directory",
            Self::Symlink => "symlink",
            Self::Special => "special",
        }
    }
}

fn is_excluded(name: &OsStr, hidden_files: HiddenFiles) -> bool {
    hidden_files == HiddenFiles::Exclude && name.as_encoded_bytes().starts_with(b".")
}

/// Escapes invisible and ambiguous characters of a name.
fn display_name(name: &OsStr) -> (String, bool) {
    match name.to_str() {
        Some(name) if invalid_part_reason(name).is_none() => (name.to_owned(), true),
        Some(name) => (escape_for_display(name), false),
        // Not UTF-8. The escaped name cannot be passed back as a path, which the second value says.
        None => (name.as_encoded_bytes().escape_ascii().to_string(), false),
    }
}

#[cfg(unix)]
fn is_executable(metadata: &Metadata) -> bool {
    use cap_std::fs::PermissionsExt;
    metadata.is_file() && metadata.permissions().mode() & 0o111 != 0
}

#[cfg(not(unix))]
fn is_executable(_metadata: &Metadata) -> bool {
    false
}
