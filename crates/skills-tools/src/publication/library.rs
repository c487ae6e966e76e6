//! What is published, and the bytes of it.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use skills_runtime::discovery::{InactiveReason, Lookup};
use skills_runtime::{Catalog, Entry, SkillRuntime};

use super::refusal::Refusal;
use super::snapshot::{self, Known, Snapshot};
use super::{Publication, PublicationError, Publications, PublishedBytes};
use crate::file_tools::FileTools;
use crate::files::read::sha256;

/// The longest name of a skill that is published.
const MAX_NAME: usize = 64;

/// What is published, and why the rest is not. Digests are kept, bytes are not; nothing is kept of
/// a skill that is gone.
pub(crate) struct Library {
    runtime: SkillRuntime,
    files: Arc<FileTools>,
    /// By the skills' directories.
    taken: Mutex<HashMap<PathBuf, Known>>,
}

/// What a look at a skill comes to.
type Taken = Result<Arc<Snapshot>, Arc<Refusal>>;

impl Library {
    pub(crate) fn new(runtime: SkillRuntime, files: Arc<FileTools>) -> Self {
        Self {
            runtime,
            files,
            taken: Mutex::default(),
        }
    }

    /// Looks at all skills of a catalogue.
    pub(crate) fn all(&self, catalog: &Catalog) -> Publications {
        let mut publications = Publications::default();
        let mut kept = HashSet::new();
        let mut told = HashSet::new();
        let names = counted(catalog);
        for entry in catalog.entries() {
            let name = entry.name().as_str();
            let is_one = names.get(name) == Some(&1);
            let eligible = if is_one {
                self.eligible(entry)
            } else {
                Err(Refusal::SameName)
            };
            let made = eligible.map_err(Arc::new).and_then(|()| {
                kept.insert(entry.directory());
                self.looked(entry)
            });
            match made {
                Ok(snapshot) => publications.skills.push(Arc::clone(&snapshot.publication)),
                Err(refusal) => {
                    // Of several that share a name it is said once.
                    if told.insert(name) {
                        publications.notes.push(refusal.note(name));
                    }
                }
            }
        }
        publications.notes.extend(self.untrusted(catalog));
        self.kept_ones()
            .retain(|directory, _| kept.contains(directory.as_path()));
        publications
    }

    /// Looks at one skill of a catalogue.
    pub(crate) fn one(
        &self,
        catalog: &Catalog,
        name: &str,
    ) -> Result<Arc<Publication>, Arc<Refusal>> {
        let entry = self.find(catalog, name)?;
        let snapshot = self.looked(entry)?;
        self.forget_strangers(catalog);
        Ok(Arc::clone(&snapshot.publication))
    }

    /// Reads a file as a publication lists it: as the last one does, else as a new look does, else
    /// as one does that trusts nothing that was known.
    pub(crate) fn read(
        &self,
        catalog: &Catalog,
        name: &str,
        path: &str,
    ) -> Result<PublishedBytes, PublicationError> {
        let entry = self
            .find(catalog, name)
            .map_err(|_| PublicationError::not_published(name))?;
        let known = || self.known(entry, path);
        let looked = || self.looked(entry);
        let afresh = || self.keep(entry.directory(), Known::take(entry, &self.files, None));
        let looks: [&dyn Fn() -> Taken; 3] = [&known, &looked, &afresh];
        for look in looks {
            let publication = match look() {
                Ok(snapshot) => Arc::clone(&snapshot.publication),
                Err(refusal) => match *refusal {
                    Refusal::Unknown => continue,
                    Refusal::Changing => return Err(PublicationError::changing(name, path)),
                    _ => return Err(PublicationError::not_published(name)),
                },
            };
            self.forget_strangers(catalog);
            let Some(file) = publication.file(path).cloned() else {
                return Err(PublicationError::no_such_file(name, path));
            };
            let Some(content) = content(entry, path, file.bytes) else {
                continue;
            };
            if sha256(&content) == file.sha256 {
                return Ok(PublishedBytes {
                    publication,
                    file,
                    content,
                });
            }
        }
        Err(PublicationError::changing(name, path))
    }

    /// Finds the one skill of a name that may be published.
    fn find<'a>(&self, catalog: &'a Catalog, name: &str) -> Result<&'a Entry, Refusal> {
        match catalog.named(name) {
            Lookup::Found(entry) => self.eligible(entry).map(|()| entry),
            Lookup::Ambiguous(_) => Err(Refusal::SameName),
            Lookup::Inactive(_) | Lookup::Unknown(_) => Err(Refusal::Unknown),
        }
    }

    /// Says whether a skill may be published as far as the catalogue knows.
    fn eligible(&self, entry: &Entry) -> Result<(), Refusal> {
        match () {
            () if !self.runtime.is_offered(entry) && self.runtime.is_callable(entry) => {
                Err(Refusal::ForUsers)
            }
            () if !self.runtime.is_offered(entry) => Err(Refusal::ForNobody),
            () if !is_name(entry.name().as_str()) => Err(Refusal::Name),
            () => Ok(()),
        }
    }

    /// The last look at a skill, when there was one that found the file.
    fn known(&self, entry: &Entry, path: &str) -> Taken {
        let Some(Known::Published(known)) = self.kept_ones().get(entry.directory()).cloned() else {
            return Err(Refusal::Unknown.into());
        };
        let has_file = known.publication.name() == entry.name().as_str()
            && known.publication.file(path).is_some();
        if has_file {
            Ok(known)
        } else {
            Err(Refusal::Unknown.into())
        }
    }

    /// Looks at a skill; what looks as it did is not read again, be it published or not.
    fn looked(&self, entry: &Entry) -> Taken {
        let before = self.kept_ones().get(entry.directory()).cloned();
        self.keep(
            entry.directory(),
            Known::take(entry, &self.files, before.as_ref()),
        )
    }

    fn keep(&self, directory: &Path, taken: Result<Known, Refusal>) -> Taken {
        let mut kept = self.kept_ones();
        match &taken {
            Ok(known) => drop(kept.insert(directory.to_owned(), known.clone())),
            // What is still the same of a skill that is changing can be read on.
            Err(Refusal::Changing) => {}
            Err(_) => drop(kept.remove(directory)),
        }
        drop(kept);
        match taken? {
            Known::Published(snapshot) => Ok(snapshot),
            Known::Refused(refused) => Err(Arc::clone(&refused.refusal)),
        }
    }

    /// Forgets the skills that are gone, once there are more than the catalogue has.
    fn forget_strangers(&self, catalog: &Catalog) {
        let mut kept = self.kept_ones();
        if kept.len() > catalog.entries().len() {
            let there: HashSet<&Path> = catalog.entries().iter().map(Entry::directory).collect();
            kept.retain(|directory, _| there.contains(directory.as_path()));
        }
    }

    fn kept_ones(&self) -> MutexGuard<'_, HashMap<PathBuf, Known>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells of skills that nobody has agreed to, but for drafts, which are not meant to be seen.
    fn untrusted(&self, catalog: &Catalog) -> Vec<String> {
        let untrusted = catalog
            .inactive()
            .iter()
            .filter(|inactive| *inactive.reason() == InactiveReason::Untrusted);
        let others =
            untrusted.filter(|inactive| !self.files.is_draft(inactive.entry(), inactive.reason()));
        others
            .map(|inactive| Refusal::Untrusted.note(inactive.entry().name().as_str()))
            .collect()
    }
}

/// Reads what may be the content that is listed; only the digest tells.
fn content(entry: &Entry, path: &str, bytes: u64) -> Option<Vec<u8>> {
    let files = entry.open().ok()?;
    snapshot::read(&files, path, |stamp| stamp.bytes() == bytes).ok()
}

/// How many skills have each name.
fn counted(catalog: &Catalog) -> HashMap<&str, usize> {
    let mut names = HashMap::new();
    for entry in catalog.entries() {
        *names.entry(entry.name().as_str()).or_default() += 1;
    }
    names
}

/// The names that every client takes.
fn is_name(name: &str) -> bool {
    let is_plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    let has_hyphens_inside = !name.starts_with('-') && !name.ends_with('-') && !name.contains("--");
    (1..=MAX_NAME).contains(&name.len()) && name.bytes().all(is_plain) && has_hyphens_inside
}

#[cfg(test)]
mod tests;
