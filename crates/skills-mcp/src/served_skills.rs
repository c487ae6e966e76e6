//! Lists the published skills, and remembers which were served, to notice their changes.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Mutex};

use rmcp::ErrorData;
use sha2::{Digest, Sha256};
use skills_threads::lock;
use skills_tools::{PublishedSkill, PublishedSkills};

use crate::Server;
use crate::list_changes::{ListKind, ListTracker};
use crate::pagination::{Page, decode_cursor, encode_cursor};

/// The SHA-256 of the paths and digests of all files. Every list of skills depends on nothing else:
/// the frontmatter is in a file.
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
    /// The skills that were read, by name; `None` for one that is not published.
    skills: BTreeMap<String, Option<SkillDigest>>,
    /// The names of the other skills of that time. A skill that is in neither list is new.
    unread: HashSet<String>,
    /// The number of differences that were found.
    changes: u64,
    /// The number of comparisons that have started.
    comparisons: u64,
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
    let read_page = move |server: &Server| {
        if after.is_some() && !lock(&server.inner.served_skills.0).has_begun {
            // The client has read the pages before from another server.
            read_and_record(server, |_| true, usize::MAX);
        }
        let is_wanted = |name: &str| after.as_deref().is_none_or(|after| name > after);
        let comparisons = lock(&server.inner.served_skills.0).comparisons;
        let page = read_and_record(server, is_wanted, limit);
        if lock(&server.inner.served_skills.0).comparisons != comparisons {
            // The comparison left out this page. Its skills may have changed after they were read.
            refresh(server);
        }
        page
    };
    let PublishedSkills {
        skills, has_more, ..
    } = server.run_blocking(read_page).await?;
    // By name and not by position, so that added or removed skills do not shift the next page.
    let last = skills.last().filter(|_| has_more);
    let next = last.map(|last| encode_cursor(&last.name));
    Ok(Page {
        items: skills,
        next,
    })
}

/// Returns all published skills, ordered by name, and records them as served. Performs blocking
/// I/O.
pub(crate) fn all(server: &Server) -> Vec<Arc<PublishedSkill>> {
    read_and_record(server, |_| true, usize::MAX).skills
}

/// Records a skill that was read alone. Performs blocking I/O.
pub(crate) fn record(server: &Server, skill: &PublishedSkill) {
    read_and_record(server, |name| name == skill.name, 1);
}

/// Compares the skills that were served with their current content: all if none were. Performs
/// blocking I/O.
pub(crate) fn refresh(server: &Server) {
    let unread = {
        let mut served = lock(&server.inner.served_skills.0);
        served.comparisons += 1;
        served.unread.clone()
    };
    read_and_record(server, |name| !unread.contains(name), usize::MAX);
}

/// Records all skills, unless they are known already. Performs blocking I/O.
pub(crate) fn read_unread(server: &Server) {
    let is_complete = {
        let served = lock(&server.inner.served_skills.0);
        served.has_begun && served.unread.is_empty()
    };
    if !is_complete {
        all(server);
    }
}

/// Reads skills and records them as served. The reasons why others are not published are logged
/// once.
fn read_and_record(
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
    log_converted(server, &found);
    inner.served_skills.record(&found, &inner.list_tracker);
    found
}

/// Logs in one line, once, of which skills the metadata is not as in their files.
fn log_converted(server: &Server, found: &PublishedSkills) {
    let skills = found
        .skills
        .iter()
        .filter(|skill| skill.has_metadata_as_text);
    // Names of published skills are plain.
    let named: Vec<&str> = skills
        .clone()
        .take(3)
        .map(|skill| skill.name.as_str())
        .collect();
    if named.is_empty() || !server.inner.log_once.should_log("nested metadata") {
        return;
    }
    let count = skills.count();
    tracing::info!(
        "nested `metadata` is published as text, of {count} skills, such as `{}`",
        named.join("`, `")
    );
}

impl ServedSkills {
    /// Records what was found. Notifies subscribers if it differs from what was served.
    fn record(&self, found: &PublishedSkills, lists: &ListTracker) {
        let mut served = lock(&self.0);
        served.record(found);
        // Under the lock, so that versions arrive in their order.
        lists.update(ListKind::Resources, &served.changes);
    }
}

impl Served {
    fn record(&mut self, found: &PublishedSkills) {
        let is_first = !std::mem::replace(&mut self.has_begun, true);
        let unread: HashSet<&str> = found.unread.iter().map(String::as_str).collect();
        let now = read_skills(found, &unread);
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

/// Returns the skills that were read, by name; `None` for one that is not published. An untrusted
/// skill can have the name of another one, which counts.
fn read_skills<'a>(
    found: &'a PublishedSkills,
    unread: &HashSet<&str>,
) -> BTreeMap<&'a str, Option<SkillDigest>> {
    let unpublished = found.unpublished.iter().map(|skill| skill.name.as_str());
    let unpublished = unpublished.filter(|name| !unread.contains(name));
    let published = found.skills.iter();
    let published = published.map(|skill| (skill.name.as_str(), Some(digest(skill))));
    unpublished
        .map(|name| (name, None))
        .chain(published)
        .collect()
}

fn digest(skill: &PublishedSkill) -> SkillDigest {
    let mut digest = Sha256::new();
    for file in &skill.files {
        // Both are without NUL.
        for part in [&file.path, &file.sha256] {
            digest.update(part);
            digest.update([0]);
        }
    }
    digest.finalize().into()
}
