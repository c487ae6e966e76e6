//! Reads a tar.

use std::io::Read;

use tar::EntryType;

use super::{Allowance, ArchiveEntry, Budget, Content, archive_error, entry_path};
use crate::error::{InstallError, Refusal};

pub(super) fn read(
    reader: impl Read,
    budget: Allowance,
    visit: &mut dyn FnMut(ArchiveEntry<'_>) -> Result<(), InstallError>,
) -> Result<(), InstallError> {
    let mut archive = tar::Archive::new(Budget {
        inner: reader,
        allowance: budget,
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
        // A few bytes of it are any number of zeros.
        if kind == EntryType::GNUSparse || is_pax_sparse(&mut entry)? {
            return Err(InstallError::refused(path.as_str(), Refusal::Sparse));
        }
        let mode = entry.header().mode().map_err(archive_error)?;
        let content = match kind {
            EntryType::Regular | EntryType::Continuous => Content::File {
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

fn is_pax_sparse(entry: &mut tar::Entry<'_, impl Read>) -> Result<bool, InstallError> {
    let Some(fields) = entry.pax_extensions().map_err(archive_error)? else {
        return Ok(false);
    };
    let mut keys = fields.flatten();
    Ok(keys.any(|field| field.key_bytes().starts_with(b"GNU.sparse.")))
}
