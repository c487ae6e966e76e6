//! The judgement on a skill: a verdict with its reasons.

use std::fmt;

use crate::{
    Activity, ContentUsage, Counts, Duplicate, Problem, ProblemKind, RECENT_DAYS, Share,
    SkillFacts, SkillUsage, Staleness, Summary,
};

/// Fewer trials than this are not enough to judge by.
const MIN_TRIALS: u64 = 5;
/// A skill fails too often if at least this part of its recent trials failed.
const MAX_FAILURES: f64 = 0.5;
/// An update made a skill worse if the rate of failures grew by at least this.
const MIN_REGRESSION: f64 = 0.25;
/// Contents that were used at the same time for longer are not an update of each other.
const MAX_OVERLAP: std::time::Duration = std::time::Duration::from_secs(24 * 60 * 60);
/// A skill is abandoned too often if that happens in more than this part of its sessions.
const MAX_ABANDONED: f64 = 0.5;
/// A skill that was activated as often without ever being in a list or found is hard to find.
const MIN_ACTIVATIONS: u64 = 5;
/// A skill that fewer searches found is not judged by them.
const MIN_FINDS: u64 = 100;
/// A skill is found too often if it was activated in less than this part of the searches that found
/// it.
const MIN_USED_FINDS: f64 = 0.02;
/// Fewer offers of all skills together than this mean that lists are not recorded.
const MIN_OFFERS: u64 = 100;

/// The judgement on a skill. It changes nothing: what to do is up to the user.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Assessment {
    /// The judgement in one word.
    pub verdict: Verdict,
    /// Why, the most important first.
    pub reasons: Vec<Reason>,
    /// The failures of the present content in the last 90 days.
    pub failures: Share,
    /// The sessions with an activation in which the skill was abandoned.
    pub abandoned: Share,
    /// Whether the skill is still used.
    pub staleness: Staleness,
    /// The numbers of the present content; all 0 if it has no events.
    pub counts: Counts,
}

/// A judgement in one word, the worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Verdict {
    /// It fails too often, or more often since an update.
    Failing,
    /// It cannot run on this machine, or cannot be read.
    Broken,
    /// It is not used any more, or never was.
    Stale,
    /// Something else deserves a look.
    Review,
    /// There is enough evidence, and none against it.
    Healthy,
    /// There is not enough evidence.
    Unknown,
}

/// A reason of a verdict.
///
/// [`Display`](fmt::Display) writes one phrase. It can contain paths and names from a skill: escape
/// it before display.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Reason {
    /// It fails too often.
    FailureRate(Share),
    /// It fails more often since an update.
    Regression {
        /// The failures before the update.
        before: Share,
        /// The failures since the update.
        after: Share,
    },
    /// Something that it needs does not exist.
    Problem(Problem),
    /// It is stale, or dormant, which does not count against it.
    Staleness(Staleness),
    /// It is often activated in vain.
    Abandoned(Share),
    /// It is activated by its name only: lists and searches never show it.
    NeverFound {
        /// How often it was activated.
        activations: u64,
    },
    /// Searches find it for requests that it is not for: it is seldom activated after them.
    TooBroad {
        /// How often it was among the results of a search.
        found: u64,
        /// How often it was activated.
        activations: u64,
    },
    /// Another skill has almost the same text.
    NearDuplicate(Duplicate),
}

impl Assessment {
    /// Judges a skill by its ledger and by what else is known about it.
    #[must_use]
    pub fn new(facts: &SkillFacts, summary: &Summary) -> Self {
        let usage = summary.skill(&facts.name, &facts.scope);
        let content = usage.and_then(|usage| present_content(usage, facts));
        let earlier = usage
            .zip(content)
            .and_then(|(usage, content)| earlier_content(usage, content));
        let abandoned = usage.map(|usage| Share {
            hits: usage.abandoned,
            trials: usage.sessions,
        });
        let total = usage.map(|usage| usage.counts).unwrap_or_default();
        let mut assessment = Self {
            verdict: Verdict::Unknown,
            reasons: Vec::new(),
            failures: content
                .map(|content| content.recent_failures)
                .unwrap_or_default(),
            abandoned: abandoned.unwrap_or_default(),
            staleness: Staleness::new(facts, summary),
            counts: content.map(|content| content.counts).unwrap_or_default(),
        };
        assessment.reasons.extend(assessment.failure_rate());
        assessment
            .reasons
            .extend(content.zip(earlier).and_then(regression));
        let problems = facts.problems.iter().cloned();
        assessment.reasons.extend(problems.map(Reason::Problem));
        if assessment.staleness.is_stale()
            || matches!(assessment.staleness, Staleness::Dormant { .. })
        {
            assessment
                .reasons
                .push(Reason::Staleness(assessment.staleness));
        }
        let is_abandoned = judged(assessment.abandoned).is_some_and(|rate| rate > MAX_ABANDONED);
        if facts.has_resources && is_abandoned {
            assessment
                .reasons
                .push(Reason::Abandoned(assessment.abandoned));
        }
        assessment.reasons.extend(never_found(&total, summary));
        assessment.reasons.extend(too_broad(&total));
        let duplicates = facts.duplicates.iter().cloned();
        assessment
            .reasons
            .extend(duplicates.map(Reason::NearDuplicate));
        assessment.decide();
        assessment
    }

    fn failure_rate(&self) -> Option<Reason> {
        let rate = judged(self.failures)?;
        (rate >= MAX_FAILURES).then_some(Reason::FailureRate(self.failures))
    }

    /// Orders the reasons, and takes the verdict of the most important one.
    fn decide(&mut self) {
        self.reasons.sort_by_key(Reason::verdict);
        let against = self.reasons.first().map(Reason::verdict);
        let without = if self.failures.trials >= MIN_TRIALS {
            Verdict::Healthy
        } else {
            Verdict::Unknown
        };
        self.verdict = against.map_or(without, |against| against.min(without));
    }
}

impl Verdict {
    /// Returns the verdict as one lowercase word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Failing => "failing",
            Self::Broken => "broken",
            Self::Stale => "stale",
            Self::Review => "review",
            Self::Healthy => "healthy",
            Self::Unknown => "unknown",
        }
    }
}

impl Reason {
    /// Returns a code in kebab case, as in JSON output.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::FailureRate(_) => "failure-rate",
            Self::Regression { .. } => "regression",
            Self::Problem(problem) => problem.kind.code(),
            Self::Staleness(Staleness::Unused { offers: 0 }) => "never-offered",
            Self::Staleness(Staleness::Unused { .. }) => "never-used",
            Self::Staleness(staleness) => staleness.as_str(),
            Self::Abandoned(_) => "abandoned",
            Self::NeverFound { .. } => "never-found",
            Self::TooBroad { .. } => "too-broad",
            Self::NearDuplicate(_) => "near-duplicate",
        }
    }

    /// Returns the verdict that this reason alone would lead to.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        match self {
            Self::FailureRate(_) | Self::Regression { .. } => Verdict::Failing,
            Self::Problem(problem) => match problem.kind {
                ProblemKind::DeadLink | ProblemKind::MissingVariable => Verdict::Review,
                ProblemKind::MissingProgram
                | ProblemKind::UnsupportedSystem
                | ProblemKind::Unreadable => Verdict::Broken,
            },
            Self::Staleness(staleness) if staleness.is_stale() => Verdict::Stale,
            // It explains why the skill is not stale.
            Self::Staleness(_) => Verdict::Unknown,
            Self::Abandoned(_)
            | Self::NeverFound { .. }
            | Self::TooBroad { .. }
            | Self::NearDuplicate(_) => Verdict::Review,
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FailureRate(Share { hits, trials }) => write!(
                f,
                "failed {hits} of {trials} times in the last {RECENT_DAYS} days"
            ),
            Self::Regression { before, after } => write!(
                f,
                "fails more often since an update: {} of {} times, before {} of {}",
                after.hits, after.trials, before.hits, before.trials
            ),
            Self::Problem(problem) => problem.fmt(f),
            Self::Staleness(staleness) => write_staleness(*staleness, f),
            Self::Abandoned(Share { hits, trials }) => write!(
                f,
                "replaced by another skill within ten minutes in {hits} of {trials} sessions"
            ),
            Self::NeverFound { activations } => write!(
                f,
                "activated {activations} times, and never in a list or found by a search"
            ),
            Self::TooBroad { found, activations } => write!(
                f,
                "found by {found} searches and activated {}: its description may promise too much",
                times(*activations)
            ),
            Self::NearDuplicate(duplicate) => {
                let share = duplicate.similarity * 100.0;
                let other = &duplicate.skill;
                if duplicate.has_same_description {
                    write!(
                        f,
                        "has the description of `{other}`, and {share:.0} % of its text"
                    )
                } else {
                    write!(f, "{share:.0} % of its text is that of `{other}`")
                }
            }
        }
    }
}

fn write_staleness(staleness: Staleness, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match staleness {
        Staleness::InUse => write!(f, "in use"),
        Staleness::TooNew => write!(f, "observed for less than 60 days"),
        Staleness::Unused { offers: 0 } => write!(f, "never used, and never offered"),
        Staleness::Unused { offers } => {
            write!(f, "never used, although offered {}", times(offers))
        }
        Staleness::Fading { days } => write!(f, "not used for {}", counted_days(days)),
        Staleness::Dormant { days: Some(days) } => {
            write!(f, "pinned: not used for {}", counted_days(days))
        }
        Staleness::Dormant { days: None } => write!(f, "pinned: never used"),
    }
}

fn times(count: u64) -> String {
    match count {
        1 => "once".to_owned(),
        count => format!("{count} times"),
    }
}

fn counted_days(days: u64) -> String {
    match days {
        1 => "1 day".to_owned(),
        days => format!("{days} days"),
    }
}

/// Returns the part of the trials with the result, if there are enough to judge by.
fn judged(share: Share) -> Option<f64> {
    share.observed().filter(|_| share.trials >= MIN_TRIALS)
}

/// Returns the content to judge: that of the files, or else the one that was seen first last.
fn present_content<'a>(usage: &'a SkillUsage, facts: &SkillFacts) -> Option<&'a ContentUsage> {
    match facts.digest {
        Some(digest) => usage.content(digest),
        None => {
            let mut contents = usage.contents.iter().rev();
            let with_digest = contents.find(|content| content.digest.is_some());
            with_digest.or(usage.contents.last())
        }
    }
}

/// Returns the content that an update replaced by this one.
fn earlier_content<'a>(usage: &'a SkillUsage, content: &ContentUsage) -> Option<&'a ContentUsage> {
    content.digest?;
    let end = content.first.plus(MAX_OVERLAP);
    let is_earlier = |other: &&ContentUsage| {
        let is_other = other.digest.is_some() && other.digest != content.digest;
        // Copies in two projects are used at the same time, and none is an update of the other.
        is_other && other.first <= content.first && other.last <= end
    };
    let contents = usage.contents.iter().filter(is_earlier);
    contents.max_by_key(|other| (other.last, other.digest))
}

fn regression((content, earlier): (&ContentUsage, &ContentUsage)) -> Option<Reason> {
    let failures = |content: &ContentUsage| Share {
        hits: content.counts.failures(),
        trials: content.counts.trials(),
    };
    let (after, before) = (failures(content), failures(earlier));
    let growth = judged(after)? - judged(before)?;
    (growth >= MIN_REGRESSION).then_some(Reason::Regression { before, after })
}

fn never_found(total: &Counts, summary: &Summary) -> Option<Reason> {
    let activations = total.activations();
    if total.offers() > 0 || activations < MIN_ACTIVATIONS {
        return None;
    }
    let skills = summary.skills.iter();
    let offers: u64 = skills.map(|skill| skill.counts.offers()).sum();
    (offers >= MIN_OFFERS).then_some(Reason::NeverFound { activations })
}

fn too_broad(total: &Counts) -> Option<Reason> {
    let found = total.get(Activity::Searched);
    let activations = total.activations();
    let is_seldom_used = (activations as f64) < found as f64 * MIN_USED_FINDS;
    (found >= MIN_FINDS && is_seldom_used).then_some(Reason::TooBroad { found, activations })
}
