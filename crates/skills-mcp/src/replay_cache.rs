//! What was used and may not be used again.
#![expect(
    clippy::disallowed_methods,
    reason = "the files here are this server's own, and none of a skill"
)]

use std::collections::{HashMap, HashSet, VecDeque};
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

/// The most that is remembered in memory of one who uses things; whoever uses more within a
/// lifetime uses nothing more, and nobody else minds.
const MAX_NONCES_PER_PRINCIPAL: usize = 10_000;

/// Remembers what was used, for as long as somebody could try to use it again.
pub trait ReplayCache: Send + Sync {
    /// Notes that somebody uses something now; says no when it was used before. Something is named
    /// by 32 hexadecimal digits that no two things share.
    ///
    /// # Errors
    /// When it cannot be noted. Then it counts as used.
    fn use_once(&self, principal: &str, nonce: &str, lifetime: Duration) -> io::Result<bool>;
}

/// Remembers in this process: right for a server that is one process.
#[derive(Debug, Default)]
pub struct MemoryReplayCache(Mutex<HashMap<String, UsedNonces>>);

/// What one has used, in the order in which it can be forgotten.
#[derive(Debug, Default)]
struct UsedNonces {
    nonces: HashSet<String>,
    expiry_order: VecDeque<(Instant, String)>,
}

/// Remembers by empty files in a directory, which several processes may share.
#[derive(Debug)]
pub struct DirectoryReplayCache {
    directory: PathBuf,
    /// When old files were removed last.
    last_cleanup: Mutex<Option<Instant>>,
}

impl ReplayCache for MemoryReplayCache {
    fn use_once(&self, principal: &str, nonce: &str, lifetime: Duration) -> io::Result<bool> {
        let now = Instant::now();
        let mut everybody = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        everybody.retain(|_, spent| {
            spent
                .expiry_order
                .back()
                .is_some_and(|(until, _)| *until > now)
        });
        let spent = everybody.entry(principal.to_owned()).or_default();
        while let Some((_, old)) = spent.expiry_order.pop_front_if(|(until, _)| *until <= now) {
            spent.nonces.remove(&old);
        }
        if spent.nonces.len() >= MAX_NONCES_PER_PRINCIPAL {
            return Err(io::Error::other("too many answers at once"));
        }
        if !spent.nonces.insert(nonce.to_owned()) {
            return Ok(false);
        }
        spent
            .expiry_order
            .push_back((now + lifetime, nonce.to_owned()));
        Ok(true)
    }
}

impl DirectoryReplayCache {
    /// Remembers in this directory, which is made, and readable by its owner alone, when it is
    /// first needed.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self {
            directory: directory.into(),
            last_cleanup: Mutex::new(None),
        }
    }

    /// Removes what nobody can use any more, once in a lifetime.
    fn remove_expired(&self, lifetime: Duration) {
        let mut tidied = self
            .last_cleanup
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if tidied.is_some_and(|last| last.elapsed() < lifetime) {
            return;
        }
        *tidied = Some(Instant::now());
        drop(tidied);
        let is_old = |modified: SystemTime| modified.elapsed().is_ok_and(|age| age > lifetime * 2);
        for entry in fs::read_dir(&self.directory)
            .into_iter()
            .flatten()
            .flatten()
        {
            let is_ours = entry.file_name().to_str().is_some_and(is_nonce);
            if is_ours
                && entry
                    .metadata()
                    .and_then(|metadata| metadata.modified())
                    .is_ok_and(is_old)
            {
                // What another process has removed meanwhile is gone as well.
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

impl ReplayCache for DirectoryReplayCache {
    fn use_once(&self, _principal: &str, nonce: &str, lifetime: Duration) -> io::Result<bool> {
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

#[cfg(unix)]
fn create_private_dir(directory: &std::path::Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory)
}

#[cfg(not(unix))]
fn create_private_dir(directory: &std::path::Path) -> io::Result<()> {
    fs::create_dir_all(directory)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_used_twice() {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path().join("deep/spent");
        let stores: [(&dyn ReplayCache, &dyn ReplayCache); 2] = [
            (
                &DirectoryReplayCache::new(&place),
                &DirectoryReplayCache::new(&place),
            ),
            {
                let memory: &'static MemoryReplayCache = Box::leak(Box::default());
                (memory, memory)
            },
        ];
        let (one, other) = ("0".repeat(32), "f".repeat(32));
        for (here, there) in stores {
            assert!(
                here.use_once("alice", &one, Duration::from_secs(60))
                    .unwrap()
            );
            assert!(
                !there
                    .use_once("alice", &one, Duration::from_secs(60))
                    .unwrap()
            );
            assert!(
                there
                    .use_once("alice", &other, Duration::from_secs(60))
                    .unwrap()
            );
        }
    }

    #[test]
    fn who_uses_too_much_is_the_only_one_to_mind() {
        let spent = MemoryReplayCache::default();
        let (minute, moment) = (Duration::from_secs(60), Duration::ZERO);
        for number in 0..MAX_NONCES_PER_PRINCIPAL {
            assert!(
                spent
                    .use_once("alice", &format!("{number:032x}"), minute)
                    .unwrap()
            );
        }
        assert!(spent.use_once("alice", &"f".repeat(32), minute).is_err());
        assert!(spent.use_once("bob", &"f".repeat(32), minute).unwrap());
        // What nobody can use any more is forgotten.
        for number in 0..MAX_NONCES_PER_PRINCIPAL * 2 {
            assert!(
                spent
                    .use_once("carol", &format!("{number:032x}"), moment)
                    .unwrap()
            );
        }
    }

    #[test]
    fn a_name_is_never_a_path() {
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
    fn old_files_go() {
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
