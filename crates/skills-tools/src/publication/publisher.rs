//! What is published, and the bytes of it.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use skills_runtime::discovery::{InactiveReason, Lookup};
use skills_runtime::{Catalog, Entry, SkillRuntime};

use super::snapshot::{self, CachedCapture, Snapshot};
use super::unpublished::UnpublishedReason;
use super::{PublicationError, PublishedContent, PublishedSkill, PublishedSkills};
use crate::file_tools::FileTools;
use crate::files::read::sha256;

/// The longest name of a skill that is published.
const MAX_NAME_CHARS: usize = 64;

/// What is published, and why the rest is not. Digests are kept, bytes are not; nothing is kept of
/// a skill that is gone.
pub(crate) struct Publisher {
    runtime: SkillRuntime,
    files: Arc<FileTools>,
    /// By the skills' directories.
    captures: Mutex<HashMap<PathBuf, CachedCapture>>,
}

/// What a look at a skill comes to.
type CaptureResult = Result<Arc<Snapshot>, Arc<UnpublishedReason>>;

impl Publisher {
    pub(crate) fn new(runtime: SkillRuntime, files: Arc<FileTools>) -> Self {
        Self {
            runtime,
            files,
            captures: Mutex::default(),
        }
    }

    /// Looks at all skills of a catalogue.
    pub(crate) fn publish_all(&self, catalog: &Catalog) -> PublishedSkills {
        let mut publications = PublishedSkills::default();
        let mut kept = HashSet::new();
        let mut told = HashSet::new();
        let names = count_names(catalog);
        for entry in catalog.entries() {
            let name = entry.name().as_str();
            let is_one = names.get(name) == Some(&1);
            let eligible = if is_one {
                self.check_eligible(entry)
            } else {
                Err(UnpublishedReason::DuplicateName)
            };
            let made = eligible.map_err(Arc::new).and_then(|()| {
                kept.insert(entry.directory());
                self.refresh(entry)
            });
            match made {
                Ok(snapshot) => publications.skills.push(Arc::clone(&snapshot.skill)),
                Err(refusal) => {
                    // Of several that share a name it is said once.
                    if told.insert(name) {
                        publications.warnings.push(refusal.warning(name));
                    }
                }
            }
        }
        publications
            .warnings
            .extend(self.untrusted_warnings(catalog));
        self.captures()
            .retain(|directory, _| kept.contains(directory.as_path()));
        publications
    }

    /// Looks at one skill of a catalogue.
    pub(crate) fn publish_one(
        &self,
        catalog: &Catalog,
        name: &str,
    ) -> Result<Arc<PublishedSkill>, Arc<UnpublishedReason>> {
        let entry = self.find_publishable(catalog, name)?;
        let snapshot = self.refresh(entry)?;
        self.evict_removed(catalog);
        Ok(Arc::clone(&snapshot.skill))
    }

    /// Reads a file as a publication lists it: as the last one does, else as a new look does, else
    /// as one does that trusts nothing that was known.
    pub(crate) fn read_file(
        &self,
        catalog: &Catalog,
        name: &str,
        path: &str,
    ) -> Result<PublishedContent, PublicationError> {
        let entry = self
            .find_publishable(catalog, name)
            .map_err(|_| PublicationError::not_published(name))?;
        let known = || self.cached(entry, path);
        let looked = || self.refresh(entry);
        let afresh = || {
            self.store(
                entry.directory(),
                CachedCapture::capture(entry, &self.files, None),
            )
        };
        let looks: [&dyn Fn() -> CaptureResult; 3] = [&known, &looked, &afresh];
        for look in looks {
            let publication = match look() {
                Ok(snapshot) => Arc::clone(&snapshot.skill),
                Err(refusal) => match *refusal {
                    UnpublishedReason::NotFound => continue,
                    UnpublishedReason::Unstable => {
                        return Err(PublicationError::unstable(name, path));
                    }
                    _ => return Err(PublicationError::not_published(name)),
                },
            };
            self.evict_removed(catalog);
            let Some(file) = publication.file(path).cloned() else {
                return Err(PublicationError::file_not_found(name, path));
            };
            let Some(content) = read_candidate(entry, path, file.bytes) else {
                continue;
            };
            if sha256(&content) == file.sha256 {
                return Ok(PublishedContent {
                    skill: publication,
                    file,
                    content,
                });
            }
        }
        Err(PublicationError::unstable(name, path))
    }

    /// Finds the one skill of a name that may be published.
    fn find_publishable<'a>(
        &self,
        catalog: &'a Catalog,
        name: &str,
    ) -> Result<&'a Entry, UnpublishedReason> {
        match catalog.find_by_name(name) {
            Lookup::Found(entry) => self.check_eligible(entry).map(|()| entry),
            Lookup::Ambiguous(_) => Err(UnpublishedReason::DuplicateName),
            Lookup::Inactive(_) | Lookup::Unknown(_) => Err(UnpublishedReason::NotFound),
        }
    }

    /// Says whether a skill may be published as far as the catalogue knows.
    fn check_eligible(&self, entry: &Entry) -> Result<(), UnpublishedReason> {
        match () {
            () if !self.runtime.is_model_invocable(entry)
                && self.runtime.is_user_invocable(entry) =>
            {
                Err(UnpublishedReason::UserOnly)
            }
            () if !self.runtime.is_model_invocable(entry) => Err(UnpublishedReason::NotInvocable),
            () if !is_publishable_name(entry.name().as_str()) => {
                Err(UnpublishedReason::InvalidName)
            }
            () => Ok(()),
        }
    }

    /// The last look at a skill, when there was one that found the file.
    fn cached(&self, entry: &Entry, path: &str) -> CaptureResult {
        let Some(CachedCapture::Published(known)) = self.captures().get(entry.directory()).cloned()
        else {
            return Err(UnpublishedReason::NotFound.into());
        };
        let has_file =
            known.skill.name() == entry.name().as_str() && known.skill.file(path).is_some();
        if has_file {
            Ok(known)
        } else {
            Err(UnpublishedReason::NotFound.into())
        }
    }

    /// Looks at a skill; what looks as it did is not read again, be it published or not.
    fn refresh(&self, entry: &Entry) -> CaptureResult {
        let before = self.captures().get(entry.directory()).cloned();
        self.store(
            entry.directory(),
            CachedCapture::capture(entry, &self.files, before.as_ref()),
        )
    }

    fn store(
        &self,
        directory: &Path,
        taken: Result<CachedCapture, UnpublishedReason>,
    ) -> CaptureResult {
        let mut kept = self.captures();
        match &taken {
            Ok(known) => drop(kept.insert(directory.to_owned(), known.clone())),
            // What is still the same of a skill that is changing can be read on.
            Err(UnpublishedReason::Unstable) => {}
            Err(_) => drop(kept.remove(directory)),
        }
        drop(kept);
        match taken? {
            CachedCapture::Published(snapshot) => Ok(snapshot),
            CachedCapture::Unpublished(refused) => Err(Arc::clone(&refused.reason)),
        }
    }

    /// Forgets the skills that are gone, once there are more than the catalogue has.
    fn evict_removed(&self, catalog: &Catalog) {
        let mut kept = self.captures();
        if kept.len() > catalog.entries().len() {
            let there: HashSet<&Path> = catalog.entries().iter().map(Entry::directory).collect();
            kept.retain(|directory, _| there.contains(directory.as_path()));
        }
    }

    fn captures(&self) -> MutexGuard<'_, HashMap<PathBuf, CachedCapture>> {
        self.captures.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells of skills that nobody has agreed to, but for drafts, which are not meant to be seen.
    fn untrusted_warnings(&self, catalog: &Catalog) -> Vec<String> {
        let untrusted = catalog
            .inactive()
            .iter()
            .filter(|inactive| *inactive.reason() == InactiveReason::Untrusted);
        let others =
            untrusted.filter(|inactive| !self.files.is_draft(inactive.entry(), inactive.reason()));
        others
            .map(|inactive| UnpublishedReason::Untrusted.warning(inactive.entry().name().as_str()))
            .collect()
    }
}

/// Reads what may be the content that is listed; only the digest tells.
fn read_candidate(entry: &Entry, path: &str, bytes: u64) -> Option<Vec<u8>> {
    let files = entry.open().ok()?;
    snapshot::read_listed(&files, path, |stamp| stamp.bytes() == bytes).ok()
}

/// How many skills have each name.
fn count_names(catalog: &Catalog) -> HashMap<&str, usize> {
    let mut names = HashMap::new();
    for entry in catalog.entries() {
        *names.entry(entry.name().as_str()).or_default() += 1;
    }
    names
}

/// The names that every client takes.
fn is_publishable_name(name: &str) -> bool {
    let is_plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    let has_hyphens_inside = !name.starts_with('-') && !name.ends_with('-') && !name.contains("--");
    (1..=MAX_NAME_CHARS).contains(&name.len()) && name.bytes().all(is_plain) && has_hyphens_inside
}

#[cfg(test)]
mod tests;
