//! Protection against replays of request state.
#![expect(
    clippy::disallowed_methods,
    reason = "the files belong to the server, not to a skill"
)]

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::{Duration, Instant, SystemTime};

use skills_store::create_private_dir;
use skills_threads::lock;

/// Maximum number of nonces per principal within their lifetime. Beyond that, requests of this
/// principal are rejected, those of others are not.
const MAX_NONCES_PER_PRINCIPAL: usize = 10_000;

/// Records the nonces of request state, so that each can be used only once.
///
/// Implement it to share the cache between processes that answer for each other. Entries may be
/// removed after their lifetime, since the state has expired by then. Calls may block.
///
/// ```
/// use std::time::Duration;
///
/// use skills_mcp::{MemoryReplayCache, ReplayCache};
///
/// let cache = MemoryReplayCache::default();
/// let nonce = "0123456789abcdef0123456789abcdef";
/// assert!(cache.use_once("alice", nonce, Duration::from_secs(300))?);
/// assert!(!cache.use_once("alice", nonce, Duration::from_secs(300))?);
/// # Ok::<(), std::io::Error>(())
/// ```
pub trait ReplayCache: Send + Sync {
    /// Records the use of a nonce. Returns `false` if it was used before. A nonce is a unique
    /// string of 32 hexadecimal digits.
    ///
    /// # Errors
    /// Fails if the use cannot be recorded; the caller then treats the nonce as used.
    fn use_once(&self, principal: &str, nonce: &str, lifetime: Duration) -> io::Result<bool>;
}

/// Replay cache in memory, for a server that is a single process.
///
/// At most 10,000 nonces per principal are held at a time; beyond that, further requests of that
/// principal with request state are rejected.
#[derive(Debug, Default)]
pub struct MemoryReplayCache(Mutex<HashMap<String, HashMap<String, Instant>>>);

/// Replay cache of empty files in a directory, which several processes can share.
///
/// A nonce is used by creating its file exclusively, which is atomic on local and most network file
/// systems. Expired files are removed at most once per lifetime.
#[derive(Debug)]
pub struct DirectoryReplayCache {
    directory: PathBuf,
    /// Time of the last cleanup.
    last_cleanup: Mutex<Option<Instant>>,
}

impl ReplayCache for MemoryReplayCache {
    fn use_once(&self, principal: &str, nonce: &str, lifetime: Duration) -> io::Result<bool> {
        let now = Instant::now();
        let mut principals = lock(&self.0);
        let expiries = principals.entry(principal.to_owned()).or_default();
        if expiries.len() >= MAX_NONCES_PER_PRINCIPAL {
            expiries.retain(|_, expiry| *expiry > now);
        }
        // Evicting an unexpired nonce would allow its replay, so new ones are rejected instead.
        if expiries.len() >= MAX_NONCES_PER_PRINCIPAL {
            return Err(io::Error::other(
                "too many unexpired nonces of this principal",
            ));
        }
        let earlier = expiries.insert(nonce.to_owned(), now + lifetime);
        Ok(earlier.is_none())
    }
}

impl DirectoryReplayCache {
    /// Creates a replay cache in a directory. The directory is created on first use and accessible
    /// by its owner only.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self {
            directory: directory.into(),
            last_cleanup: Mutex::new(None),
        }
    }

    /// Removes expired files, at most once per lifetime.
    fn remove_expired(&self, lifetime: Duration) {
        let mut last_cleanup = lock(&self.last_cleanup);
        if last_cleanup.is_some_and(|last| last.elapsed() < lifetime) {
            return;
        }
        *last_cleanup = Some(Instant::now());
        drop(last_cleanup);
        // Twice the lifetime, for clocks of other machines that share the directory.
        let is_old = |modified: SystemTime| modified.elapsed().is_ok_and(|age| age > lifetime * 2);
        for entry in fs::read_dir(&self.directory)
            .into_iter()
            .flatten()
            .flatten()
        {
            let is_ours = entry.file_name().to_str().is_some_and(is_nonce);
            let modified = entry.metadata().and_then(|metadata| metadata.modified());
            if is_ours && modified.is_ok_and(is_old) {
                // Another process may have removed the file.
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

impl ReplayCache for DirectoryReplayCache {
    fn use_once(&self, _principal: &str, nonce: &str, lifetime: Duration) -> io::Result<bool> {
        // It becomes a file name, so it must not be a path.
        if !is_nonce(nonce) {
            return Err(io::Error::from(ErrorKind::InvalidInput));
        }
        create_private_dir(&self.directory)?;
        self.remove_expired(lifetime);
        match File::create_new(self.directory.join(nonce)) {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(error),
        }
    }
}

fn is_nonce(name: &str) -> bool {
    name.len() == 32 && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nonce_is_used_once() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("deep/replays");
        let stores: [(&dyn ReplayCache, &dyn ReplayCache); 2] = [
            (
                &DirectoryReplayCache::new(&path),
                &DirectoryReplayCache::new(&path),
            ),
            {
                let memory: &'static MemoryReplayCache = Box::leak(Box::default());
                (memory, memory)
            },
        ];
        let (one, other) = ("0".repeat(32), "f".repeat(32));
        for (first, second) in stores {
            assert!(
                first
                    .use_once("alice", &one, Duration::from_secs(60))
                    .unwrap()
            );
            assert!(
                !second
                    .use_once("alice", &one, Duration::from_secs(60))
                    .unwrap()
            );
            assert!(
                second
                    .use_once("alice", &other, Duration::from_secs(60))
                    .unwrap()
            );
        }
    }

    #[test]
    fn the_limit_of_a_principal_does_not_affect_others() {
        let cache = MemoryReplayCache::default();
        let (minute, moment) = (Duration::from_secs(60), Duration::ZERO);
        for number in 0..MAX_NONCES_PER_PRINCIPAL {
            assert!(
                cache
                    .use_once("alice", &format!("{number:032x}"), minute)
                    .unwrap()
            );
        }
        assert!(cache.use_once("alice", &"f".repeat(32), minute).is_err());
        assert!(cache.use_once("bob", &"f".repeat(32), minute).unwrap());
        // Expired nonces are removed.
        for number in 0..MAX_NONCES_PER_PRINCIPAL * 2 {
            assert!(
                cache
                    .use_once("carol", &format!("{number:032x}"), moment)
                    .unwrap()
            );
        }
    }

    #[test]
    fn a_nonce_is_never_a_path() {
        let directory = tempfile::tempdir().unwrap();
        let store = DirectoryReplayCache::new(directory.path());
        for name in ["", "../x", "/etc/x", &"g".repeat(32), &"0".repeat(33)] {
            assert!(
                store
                    .use_once("alice", name, Duration::from_secs(60))
                    .is_err(),
                "{name}"
            );
        }
    }

    #[test]
    fn expired_files_are_removed() {
        let directory = tempfile::tempdir().unwrap();
        let old = directory.path().join("a".repeat(32));
        let kept = directory.path().join("kept");
        for path in [&old, &kept] {
            let file = File::create(path).unwrap();
            file.set_modified(SystemTime::now() - Duration::from_secs(1_000))
                .unwrap();
        }
        assert!(
            DirectoryReplayCache::new(directory.path())
                .use_once("alice", &"b".repeat(32), Duration::from_secs(60))
                .unwrap()
        );
        assert_eq!((old.exists(), kept.exists()), (false, true));
    }
}
