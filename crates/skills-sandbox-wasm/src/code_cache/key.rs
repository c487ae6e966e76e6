//! What an artifact is for.

use std::fmt;

/// Changes with the form of the files, so that those of older versions are not found.
const HASH_CONTEXT: &str = "skills-sandbox-wasm 2026-11 key of a compiled component, form 1";

/// Names an artifact by everything that the compiled code depends on: another part, another key.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct CacheKey([u8; 32]);

impl CacheKey {
    /// Returns the hash of a component, of which keys for it are made.
    pub(crate) fn content_hash(content: &[u8]) -> [u8; 32] {
        *blake3::hash(content).as_bytes()
    }

    /// Makes the key for a component's [`content_hash`](Self::content_hash) and, in fixed order,
    /// whatever else decides what the compiler makes of it: compatibility hash of the engine,
    /// versions of engine and adapter.
    pub(crate) fn new(content: &[u8; 32], parts: &[&[u8]]) -> Self {
        let mut hasher = blake3::Hasher::new_derive_key(HASH_CONTEXT);
        hasher.update(content);
        for part in parts {
            // With their lengths, so that no two lists of parts read the same.
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

/// 64 hexadecimal digits: the name of the file, without its ending.
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
