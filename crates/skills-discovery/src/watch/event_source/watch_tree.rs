//! The directories that one inotify instance watches.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::ffi::{OsStr, OsString};
use std::mem::MaybeUninit;
use std::ops::{Bound, ControlFlow};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::io::Errno;

use super::watched::{Depth, WatchState};
use crate::DiscoveryErrorKind;
use crate::open::open_canonical;
use crate::read_dir::for_each_entry;
use crate::watch::WatchProblem;

/// The events that can change what a skill is. Opening and reading are not among them: the scans of
/// this process would fill the queue themselves.
const EVENTS: WatchFlags = WatchFlags::CREATE
    .union(WatchFlags::DELETE)
    .union(WatchFlags::MODIFY)
    .union(WatchFlags::ATTRIB)
    .union(WatchFlags::MOVE)
    .union(WatchFlags::MOVE_SELF)
    .union(WatchFlags::DELETE_SELF);
/// The maximum number of watched directories, and at most half of the limit of the system, which is one
/// for all programs of a user.
const MAX_WATCHES: usize = 200_000;
/// The number of watches that are added or removed before events are read: each removal is an event
/// itself, and the kernel drops all events beyond its limit (16,384 by default).
const WATCHES_PER_READ: usize = 256;
/// The maximum number of events of directories that wait to be handled.
const MAX_WAITING: usize = 100_000;
/// The size of the buffer for events; one event has at most 272 bytes.
const BUFFER_BYTES: usize = 64 * 1024;
/// How often the buffer is filled before the events are handled.
const MAX_READS: usize = 16;

/// Returns how many directories the programs of a user may watch together, if the system says it.
#[expect(
    clippy::disallowed_methods,
    reason = "a file of the kernel, not of a skill"
)]
fn user_limit() -> Option<usize> {
    let text = std::fs::read_to_string("/proc/sys/fs/inotify/max_user_watches").ok()?;
    text.trim().parse().ok()
}

/// What the watched directories are: trees that were asked for, and the directories below them.
///
/// The kernel identifies a watch by a number, which stays with a directory that is moved. So the
/// path of each is followed by the events of its parent.
pub(super) struct WatchTree {
    inotify: OwnedFd,
    limit: usize,
    by_path: BTreeMap<Arc<Path>, i32>,
    by_number: HashMap<i32, Watched>,
    /// The directories that were asked for, with their watches.
    roots: HashMap<PathBuf, (i32, Depth)>,
    /// Events of directories that are not handled yet.
    waiting: VecDeque<DirectoryEvent>,
    buffer: Vec<MaybeUninit<u8>>,
    /// Whether anything was reported since the last call of `read_changes`.
    has_changed: bool,
    /// Whether a directory could not be watched, for a reason other than a limit.
    is_incomplete: bool,
    /// The number of watches that were added or removed since events were read.
    changes_since_read: usize,
}

struct Watched {
    path: Arc<Path>,
    depth: Depth,
}

/// An event that changes which directories are watched.
enum DirectoryEvent {
    /// A directory of this name was created in a watched one, or moved to it.
    Appeared(i32, OsString),
    /// The permissions of a directory of this name, in a watched one, may have changed.
    Readable(i32, OsString),
    /// A directory of this name was moved to another place.
    MovedAway(i32, OsString),
    /// The kernel has ended a watch.
    Ended(i32),
}

impl WatchTree {
    pub(super) fn new() -> Result<Self, Errno> {
        Ok(Self {
            inotify: inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?,
            limit: user_limit().map_or(MAX_WATCHES, |limit| MAX_WATCHES.min(limit / 2)),
            by_path: BTreeMap::new(),
            by_number: HashMap::new(),
            roots: HashMap::new(),
            waiting: VecDeque::new(),
            buffer: vec![MaybeUninit::uninit(); BUFFER_BYTES],
            has_changed: false,
            is_incomplete: false,
            changes_since_read: 0,
        })
    }

    #[cfg(test)]
    fn with_limit(limit: usize) -> Self {
        let mut tree = Self::new().unwrap();
        tree.limit = limit;
        tree
    }

    /// Watches exactly these directories.
    ///
    /// # Errors
    /// Fails if events were lost, or if there are too many directories.
    pub(super) fn watch(
        &mut self,
        directories: &[(PathBuf, Depth)],
    ) -> Result<WatchState, WatchProblem> {
        let wanted: HashSet<&Path> = directories.iter().map(|(path, _)| path.as_path()).collect();
        let is_unwanted = |path: &&PathBuf| !wanted.contains(path.as_path());
        let unwanted: Vec<PathBuf> = self.roots.keys().filter(is_unwanted).cloned().collect();
        for path in unwanted {
            self.roots.remove(&path);
            self.remove(&path)?;
        }
        let mut state = WatchState::Unchanged;
        // What could not be watched may be possible now.
        let is_retry = std::mem::take(&mut self.is_incomplete);
        for (path, depth) in directories {
            let is_watched = self.is_root_watched(path, *depth)?;
            if !is_watched || is_retry {
                self.add_root(path, *depth)?;
                state = WatchState::Extended;
            }
        }
        Ok(if self.is_incomplete {
            WatchState::Incomplete
        } else {
            state
        })
    }

    /// Reads the events that are waiting, and follows the directories that were created, moved and
    /// removed. Returns true if anything has changed since the last call.
    ///
    /// # Errors
    /// Fails if events were lost, or if there are too many directories.
    pub(super) fn read_changes(&mut self) -> Result<bool, WatchProblem> {
        self.read_events()?;
        self.handle_events()?;
        Ok(std::mem::take(&mut self.has_changed))
    }

    /// Returns true if there are events that [`read_changes`](Self::read_changes) did not handle.
    pub(super) fn has_waiting_events(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Returns true if the directory that is at this path now is a watched root. Ends the watches of
    /// another one that was at the path before.
    fn is_root_watched(&mut self, path: &Path, depth: Depth) -> Result<bool, WatchProblem> {
        let Some((known, known_depth)) = self.roots.get(path).copied() else {
            return Ok(false);
        };
        // A directory that is watched keeps its number, and another one at its path has another.
        if self.add_one(path, depth)? == Some(known) && known_depth == depth {
            return Ok(true);
        }
        self.roots.remove(path);
        self.end(known);
        self.remove(path)?;
        Ok(false)
    }

    fn add_root(&mut self, path: &Path, depth: Depth) -> Result<(), WatchProblem> {
        self.add(path, depth)?;
        if let Some(number) = self.by_path.get(path) {
            self.roots.insert(path.to_owned(), (*number, depth));
        }
        Ok(())
    }

    /// Adds a directory and, if it is a tree, all directories below it.
    fn add(&mut self, path: &Path, depth: Depth) -> Result<(), WatchProblem> {
        let mut left = vec![path.to_owned()];
        while let Some(path) = left.pop() {
            // Watched before it is listed, so that a directory which appears meanwhile is reported.
            let is_watched = self.add_one(&path, depth)?.is_some();
            if is_watched && depth == Depth::Tree {
                left.extend(self.subdirectories(&path));
            }
        }
        Ok(())
    }

    /// Adds one directory, and returns the number of its watch; `None` if there is no such
    /// directory, or if it cannot be watched.
    fn add_one(&mut self, path: &Path, depth: Depth) -> Result<Option<i32>, WatchProblem> {
        self.read_regularly()?;
        // A symlink is not followed: what it leads to is watched as a directory of its own.
        let flags = EVENTS | WatchFlags::ONLYDIR | WatchFlags::DONT_FOLLOW;
        let number = match inotify::add_watch(&self.inotify, path, flags) {
            Ok(number) => number,
            // It was removed or replaced in the meantime.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(None),
            Err(Errno::NOSPC | Errno::NOMEM) => return Err(WatchProblem::TooManyDirectories),
            Err(_) => {
                // Of a directory that may not even be searched, a scan reads nothing.
                self.is_incomplete |= path.join(".").symlink_metadata().is_ok();
                return Ok(None);
            }
        };
        let path: Arc<Path> = path.into();
        self.by_path.insert(Arc::clone(&path), number);
        // The events of a directory at two paths are those of the later one.
        self.by_number.insert(number, Watched { path, depth });
        if self.by_number.len() > self.limit {
            return Err(WatchProblem::TooManyDirectories);
        }
        Ok(Some(number))
    }

    /// Returns the directories in a directory.
    fn subdirectories(&mut self, path: &Path) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let listed = open_canonical(path).and_then(|handle| {
            for_each_entry(&handle, &mut |entry| {
                if entry.is_directory {
                    found.push(path.join(entry.name));
                }
                ControlFlow::Continue(())
            })
        });
        // A directory that was removed or replaced after it was watched is reported.
        self.is_incomplete |= listed.is_err_and(|error| error.kind() == DiscoveryErrorKind::Io);
        found
    }

    /// Ends the watches of a directory and of all below it.
    fn remove(&mut self, path: &Path) -> Result<(), WatchProblem> {
        // Paths are ordered by their components, so those below a directory follow it.
        let from = (Bound::Included(path), Bound::Unbounded);
        let below = self.by_path.range::<Path, _>(from);
        let below = below.take_while(|(other, _)| other.starts_with(path));
        let removed: Vec<(Arc<Path>, i32)> = below
            .map(|(path, number)| (Arc::clone(path), *number))
            .collect();
        for (path, number) in removed {
            self.by_path.remove(&path);
            // It may have another path by now.
            if self.path_of(number) == Some(&*path) {
                self.end(number);
                self.read_regularly()?;
            }
        }
        Ok(())
    }

    fn end(&mut self, number: i32) {
        self.by_number.remove(&number);
        // Fails if the kernel has ended the watch already.
        let _ = inotify::remove_watch(&self.inotify, number);
    }

    fn path_of(&self, number: i32) -> Option<&Path> {
        self.by_number.get(&number).map(|watched| &*watched.path)
    }

    /// Handles the events that are waiting, but none of those that are read meanwhile: a program can
    /// cause them as fast as they are handled.
    fn handle_events(&mut self) -> Result<(), WatchProblem> {
        for _ in 0..self.waiting.len() {
            match self.waiting.pop_front() {
                None => break,
                Some(event) => self.handle(event)?,
            }
        }
        Ok(())
    }

    fn handle(&mut self, event: DirectoryEvent) -> Result<(), WatchProblem> {
        match event {
            DirectoryEvent::Appeared(parent, name) => self.follow_new(parent, &name)?,
            DirectoryEvent::Readable(parent, name) => {
                let path = self.path_of(parent).map(|parent| parent.join(&name));
                // Of one that is watched already, nothing new can be read.
                if path.is_some_and(|path| !self.by_path.contains_key(&*path)) {
                    self.follow_new(parent, &name)?;
                }
            }
            DirectoryEvent::MovedAway(parent, name) => {
                if let Some(path) = self.path_of(parent).map(|parent| parent.join(name)) {
                    self.remove(&path)?;
                }
            }
            DirectoryEvent::Ended(number) => self.forget(number),
        }
        Ok(())
    }

    fn follow_new(&mut self, parent: i32, name: &OsStr) -> Result<(), WatchProblem> {
        let parent = self.by_number.get(&parent);
        if let Some(parent) = parent.filter(|parent| parent.depth == Depth::Tree) {
            let path = parent.path.join(name);
            self.add(&path, Depth::Tree)?;
            // It may have been filled before it was watched.
            self.has_changed = true;
        }
        Ok(())
    }

    fn forget(&mut self, number: i32) {
        let Some(Watched { path, .. }) = self.by_number.remove(&number) else {
            return;
        };
        // A new directory may have the path already.
        if self.by_path.get(&path) == Some(&number) {
            self.by_path.remove(&path);
        }
        self.roots.retain(|_, (root, _)| *root != number);
    }

    fn read_regularly(&mut self) -> Result<(), WatchProblem> {
        self.changes_since_read += 1;
        if self.changes_since_read >= WATCHES_PER_READ {
            self.read_events()?;
        }
        Ok(())
    }

    /// Moves the events of the kernel to `waiting`, as far as they change which directories are
    /// watched.
    fn read_events(&mut self) -> Result<(), WatchProblem> {
        self.changes_since_read = 0;
        // A program that never stops to write must not keep its events from being handled.
        for _ in 0..MAX_READS {
            let mut reader = inotify::Reader::new(&self.inotify, &mut self.buffer);
            loop {
                match reader.next() {
                    Ok(event) => {
                        let flags = event.events();
                        if flags.contains(ReadFlags::QUEUE_OVERFLOW) {
                            return Err(WatchProblem::TooManyChanges);
                        }
                        let number = event.wd();
                        let watched = &self.by_number;
                        // Of a watch that was removed, nothing matters.
                        if watched.contains_key(&number) {
                            self.has_changed = true;
                            let name = event.file_name().map(|name| name.to_bytes());
                            let name = name.map(OsStr::from_bytes);
                            self.waiting.extend(directory_event(number, flags, name));
                        }
                    }
                    Err(Errno::AGAIN) => return Ok(()),
                    Err(Errno::INTR) => {}
                    Err(_) => return Err(WatchProblem::TooManyChanges),
                }
                if reader.is_buffer_empty() {
                    break;
                }
            }
            if self.waiting.len() > MAX_WAITING {
                return Err(WatchProblem::TooManyChanges);
            }
        }
        Ok(())
    }
}

impl AsFd for WatchTree {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.inotify.as_fd()
    }
}

/// Returns how an event changes which directories are watched; `None` if it does not.
fn directory_event(number: i32, flags: ReadFlags, name: Option<&OsStr>) -> Option<DirectoryEvent> {
    if flags.contains(ReadFlags::IGNORED) {
        return Some(DirectoryEvent::Ended(number));
    }
    let name = name.filter(|_| flags.contains(ReadFlags::ISDIR))?;
    if flags.intersects(ReadFlags::CREATE | ReadFlags::MOVED_TO) {
        Some(DirectoryEvent::Appeared(number, name.to_owned()))
    } else if flags.contains(ReadFlags::ATTRIB) {
        Some(DirectoryEvent::Readable(number, name.to_owned()))
    } else if flags.contains(ReadFlags::MOVED_FROM) {
        Some(DirectoryEvent::MovedAway(number, name.to_owned()))
    } else {
        None
    }
}

#[cfg(test)]
mod tests;
