//! Reads a zip.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};

use zip::read::ZipFile;
use zip::{System, ZipArchive};

use super::{Allowance, ArchiveEntry, Budget, Content, archive_error, entry_path, link_target};
use crate::error::{InstallError, Refusal};

/// The bits of a mode that tell the type of a file, and the types.
const TYPE_MASK: u32 = 0o170_000;
const TYPE_FILE: u32 = 0o100_000;
const TYPE_DIRECTORY: u32 = 0o040_000;
const TYPE_LINK: u32 = 0o120_000;

pub(super) fn read(
    file: &File,
    mut allowance: Allowance,
    visit: &mut dyn FnMut(ArchiveEntry<'_>) -> Result<(), InstallError>,
) -> Result<(), InstallError> {
    let mut archive =
        ZipArchive::new(BufReader::new(file)).map_err(|error| archive_error(error.into()))?;
    // Other programs read the first one, or the header before its content.
    if archive.has_duplicate_names() {
        return Err(InstallError::refused(".", Refusal::SameNames));
    }
    for index in 0..archive.len() {
        let entry = archive
            .by_index_raw(index)
            .map_err(|error| archive_error(error.into()))?;
        let Some(path) = entry_path(&with_slashes(&entry))? else {
            continue;
        };
        if entry.encrypted() {
            return Err(InstallError::refused(path.as_str(), Refusal::Encrypted));
        }
        let (mode, is_directory) = (entry.unix_mode().unwrap_or_default(), entry.is_dir());
        let (header, name) = (entry.header_start(), entry.name_raw().to_owned());
        drop(entry);
        if local_name(file, header, name.len()).map_err(archive_error)? != name {
            return Err(InstallError::refused(path.as_str(), Refusal::TwoNames));
        }
        let entry = archive
            .by_index(index)
            .map_err(|error| archive_error(error.into()))?;
        // The sizes of the directory may lie, so what is read counts.
        let mut reader = Budget {
            inner: entry,
            allowance,
        };
        let content = match mode & TYPE_MASK {
            TYPE_LINK => Content::Link(link_target(&path, &mut reader)?),
            TYPE_DIRECTORY => Content::Directory,
            0 if is_directory => Content::Directory,
            0 | TYPE_FILE if !is_directory => Content::File {
                is_executable: mode & 0o111 != 0,
                reader: &mut reader,
            },
            _ => return Err(InstallError::refused(path.as_str(), Refusal::Special)),
        };
        visit(ArchiveEntry { path, content })?;
        io::copy(&mut reader, &mut io::sink()).map_err(archive_error)?;
        allowance = reader.allowance;
    }
    Ok(())
}

/// Returns the name of an entry. Older tools of Windows wrote `\` as the separator; as other programs
/// do, it is read as one if the archive says that it is of such a system and the name has no `/`.
fn with_slashes<'a, R: Read>(entry: &'a ZipFile<'_, R>) -> Cow<'a, [u8]> {
    let name = entry.name_raw();
    // In other encodings `\` can be a part of a letter.
    let is_of_windows = entry.system() == System::Dos && std::str::from_utf8(name).is_ok();
    if !is_of_windows || !name.contains(&b'\\') || name.contains(&b'/') {
        return Cow::Borrowed(name);
    }
    let bytes = name.iter().copied();
    Cow::Owned(bytes.map(|b| if b == b'\\' { b'/' } else { b }).collect())
}

/// Returns the name in the header before the content of an entry, of which at most one more byte than
/// `length` is read.
fn local_name(mut file: &File, header: u64, length: usize) -> io::Result<Vec<u8>> {
    /// The offset of the length of the name in the header, and the size of the header.
    const LENGTH_OFFSET: usize = 26;
    const HEADER_BYTES: usize = 30;
    let position = file.stream_position()?;
    file.seek(SeekFrom::Start(header))?;
    let mut fields = [0; HEADER_BYTES];
    file.read_exact(&mut fields)?;
    let named = u16::from_le_bytes([fields[LENGTH_OFFSET], fields[LENGTH_OFFSET + 1]]);
    let mut name = vec![0; usize::from(named).min(length + 1)];
    file.read_exact(&mut name)?;
    file.seek(SeekFrom::Start(position))?;
    Ok(name)
}
