//! Reads a module.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{Stat, Timespec, Timestamps, UTIME_NOW, UTIME_OMIT};

use super::directory::DirectoryEntry;
use super::error::{CodeCacheError, Rejection};
use super::key::{CacheKey, module_file_name};
use super::lookup::{Lookup, MAX_MODULE_BYTES};
use super::mac::{Header, MacKey};
use super::open_store::OpenStore;

/// Bytes read before they are hashed: few enough to still be in the CPU cache.
const CHUNK_BYTES: u64 = 256 << 10;
/// The age in seconds at which the time of last use is updated: a write for every load would cost
/// more than the precision is worth.
const USE_PRECISION_SECONDS: i64 = 3_600;

enum ReadFailure {
    Rejected(Rejection),
    Io(io::Error),
}

pub(super) fn load(opened: &OpenStore, key: &CacheKey) -> Result<Lookup, CodeCacheError> {
    let name = module_file_name(key);
    let found = match opened.directory.lookup(&name)? {
        DirectoryEntry::Missing => return Ok(Lookup::Miss),
        DirectoryEntry::Untrusted(fault) => Err(ReadFailure::Rejected(Rejection::Untrusted(fault))),
        DirectoryEntry::File { file, stat } => match opened.mac_key()? {
            Some(mac_key) => read(file, &stat, key, mac_key),
            // Without a key nothing of this user has authenticated the file.
            None => Err(ReadFailure::Rejected(Rejection::BadMac)),
        },
    };
    match found {
        Ok(payload) => Ok(Lookup::Hit(payload)),
        Err(ReadFailure::Io(error)) => Err(opened.directory.io_error("read", &name, error)),
        Err(ReadFailure::Rejected(rejection)) => {
            // A file that cannot be removed is rejected again later; a file that has just replaced
            // it is compiled again.
            let _left = opened.directory.remove(&name);
            Ok(Lookup::Rejected(rejection))
        }
    }
}

/// Reads everything from one descriptor, then verifies the bytes.
fn read(
    file: OwnedFd,
    stat: &Stat,
    key: &CacheKey,
    mac_key: &MacKey,
) -> Result<Vec<u8>, ReadFailure> {
    let mut file = File::from(file);
    let actual = u64::try_from(stat.st_size).unwrap_or_default();
    let limit = MAX_MODULE_BYTES + Header::BYTES as u64;
    // Checked before anything is read or allocated.
    if actual > limit {
        return Err(Rejection::TooLarge {
            bytes: actual,
            limit,
        }
        .into());
    }
    if actual < Header::BYTES as u64 {
        return Err(Rejection::LengthMismatch {
            expected: Header::BYTES as u64,
            actual,
        }
        .into());
    }
    let mut header = [0; Header::BYTES];
    file.read_exact(&mut header)?;
    let header = Header::from_bytes(header);
    if !header.has_magic() {
        return Err(Rejection::UnknownFormat.into());
    }
    let expected = header.payload_bytes().saturating_add(Header::BYTES as u64);
    if actual != expected {
        return Err(Rejection::LengthMismatch { expected, actual }.into());
    }
    // A valid file that was renamed would otherwise run as another component.
    if !header.matches_key(key) {
        return Err(Rejection::KeyMismatch.into());
    }
    let payload = read_verified(&mut file, &header, mac_key)?;
    update_last_use(&file, stat);
    Ok(payload)
}

/// Reads and hashes in chunks, into uninitialized memory: clearing and a second pass would take
/// half as long again for a large payload.
fn read_verified(
    file: &mut File,
    header: &Header,
    mac_key: &MacKey,
) -> Result<Vec<u8>, ReadFailure> {
    let length = usize::try_from(header.payload_bytes()).map_err(|_| Rejection::UnknownFormat)?;
    let mut payload = Vec::new();
    // Fails instead of aborting the host: the component can still be compiled.
    payload.try_reserve_exact(length).map_err(io::Error::from)?;
    let mut mac = mac_key.start_mac();
    while payload.len() < length {
        // Never more than the header declares, even if the file grows while it is read.
        let before = payload.len();
        if file
            .by_ref()
            .take(CHUNK_BYTES.min((length - before) as u64))
            .read_to_end(&mut payload)?
            == 0
        {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
        }
        mac = mac.update(&payload[before..]);
    }
    // Over the bytes in memory: exactly these are loaded.
    if header.verify_mac(&mac.finish(header)) {
        Ok(payload)
    } else {
        Err(Rejection::BadMac.into())
    }
}

/// Updates the last-use time; on failure the entry is only evicted earlier.
fn update_last_use(file: &File, stat: &Stat) {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |age| i64::try_from(age.as_secs()).unwrap_or(i64::MAX));
    #[expect(
        clippy::unnecessary_cast,
        reason = "the width of this field differs between systems"
    )]
    let age = now.saturating_sub(stat.st_mtime as i64);
    // An entry from the future, after the clock was set back, would never be evicted.
    if !(0..USE_PRECISION_SECONDS).contains(&age) {
        let time = |tv_nsec| Timespec { tv_sec: 0, tv_nsec };
        let _late = rustix::fs::futimens(
            file,
            &Timestamps {
                last_access: time(UTIME_OMIT),
                last_modification: time(UTIME_NOW),
            },
        );
    }
}

impl From<Rejection> for ReadFailure {
    fn from(rejection: Rejection) -> Self {
        Self::Rejected(rejection)
    }
}

impl From<io::Error> for ReadFailure {
    /// A file that was truncated while it was read is not what was stored.
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::UnexpectedEof {
            Self::Rejected(Rejection::BadMac)
        } else {
            Self::Io(error)
        }
    }
}
