//! The entries of a searched directory, and what is known about each before a run.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;

use skills_sandbox::ExecutedFile;

use crate::change_clock::ChangeClock;
use crate::entry_state::EntryState;
use crate::open_directory::{EntryType, ListedEntry, OpenDirectory};

/// What executes files with an executable bit, for users: the kernel, for a user that names them.
const EXECUTABLE_FILES: &str = "executable files";

/// An entry of a searched directory.
#[derive(Clone)]
pub(super) struct FoundEntry {
    pub(super) name: OsString,
    pub(super) entry_type: EntryType,
    inode: u64,
    /// Whether it is neither protected nor a directory. Ordinary files are recorded too, since one
    /// can become executable.
    pub(super) is_ordinary: bool,
    /// The program that executes it, by its name or by its directory.
    pub(super) reader: Option<&'static str>,
    state: KnownState,
}

/// What is known about the state of an entry.
#[derive(Clone)]
pub(super) enum KnownState {
    /// Only what the directory says. Files are examined after the run, by a [`ChangeClock`].
    Listed,
    Examined(Box<EntryState>),
    /// A symlink.
    Linked(Box<LinkState>),
}

/// The state of a symlink and of the content that it leads to.
#[derive(Clone)]
pub(super) struct LinkState {
    own: EntryState,
    content: EntryState,
}

impl KnownState {
    /// Examines an entry.
    pub(super) fn examine(
        directory: &OpenDirectory,
        name: &OsStr,
        entry_type: EntryType,
    ) -> io::Result<Self> {
        Ok(match entry_type {
            EntryType::Directory | EntryType::Unknown => Self::Listed,
            EntryType::File | EntryType::Special => {
                Self::Examined(Box::new(directory.entry(name)?))
            }
            EntryType::Symlink => Self::Linked(Box::new(LinkState {
                own: directory.entry(name)?,
                content: directory.content(name)?,
            })),
        })
    }
}

impl FoundEntry {
    pub(super) fn new(listed: ListedEntry, state: KnownState) -> Self {
        Self {
            name: listed.name,
            entry_type: listed.entry_type,
            inode: listed.inode,
            is_ordinary: false,
            reader: None,
            state,
        }
    }

    /// Describes a file that was granted by itself.
    pub(super) fn of_granted_file(
        path: &Path,
        state: EntryState,
        reader: Option<&'static str>,
    ) -> Self {
        Self {
            // Joined with the path, the absolute path is the path.
            name: path.as_os_str().to_owned(),
            entry_type: EntryType::File,
            inode: state.inode(),
            is_ordinary: true,
            reader,
            state: KnownState::Examined(Box::new(state)),
        }
    }

    /// Returns the name, the type and the inode number.
    pub(super) fn listed(&self) -> (&OsStr, EntryType, u64) {
        (&self.name, self.entry_type, self.inode)
    }

    /// Returns true for the entry of a file that was granted by itself.
    pub(super) fn is_granted_file(&self) -> bool {
        Path::new(&self.name).is_absolute()
    }

    /// Returns the state of the content, through symlinks, if it was examined.
    pub(super) fn content(&self) -> Option<&EntryState> {
        match &self.state {
            KnownState::Listed => None,
            KnownState::Examined(state) => Some(state),
            KnownState::Linked(link) => Some(&link.content),
        }
    }

    /// Returns the program that executes an ordinary file in its state; `None` for others.
    pub(super) fn program(&self, now: &EntryState) -> Option<&'static str> {
        let by_mode = now.is_executable().then_some(EXECUTABLE_FILES);
        self.reader.or(by_mode).filter(|_| self.is_ordinary)
    }

    /// Returns true if the content may be another one than before the run. `device` is that of the
    /// directory.
    pub(super) fn is_changed(
        &self,
        now: &EntryState,
        device: Option<u64>,
        clock: Option<&ChangeClock>,
    ) -> bool {
        match self.content() {
            Some(before) => before != now,
            None => self.is_listed_changed(now, device, clock),
        }
    }

    /// Returns true if the entry itself may be another one, such as a symlink.
    pub(super) fn is_own_changed(
        &self,
        now: &EntryState,
        device: Option<u64>,
        clock: Option<&ChangeClock>,
    ) -> bool {
        match &self.state {
            KnownState::Listed => self.is_listed_changed(now, device, clock),
            KnownState::Examined(before) => **before != *now,
            KnownState::Linked(link) => link.own != *now,
        }
    }

    fn is_listed_changed(
        &self,
        now: &EntryState,
        device: Option<u64>,
        clock: Option<&ChangeClock>,
    ) -> bool {
        // A directory may be reached through a symlink that leads to another device.
        let is_same = (Some(now.device()), now.inode()) == (device, self.inode) && now.is_file();
        !(is_same && clock.is_some_and(|clock| clock.is_earlier(now)))
    }

    /// Returns true if a directory with this name is another one than before.
    pub(super) fn is_other_directory(&self, inode: u64) -> bool {
        self.entry_type != EntryType::Directory || self.inode != inode
    }

    /// Returns what is reported of a file that changed, if a program executes it now.
    pub(super) fn executed(
        &self,
        before: Option<&Self>,
        now: &EntryState,
        directory: &Path,
    ) -> Option<ExecutedFile> {
        let program = self.program(now)?;
        let path = directory.join(&self.name);
        Some(match before {
            None => ExecutedFile::created(path, program),
            Some(_) => ExecutedFile::changed(path, program),
        })
    }
}
