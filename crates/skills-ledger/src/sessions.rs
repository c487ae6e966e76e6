//! Follows what happens in sessions after a skill was activated.

use std::collections::HashMap;

use crate::{Activity, SessionHash, Timestamp};

/// Maximum number of sessions that are followed at a time.
const MAX_SESSIONS: usize = 4_096;
/// Maximum number of skills of a session that are followed; later ones are ignored.
const MAX_SKILLS: usize = 64;
/// A skill that is activated within this time after another one takes its place.
const WINDOW: std::time::Duration = std::time::Duration::from_secs(10 * 60);

/// Follows sessions, and judges for each skill of a session whether it was abandoned: its
/// instructions were read, nothing else of it was used in the session, and another skill was
/// activated within ten minutes.
///
/// Within the 4,096 most recent sessions the order of events does not matter.
#[derive(Debug, Default)]
pub(crate) struct SessionTracker {
    sessions: HashMap<SessionHash, Session>,
}

#[derive(Debug, Default)]
struct Session {
    last: Timestamp,
    skills: Vec<SkillInSession>,
}

#[derive(Debug)]
struct SkillInSession {
    skill: u32,
    /// The first and the last activation.
    activated: Option<(Timestamp, Timestamp)>,
    /// Whether a file was read or a program was run.
    was_followed: bool,
}

/// The judgement on a skill in a session in which it was activated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Judged {
    pub(crate) skill: u32,
    pub(crate) is_abandoned: bool,
}

impl SessionTracker {
    /// Adds an event of a skill. Returns the judgements on sessions that are no longer followed.
    pub(crate) fn add(
        &mut self,
        session: SessionHash,
        skill: u32,
        activity: Activity,
        time: Timestamp,
    ) -> Vec<Judged> {
        if !activity.is_use() {
            return Vec::new();
        }
        let is_new = !self.sessions.contains_key(&session);
        let ended = if is_new && self.sessions.len() >= MAX_SESSIONS {
            self.end_oldest()
        } else {
            Vec::new()
        };
        self.sessions
            .entry(session)
            .or_default()
            .add(skill, activity, time);
        ended
    }

    /// Judges all sessions.
    pub(crate) fn finish(self) -> Vec<Judged> {
        self.sessions
            .into_values()
            .flat_map(Session::judge)
            .collect()
    }

    /// Ends the older half of the sessions.
    fn end_oldest(&mut self) -> Vec<Judged> {
        let mut times: Vec<Timestamp> = self.sessions.values().map(|one| one.last).collect();
        times.sort_unstable();
        let middle = times[times.len() / 2];
        let old = self
            .sessions
            .extract_if(|_, session| session.last <= middle);
        old.flat_map(|(_, session)| session.judge()).collect()
    }
}

impl Session {
    fn add(&mut self, skill: u32, activity: Activity, time: Timestamp) {
        self.last = self.last.max(time);
        let position = self.skills.iter().position(|known| known.skill == skill);
        let position = position.unwrap_or(self.skills.len());
        if position == MAX_SKILLS {
            return;
        }
        if position == self.skills.len() {
            self.skills.push(SkillInSession {
                skill,
                activated: None,
                was_followed: false,
            });
        }
        let known = &mut self.skills[position];
        if matches!(activity, Activity::Activated(_)) {
            let (first, last) = known.activated.unwrap_or((time, time));
            known.activated = Some((first.min(time), last.max(time)));
        } else {
            known.was_followed = true;
        }
    }

    fn judge(self) -> Vec<Judged> {
        let judge = |one: &SkillInSession| {
            let (_, last) = one.activated?;
            let is_soon_after = |time: Timestamp| time > last && time <= last.plus(WINDOW);
            let is_replaced = self.skills.iter().any(|other| {
                other
                    .activated
                    .is_some_and(|(first, last)| is_soon_after(first) || is_soon_after(last))
            });
            Some(Judged {
                skill: one.skill,
                is_abandoned: !one.was_followed && is_replaced,
            })
        };
        self.skills.iter().filter_map(judge).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ActivatedBy, RunOutcome};

    const READ: Activity = Activity::Activated(ActivatedBy::Model);

    fn judged(events: &[(u32, Activity, u64)]) -> Vec<(u32, bool)> {
        let mut tracker = SessionTracker::default();
        for (skill, activity, minute) in events {
            let time = Timestamp::from_millis(minute * 60_000);
            let ended = tracker.add(SessionHash::new("s"), *skill, *activity, time);
            assert_eq!(ended, []);
        }
        let judged = tracker.finish().into_iter();
        judged.map(|one| (one.skill, one.is_abandoned)).collect()
    }

    #[test]
    fn a_skill_that_another_one_soon_replaces_is_abandoned() {
        assert_eq!(
            judged(&[(1, READ, 0), (2, READ, 10)]),
            [(1, true), (2, false)]
        );
        assert_eq!(
            judged(&[(1, READ, 0), (2, READ, 11)]),
            [(1, false), (2, false)]
        );
        assert_eq!(
            judged(&[(2, READ, 10), (1, READ, 0)]),
            [(2, false), (1, true)]
        );
    }

    #[test]
    fn a_skill_of_which_something_was_used_is_not_abandoned() {
        let run = Activity::ScriptRun(RunOutcome::Failed);
        for follow in [run, Activity::ReferenceRead] {
            let events = [(1, READ, 0), (1, follow, 1), (2, READ, 2)];
            assert_eq!(judged(&events), [(1, false), (2, false)]);
        }
        assert_eq!(judged(&[(1, run, 0), (2, READ, 1)]), [(2, false)]);
    }

    #[test]
    fn memory_is_bounded_and_old_sessions_are_judged() {
        let mut tracker = SessionTracker::default();
        let mut ended = Vec::new();
        for number in 0..20_000_u64 {
            let session = SessionHash::new(&number.to_string());
            for skill in 0..2 {
                let time = Timestamp::from_millis(number * 1_000 + u64::from(skill));
                ended.extend(tracker.add(session, skill, READ, time));
            }
            assert!(tracker.sessions.len() <= MAX_SESSIONS);
        }
        ended.extend(tracker.finish());
        let abandoned = ended
            .iter()
            .filter(|one| one.is_abandoned && one.skill == 0);
        assert_eq!((ended.len(), abandoned.count()), (40_000, 20_000));
    }

    #[test]
    fn the_skills_of_a_session_are_bounded() {
        let events: Vec<_> = (0..1_000).map(|skill| (skill, READ, 0)).collect();
        assert_eq!(judged(&events).len(), MAX_SKILLS);
    }
}
