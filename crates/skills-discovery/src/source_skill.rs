//! Opens listed skills: writes their files to private directories.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::io::Write;
use std::path::Path;
use std::sync::{Arc, Mutex, Weak};
use std::time::Instant;

use cap_std::fs::{Dir, OpenOptions};
use skills_store::PrivateDir;
use skills_threads::lock;

use crate::error::{DiscoveryError, Repr};
use crate::open::open_root;
use crate::open_failures::{Attempt, OpenFailures};
use crate::{DigestCache, ListedFile, ListedSkill, SkillFiles, SkillSource};

/// The prefix of the private directories.
const DIRECTORY_PREFIX: &str = "skills-source-";
/// The maximum number of skills of a source that stay written without a user.
const MAX_RECENT: usize = 32;
/// The maximum size of these skills: 512 MiB.
const MAX_RECENT_BYTES: u64 = 512 << 20;

/// A listed skill, and its files once it was opened.
pub(crate) struct SourceSkill {
    source: Arc<dyn SkillSource>,
    scratch: Arc<Path>,
    listed: ListedSkill,
    recent: Arc<RecentSkills>,
    failures: Arc<OpenFailures>,
    /// Locked while the files are read, so that concurrent callers read them once.
    written: Mutex<Weak<WrittenSkill>>,
}

/// The skills of a source that were opened last, so that they are not read again soon. Each keeps
/// two file descriptors open.
#[derive(Debug, Default)]
pub(crate) struct RecentSkills(Mutex<VecDeque<Arc<WrittenSkill>>>);

/// The private directory with the files of a skill, removed with the last of its users.
#[derive(Debug)]
pub(crate) struct WrittenSkill {
    handle: Dir,
    bytes: u64,
    digests: Mutex<DigestCache>,
    _directory: PrivateDir,
}

impl fmt::Debug for SourceSkill {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SourceSkill")
            .field("source", &self.source.name())
            .field("path", self.listed.path())
            .field("digest", &self.listed.digest())
            .finish_non_exhaustive()
    }
}

impl SourceSkill {
    pub(crate) fn new(
        source: Arc<dyn SkillSource>,
        scratch: Arc<Path>,
        listed: ListedSkill,
        recent: Arc<RecentSkills>,
        failures: Arc<OpenFailures>,
    ) -> Self {
        Self {
            source,
            scratch,
            listed,
            recent,
            failures,
            written: Mutex::default(),
        }
    }

    pub(crate) fn listed(&self) -> &ListedSkill {
        &self.listed
    }

    /// Returns true if a source lists the same skill again.
    pub(crate) fn is_same(
        &self,
        source: &Arc<dyn SkillSource>,
        scratch: &Path,
        listed: &ListedSkill,
    ) -> bool {
        Arc::ptr_eq(&self.source, source) && *self.scratch == *scratch && self.listed == *listed
    }

    /// Returns a directory with exactly the listed files. The first call reads them from the source;
    /// later ones compare the digest, which reads metadata only if nothing changed. A failure of the
    /// source is remembered.
    pub(crate) fn open(&self) -> Result<(Dir, Arc<WrittenSkill>), DiscoveryError> {
        let mut written = lock(&self.written);
        let known = written.upgrade();
        let skill = match known.filter(|known| self.check(known).is_ok()) {
            Some(known) => known,
            None => {
                let new = Arc::new(self.read_from_source()?);
                self.check(&new)?;
                *written = Arc::downgrade(&new);
                new
            }
        };
        self.recent.keep(&skill);
        Ok((skill.handle.try_clone()?, skill))
    }

    /// Compares the files on the disk with the listing. A cleaner of temporary files can have
    /// removed some, and a file system can have mixed up names.
    fn check(&self, written: &WrittenSkill) -> Result<(), DiscoveryError> {
        let files = SkillFiles::of_handle(written.handle.try_clone()?);
        let digest = files.digest(&mut lock(&written.digests))?;
        if digest == self.listed.digest() {
            return Ok(());
        }
        Err(Repr::NotListed(self.listed.path().to_string()).into())
    }

    fn read_from_source(&self) -> Result<WrittenSkill, DiscoveryError> {
        let attempt = Attempt {
            revision: self.source.revision(),
            start: Instant::now(),
        };
        self.failures.check(&self.listed, attempt)?;
        self.write().inspect_err(|error| {
            let end = Instant::now();
            self.failures.record(&self.listed, attempt, end, error);
        })
    }

    fn write(&self) -> Result<WrittenSkill, DiscoveryError> {
        let directory = PrivateDir::create(&self.scratch, DIRECTORY_PREFIX)?;
        let handle = open_root(directory.path())?;
        let files = self.listed.files().iter();
        let mut missing: HashMap<&str, &ListedFile> =
            files.map(|file| (file.path().as_str(), file)).collect();
        let opened = self.source.open(&self.listed, &mut |path, content| {
            let listed = missing.remove(path.as_str());
            let listed = listed.filter(|file| file.has_content(content));
            let file = listed.ok_or_else(|| not_listed(path.as_str()))?;
            write_file(&handle, file, content)?;
            Ok(())
        });
        opened.map_err(|error| match error.downcast::<DiscoveryError>() {
            Ok(error) => *error,
            Err(error) => Repr::Source(error).into(),
        })?;
        match missing.into_keys().min() {
            Some(path) => Err(not_listed(path)),
            None => Ok(WrittenSkill {
                handle,
                bytes: self.listed.bytes(),
                digests: Mutex::default(),
                _directory: directory,
            }),
        }
    }
}

impl RecentSkills {
    fn keep(&self, skill: &Arc<WrittenSkill>) {
        let mut skills = lock(&self.0);
        skills.retain(|known| !Arc::ptr_eq(known, skill));
        skills.push_back(Arc::clone(skill));
        let mut removed = Vec::new();
        let bytes = |skills: &VecDeque<Arc<WrittenSkill>>| -> u64 {
            skills.iter().map(|skill| skill.bytes).sum()
        };
        // The last one is in use.
        while skills.len() > 1 && (skills.len() > MAX_RECENT || bytes(&skills) > MAX_RECENT_BYTES) {
            removed.extend(skills.pop_front());
        }
        drop(skills);
        // Its files are removed after the lock is released, since that takes time.
        drop(removed);
    }
}

fn not_listed(path: &str) -> DiscoveryError {
    Repr::NotListed(path.to_owned()).into()
}

/// Writes a new file and makes it read-only.
fn write_file(handle: &Dir, file: &ListedFile, content: &[u8]) -> Result<(), DiscoveryError> {
    let path = Path::new(file.path().as_str());
    if let Some(parent) = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty())
    {
        handle.create_dir_all(parent)?;
    }
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    set_mode(&mut options, file);
    handle.open_with(path, &options)?.write_all(content)?;
    Ok(())
}

#[cfg(unix)]
fn set_mode(options: &mut OpenOptions, file: &ListedFile) {
    use cap_std::fs::OpenOptionsExt;
    options.mode(if file.is_executable() { 0o500 } else { 0o400 });
}

#[cfg(not(unix))]
fn set_mode(_options: &mut OpenOptions, _file: &ListedFile) {}
