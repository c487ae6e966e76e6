//! Puts a new file in the place of one that may have been written since it was read.
//!
//! Clients write their files without any lock that this program could take. Where the system
//! exchanges two files in one step (Linux and macOS, on most file systems), the file that comes out
//! is compared with the one that was read, and is put back when it is another one. Elsewhere it is
//! compared just before it is replaced, so that a client that writes within these microseconds
//! loses what it wrote.
#![expect(
    clippy::disallowed_methods,
    reason = "a file of a client is no file of a skill"
)]

use std::fs::{self, Metadata};
use std::io::{self, ErrorKind};
use std::path::Path;

use super::config_file::Snapshot;

/// How often a client may write while its file is put back.
const MAX_RESTORES: usize = 100;

/// Whether a file was replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Replacement {
    Done,
    /// It is no longer what was read, and is as others left it.
    Changed,
}

/// Moves `new` to `place` if `place` still is what was read before. `new` is gone afterwards.
///
/// # Errors
/// When files cannot be moved; then `place` is as others left it. When it could not be put back,
/// the error names the file that has its content.
pub(crate) fn swap(new: &Path, place: &Path, before: &Snapshot) -> io::Result<Replacement> {
    let swapped = match before.metadata() {
        None => place_new(new, place),
        Some(metadata) => exchange(new, place, before, &FileStamp::from_metadata(metadata)),
    };
    match swapped {
        Ok(Replacement::Done) => Ok(Replacement::Done),
        Err(SwapError::Lost(error)) => Err(error),
        Ok(Replacement::Changed) => fs::remove_file(new).map(|()| Replacement::Changed),
        Err(SwapError::Unchanged(error)) => {
            // The first error is the one to report.
            let _ = fs::remove_file(new);
            Err(error)
        }
    }
}

/// Why nothing was replaced.
enum SwapError {
    /// `place` is as others left it.
    Unchanged(io::Error),
    /// `place` could not be put back; what others wrote lies where the error says.
    Lost(io::Error),
}

impl From<io::Error> for SwapError {
    fn from(error: io::Error) -> Self {
        Self::Unchanged(error)
    }
}

/// Moves a file to where there is none.
fn place_new(new: &Path, place: &Path) -> Result<Replacement, SwapError> {
    let moved = match rename(new, place, RenameMode::NoReplace) {
        // Only the new name is made at once; the old one is removed after it.
        Err(error) if error.kind() == ErrorKind::Unsupported => {
            fs::hard_link(new, place).and_then(|()| fs::remove_file(new))
        }
        moved => moved,
    };
    match moved {
        Ok(()) => Ok(Replacement::Done),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(Replacement::Changed),
        Err(error) => Err(error.into()),
    }
}

fn exchange(
    new: &Path,
    place: &Path,
    before: &Snapshot,
    stamp: &FileStamp,
) -> Result<Replacement, SwapError> {
    let ours = FileStamp::from_path(new)?;
    if !is_unchanged(place, before, stamp)? {
        return Ok(Replacement::Changed);
    }
    match rename(new, place, RenameMode::Exchange) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Replacement::Changed),
        Err(error) if error.kind() == ErrorKind::Unsupported => {
            fs::rename(new, place)?;
            return Ok(Replacement::Done);
        }
        Err(error) => return Err(error.into()),
    }
    // From here on `new` names the file that was at `place`.
    if is_unchanged(new, before, stamp).unwrap_or(false) {
        // A file that stays behind does no harm.
        let _ = fs::remove_file(new);
        return Ok(Replacement::Done);
    }
    put_back(new, place, ours).map_err(|error| {
        let message = format!(
            "{} has what was written meanwhile and could not be put back: {error}",
            new.display()
        );
        SwapError::Lost(io::Error::new(error.kind(), message))
    })?;
    Ok(Replacement::Changed)
}

/// Whether a file is the one that was read, and holds the same.
fn is_unchanged(path: &Path, before: &Snapshot, stamp: &FileStamp) -> io::Result<bool> {
    match FileStamp::from_path(path) {
        // Time stamps are coarse, so that only the text decides.
        Ok(now) if now == *stamp => {
            Ok(Some(fs::read(path)?.as_slice()) == before.text().map(str::as_bytes))
        }
        Ok(_) => Ok(false),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Exchanges `aside`, which a client wrote, with `place`, where `ours` was put. What comes out is
/// newer when it is not `ours`, and then goes back as well.
fn put_back(aside: &Path, place: &Path, ours: FileStamp) -> io::Result<()> {
    let mut last_put = ours;
    for _ in 0..MAX_RESTORES {
        let put = FileStamp::from_path(aside)?;
        match rename(aside, place, RenameMode::Exchange) {
            Ok(()) => {}
            // Somebody removed it. It is put back unless a new one is there, so that nothing is
            // lost.
            Err(error) if error.kind() == ErrorKind::NotFound => return restore(aside, place),
            Err(error) => return Err(error),
        }
        if FileStamp::from_path(aside)? == last_put {
            return Ok(());
        }
        last_put = put;
    }
    Err(io::Error::new(
        ErrorKind::ResourceBusy,
        format!("{} is written without a pause", place.display()),
    ))
}

/// Puts a file back to where there is none; it stays in both places, since the caller removes the
/// one aside.
fn restore(aside: &Path, place: &Path) -> io::Result<()> {
    match fs::hard_link(aside, place) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        linked => linked,
    }
}

/// What tells that a file was written or replaced. The time of the last change of metadata is not
/// part of it, since moving a file changes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileStamp {
    bytes: u64,
    modified: Option<std::time::SystemTime>,
    #[cfg(unix)]
    identity: [u64; 5],
}

impl FileStamp {
    fn from_metadata(metadata: &Metadata) -> Self {
        #[cfg(unix)]
        use std::os::unix::fs::MetadataExt;
        Self {
            bytes: metadata.len(),
            modified: metadata.modified().ok(),
            #[cfg(unix)]
            identity: [
                metadata.dev(),
                metadata.ino(),
                metadata.mode().into(),
                metadata.uid().into(),
                metadata.gid().into(),
            ],
        }
    }

    fn from_path(path: &Path) -> io::Result<Self> {
        path.symlink_metadata()
            .map(|metadata| Self::from_metadata(&metadata))
    }
}

/// How a file is renamed.
#[derive(Debug, Clone, Copy)]
enum RenameMode {
    /// Both files get the name of the other.
    Exchange,
    /// There must be no file of the new name.
    NoReplace,
}

/// Renames a file in one step, or fails with [`ErrorKind::Unsupported`] where the system or the
/// file system cannot do so.
#[cfg(any(target_os = "linux", target_os = "macos"))]
fn rename(from: &Path, to: &Path, mode: RenameMode) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    use rustix::io::Errno;
    let flags = match mode {
        RenameMode::Exchange => RenameFlags::EXCHANGE,
        RenameMode::NoReplace => RenameFlags::NOREPLACE,
    };
    // File systems that do not know the flags answer with EINVAL.
    let unsupported = [Errno::INVAL, Errno::NOSYS, Errno::NOTSUP, Errno::OPNOTSUPP];
    renameat_with(CWD, from, CWD, to, flags).map_err(|errno| {
        if unsupported.contains(&errno) {
            ErrorKind::Unsupported.into()
        } else {
            errno.into()
        }
    })
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
fn rename(_from: &Path, _to: &Path, _mode: RenameMode) -> io::Result<()> {
    Err(ErrorKind::Unsupported.into())
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::mcp::install::config_file::ConfigFile;

    struct Place {
        directory: tempfile::TempDir,
    }

    impl Place {
        /// A file of a client with this text, and one with our own text beside it.
        fn new(text: Option<&str>) -> Self {
            let place = Self {
                directory: tempfile::tempdir().unwrap(),
            };
            fs::write(place.new_path(), "ours").unwrap();
            text.into_iter()
                .for_each(|text| fs::write(place.path(), text).unwrap());
            place
        }

        fn path(&self) -> PathBuf {
            self.directory.path().join("file")
        }

        fn new_path(&self) -> PathBuf {
            self.directory.path().join("file.tmp")
        }

        fn read(&self) -> Snapshot {
            ConfigFile::find(self.path(), None).unwrap().read().unwrap()
        }

        fn swap(&self, before: &Snapshot) -> Replacement {
            swap(&self.new_path(), &self.path(), before).unwrap_or_else(|error| panic!("{error}"))
        }

        /// The texts of the files that are there.
        fn texts(&self) -> Vec<String> {
            let texts = [self.path(), self.new_path()].map(fs::read_to_string);
            texts.into_iter().filter_map(Result::ok).collect()
        }
    }

    #[test]
    fn only_what_was_read_is_replaced() {
        for before in [Some("theirs"), None] {
            let place = Place::new(before);
            let read = place.read();
            assert_eq!(
                (place.swap(&read), place.texts()),
                (Replacement::Done, vec!["ours".to_owned()]),
                "{before:?}"
            );
            let place = Place::new(before);
            let read = place.read();
            fs::write(place.path(), "theirs, as it is now").unwrap();
            assert_eq!(
                (place.swap(&read), place.texts()),
                (
                    Replacement::Changed,
                    vec!["theirs, as it is now".to_owned()]
                ),
                "{before:?}"
            );
        }
        let place = Place::new(Some("theirs"));
        let read = place.read();
        fs::remove_file(place.path()).unwrap();
        assert_eq!(
            (place.swap(&read), place.texts()),
            (Replacement::Changed, Vec::new())
        );
    }

    /// Time stamps are coarse, and may be set.
    #[test]
    fn a_text_counts_that_no_time_stamp_tells_of() {
        let place = Place::new(Some("theirs"));
        let read = place.read();
        let mut file = fs::OpenOptions::new()
            .write(true)
            .open(place.path())
            .unwrap();
        io::Write::write_all(&mut file, b"others").unwrap();
        file.set_modified(read.metadata().unwrap().modified().unwrap())
            .unwrap();
        assert_eq!(
            (place.swap(&read), place.texts()),
            (Replacement::Changed, vec!["others".to_owned()])
        );
    }

    /// What came out of the exchange is put back, unless it was replaced once more since.
    #[cfg(any(target_os = "linux", target_os = "macos"))]
    #[test]
    fn what_was_written_last_is_put_back() {
        let given_back = |meanwhile: &dyn Fn(&Place)| {
            let place = Place::new(Some("theirs"));
            let ours = FileStamp::from_path(&place.new_path()).unwrap();
            rename(&place.new_path(), &place.path(), RenameMode::Exchange).unwrap();
            meanwhile(&place);
            put_back(&place.new_path(), &place.path(), ours).unwrap();
            fs::read_to_string(place.path()).unwrap()
        };
        assert_eq!(given_back(&|_| {}), "theirs");
        assert_eq!(
            given_back(&|place| fs::write(place.path(), "newer").unwrap()),
            "newer",
            "written in place"
        );
        let replaced = |place: &Place| {
            fs::write(place.directory.path().join("newer"), "newer").unwrap();
            fs::rename(place.directory.path().join("newer"), place.path()).unwrap();
        };
        assert_eq!(given_back(&replaced), "newer");
        assert_eq!(
            given_back(&|place| fs::remove_file(place.path()).unwrap()),
            "theirs",
            "nothing is lost"
        );
    }
}
