//! Files that save time for the next process.

use crate::private_file::PrivateFile;

/// Writes a file for the next process. It only saves time, so a failure is ignored.
pub(crate) fn store(file: &PrivateFile, bytes: &[u8]) {
    // The lock creates the directory. Another process that holds it writes the same.
    if let Ok(_lock) = file.lock_with_timeout(std::time::Duration::ZERO) {
        let _ = file.replace_bytes(bytes);
    }
}
