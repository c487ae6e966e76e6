//! Approvals in a file.
#![expect(clippy::disallowed_methods, reason = "the file is the host's own, not a skill's")]

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use skills_policy::{Approval, ApprovalStore, AskError};

/// The version of the file that is written; a newer one is not touched.
const VERSION: u32 = 1;

/// Approvals in one JSON file, which only its owner may read or write.
///
/// It is replaced as a whole, and several processes may do so. A file that cannot be read approves nothing and is not overwritten.
#[derive(Debug, Clone)]
pub struct FileApprovals {
    path: PathBuf,
}

#[derive(Serialize, Deserialize)]
struct Content {
    version: u32,
    approvals: Vec<Approval>,
}

impl FileApprovals {
    /// Keeps approvals in this file; it and its directory are made when there is something to keep.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Lists all approvals, ordered by directory.
    ///
    /// # Errors
    /// When the file cannot be read or was written by a newer version.
    pub fn all(&self) -> Result<Vec<Approval>, AskError> {
        let text = match fs::read_to_string(&self.path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(format!("{}: {error}", self.path.display()).into()),
        };
        let content: Content = serde_json::from_str(&text).map_err(|error| format!("{}: {error}", self.path.display()))?;
        if content.version > VERSION {
            return Err(format!("{}: version {} is newer than this program", self.path.display(), content.version).into());
        }
        Ok(content.approvals)
    }

    /// Forgets what was approved for a directory; says whether there was anything.
    ///
    /// # Errors
    /// As [`all`](Self::all), and when the file cannot be written.
    pub fn revoke(&self, directory: &Path) -> Result<bool, AskError> {
        let _lock = self.lock()?;
        let mut approvals = self.all()?;
        let before = approvals.len();
        approvals.retain(|approval| approval.directory != directory);
        if approvals.len() == before {
            return Ok(false);
        }
        self.write(approvals)?;
        Ok(true)
    }

    fn write(&self, mut approvals: Vec<Approval>) -> Result<(), AskError> {
        approvals.sort_by(|a, b| a.directory.cmp(&b.directory));
        let text = serde_json::to_string_pretty(&Content { version: VERSION, approvals })?;
        let new = self.beside("new");
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true);
        owner_only(&mut options);
        let mut file = options.open(&new)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        Ok(fs::rename(new, &self.path)?)
    }

    /// Waits for its turn among all writers; the lock goes with the file.
    fn lock(&self) -> Result<File, AskError> {
        if let Some(parent) = self.path.parent() {
            make_private(parent)?;
        }
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).write(true);
        owner_only(&mut options);
        let file = options.open(self.beside("lock"))?;
        file.lock()?;
        Ok(file)
    }

    fn beside(&self, ending: &str) -> PathBuf {
        let mut name = OsString::from(&self.path);
        name.push(".");
        name.push(ending);
        PathBuf::from(name)
    }
}

impl ApprovalStore for FileApprovals {
    fn load(&self, directory: &Path) -> Result<Option<Approval>, AskError> {
        Ok(self.all()?.into_iter().find(|approval| approval.directory == directory))
    }

    fn save(&self, approval: &Approval) -> Result<(), AskError> {
        let _lock = self.lock()?;
        let mut approvals = self.all()?;
        approvals.retain(|known| known.directory != approval.directory);
        approvals.push(approval.clone());
        self.write(approvals)
    }
}

#[cfg(unix)]
fn make_private(directory: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)
}

#[cfg(not(unix))]
fn make_private(directory: &Path) -> io::Result<()> {
    fs::create_dir_all(directory)
}

#[cfg(unix)]
fn owner_only(options: &mut OpenOptions) {
    use std::os::unix::fs::OpenOptionsExt;
    options.mode(0o600);
}

#[cfg(not(unix))]
fn owner_only(_options: &mut OpenOptions) {}
