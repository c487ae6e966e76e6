//! Stores approvals in a file.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use skills_library::PrivateFile;
use skills_policy::{Approval, ApprovalStore, BoxError};

/// Version of the file format; files of a newer version are not changed.
const VERSION: u32 = 1;

/// Stores approvals in one JSON file, readable and writable by its owner only.
///
/// Writes replace the whole file atomically under a lock, so several processes can share it. A file
/// that cannot be read approves nothing and is not overwritten. There is one approval per skill
/// directory.
///
/// ```
/// use skills_runtime::FileApprovalStore;
///
/// # let directory = tempfile::tempdir()?;
/// let store = FileApprovalStore::new(directory.path().join("approvals.json"));
/// assert!(store.all().unwrap().is_empty());
/// assert!(!store.revoke("/skills/greet".as_ref()).unwrap());
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct FileApprovalStore {
    file: PrivateFile,
}

#[derive(Serialize, Deserialize)]
struct ApprovalFile {
    version: u32,
    approvals: Vec<Approval>,
}

impl FileApprovalStore {
    /// Creates a store in this file. The file and its directory are created on the first write.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            file: PrivateFile::new(path),
        }
    }

    /// Lists all approvals, ordered by directory.
    ///
    /// # Errors
    /// Fails if the file cannot be read or was written by a newer version.
    pub fn all(&self) -> Result<Vec<Approval>, BoxError> {
        let path = self.file.path().display();
        let Some(text) = self
            .file
            .read()
            .map_err(|error| format!("{path}: {error}"))?
        else {
            return Ok(Vec::new());
        };
        let content: ApprovalFile =
            serde_json::from_str(&text).map_err(|error| format!("{path}: {error}"))?;
        // A newer version may restrict approvals in a way that this version does not know.
        if content.version > VERSION {
            return Err(format!(
                "{path}: version {} is newer than this program",
                content.version
            )
            .into());
        }
        Ok(content.approvals)
    }

    /// Removes the approval of a skill directory. Returns true if there was one.
    ///
    /// # Errors
    /// Same as [`all`](Self::all); also fails if the file cannot be written.
    pub fn revoke(&self, directory: &Path) -> Result<bool, BoxError> {
        // Held from reading to writing; an approval that another process saves in between would be
        // lost.
        let _lock = self.file.lock()?;
        let mut approvals = self.all()?;
        let before = approvals.len();
        approvals.retain(|approval| approval.directory != directory);
        if approvals.len() == before {
            return Ok(false);
        }
        self.write(approvals)?;
        Ok(true)
    }

    fn write(&self, mut approvals: Vec<Approval>) -> Result<(), BoxError> {
        // Sorted, so that the same approvals are the same bytes in whatever order they were saved.
        approvals.sort_by(|a, b| a.directory.cmp(&b.directory));
        let text = serde_json::to_string_pretty(&ApprovalFile {
            version: VERSION,
            approvals,
        })?;
        Ok(self.file.replace(&text)?)
    }
}

impl ApprovalStore for FileApprovalStore {
    fn load(&self, directory: &Path) -> Result<Option<Approval>, BoxError> {
        // By directory, not by name, which a skill gives itself.
        Ok(self
            .all()?
            .into_iter()
            .find(|approval| approval.directory == directory))
    }

    fn save(&self, approval: &Approval) -> Result<(), BoxError> {
        let _lock = self.file.lock()?;
        let mut approvals = self.all()?;
        approvals.retain(|other| other.directory != approval.directory);
        approvals.push(approval.clone());
        self.write(approvals)
    }
}
