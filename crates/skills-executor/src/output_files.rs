//! The files that a run leaves in its workspace.

use serde::Serialize;

/// Files that a program created or changed in its workspace.
///
/// Limits: 1,000 files, of which changed ones are kept before created ones. In a private workspace
/// and in that of a session also 20,000 visited entries, 16 levels of directories and 32 MiB of
/// content, and so in each workspace if the backend does not [report
/// changes](skills_sandbox::Sandbox::reports_changes). One that does has its own limits: 200,000
/// entries in new directories, and 64 levels of them. Entries beyond a limit are described in
/// `omitted`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct OutputFiles {
    /// Regular files that were created or changed, ordered by path.
    pub files: Vec<OutputFile>,
    /// The number of files that were found to be created or changed, also of those beyond the limit.
    #[serde(skip)]
    pub found: u64,
    /// Omitted entries with the reason, one phrase each: symlinks and special files, names that are
    /// not UTF-8, and entries beyond a limit.
    pub omitted: Vec<String>,
    /// Whether regular files may be missing, since a limit was reached or a directory could not be
    /// listed.
    #[serde(skip)]
    pub is_truncated: bool,
    /// Whether files or directories were removed, or other entries were created or changed.
    #[serde(skip)]
    pub has_other_changes: bool,
}

/// File that a program created or changed.
///
/// Only regular files are listed; symlinks and special files are in
/// [`omitted`](OutputFiles::omitted). A file that was written with the same content counts as
/// changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct OutputFile {
    /// Path relative to the workspace, with `/` as separator.
    pub path: String,
    /// Size in bytes.
    pub bytes: u64,
    /// Whether the file is new.
    pub is_created: bool,
    /// Content of the file, only for a private workspace, which is removed after the run.
    #[serde(skip)]
    pub content: Option<Vec<u8>>,
    /// Why a file of a private workspace has no content.
    #[serde(skip)]
    pub content_error: Option<String>,
}
