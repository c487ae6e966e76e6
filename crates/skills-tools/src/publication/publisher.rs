//! Publishes skills and reads their files.

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

/// Maximum length of the name of a published skill.
const MAX_NAME_CHARS: usize = 64;

/// Publishes skills. Caches digests but no contents, and evicts removed skills.
pub(crate) struct Publisher {
    runtime: SkillRuntime,
    files: Arc<FileTools>,
    /// Cached captures by skill directory.
    captures: Mutex<HashMap<PathBuf, CachedCapture>>,
}

/// The result of capturing a skill.
type CaptureResult = Result<Arc<Snapshot>, Arc<UnpublishedReason>>;

impl Publisher {
    pub(crate) fn new(runtime: SkillRuntime, files: Arc<FileTools>) -> Self {
        Self {
            runtime,
            files,
            captures: Mutex::default(),
        }
    }

    /// Captures all skills of a catalog.
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
                    // One warning for all skills that share a name.
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

    /// Captures one skill of a catalog.
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

    /// Reads a published file. Tries the cached snapshot, then a fresh one, then one without cached
    /// digests, until the content matches the digest.
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

    /// Finds the only skill with this name that may be published.
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

    /// Checks the requirements that are known from the catalog.
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

    /// Returns the cached snapshot of a skill if it lists the file.
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

    /// Captures a skill. Unchanged skills are not read again, whether they were published or
    /// rejected.
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
            // Unchanged files of a skill that is changing can still be read.
            Err(UnpublishedReason::Unstable) => {}
            Err(_) => drop(kept.remove(directory)),
        }
        drop(kept);
        match taken? {
            CachedCapture::Published(snapshot) => Ok(snapshot),
            CachedCapture::Unpublished(refused) => Err(Arc::clone(&refused.reason)),
        }
    }

    /// Evicts removed skills once the cache is larger than the catalog.
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

    /// Returns the warnings for untrusted skills. Drafts are expected to be untrusted and cause no
    /// warning.
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

/// Reads content that may match the listed digest; the caller compares.
fn read_candidate(entry: &Entry, path: &str, bytes: u64) -> Option<Vec<u8>> {
    let files = entry.open().ok()?;
    snapshot::read_listed(&files, path, |stamp| stamp.bytes() == bytes).ok()
}

/// Counts the skills per name.
fn count_names(catalog: &Catalog) -> HashMap<&str, usize> {
    let mut names = HashMap::new();
    for entry in catalog.entries() {
        *names.entry(entry.name().as_str()).or_default() += 1;
    }
    names
}

/// Returns whether every client accepts the name.
fn is_publishable_name(name: &str) -> bool {
    let is_plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    let has_hyphens_inside = !name.starts_with('-') && !name.ends_with('-') && !name.contains("--");
    (1..=MAX_NAME_CHARS).contains(&name.len()) && name.bytes().all(is_plain) && has_hyphens_inside
}

#[cfg(test)]
mod tests;
