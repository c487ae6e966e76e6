//! What a directory holds, page by page.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io::Result;
use std::path::PathBuf;

use cap_fs_ext::DirExt;
use cap_std::fs::{Dir, DirEntry, Metadata};
use cap_std::time::SystemTime;

use crate::hidden::Hidden;
use crate::path::{problem, shown};

/// How far a listing goes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    /// A directory with more entries is not listed.
    pub(crate) max_entries: usize,
    /// The most entries that a listing of everything below looks at.
    pub(crate) max_seen: usize,
}

impl Bounds {
    /// What hosts get: 1,000,000 in one directory, 20,000 below one.
    pub(crate) const DEFAULT: Self = Self {
        max_entries: 1_000_000,
        max_seen: 20_000,
    };
}

/// What is listed.
pub(crate) struct Ground<'a> {
    /// The directory that links must stay in.
    pub(crate) top: &'a Dir,
    /// Where `top` is on this machine.
    pub(crate) base: PathBuf,
    /// What of it is not listed.
    pub(crate) hidden: Hidden,
    /// Where the directory that is listed is below it.
    pub(crate) at: PathBuf,
    pub(crate) directory: &'a Dir,
}

/// Which names are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dotted {
    Listed,
    Hidden,
}

/// Part of a listing.
#[derive(Debug, Default)]
pub(crate) struct Page {
    /// In the order of the names' bytes, directories before what is in them.
    pub(crate) items: Vec<Item>,
    /// How many there are on all pages together.
    pub(crate) total: usize,
    /// Whether there are more behind this page.
    pub(crate) has_more: bool,
    /// Whether something was left out of all pages.
    pub(crate) is_cut: bool,
}

/// One entry.
#[derive(Debug)]
pub(crate) struct Item {
    /// Its names below the directory that is listed.
    pub(crate) names: Vec<OsString>,
    pub(crate) kind: Kind,
    pub(crate) bytes: u64,
    /// In seconds since 1970.
    pub(crate) modified: Option<i64>,
    pub(crate) is_executable: bool,
    pub(crate) is_symlink: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    File,
    Directory,
    /// A symlink that leads nowhere or out of the mount.
    Symlink,
    Special,
}

/// Lists one directory behind the name `after`, in memory for one page only; nothing when it has
/// too many entries.
pub(crate) fn one(
    ground: &Ground<'_>,
    dotted: Dotted,
    after: Option<&OsStr>,
    limit: usize,
    bounds: Bounds,
) -> Result<Option<Page>> {
    let mut names = BTreeSet::new();
    let (mut total, mut has_more) = (0, false);
    for (seen, entry) in ground.directory.entries()?.enumerate() {
        if seen >= bounds.max_entries {
            return Ok(None);
        }
        let entry = entry?;
        let name = entry.file_name();
        if is_left_out(&name, dotted) || ground.is_hidden(&entry, &[]) {
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
        .filter_map(|name| Item::of(ground, ground.directory, vec![name]))
        .collect();
    Ok(Some(Page {
        items,
        total,
        has_more,
        is_cut: false,
    }))
}

/// Lists what lies below a directory, `depth` directories deep, behind the entry `after`.
pub(crate) fn below(
    ground: &Ground<'_>,
    dotted: Dotted,
    depth: usize,
    after: Option<&[OsString]>,
    limit: usize,
    bounds: Bounds,
) -> Page {
    let mut walk = Walk {
        ground,
        dotted,
        after,
        limit,
        left: bounds.max_seen,
        page: Page::default(),
    };
    walk.one(ground.directory, &[], depth);
    walk.page
}

struct Walk<'a> {
    ground: &'a Ground<'a>,
    dotted: Dotted,
    after: Option<&'a [OsString]>,
    limit: usize,
    left: usize,
    page: Page,
}

impl Walk<'_> {
    fn one(&mut self, directory: &Dir, above: &[OsString], depth: usize) {
        let Some(names) = self.names(directory, above) else {
            self.page.is_cut = true;
            return;
        };
        for name in names {
            let names = [above, std::slice::from_ref(&name)].concat();
            let Some(item) = Item::of(self.ground, directory, names.clone()) else {
                continue;
            };
            let enters = item.kind == Kind::Directory && !item.is_symlink && depth > 1;
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
                    Ok(inner) => self.one(&inner, &names, depth - 1),
                    Err(_) => self.page.is_cut = true,
                }
            }
        }
    }

    /// The names in a directory, or nothing when they would be too many: half of them would be
    /// whichever the disk names first.
    fn names(&mut self, directory: &Dir, above: &[OsString]) -> Option<BTreeSet<OsString>> {
        let mut names = BTreeSet::new();
        for entry in directory.entries().ok()? {
            self.left = self.left.checked_sub(1)?;
            let entry = entry.ok()?;
            let name = entry.file_name();
            if !is_left_out(&name, self.dotted) && !self.ground.is_hidden(&entry, above) {
                names.insert(name);
            }
        }
        Some(names)
    }
}

impl Ground<'_> {
    /// Says whether an entry of the directory with the names `above` is hidden, or a symlink that
    /// leads to what is.
    fn is_hidden(&self, entry: &DirEntry, above: &[OsString]) -> bool {
        if self.hidden.is_empty() {
            return false;
        }
        let path = above
            .iter()
            .fold(self.at.clone(), |path, name| path.join(name))
            .join(entry.file_name());
        let is_link = entry.file_type().map_or(true, |kind| kind.is_symlink());
        let target = if is_link {
            self.top.canonicalize(&path).ok()
        } else {
            None
        };
        self.hidden.holds(&self.base.join(&path))
            || target.is_some_and(|target| self.hidden.holds(&self.base.join(target)))
    }
}

impl Item {
    /// Looks at an entry; one that vanished meanwhile is none.
    fn of(ground: &Ground<'_>, directory: &Dir, names: Vec<OsString>) -> Option<Self> {
        let own = directory.symlink_metadata(names.last()?).ok()?;
        let is_symlink = own.is_symlink();
        let path = || {
            names
                .iter()
                .fold(ground.at.clone(), |path, name| path.join(name))
        };
        let target = if is_symlink {
            ground.top.metadata(path()).ok()
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
        let (kind, is_executable) = (Kind::of(metadata), is_executable(metadata));
        let bytes = if kind == Kind::File {
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
    pub(crate) fn readable(&self) -> (Vec<String>, bool) {
        let names: Vec<(String, bool)> = self.names.iter().map(|name| readable(name)).collect();
        let all = names.iter().all(|(_, is_readable)| *is_readable);
        (names.into_iter().map(|(name, _)| name).collect(), all)
    }
}

impl Kind {
    fn of(metadata: &Metadata) -> Self {
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

fn is_left_out(name: &OsStr, dotted: Dotted) -> bool {
    dotted == Dotted::Hidden && name.as_encoded_bytes().starts_with(b".")
}

/// Writes a name out so that nothing in it is invisible or looks like something else.
fn readable(name: &OsStr) -> (String, bool) {
    match name.to_str() {
        Some(name) if problem(name).is_none() => (name.to_owned(), true),
        Some(name) => (shown(name), false),
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
