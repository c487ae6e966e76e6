//! Keys of cached modules.

use std::fmt;

/// Changes with the format of the files, so that older versions are not found.
const HASH_CONTEXT: &str = "skills-sandbox-wasm 2026-11 key of a compiled component, form 1";

/// Identifies a module by everything that the compiled code depends on: if any part differs, the
/// key differs.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct CacheKey([u8; 32]);

impl CacheKey {
    /// Returns the hash of WebAssembly, from which keys are derived.
    pub(crate) fn content_hash(content: &[u8]) -> [u8; 32] {
        *blake3::hash(content).as_bytes()
    }

    /// Creates the key for the [`content_hash`](Self::content_hash) of a component or module and, in
    /// fixed order, everything else that determines the compiled code: compatibility hash of the
    /// engine, version of this crate, and for a module the adapter and the version of its encoder.
    pub(crate) fn new(content: &[u8; 32], parts: &[&[u8]]) -> Self {
        // The context separates these keys from all other hashes of the same bytes.
        let mut hasher = blake3::Hasher::new_derive_key(HASH_CONTEXT);
        hasher.update(content);
        for part in parts {
            // Length-prefixed, so that two different lists of parts never have the same encoding.
            hasher
                .update(&(part.len() as u64).to_le_bytes())
                .update(part);
        }
        Self(*hasher.finalize().as_bytes())
    }

    pub(super) fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

/// 64 hexadecimal digits: the file name without its extension.
impl fmt::Display for CacheKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&blake3::Hash::from_bytes(self.0).to_hex())
    }
}

impl fmt::Debug for CacheKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({self})")
    }
}

#[cfg(unix)]
pub(super) const MODULE_SUFFIX: &str = ".artifact";
#[cfg(unix)]
pub(super) const LOCK_SUFFIX: &str = ".lock";
#[cfg(unix)]
pub(super) const TEMPORARY_SUFFIX: &str = ".part";

#[cfg(unix)]
pub(super) fn module_file_name(key: &CacheKey) -> String {
    format!("{key}{MODULE_SUFFIX}")
}

#[cfg(unix)]
pub(super) fn lock_file_name(key: &CacheKey) -> String {
    format!("{key}{LOCK_SUFFIX}")
}
