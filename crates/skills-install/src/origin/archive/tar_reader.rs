//! Reads a tar.

use std::io::Read;

use tar::EntryType;

use super::{ArchiveEntry, Budget, Content, archive_error, entry_path};
use crate::error::{InstallError, Refusal};

pub(super) fn read(
    reader: impl Read,
    budget: u64,
    visit: &mut dyn FnMut(ArchiveEntry<'_>) -> Result<(), InstallError>,
) -> Result<(), InstallError> {
    let mut archive = tar::Archive::new(Budget {
        inner: reader,
        left: budget,
    });
    for entry in archive.entries().map_err(archive_error)? {
        let mut entry = entry.map_err(archive_error)?;
        let kind = entry.header().entry_type();
        // Metadata of the archive, which git writes with the commit.
        if kind == EntryType::XGlobalHeader {
            continue;
        }
        let Some(path) = entry_path(&entry.path_bytes())? else {
            continue;
        };
        let mode = entry.header().mode().map_err(archive_error)?;
        let content = match kind {
            EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse => Content::File {
                is_executable: mode & 0o111 != 0,
                reader: &mut entry,
            },
            EntryType::Directory => Content::Directory,
            EntryType::Symlink => {
                let target = entry.link_name_bytes().unwrap_or_default();
                match String::from_utf8(target.into_owned()) {
                    Ok(target) => Content::Link(target),
                    Err(_) => {
                        let refusal = Refusal::LinkOut("?".to_owned());
                        return Err(InstallError::refused(path.as_str(), refusal));
                    }
                }
            }
            EntryType::Link => {
                return Err(InstallError::refused(path.as_str(), Refusal::HardLink));
            }
            _ => return Err(InstallError::refused(path.as_str(), Refusal::Special)),
        };
        visit(ArchiveEntry { path, content })?;
    }
    // To the end, where gzip has its checksum.
    std::io::copy(&mut archive.into_inner(), &mut std::io::sink()).map_err(archive_error)?;
    Ok(())
}
