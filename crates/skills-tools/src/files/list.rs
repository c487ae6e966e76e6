//! What a directory holds, page by page.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io::Result;
use std::path::PathBuf;

use cap_fs_ext::DirExt;
use cap_std::fs::{Dir, DirEntry, Metadata};
use cap_std::time::SystemTime;

use crate::hidden_dirs::HiddenDirs;
use crate::virtual_path::{escape_for_display, invalid_part_reason};

/// How far a listing goes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ListLimits {
    /// A directory with more entries is not listed.
    pub(crate) max_entries: usize,
    /// The most entries that a listing of everything below looks at.
    pub(crate) max_visited: usize,
}

impl ListLimits {
    /// What hosts get: 1,000,000 in one directory, 20,000 below one.
    pub(crate) const DEFAULT: Self = Self {
        max_entries: 1_000_000,
        max_visited: 20_000,
    };
}

/// What is listed.
pub(crate) struct ListRoot<'a> {
    /// The directory that links must stay in.
    pub(crate) root: &'a Dir,
    /// Where `top` is on this machine.
    pub(crate) root_path: PathBuf,
    /// What of it is not listed.
    pub(crate) hidden: HiddenDirs,
    /// Where the directory that is listed is below it.
    pub(crate) relative_path: PathBuf,
    pub(crate) directory: &'a Dir,
}

/// Which names are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HiddenFiles {
    Include,
    Exclude,
}

/// Part of a listing.
#[derive(Debug, Default)]
pub(crate) struct Page {
    /// In the order of the names' bytes, directories before what is in them.
    pub(crate) items: Vec<ListedEntry>,
    /// How many there are on all pages together.
    pub(crate) total: usize,
    /// Whether there are more behind this page.
    pub(crate) has_more: bool,
    /// Whether something was left out of all pages.
    pub(crate) is_truncated: bool,
}

/// One entry.
#[derive(Debug)]
pub(crate) struct ListedEntry {
    /// Its names below the directory that is listed.
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
    /// A symlink that leads nowhere or out of the mount.
    Symlink,
    Special,
}

/// Lists one directory behind the name `after`, in memory for one page only; nothing when it has
/// too many entries.
pub(crate) fn list_directory(
    ground: &ListRoot<'_>,
    dotted: HiddenFiles,
    after: Option<&OsStr>,
    limit: usize,
    bounds: ListLimits,
) -> Result<Option<Page>> {
    let mut names = BTreeSet::new();
    let (mut total, mut has_more) = (0, false);
    for (seen, entry) in ground.directory.entries()?.enumerate() {
        if seen >= bounds.max_entries {
            return Ok(None);
        }
        let entry = entry?;
        let name = entry.file_name();
        if is_excluded(&name, dotted) || ground.is_hidden(&entry, &[]) {
            continue;
        }
        total += 1;
        if after.is_some_and(|after| name.as_os_str() <= after) {
            continue;
        }
        names.insert(name);
        if names.len() > limit {
            names.pop_last();
            has_more = true;
        }
    }
    let items = names
        .into_iter()
        .filter_map(|name| ListedEntry::read(ground, ground.directory, vec![name]))
        .collect();
    Ok(Some(Page {
        items,
        total,
        has_more,
        is_truncated: false,
    }))
}

/// Lists what lies below a directory, `depth` directories deep, behind the entry `after`.
pub(crate) fn list_recursive(
    ground: &ListRoot<'_>,
    dotted: HiddenFiles,
    depth: usize,
    after: Option<&[OsString]>,
    limit: usize,
    bounds: ListLimits,
) -> Page {
    let mut walk = Walk {
        root: ground,
        hidden_files: dotted,
        after,
        limit,
        remaining: bounds.max_visited,
        page: Page::default(),
    };
    walk.visit_directory(ground.directory, &[], depth);
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
    fn visit_directory(&mut self, directory: &Dir, above: &[OsString], depth: usize) {
        let Some(names) = self.read_names(directory, above) else {
            self.page.is_truncated = true;
            return;
        };
        for name in names {
            let names = [above, std::slice::from_ref(&name)].concat();
            let Some(item) = ListedEntry::read(self.root, directory, names.clone()) else {
                continue;
            };
            let enters = item.kind == EntryKind::Directory && !item.is_symlink && depth > 1;
            self.page.total += 1;
            if self.after.is_none_or(|after| names.as_slice() > after) {
                if self.page.items.len() < self.limit {
                    self.page.items.push(item);
                } else {
                    self.page.has_more = true;
                }
            }
            if enters {
                match directory.open_dir_nofollow(&name) {
                    Ok(inner) => self.visit_directory(&inner, &names, depth - 1),
                    Err(_) => self.page.is_truncated = true,
                }
            }
        }
    }

    /// The names in a directory, or nothing when they would be too many: half of them would be
    /// whichever the disk names first.
    fn read_names(&mut self, directory: &Dir, above: &[OsString]) -> Option<BTreeSet<OsString>> {
        let mut names = BTreeSet::new();
        for entry in directory.entries().ok()? {
            self.remaining = self.remaining.checked_sub(1)?;
            let entry = entry.ok()?;
            let name = entry.file_name();
            if !is_excluded(&name, self.hidden_files) && !self.root.is_hidden(&entry, above) {
                names.insert(name);
            }
        }
        Some(names)
    }
}

impl ListRoot<'_> {
    /// Says whether an entry of the directory with the names `above` is hidden, or a symlink that
    /// leads to what is.
    fn is_hidden(&self, entry: &DirEntry, above: &[OsString]) -> bool {
        if self.hidden.is_empty() {
            return false;
        }
        let path = above
            .iter()
            .fold(self.relative_path.clone(), |path, name| path.join(name))
            .join(entry.file_name());
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
    /// Looks at an entry; one that vanished meanwhile is none.
    fn read(ground: &ListRoot<'_>, directory: &Dir, names: Vec<OsString>) -> Option<Self> {
        let own = directory.symlink_metadata(names.last()?).ok()?;
        let is_symlink = own.is_symlink();
        let path = || {
            names
                .iter()
                .fold(ground.relative_path.clone(), |path, name| path.join(name))
        };
        let target = if is_symlink {
            ground.root.metadata(path()).ok()
        } else {
            None
        };
        let metadata = target.as_ref().unwrap_or(&own);
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

    /// Returns the names as text, and whether a path can be written with them.
    pub(crate) fn display_names(&self) -> (Vec<String>, bool) {
        let names: Vec<(String, bool)> = self.names.iter().map(|name| display_name(name)).collect();
        let all = names.iter().all(|(_, is_readable)| *is_readable);
        (names.into_iter().map(|(name, _)| name).collect(), all)
    }
}

impl EntryKind {
    fn from_metadata(metadata: &Metadata) -> Self {
        match () {
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

fn is_excluded(name: &OsStr, dotted: HiddenFiles) -> bool {
    dotted == HiddenFiles::Exclude && name.as_encoded_bytes().starts_with(b".")
}

/// Writes a name out so that nothing in it is invisible or looks like something else.
fn display_name(name: &OsStr) -> (String, bool) {
    match name.to_str() {
        Some(name) if invalid_part_reason(name).is_none() => (name.to_owned(), true),
        Some(name) => (escape_for_display(name), false),
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
