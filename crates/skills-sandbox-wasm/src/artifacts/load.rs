//! Reading an artifact.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{Stat, Timespec, Timestamps, UTIME_NOW, UTIME_OMIT};

use super::directory::Found;
use super::disk::Opened;
use super::error::{CacheError, Rejection};
use super::key::Key;
use super::seal::{Header, Seal};
use super::sweep::artifact_name;
use super::{Loaded, MAX_ARTIFACT_BYTES};

/// How much is read before it is hashed: little enough to be in the processor's cache still.
const PIECE_BYTES: u64 = 256 << 10;
/// How old the time of last use becomes before it is set again, in seconds: a write to the disk for
/// every load would cost more than it tells.
const USE_PRECISION_SECONDS: i64 = 3_600;

enum Failure {
    Rejected(Rejection),
    Io(io::Error),
}

pub(super) fn load(opened: &Opened, key: &Key) -> Result<Loaded, CacheError> {
    let name = artifact_name(key);
    let found = match opened.directory.find(&name)? {
        Found::Missing => return Ok(Loaded::Miss),
        Found::Faulty(fault) => Err(Failure::Rejected(Rejection::Fault(fault))),
        Found::File { file, stat } => match opened.seal()? {
            Some(seal) => read(file, &stat, key, seal),
            None => Err(Failure::Rejected(Rejection::Seal)),
        },
    };
    match found {
        Ok(payload) => Ok(Loaded::Hit(payload)),
        Err(Failure::Io(error)) => Err(opened.directory.failed("read", &name, error)),
        Err(Failure::Rejected(rejection)) => {
            // Where it cannot be removed it will be rejected again; a file that was put in its
            // place this moment is compiled once more.
            let _left = opened.directory.remove(&name);
            Ok(Loaded::Rejected(rejection))
        }
    }
}

/// Reads everything from one descriptor, then verifies what was read.
fn read(file: OwnedFd, stat: &Stat, key: &Key, seal: &Seal) -> Result<Vec<u8>, Failure> {
    let mut file = File::from(file);
    let actual = u64::try_from(stat.st_size).unwrap_or_default();
    let limit = MAX_ARTIFACT_BYTES + Header::BYTES as u64;
    if actual > limit {
        return Err(Rejection::TooLarge {
            bytes: actual,
            limit,
        }
        .into());
    }
    if actual < Header::BYTES as u64 {
        return Err(Rejection::Length {
            expected: Header::BYTES as u64,
            actual,
        }
        .into());
    }
    let mut header = [0; Header::BYTES];
    file.read_exact(&mut header)?;
    let header = Header::from_bytes(header);
    if !header.has_magic() {
        return Err(Rejection::Form.into());
    }
    let expected = header.payload_bytes().saturating_add(Header::BYTES as u64);
    if actual != expected {
        return Err(Rejection::Length { expected, actual }.into());
    }
    if !header.is_for(key) {
        return Err(Rejection::OtherKey.into());
    }
    let payload = verified(&mut file, &header, seal)?;
    touch(&file, stat);
    Ok(payload)
}

/// Reads and hashes in turns, into memory that nobody cleared before: two more passes over a large
/// payload would take half as long again.
fn verified(file: &mut File, header: &Header, seal: &Seal) -> Result<Vec<u8>, Failure> {
    let length = usize::try_from(header.payload_bytes()).map_err(|_| Rejection::Form)?;
    let mut payload = Vec::new();
    payload.try_reserve_exact(length).map_err(io::Error::from)?;
    let mut sealing = seal.begin();
    while payload.len() < length {
        let before = payload.len();
        if file
            .by_ref()
            .take(PIECE_BYTES.min((length - before) as u64))
            .read_to_end(&mut payload)?
            == 0
        {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
        }
        sealing = sealing.update(&payload[before..]);
    }
    if header.bears(&sealing.finish(header)) {
        Ok(payload)
    } else {
        Err(Rejection::Seal.into())
    }
}

/// Notes that the artifact was used. What cannot be noted makes it leave the cache earlier, no
/// more.
fn touch(file: &File, stat: &Stat) {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |age| i64::try_from(age.as_secs()).unwrap_or(i64::MAX));
    #[expect(
        clippy::unnecessary_cast,
        reason = "the width of this field differs from system to system"
    )]
    let age = now.saturating_sub(stat.st_mtime as i64);
    // One from the future, after the clock was set back, would never leave the cache.
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

impl From<Rejection> for Failure {
    fn from(rejection: Rejection) -> Self {
        Self::Rejected(rejection)
    }
}

impl From<io::Error> for Failure {
    /// A file that became shorter while it was read is not what was stored.
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::UnexpectedEof {
            Self::Rejected(Rejection::Seal)
        } else {
            Self::Io(error)
        }
    }
}
