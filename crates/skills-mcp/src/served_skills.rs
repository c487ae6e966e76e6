//! Lists the published skills, and remembers which were served, to notice their changes.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::ErrorData;
use sha2::{Digest, Sha256};
use skills_tools::{PublishedSkill, PublishedSkills};

use crate::Server;
use crate::list_changes::{ListKind, ListTracker};
use crate::pagination::{Page, decode_cursor, encode_cursor};

/// The SHA-256 of the digests of all files. Every list of skills depends on nothing but names and
/// files: the frontmatter is in one.
type SkillDigest = [u8; 32];

/// The skills that clients have been served.
///
/// Others are not read, neither for a page nor for a change: in a large catalog, most are never
/// listed.
#[derive(Default)]
pub(crate) struct ServedSkills(Mutex<Served>);

#[derive(Default)]
struct Served {
    /// Whether anything was served.
    has_begun: bool,
    /// The skills that were looked at, by name; `None` for one that is not published.
    skills: BTreeMap<String, Option<SkillDigest>>,
    /// The names of the skills that were there then and that no client has seen.
    unread: HashSet<String>,
    /// The number of differences that were found.
    changes: u64,
}

/// Returns a page of at most `limit` published skills, ordered by name, and records them as served.
///
/// # Errors
/// Fails if the cursor is invalid.
pub(crate) async fn page(
    server: &Server,
    cursor: Option<String>,
    limit: usize,
) -> Result<Page<Arc<PublishedSkill>>, ErrorData> {
    let after = decode_cursor(cursor)?;
    let skills = server
        .run_blocking(move |server| {
            let is_wanted = |name: &str| after.as_deref().is_none_or(|after| name > after);
            read_and_track(server, is_wanted, limit)
        })
        .await?;
    // By name and not by position, so that added or removed skills do not shift the next page.
    let last = skills.skills.last().filter(|_| skills.has_more);
    let next = last.map(|last| encode_cursor(&last.name));
    let items = skills.skills;
    Ok(Page { items, next })
}

/// Returns all published skills, ordered by name, and records them as served. Performs blocking
/// I/O.
pub(crate) fn all(server: &Server) -> Vec<Arc<PublishedSkill>> {
    read_and_track(server, |_| true, usize::MAX).skills
}

/// Compares the skills that were served with their current content: all if none were. Performs
/// blocking I/O.
pub(crate) fn refresh(server: &Server) {
    let unread = server.inner.served_skills.lock().unread.clone();
    read_and_track(server, |name| !unread.contains(name), usize::MAX);
}

/// Reads skills and records them as served. The reasons why others are not published are logged
/// once.
fn read_and_track(
    server: &Server,
    is_wanted: impl Fn(&str) -> bool,
    limit: usize,
) -> PublishedSkills {
    let found = server.tools().published_skills_where(is_wanted, limit);
    found
        .unpublished
        .iter()
        .map(|skill| &skill.warning)
        .filter(|warning| server.inner.log_once.should_log(warning))
        .for_each(|warning| tracing::warn!("{warning}"));
    let inner = &server.inner;
    inner.served_skills.record(&found, &inner.list_tracker);
    found
}

impl ServedSkills {
    /// Records what was found. Notifies subscribers if it differs from what was served.
    fn record(&self, found: &PublishedSkills, lists: &ListTracker) {
        let mut served = self.lock();
        served.record(found);
        // Under the lock, so that versions arrive in their order.
        lists.update(ListKind::Resources, &served.changes);
    }

    fn lock(&self) -> MutexGuard<'_, Served> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Served {
    fn record(&mut self, found: &PublishedSkills) {
        let is_first = !std::mem::replace(&mut self.has_begun, true);
        let unread: HashSet<&str> = found.unread.iter().map(String::as_str).collect();
        let now = looked_at(found);
        let mut is_changed = false;
        self.skills.retain(|name, before| {
            let exists = now.contains_key(name.as_str()) || unread.contains(name.as_str());
            is_changed |= !exists && before.is_some();
            exists
        });
        for (name, digest) in now {
            let was_unread = self.unread.remove(name);
            is_changed |= match self.skills.insert(name.to_owned(), digest) {
                Some(before) => before != digest,
                None => digest.is_some() && !was_unread && !is_first,
            };
        }
        if is_first {
            self.unread = found.unread.iter().cloned().collect();
        } else {
            // A new one is not added: it is read with the next change.
            self.unread.retain(|name| unread.contains(name.as_str()));
        }
        self.changes += u64::from(is_changed);
    }
}

/// Returns the skills that were looked at, by name; `None` for one that is not published.
fn looked_at(found: &PublishedSkills) -> BTreeMap<&str, Option<SkillDigest>> {
    let unpublished = found.unpublished.iter();
    let unpublished = unpublished.map(|skill| (skill.name.as_str(), None));
    let published = found.skills.iter();
    let published = published.map(|skill| (skill.name.as_str(), Some(digest(skill))));
    unpublished.chain(published).collect()
}

fn digest(skill: &PublishedSkill) -> SkillDigest {
    let mut digest = Sha256::new();
    for file in &skill.files {
        digest.update(&file.sha256);
    }
    digest.finalize().into()
}
