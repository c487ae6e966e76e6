//! The files of one skill directory, as far as a lock file and a difference need them.

use std::collections::BTreeMap;

use cap_std::fs::Dir;
use skills_discovery::{DigestedContent, DiscoveryError, SkillFiles, is_generated};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileFacts {
    pub(crate) bytes: u64,
    pub(crate) is_executable: bool,
    pub(crate) is_link: bool,
}

/// Returns the files of content that was read.
pub(crate) fn of_content(content: &DigestedContent) -> BTreeMap<String, FileFacts> {
    let files = content.files.iter().map(|file| {
        let facts = FileFacts {
            bytes: file.bytes,
            is_executable: file.is_executable,
            is_link: file.is_link,
        };
        (file.path.clone(), facts)
    });
    files.collect()
}

/// Returns all files and symlinks of the content by path, hidden ones included, with `/` as
/// separator.
pub(crate) fn files(skill: &SkillFiles) -> Result<BTreeMap<String, FileFacts>, DiscoveryError> {
    let mut files = BTreeMap::new();
    collect(skill.directory(), "", &mut files)?;
    Ok(files)
}

fn collect(
    directory: &Dir,
    below: &str,
    files: &mut BTreeMap<String, FileFacts>,
) -> Result<(), DiscoveryError> {
    for entry in directory.entries()? {
        let entry = entry?;
        let path = format!("{below}{}", entry.file_name().to_string_lossy());
        let metadata = entry.metadata()?;
        // As in content digests, which cover them on other systems.
        if cfg!(unix) && is_generated(below.as_ref(), &entry.file_name(), metadata.file_type()) {
            continue;
        }
        if metadata.is_dir() {
            collect(&entry.open_dir()?, &format!("{path}/"), files)?;
        } else {
            let facts = FileFacts {
                bytes: metadata.len(),
                is_executable: metadata.is_file() && is_executable(&metadata),
                is_link: metadata.is_symlink(),
            };
            files.insert(path, facts);
        }
    }
    Ok(())
}

#[cfg(unix)]
pub(crate) fn is_executable(metadata: &cap_std::fs::Metadata) -> bool {
    use cap_std::fs::PermissionsExt;
    metadata.permissions().mode() & 0o111 != 0
}

#[cfg(not(unix))]
pub(crate) fn is_executable(_metadata: &cap_std::fs::Metadata) -> bool {
    false
}
