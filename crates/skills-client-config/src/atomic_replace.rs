//! Replaces a file only if it is unchanged since it was read.
//!
//! Clients write their files without a lock that this program could acquire. If the system can
//! exchange two files atomically (Linux and macOS, on most file systems), the exchanged file is
//! compared with the one that was read, and restored if it differs. Otherwise the file is compared
//! just before it is replaced, so a client that writes within these microseconds loses its change.
#![expect(
    clippy::disallowed_methods,
    reason = "a file of a client is not a file of a skill"
)]

use std::fs::{self, Metadata};
use std::io::{self, ErrorKind};
use std::path::Path;

use tempfile::{NamedTempFile, TempPath};

/// Maximum number of concurrent writes of a client while its file is restored.
const MAX_RESTORES: usize = 100;

/// The content of a file when it was read.
#[derive(Debug)]
pub(crate) struct Snapshot {
    /// Text and metadata; `None` if there was no file.
    pub(crate) content: Option<(String, Metadata)>,
}

impl Snapshot {
    pub(crate) fn text(&self) -> Option<&str> {
        self.content.as_ref().map(|(text, _)| text.as_str())
    }

    pub(crate) fn metadata(&self) -> Option<&Metadata> {
        self.content.as_ref().map(|(_, metadata)| metadata)
    }
}

/// The result of a replacement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Replacement {
    /// The file was replaced.
    Done,
    /// The file has changed since it was read, and was left alone.
    Changed,
}

/// Moves `new` to `path` if the file there is unchanged since `before`. Removes `new` in any case.
///
/// # Errors
/// Fails if a file cannot be moved; the file at `path` is then unchanged. If it could not be
/// restored, the error message has the path of its content.
pub(crate) fn replace(
    new: NamedTempFile,
    path: &Path,
    before: &Snapshot,
) -> io::Result<Replacement> {
    match before.metadata() {
        Some(metadata) => {
            let version = FileVersion::from_metadata(metadata);
            replace_existing(new.into_temp_path(), path, before, &version)
        }
        None => match new.persist_noclobber(path) {
            Ok(_) => Ok(Replacement::Done),
            Err(error) if error.error.kind() == ErrorKind::AlreadyExists => {
                Ok(Replacement::Changed)
            }
            Err(error) => Err(error.error),
        },
    }
}

fn replace_existing(
    new: TempPath,
    path: &Path,
    before: &Snapshot,
    version: &FileVersion,
) -> io::Result<Replacement> {
    // Before the exchange: afterwards a client may have replaced the file.
    let ours = FileVersion::from_path(&new)?;
    // Most conflicts are found here, without an exchange that a client could notice.
    if !is_unchanged(path, before, version)? {
        return Ok(Replacement::Changed);
    }
    match exchange(&new, path) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Replacement::Changed),
        Err(error) if error.kind() == ErrorKind::Unsupported => {
            // The file was compared just before. This system offers no exchange, so the rest of the
            // gap remains.
            new.persist(path)?;
            return Ok(Replacement::Done);
        }
        Err(error) => return Err(error),
    }
    // From here on `new` is the file that was at `path`.
    // A file that cannot be compared is treated as changed, and restored.
    if is_unchanged(&new, before, version).unwrap_or(false) {
        return Ok(Replacement::Done);
    }
    match restore_exchanged(&new, path, ours) {
        Ok(()) => Ok(Replacement::Changed),
        Err(error) => {
            let kept = new.keep()?;
            let message = format!(
                "cannot restore the version of another program: {error}; it is saved as `{}`",
                kept.display()
            );
            Err(io::Error::new(error.kind(), message))
        }
    }
}

/// Returns true if a file is the one that was read, with the same content.
fn is_unchanged(path: &Path, before: &Snapshot, version: &FileVersion) -> io::Result<bool> {
    match FileVersion::from_path(path) {
        // Timestamps are coarse, so the content is compared as well.
        Ok(now) if now == *version => {
            Ok(Some(fs::read(path)?.as_slice()) == before.text().map(str::as_bytes))
        }
        Ok(_) => Ok(false),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Exchanges `theirs`, which a client wrote, with the file at `path`, which should be `ours`. If it
/// is not, a client has replaced it again, and that file is restored as well.
fn restore_exchanged(theirs: &Path, path: &Path, ours: FileVersion) -> io::Result<()> {
    let mut last_put = ours;
    for _ in 0..MAX_RESTORES {
        let put = FileVersion::from_path(theirs)?;
        match exchange(theirs, path) {
            Ok(()) => {}
            // The file was removed. It is restored unless there is a new one, so that nothing is
            // lost.
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return restore_removed(theirs, path);
            }
            Err(error) => return Err(error),
        }
        // What came back is what was put there before, so nothing was written in between.
        if FileVersion::from_path(theirs)? == last_put {
            return Ok(());
        }
        last_put = put;
    }
    Err(io::Error::new(
        ErrorKind::ResourceBusy,
        format!("another program keeps writing `{}`", path.display()),
    ))
}

/// Links a file to a path where no file exists. It stays under both names; the caller removes the
/// old one.
fn restore_removed(theirs: &Path, path: &Path) -> io::Result<()> {
    match fs::hard_link(theirs, path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        linked => linked,
    }
}

/// Detects that a file was written or replaced. The change time (ctime) is not included, since
/// moving a file changes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileVersion {
    bytes: u64,
    modified: Option<std::time::SystemTime>,
    #[cfg(unix)]
    identity: [u64; 5],
}

impl FileVersion {
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

/// Exchanges two files atomically. Fails with [`ErrorKind::Unsupported`] if the system or the file
/// system does not support it.
#[cfg(any(target_os = "linux", target_os = "macos"))]
fn exchange(one: &Path, other: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    use rustix::io::Errno;
    renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).map_err(|errno| match errno {
        // File systems without this flag return EINVAL.
        Errno::INVAL | Errno::NOSYS | Errno::NOTSUP => ErrorKind::Unsupported.into(),
        errno if errno == Errno::OPNOTSUPP => ErrorKind::Unsupported.into(),
        errno => errno.into(),
    })
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
fn exchange(_one: &Path, _other: &Path) -> io::Result<()> {
    Err(ErrorKind::Unsupported.into())
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::config_file::ConfigFile;

    struct Fixture {
        directory: tempfile::TempDir,
    }

    impl Fixture {
        /// Creates a client's file with this text.
        fn new(text: Option<&str>) -> Self {
            let fixture = Self {
                directory: tempfile::tempdir().unwrap(),
            };
            text.into_iter()
                .for_each(|text| fs::write(fixture.path(), text).unwrap());
            fixture
        }

        fn path(&self) -> PathBuf {
            self.directory.path().join("file")
        }

        /// Creates a new file with our text.
        fn new_file(&self) -> NamedTempFile {
            let file = NamedTempFile::new_in(self.directory.path()).unwrap();
            fs::write(&file, "ours").unwrap();
            file
        }

        fn read(&self) -> Snapshot {
            ConfigFile::find(self.path(), None).unwrap().read().unwrap()
        }

        fn replace(&self, before: &Snapshot) -> Replacement {
            let new = self.new_file();
            replace(new, &self.path(), before).unwrap_or_else(|error| panic!("{error}"))
        }

        /// Returns the texts of the files that exist.
        fn texts(&self) -> Vec<String> {
            let files = fs::read_dir(self.directory.path()).unwrap();
            let texts = files.map(|file| fs::read_to_string(file.unwrap().path()).unwrap());
            texts.collect()
        }
    }

    #[test]
    fn only_an_unchanged_file_is_replaced() {
        for before in [Some("theirs"), None] {
            let fixture = Fixture::new(before);
            let read = fixture.read();
            assert_eq!(
                (fixture.replace(&read), fixture.texts()),
                (Replacement::Done, vec!["ours".to_owned()]),
                "{before:?}"
            );
            let fixture = Fixture::new(before);
            let read = fixture.read();
            fs::write(fixture.path(), "theirs, as it is now").unwrap();
            assert_eq!(
                (fixture.replace(&read), fixture.texts()),
                (
                    Replacement::Changed,
                    vec!["theirs, as it is now".to_owned()]
                ),
                "{before:?}"
            );
        }
        let fixture = Fixture::new(Some("theirs"));
        let read = fixture.read();
        fs::remove_file(fixture.path()).unwrap();
        assert_eq!(
            (fixture.replace(&read), fixture.texts()),
            (Replacement::Changed, Vec::new())
        );
    }

    /// Timestamps are coarse, and can be set.
    #[test]
    fn a_change_with_the_same_timestamp_is_detected() {
        let fixture = Fixture::new(Some("theirs"));
        let read = fixture.read();
        let mut file = fs::OpenOptions::new()
            .write(true)
            .open(fixture.path())
            .unwrap();
        io::Write::write_all(&mut file, b"others").unwrap();
        file.set_modified(read.metadata().unwrap().modified().unwrap())
            .unwrap();
        assert_eq!(
            (fixture.replace(&read), fixture.texts()),
            (Replacement::Changed, vec!["others".to_owned()])
        );
    }

    /// The exchanged file is restored, unless it has been replaced again since.
    #[cfg(any(target_os = "linux", target_os = "macos"))]
    #[test]
    fn the_latest_version_is_restored() {
        let restored = |meanwhile: &dyn Fn(&Fixture)| {
            let fixture = Fixture::new(Some("theirs"));
            let new = fixture.new_file();
            let ours = FileVersion::from_path(new.path()).unwrap();
            exchange(new.path(), &fixture.path()).unwrap();
            meanwhile(&fixture);
            restore_exchanged(new.path(), &fixture.path(), ours).unwrap();
            fs::read_to_string(fixture.path()).unwrap()
        };
        assert_eq!(restored(&|_| {}), "theirs");
        assert_eq!(
            restored(&|fixture| fs::write(fixture.path(), "newer").unwrap()),
            "newer",
            "written in place"
        );
        let replaced = |fixture: &Fixture| {
            fs::write(fixture.directory.path().join("newer"), "newer").unwrap();
            fs::rename(fixture.directory.path().join("newer"), fixture.path()).unwrap();
        };
        assert_eq!(restored(&replaced), "newer");
        assert_eq!(
            restored(&|fixture| fs::remove_file(fixture.path()).unwrap()),
            "theirs",
            "nothing is lost"
        );
    }
}
