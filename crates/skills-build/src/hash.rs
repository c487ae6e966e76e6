//! Hashes of sources and artifacts.

use sha2::{Digest, Sha256};

use crate::files::SourceFile;
use crate::language::Language;

/// Returns the SHA-256 of bytes in hexadecimal.
pub(crate) fn hash_bytes(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

/// Returns the hash of everything that an artifact is built from: the source, and the files that
/// this crate adds to it.
pub(crate) fn hash_source_files(files: &[SourceFile], language: Language) -> String {
    let mut hasher = Sha256::new();
    let generated = language
        .generated()
        .iter()
        .map(|(path, text)| (*path, text.as_bytes()));
    let own = files
        .iter()
        .map(|(path, content)| (path.as_str(), content.as_slice()));
    for (path, content) in own.chain(generated) {
        // The length keeps the end of one file apart from the start of the next.
        hasher.update(format!("{path}\0{}\0", content.len()));
        hasher.update(content);
    }
    hex::encode(hasher.finalize())
}
