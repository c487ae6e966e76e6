//! Writes a module atomically.

use std::io::Write;

use super::error::CodeCacheError;
use super::key::{CacheKey, module_file_name};
use super::mac::Header;
use super::open_store::OpenStore;
use super::temp_file::TempFile;

pub(super) fn store(
    opened: &OpenStore,
    key: &CacheKey,
    compiled: &[u8],
) -> Result<(), CodeCacheError> {
    let directory = &opened.directory;
    let header = Header::new(key, compiled, opened.create_mac_key()?);
    // Renaming is atomic: a reader finds the old module, the new one or none, but never a part.
    let temporary = TempFile::new(directory)?;
    temporary.write(|mut file| {
        file.write_all(header.as_bytes())?;
        file.write_all(compiled)
    })?;
    temporary.rename(&module_file_name(key))?;
    directory.sync()
}
