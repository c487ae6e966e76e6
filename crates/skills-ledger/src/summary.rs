//! The summary of a ledger, computed in one pass.

use std::collections::HashMap;

use crate::activity::Evidence;
use crate::sessions::{Judged, SessionTracker};
use crate::{Activity, Counts, Digest, Event, Share, Timestamp};

/// Maximum number of skills of a summary; events of further ones are counted as unknown.
const MAX_SKILLS: usize = 100_000;
/// Maximum number of contents of a skill that are kept apart.
const MAX_CONTENTS: usize = 16;
/// Trials of the last 90 days decide whether a skill fails, and a use in them that it is in use.
pub const RECENT_DAYS: u64 = 90;

/// What a ledger says about each skill.
///
/// Its memory depends on the number of skills and not on the number of events. The order of events
/// does not matter, so files can be read in any order.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Summary {
    /// The time to which ages refer.
    pub now: Timestamp,
    /// The time of the first event; `None` without events. Nothing is known about what was before.
    pub since: Option<Timestamp>,
    /// The number of events that were read.
    pub events: u64,
    /// The number of lines that are not events: partially written, or edited.
    pub malformed: u64,
    /// The number of events of kinds that this version does not know, and of skills beyond the
    /// first 100,000.
    pub unknown: u64,
    /// The number of events after [`now`](Self::now), from a clock that was wrong. They count as if
    /// they happened now.
    pub from_future: u64,
    /// The skills, by name and scope.
    pub skills: Vec<SkillUsage>,
}

/// What a ledger says about one skill: a name in a scope.
///
/// Skills of the same name in two projects have the same scope; their contents are kept apart.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct SkillUsage {
    /// The name of the skill.
    pub name: String,
    /// The scope of its root.
    pub scope: String,
    /// The time of the first event.
    pub first: Timestamp,
    /// The time of the last event.
    pub last: Timestamp,
    /// The time of the last use, if there was one: an activation, a reference that was read, or a
    /// run.
    pub last_use: Option<Timestamp>,
    /// The number of events of all contents.
    pub counts: Counts,
    /// Its contents by the time of their first event. Of more than 16, those that were used last.
    pub contents: Vec<ContentUsage>,
    /// The number of sessions in which it was activated.
    pub sessions: u64,
    /// The number of these sessions in which nothing else of it was used and another skill was
    /// activated within ten minutes.
    pub abandoned: u64,
}

/// What a ledger says about one content of a skill.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct ContentUsage {
    /// The content; `None` for events that do not name it.
    pub digest: Option<Digest>,
    /// The time of the first event.
    pub first: Timestamp,
    /// The time of the last event.
    pub last: Timestamp,
    /// The number of its events.
    pub counts: Counts,
    /// The failures of the last 90 days.
    pub recent_failures: Share,
}

impl Summary {
    /// Returns what is known about a skill.
    #[must_use]
    pub fn skill(&self, name: &str, scope: &str) -> Option<&SkillUsage> {
        let key =
            |skill: &SkillUsage| (skill.name.as_str(), skill.scope.as_str()).cmp(&(name, scope));
        let position = self.skills.binary_search_by(key).ok()?;
        self.skills.get(position)
    }

    /// Returns how many days the ledger covers.
    #[must_use]
    pub fn covered_days(&self) -> f64 {
        self.since.map_or(0.0, |since| self.now.days_since(since))
    }
}

impl SkillUsage {
    fn new(event: &Event<'_>, time: Timestamp) -> Self {
        Self {
            name: event.skill.to_string(),
            scope: event.scope.to_string(),
            first: time,
            last: time,
            ..Self::default()
        }
    }

    /// Returns what is known about one content.
    #[must_use]
    pub fn content(&self, digest: Digest) -> Option<&ContentUsage> {
        let mut contents = self.contents.iter();
        contents.find(|content| content.digest == Some(digest))
    }

    fn add(&mut self, event: &Event<'_>, time: Timestamp, is_recent: bool) {
        self.first = self.first.min(time);
        self.last = self.last.max(time);
        self.counts.add(event.activity);
        if event.activity.is_use() {
            self.last_use = self.last_use.max(Some(time));
        }
        self.content_mut(event.digest, time)
            .add(event.activity, time, is_recent);
    }

    /// Returns the content of an event, in place of the one that was not used for the longest time
    /// if there are too many.
    fn content_mut(&mut self, digest: Option<Digest>, time: Timestamp) -> &mut ContentUsage {
        let known = |content: &ContentUsage| content.digest == digest;
        let position = self.contents.iter().position(known);
        let position = position.unwrap_or_else(|| {
            let new = ContentUsage::new(digest, time);
            let contents = self.contents.iter().enumerate();
            let oldest = contents.min_by_key(|(_, content)| (content.last, content.digest));
            match oldest.map(|(position, _)| position) {
                Some(position) if self.contents.len() >= MAX_CONTENTS => {
                    self.contents[position] = new;
                    position
                }
                _ => {
                    self.contents.push(new);
                    self.contents.len() - 1
                }
            }
        });
        &mut self.contents[position]
    }
}

impl ContentUsage {
    fn new(digest: Option<Digest>, time: Timestamp) -> Self {
        Self {
            digest,
            first: time,
            last: time,
            ..Self::default()
        }
    }

    fn add(&mut self, activity: Activity, time: Timestamp, is_recent: bool) {
        self.first = self.first.min(time);
        self.last = self.last.max(time);
        self.counts.add(activity);
        match activity.evidence() {
            Evidence::Failure if is_recent => self.recent_failures.add(true),
            Evidence::Success if is_recent => self.recent_failures.add(false),
            _ => {}
        }
    }
}

/// Computes a summary from events, one by one.
///
/// ```
/// use skills_ledger::{Activity, Event, Summarizer, Timestamp};
///
/// let now = Timestamp::from_millis(1_764_000_000_000);
/// let mut summarizer = Summarizer::new(now);
/// summarizer.add(&Event::new("pdf", "user", Activity::Mentioned, now));
/// assert_eq!(summarizer.finish().skills[0].counts.get(Activity::Mentioned), 1);
/// ```
#[derive(Debug)]
pub struct Summarizer {
    summary: Summary,
    /// The positions of the skills of a name.
    positions: HashMap<Box<str>, Vec<u32>>,
    sessions: SessionTracker,
}

impl Summarizer {
    /// Creates a summary without events. `now` is the time to which ages refer.
    #[must_use]
    pub fn new(now: Timestamp) -> Self {
        Self {
            summary: Summary {
                now,
                ..Summary::default()
            },
            positions: HashMap::new(),
            sessions: SessionTracker::default(),
        }
    }

    /// Adds an event.
    pub fn add(&mut self, event: &Event<'_>) {
        let now = self.summary.now;
        let time = event.time.min(now);
        let Some(position) = self.position(event, time) else {
            self.add_unknown();
            return;
        };
        self.summary.events += 1;
        self.summary.from_future += u64::from(event.time > now);
        self.summary.since = Some(self.summary.since.map_or(time, |since| since.min(time)));
        let is_recent = now.whole_days_since(time) < RECENT_DAYS;
        self.summary.skills[position as usize].add(event, time, is_recent);
        if let Some(session) = event.session {
            let judged = self.sessions.add(session, position, event.activity, time);
            self.add_judged(judged);
        }
    }

    /// Counts an event of a kind that is not known.
    pub(crate) fn add_unknown(&mut self) {
        self.summary.unknown += 1;
    }

    /// Counts a line that is not an event.
    pub(crate) fn add_malformed(&mut self) {
        self.summary.malformed += 1;
    }

    /// Returns the summary.
    #[must_use]
    pub fn finish(mut self) -> Summary {
        let judged = std::mem::take(&mut self.sessions).finish();
        self.add_judged(judged);
        let mut summary = self.summary;
        for skill in &mut summary.skills {
            let key = |content: &ContentUsage| (content.first, content.last, content.digest);
            skill.contents.sort_by_key(key);
        }
        let key = |skill: &SkillUsage| (skill.name.clone(), skill.scope.clone());
        summary.skills.sort_by_cached_key(key);
        summary
    }

    /// Returns the position of the skill of an event, which is added if it is new; `None` if there
    /// are too many.
    fn position(&mut self, event: &Event<'_>, time: Timestamp) -> Option<u32> {
        let skills = &mut self.summary.skills;
        if let Some(positions) = self.positions.get(event.skill.as_ref()) {
            let mut positions = positions.iter();
            let is_same = |position: &&u32| skills[**position as usize].scope == event.scope;
            if let Some(position) = positions.find(is_same) {
                return Some(*position);
            }
        }
        if skills.len() >= MAX_SKILLS {
            return None;
        }
        let position = skills.len() as u32;
        skills.push(SkillUsage::new(event, time));
        let name: Box<str> = event.skill.as_ref().into();
        self.positions.entry(name).or_default().push(position);
        Some(position)
    }

    fn add_judged(&mut self, judged: Vec<Judged>) {
        for one in judged {
            let skill = &mut self.summary.skills[one.skill as usize];
            skill.sessions += 1;
            skill.abandoned += u64::from(one.is_abandoned);
        }
    }
}
