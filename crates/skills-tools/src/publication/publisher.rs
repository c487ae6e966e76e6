//! Publishes skills and reads their files.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use skills_runtime::discovery::{InactiveEntry, InactiveReason, Lookup};
use skills_runtime::{Catalog, Entry};
use skills_threads::lock;

use super::error::PublicationError;
use super::published_skill::{PublishedContent, PublishedSkills};
use super::snapshot::{self, Capture, CaptureResult};
use super::unpublished::{UnpublishedReason, UnpublishedSkill};
use crate::files::read::sha256;
use crate::virtual_files::VirtualFiles;

/// Maximum length of the name of a published skill.
const MAX_NAME_CHARS: usize = 64;

/// Publishes skills. Caches digests but no contents, and evicts removed skills.
pub(crate) struct Publisher {
    files: Arc<VirtualFiles>,
    /// Cached captures by skill directory.
    captures: Mutex<HashMap<PathBuf, Arc<Capture>>>,
}

impl Publisher {
    pub(crate) fn new(files: Arc<VirtualFiles>) -> Self {
        Self {
            files,
            captures: Mutex::default(),
        }
    }

    /// Captures the skills of a catalog with the wanted names, ordered by name, up to the first
    /// published one after `limit`.
    pub(crate) fn publish_where(
        &self,
        catalog: &Catalog,
        is_wanted: impl Fn(&str) -> bool,
        limit: usize,
    ) -> PublishedSkills {
        let mut page = PublishedSkills::default();
        for (name, entry) in entries_by_name(catalog) {
            if page.has_more || !is_wanted(name) {
                page.unread.push(name.to_owned());
                continue;
            }
            // Of skills that share a name none is published: clients address skills by name and
            // would get either of them.
            let captured = entry
                .ok_or(UnpublishedReason::DuplicateName)
                .and_then(|entry| self.check_eligible(entry).map(|()| entry))
                .map_err(Arc::new)
                .and_then(|entry| self.refresh(entry));
            match captured {
                Ok(_) if page.skills.len() == limit => {
                    page.has_more = true;
                    page.unread.push(name.to_owned());
                }
                Ok(skill) => page.skills.push(skill),
                Err(reason) => page.unpublished.push(UnpublishedSkill::new(name, &reason)),
            }
        }
        if !page.has_more {
            page.unpublished.extend(self.untrusted_skills(catalog));
        }
        self.evict_removed(catalog);
        page
    }

    /// Captures one skill of a catalog.
    pub(crate) fn publish_one(&self, catalog: &Catalog, name: &str) -> CaptureResult {
        let entry = self.find_publishable(catalog, name)?;
        let skill = self.refresh(entry)?;
        self.evict_removed(catalog);
        Ok(skill)
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
        // The cheapest snapshot first: without any check, then with the digests of unchanged
        // files, then with all files read.
        let snapshots: [&dyn Fn() -> CaptureResult; 3] = [
            &|| self.cached(entry, path),
            &|| self.refresh(entry),
            &|| self.store(entry.directory(), Capture::new(entry, &self.files, None)),
        ];
        for snapshot in snapshots {
            let skill = match snapshot() {
                Ok(skill) => skill,
                Err(reason) => match *reason {
                    UnpublishedReason::NotFound => continue,
                    UnpublishedReason::Unstable => {
                        return Err(PublicationError::unstable(name, path));
                    }
                    _ => return Err(PublicationError::not_published(name)),
                },
            };
            self.evict_removed(catalog);
            let Some(file) = skill.file(path).cloned() else {
                return Err(PublicationError::file_not_found(name, path));
            };
            let Some(content) = read_candidate(entry, path, file.bytes) else {
                continue;
            };
            // Compared on every read: a client must never receive bytes that no snapshot lists.
            if sha256(&content) == file.sha256 {
                return Ok(PublishedContent {
                    skill,
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
        let library = self.files.runtime.library();
        if !library.is_model_invocable(entry) {
            return Err(if library.is_user_invocable(entry) {
                UnpublishedReason::UserOnly
            } else {
                UnpublishedReason::NotInvocable
            });
        }
        // Other clients use the name as a path component and reject or misread other characters.
        if !is_publishable_name(entry.name().as_str()) {
            return Err(UnpublishedReason::InvalidName);
        }
        Ok(())
    }

    /// Returns the cached snapshot of a skill if it lists the file.
    fn cached(&self, entry: &Entry, path: &str) -> CaptureResult {
        let captures = self.captures();
        let skill = captures
            .get(entry.directory())
            .and_then(|capture| capture.result.as_ref().ok())
            .filter(|skill| skill.name == entry.name().as_str() && skill.file(path).is_some());
        skill
            .cloned()
            .ok_or_else(|| UnpublishedReason::NotFound.into())
    }

    /// Captures a skill. Unchanged skills are not read again, whether they were published or
    /// rejected.
    fn refresh(&self, entry: &Entry) -> CaptureResult {
        // The lock is not held during the capture, which reads files.
        let previous = self.captures().get(entry.directory()).cloned();
        self.store(
            entry.directory(),
            Capture::new(entry, &self.files, previous.as_ref()),
        )
    }

    fn store(
        &self,
        directory: &Path,
        captured: Result<Arc<Capture>, UnpublishedReason>,
    ) -> CaptureResult {
        let mut captures = self.captures();
        match &captured {
            Ok(capture) => drop(captures.insert(directory.to_owned(), Arc::clone(capture))),
            // Unchanged files of a skill that is changing can still be read.
            Err(UnpublishedReason::Unstable) => {}
            Err(_) => drop(captures.remove(directory)),
        }
        drop(captures);
        captured?.result.clone()
    }

    /// Evicts removed skills once the cache is larger than the catalog.
    fn evict_removed(&self, catalog: &Catalog) {
        let mut captures = self.captures();
        if captures.len() > catalog.entries().len() {
            let current_dirs: HashSet<&Path> =
                catalog.entries().iter().map(Entry::directory).collect();
            captures.retain(|directory, _| current_dirs.contains(directory.as_path()));
        }
    }

    fn captures(&self) -> MutexGuard<'_, HashMap<PathBuf, Arc<Capture>>> {
        lock(&self.captures)
    }

    /// Returns the untrusted skills. Drafts are expected to be untrusted and are left out.
    fn untrusted_skills(&self, catalog: &Catalog) -> Vec<UnpublishedSkill> {
        let untrusted = catalog
            .inactive()
            .iter()
            .filter(|inactive| *inactive.reason() == InactiveReason::Untrusted);
        let others =
            untrusted.filter(|inactive| !self.files.is_draft(inactive.entry(), inactive.reason()));
        others
            .map(|inactive| {
                let name = inactive.entry().name().as_str();
                UnpublishedSkill::new(name, &untrusted_reason(inactive))
            })
            .collect()
    }
}

fn untrusted_reason(inactive: &InactiveEntry) -> UnpublishedReason {
    if inactive.is_of_untrusted_project() {
        UnpublishedReason::UntrustedProject
    } else {
        UnpublishedReason::Untrusted
    }
}

/// Reads content that may match the listed digest; the caller compares.
fn read_candidate(entry: &Entry, path: &str, bytes: u64) -> Option<Vec<u8>> {
    let files = entry.open().ok()?;
    // Other sizes cannot match the digest and need not be read.
    snapshot::read_listed(&files, path, |stamp| stamp.bytes() == bytes).ok()
}

/// Returns the entries ordered by name; `None` for a name that several entries have.
fn entries_by_name(catalog: &Catalog) -> BTreeMap<&str, Option<&Entry>> {
    let mut entries = BTreeMap::new();
    for entry in catalog.entries() {
        entries
            .entry(entry.name().as_str())
            .and_modify(|known| *known = None)
            .or_insert(Some(entry));
    }
    entries
}

/// Returns true if every client accepts the name.
fn is_publishable_name(name: &str) -> bool {
    let is_plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    // The rule of the Agent Skills format, which clients may enforce.
    let has_hyphens_inside = !name.starts_with('-') && !name.ends_with('-') && !name.contains("--");
    (1..=MAX_NAME_CHARS).contains(&name.len()) && name.bytes().all(is_plain) && has_hyphens_inside
}

#[cfg(test)]
mod tests;
