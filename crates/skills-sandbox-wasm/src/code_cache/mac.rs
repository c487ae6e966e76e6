//! The per-user key and the MAC.

use std::fmt;
use std::fs::File;
use std::io::{Read, Write};

use rustix::fs::AtFlags;
use rustix::io::Errno;

use super::directory::{Directory, DirectoryEntry};
use super::error::{CodeCacheError, Repr, TrustFault};
use super::key::CacheKey;
use super::temp_file::TempFile;

/// The name of the file with the user's key.
pub(super) const MAC_KEY_FILE: &str = "mac.key";
const MAC_KEY_BYTES: usize = 32;
/// Ends with the format version.
const MAGIC: &[u8; 8] = b"skart\0\0\x01";

/// The user's key.
pub(super) struct MacKey([u8; MAC_KEY_BYTES]);

/// The header before the payload of a file: magic number, length of the payload, key of the module,
/// then the MAC over all of it.
pub(super) struct Header([u8; Header::BYTES]);

/// A MAC that is computed in pieces while a payload is read.
pub(super) struct MacState(blake3::Hasher);

impl MacKey {
    /// Reads the user's key; `None` if there is none yet.
    pub(super) fn read(directory: &Directory) -> Result<Option<Self>, CodeCacheError> {
        let (file, stat) = match directory.lookup(MAC_KEY_FILE)? {
            DirectoryEntry::Missing => return Ok(None),
            DirectoryEntry::Untrusted(fault) => {
                return Err(directory.untrusted(MAC_KEY_FILE, fault));
            }
            DirectoryEntry::File { file, stat } => (file, stat),
        };
        let bytes = u64::try_from(stat.st_size).unwrap_or_default();
        if bytes != MAC_KEY_BYTES as u64 {
            return Err(directory.untrusted(MAC_KEY_FILE, TrustFault::KeyLength { bytes }));
        }
        let mut key = [0; MAC_KEY_BYTES];
        File::from(file)
            .read_exact(&mut key)
            .map_err(|error| directory.io_error("read", MAC_KEY_FILE, error))?;
        Ok(Some(Self(key)))
    }

    /// Reads the user's key, creating it if there is none.
    pub(super) fn create(directory: &Directory) -> Result<Self, CodeCacheError> {
        if let Some(mac_key) = Self::read(directory)? {
            return Ok(mac_key);
        }
        let mut key = [0; MAC_KEY_BYTES];
        getrandom::fill(&mut key).map_err(|_| Repr::Random)?;
        // Written under another name first, so that no process reads a part of the key.
        let temporary = TempFile::new(directory)?;
        temporary.write(|mut file| file.write_all(&key))?;
        // Unlike renaming, linking never replaces a key that another process has just created.
        match rustix::fs::linkat(
            directory.handle(),
            temporary.name(),
            directory.handle(),
            MAC_KEY_FILE,
            AtFlags::empty(),
        ) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(directory.io_error("create", MAC_KEY_FILE, errno)),
        }
        directory.sync()?;
        // If several processes create a key at once, the first one wins, and all use its key.
        Self::read(directory)?.ok_or_else(|| directory.io_error("open", MAC_KEY_FILE, Errno::NOENT))
    }

    pub(super) fn start_mac(&self) -> MacState {
        MacState(blake3::Hasher::new_keyed(&self.0))
    }
}

/// `Debug` does not show the key.
impl fmt::Debug for MacKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MacKey")
    }
}

impl Header {
    pub(super) const BYTES: usize = 80;
    const LENGTH: usize = 8;
    const KEY: usize = 16;
    const MAC: usize = 48;

    pub(super) fn new(key: &CacheKey, payload: &[u8], mac_key: &MacKey) -> Self {
        let mut header = [0; Self::BYTES];
        header[..Self::LENGTH].copy_from_slice(MAGIC);
        header[Self::LENGTH..Self::KEY].copy_from_slice(&(payload.len() as u64).to_le_bytes());
        header[Self::KEY..Self::MAC].copy_from_slice(key.as_bytes());
        let mut header = Self(header);
        let mac = mac_key.start_mac().update(payload).finish(&header);
        header.0[Self::MAC..].copy_from_slice(mac.as_bytes());
        header
    }

    pub(super) fn from_bytes(bytes: [u8; Self::BYTES]) -> Self {
        Self(bytes)
    }

    pub(super) fn as_bytes(&self) -> &[u8; Self::BYTES] {
        &self.0
    }

    pub(super) fn has_magic(&self) -> bool {
        self.0.starts_with(MAGIC)
    }

    pub(super) fn payload_bytes(&self) -> u64 {
        let mut length = [0; 8];
        length.copy_from_slice(&self.0[Self::LENGTH..Self::KEY]);
        u64::from_le_bytes(length)
    }

    pub(super) fn matches_key(&self, key: &CacheKey) -> bool {
        &self.0[Self::KEY..Self::MAC] == key.as_bytes()
    }

    /// Compares in constant time, as `blake3` compares its hashes.
    pub(super) fn verify_mac(&self, expected: &blake3::Hash) -> bool {
        let mut mac = [0; 32];
        mac.copy_from_slice(&self.0[Self::MAC..]);
        *expected == blake3::Hash::from_bytes(mac)
    }
}

impl MacState {
    pub(super) fn update(mut self, piece: &[u8]) -> Self {
        self.0.update(piece);
        self
    }

    /// The header is hashed last: its length is fixed, so the input is unambiguous, and the payload
    /// is hashed in whole blocks.
    pub(super) fn finish(mut self, header: &Header) -> blake3::Hash {
        self.0.update(&header.0[..Header::MAC]);
        self.0.finalize()
    }
}
