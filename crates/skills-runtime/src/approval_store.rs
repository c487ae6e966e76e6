//! Approvals in a file.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use skills_policy::{Approval, ApprovalStore, BoxError};

use crate::PrivateFile;

/// The version of the file that is written; a newer one is not touched.
const VERSION: u32 = 1;

/// Approvals in one JSON file, which only its owner may read or write.
///
/// It is replaced as a whole, and several processes may do so. A file that cannot be read approves
/// nothing and is not overwritten.
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
    /// Keeps approvals in this file; it and its directory are made when there is something to keep.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            file: PrivateFile::new(path),
        }
    }

    /// Lists all approvals, ordered by directory.
    ///
    /// # Errors
    /// When the file cannot be read or was written by a newer version.
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
        if content.version > VERSION {
            return Err(format!(
                "{path}: version {} is newer than this program",
                content.version
            )
            .into());
        }
        Ok(content.approvals)
    }

    /// Forgets what was approved for a directory; says whether there was anything.
    ///
    /// # Errors
    /// As [`all`](Self::visit_files), and when the file cannot be written.
    pub fn revoke(&self, directory: &Path) -> Result<bool, BoxError> {
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
        Ok(self
            .all()?
            .into_iter()
            .find(|approval| approval.directory == directory))
    }

    fn save(&self, approval: &Approval) -> Result<(), BoxError> {
        let _lock = self.file.lock()?;
        let mut approvals = self.all()?;
        approvals.retain(|known| known.directory != approval.directory);
        approvals.push(approval.clone());
        self.write(approvals)
    }
}
