//! Remembers which skills of a source could not be opened.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use skills_threads::lock;

use crate::error::{DiscoveryError, Repr};
use crate::{ContentDigest, ListedSkill, TreePath};

/// How long failures are remembered after the last one.
const REMEMBERED: Duration = Duration::from_secs(60);
/// The maximum time of failures of one source until all its skills fail.
const MAX_FAILED: Duration = Duration::from_secs(30);

/// The failures of one source. Callers open one skill after the other, so that each that waited for
/// a source that does not answer would multiply its time limit.
#[derive(Debug, Default)]
pub(crate) struct OpenFailures(Mutex<Failures>);

#[derive(Debug, Default)]
struct Failures {
    /// The revision of the source in which `skills` failed.
    revision: u64,
    skills: HashMap<TreePath, (ContentDigest, Cause)>,
    /// How long they took together, in any revision.
    failed: Duration,
    last: Option<Instant>,
}

/// Errors of the operating system are not among them, since they say nothing about the source.
#[derive(Debug)]
enum Cause {
    Source(String),
    NotListed(String),
}

/// When a source was asked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Attempt {
    pub(crate) revision: u64,
    pub(crate) start: Instant,
}

impl OpenFailures {
    /// Fails as the skill did in the same revision within the last minute, and if failures of the
    /// source took half a minute.
    pub(crate) fn check(
        &self,
        skill: &ListedSkill,
        attempt: Attempt,
    ) -> Result<(), DiscoveryError> {
        let failures = &mut *lock(&self.0);
        let age = |last: Instant| attempt.start.saturating_duration_since(last);
        if failures.last.is_none_or(|last| age(last) >= REMEMBERED) {
            *failures = Failures::default();
        }
        let failed = failures.skills.get(skill.path());
        let failed = failed.filter(|(digest, _)| {
            failures.revision == attempt.revision && *digest == skill.digest()
        });
        match failed {
            Some((_, Cause::Source(text))) => Err(Repr::Source(text.clone().into()).into()),
            Some((_, Cause::NotListed(path))) => Err(Repr::NotListed(path.clone()).into()),
            None if failures.failed >= MAX_FAILED => Err(Repr::SourceFailing.into()),
            None => Ok(()),
        }
    }

    /// Remembers why a skill could not be opened.
    pub(crate) fn record(
        &self,
        skill: &ListedSkill,
        attempt: Attempt,
        end: Instant,
        error: &DiscoveryError,
    ) {
        let cause = match &error.0 {
            Repr::Source(cause) => Cause::Source(cause.to_string()),
            Repr::NotListed(path) => Cause::NotListed(path.clone()),
            _ => return,
        };
        let failures = &mut *lock(&self.0);
        if failures.revision != attempt.revision {
            failures.skills.clear();
            failures.revision = attempt.revision;
        }
        failures.failed += end.saturating_duration_since(attempt.start);
        failures.last = Some(end);
        let skills = &mut failures.skills;
        skills.insert(skill.path().clone(), (skill.digest(), cause));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ListedFile;

    fn skill(at: &str) -> ListedSkill {
        let path = |text| TreePath::new(text).unwrap();
        let file = ListedFile::of_content(path("SKILL.md"), b"x");
        ListedSkill::new(path(at), vec![file], b"x".to_vec(), None).unwrap()
    }

    fn error(text: &str) -> DiscoveryError {
        Repr::Source(text.into()).into()
    }

    #[test]
    fn a_source_that_does_not_answer_is_asked_for_half_a_minute() {
        let failures = OpenFailures::default();
        let mut now = Instant::now();
        let mut asked = 0;
        for number in 0..10 {
            // A server can list all skills again at any time.
            let attempt = Attempt {
                revision: number,
                start: now,
            };
            let skill = skill(&format!("s{number}"));
            if failures.check(&skill, attempt).is_ok() {
                asked += 1;
                now += Duration::from_secs(12);
                failures.record(&skill, attempt, now, &error("no response"));
            }
        }
        assert_eq!(asked, 3);
        let later = |seconds| Attempt {
            revision: 0,
            start: now + Duration::from_secs(seconds),
        };
        let failed = failures.check(&skill("s9"), later(59)).unwrap_err();
        assert!(failed.to_string().contains("30 seconds"), "{failed}");
        assert!(failures.check(&skill("s9"), later(60)).is_ok());
    }

    #[test]
    fn errors_of_the_operating_system_are_not_remembered() {
        let failures = OpenFailures::default();
        let start = Instant::now();
        let attempt = Attempt { revision: 0, start };
        let full = std::io::Error::from(std::io::ErrorKind::StorageFull);
        failures.record(&skill("a"), attempt, start, &full.into());
        assert!(failures.check(&skill("a"), attempt).is_ok());
    }
}
