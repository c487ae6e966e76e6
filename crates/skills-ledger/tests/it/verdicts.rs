//! Ledgers with a planted truth, and the verdict that must find it.

use skills_ledger::{
    ActivatedBy, Activity, Assessment, Duplicate, Event, Problem, ProblemKind, RunOutcome,
    SessionHash, SkillFacts, Summarizer, Summary, Timestamp, TurnOutcome, Verdict,
};

use super::{days_ago, digest, event, now};

const RUN: Activity = Activity::ScriptRun(RunOutcome::Succeeded);
const FAILED: Activity = Activity::ScriptRun(RunOutcome::Failed);
const READ: Activity = Activity::Activated(ActivatedBy::Model);

fn summarize(events: &[Event<'_>]) -> Summary {
    let mut summarizer = Summarizer::new(now());
    // A ledger that is old enough to judge by, in which lists are recorded.
    summarizer.add(&event("other", RUN, 400.0));
    for _ in 0..200 {
        summarizer.add(&event("other", Activity::Offered, 30.0));
    }
    events.iter().for_each(|event| summarizer.add(event));
    summarizer.finish()
}

fn facts() -> SkillFacts {
    let mut facts = SkillFacts::new("planted", "user");
    facts.installed = Some(days_ago(300.0));
    facts.has_resources = true;
    facts
}

/// Returns the verdict and the reasons as one text.
fn judge(facts: &SkillFacts, events: &[Event<'_>]) -> String {
    let assessment = Assessment::new(facts, &summarize(events));
    let reasons = assessment.reasons.iter();
    let reasons = reasons.map(|reason| format!("; {}: {reason}", reason.code()));
    assessment.verdict.as_str().to_owned() + &reasons.collect::<String>()
}

fn planted(activity: Activity, days: f64) -> Event<'static> {
    event("planted", activity, days)
}

fn repeat(activity: Activity, count: usize, first_day: f64, last_day: f64) -> Vec<Event<'static>> {
    let step = (first_day - last_day) / count as f64;
    (0..count)
        .map(|number| planted(activity, first_day - step * number as f64))
        .collect()
}

#[test]
fn a_failing_skill_is_found() {
    let events = [repeat(FAILED, 8, 10.0, 0.0), repeat(RUN, 2, 10.0, 0.0)].concat();
    insta::assert_snapshot!(judge(&facts(), &events), @"failing; failure-rate: failed 8 of 10 times in the last 90 days");
    // Also by the judgement of the host application, without programs.
    let retried = repeat(Activity::TurnEnded(TurnOutcome::Retried), 8, 10.0, 0.0);
    assert!(judge(&facts(), &retried).starts_with("failing; failure-rate"));
}

#[test]
fn a_skill_that_works_is_healthy() {
    let events = [repeat(FAILED, 1, 10.0, 0.0), repeat(RUN, 20, 10.0, 0.0)].concat();
    assert_eq!(judge(&facts(), &events), "healthy");
}

#[test]
fn little_evidence_is_no_verdict() {
    assert_eq!(judge(&facts(), &repeat(FAILED, 4, 1.0, 0.0)), "unknown");
    // Enough trials, but too long ago.
    assert_eq!(
        judge(&facts(), &repeat(FAILED, 9, 99.0, 91.0)),
        "stale; fading: not used for 91 days"
    );
    insta::assert_snapshot!(judge(&facts(), &repeat(READ, 50, 10.0, 0.0)), @"review; never-found: activated 50 times, and never in a list or found by a search");
    assert_eq!(
        Assessment::new(&facts(), &Summarizer::new(now()).finish()).verdict,
        Verdict::Unknown
    );
}

#[test]
fn a_skill_that_searches_find_in_vain_is_too_broad() {
    const FOUND: Activity = Activity::Searched;
    let found = |count| repeat(FOUND, count, 10.0, 0.0);
    insta::assert_snapshot!(judge(&facts(), &[found(400), repeat(READ, 1, 10.0, 0.0)].concat()), @"review; too-broad: found by 400 searches and activated once: its description may promise too much");
    // Too few searches, or enough uses.
    for few in [
        [found(49), repeat(READ, 1, 10.0, 0.0)].concat(),
        [found(400), repeat(READ, 20, 10.0, 0.0)].concat(),
    ] {
        assert_eq!(judge(&facts(), &few), "unknown");
    }
}

#[test]
fn old_failures_are_forgotten() {
    let events = [repeat(FAILED, 10, 200.0, 190.0), repeat(RUN, 8, 10.0, 0.0)].concat();
    assert_eq!(judge(&facts(), &events), "healthy");
}

/// What depends on the host, its user or its policy says nothing about a skill.
#[test]
fn denied_and_cancelled_runs_are_no_failures() {
    for outcome in [
        RunOutcome::Denied,
        RunOutcome::Cancelled,
        RunOutcome::NotStarted,
        RunOutcome::RequirementMissing,
        RunOutcome::NotObserved,
    ] {
        let events = repeat(Activity::ScriptRun(outcome), 50, 10.0, 0.0);
        assert_eq!(judge(&facts(), &events), "unknown", "{outcome:?}");
    }
}

#[test]
fn a_bad_update_is_found() {
    let mut events = [repeat(RUN, 30, 120.0, 20.0), repeat(FAILED, 2, 120.0, 20.0)].concat();
    let updated = [repeat(FAILED, 4, 9.0, 0.0), repeat(RUN, 6, 9.0, 0.0)].concat();
    events.extend(updated.into_iter().map(|event| event.digest(digest(2))));
    insta::assert_snapshot!(judge(&facts(), &events), @"failing; regression: fails more often since an update: 4 of 10 times, before 2 of 32");
    // The present content decides: returning to the old one ends the problem.
    let mut returned = facts();
    returned.digest = Some(digest(1));
    assert_eq!(judge(&returned, &events), "healthy");
}

#[test]
fn an_update_with_little_evidence_or_a_small_difference_is_no_regression() {
    let mut events = repeat(RUN, 30, 120.0, 20.0);
    let updated = [repeat(FAILED, 2, 9.0, 0.0), repeat(RUN, 2, 9.0, 0.0)].concat();
    events.extend(updated.into_iter().map(|event| event.digest(digest(2))));
    assert_eq!(judge(&facts(), &events), "unknown");
    let mut events = repeat(RUN, 1_000, 120.0, 20.0);
    let updated = [repeat(FAILED, 50, 9.0, 0.0), repeat(RUN, 950, 9.0, 0.0)].concat();
    events.extend(updated.into_iter().map(|event| event.digest(digest(2))));
    assert_eq!(judge(&facts(), &events), "healthy");
}

#[test]
fn copies_in_two_projects_are_not_updates_of_each_other() {
    let mut events = repeat(RUN, 30, 120.0, 0.0);
    let copy = [repeat(FAILED, 4, 60.0, 0.0), repeat(RUN, 6, 60.0, 0.0)].concat();
    events.extend(copy.into_iter().map(|event| event.digest(digest(2))));
    let judged = judge(&facts(), &events);
    assert!(!judged.contains("regression"), "{judged}");
}

#[test]
fn an_update_starts_anew() {
    let mut events = repeat(FAILED, 30, 30.0, 10.0);
    let updated = repeat(RUN, 6, 9.0, 0.0);
    events.extend(updated.into_iter().map(|event| event.digest(digest(2))));
    assert_eq!(judge(&facts(), &events), "healthy");
    let mut unused = facts();
    unused.digest = Some(digest(3));
    assert_eq!(judge(&unused, &events), "unknown");
}

#[test]
fn a_skill_that_was_not_used_for_90_days_is_stale() {
    assert_eq!(judge(&facts(), &[planted(RUN, 89.0)]), "unknown");
    let judged = judge(&facts(), &[planted(RUN, 300.0), planted(RUN, 91.5)]);
    assert_eq!(judged, "stale; fading: not used for 91 days");
}

#[test]
fn a_skill_that_was_never_offered_is_told_from_one_that_was_never_used() {
    insta::assert_snapshot!(judge(&facts(), &[]), @"stale; never-offered: never used, and never offered");
    let offered = repeat(Activity::Offered, 120, 100.0, 0.0);
    insta::assert_snapshot!(judge(&facts(), &offered), @"stale; never-used: never used, although offered 120 times");
}

#[test]
fn a_skill_is_stale_only_after_it_was_observed_for_long_enough() {
    let mut new = facts();
    new.installed = Some(days_ago(59.0));
    assert_eq!(judge(&new, &[]), "unknown");
    // A file that an update replaced yesterday, of a skill that the ledger has seen before.
    new.installed = Some(days_ago(1.0));
    assert!(judge(&new, &repeat(Activity::Offered, 9, 100.0, 90.0)).starts_with("stale"));
    // Nothing is known about the time before the ledger.
    let mut young = Summarizer::new(now());
    young.add(&event("other", RUN, 59.0));
    assert_eq!(
        Assessment::new(&facts(), &young.finish()).verdict,
        Verdict::Unknown
    );
}

#[test]
fn a_pinned_skill_is_not_stale() {
    let mut pinned = facts();
    pinned.is_pinned = true;
    assert_eq!(judge(&pinned, &[]), "unknown; dormant: pinned: never used");
    let events = repeat(RUN, 3, 250.0, 200.0);
    assert_eq!(
        judge(&pinned, &events),
        "unknown; dormant: pinned: not used for 216 days"
    );
}

/// Many activations do not prove use.
#[test]
fn a_popular_skill_that_helps_nobody_is_found() {
    let mut events = Vec::new();
    for number in 0..20 {
        let session = SessionHash::new(&number.to_string());
        let start = days_ago(f64::from(number) + 1.0);
        let soon = Timestamp::from_millis(start.as_millis() + 60_000);
        let activated = Event::new("planted", "user", READ, start).session(session);
        let instead = Event::new("other", "user", READ, soon).session(session);
        events.extend([
            activated,
            instead,
            planted(Activity::Searched, f64::from(number)),
        ]);
    }
    insta::assert_snapshot!(judge(&facts(), &events), @"review; abandoned: replaced by another skill within ten minutes in 20 of 20 sessions");
    // Of a skill that has only instructions nothing else can be used.
    let mut instructions = facts();
    instructions.has_resources = false;
    assert_eq!(judge(&instructions, &events), "unknown");
}

#[test]
fn what_does_not_work_any_more_is_reported() {
    let mut rotten = facts();
    let problem = |kind, subject: &str| Problem {
        kind,
        subject: subject.to_owned(),
    };
    rotten.problems = vec![
        problem(ProblemKind::DeadLink, "references/a.md"),
        problem(ProblemKind::MissingVariable, "API_KEY"),
    ];
    rotten.duplicates = vec![Duplicate {
        skill: "twin".to_owned(),
        similarity: 0.912,
        has_same_description: false,
    }];
    let used = repeat(RUN, 9, 9.0, 0.0);
    insta::assert_snapshot!(judge(&rotten, &used), @"review; dead-link: links to `references/a.md`, which the skill does not have; missing-variable: variable `API_KEY` is not set; near-duplicate: 91 % of its text is that of `twin`");
    rotten
        .problems
        .push(problem(ProblemKind::MissingProgram, "pdftk"));
    assert!(
        judge(&rotten, &used).starts_with("broken; missing-program: program `pdftk` not found; ")
    );
}

#[test]
fn skills_of_one_name_in_two_scopes_are_judged_apart() {
    let events = repeat(FAILED, 9, 9.0, 0.0);
    let mut elsewhere = facts();
    elsewhere.scope = "repo".to_owned();
    elsewhere.installed = Some(days_ago(1.0));
    assert_eq!(judge(&elsewhere, &events), "unknown");
}

#[test]
fn only_the_contents_that_were_used_last_are_kept_apart() {
    let events: Vec<_> = (0..200_u8)
        .map(|number| planted(RUN, 200.0 - f64::from(number)).digest(digest(number)))
        .collect();
    let summary = summarize(&events);
    let usage = summary.skill("planted", "user").unwrap();
    let kept: Vec<_> = usage
        .contents
        .iter()
        .map(|content| content.digest.unwrap())
        .collect();
    assert_eq!(kept, (184..200).map(digest).collect::<Vec<_>>());
    assert_eq!(
        usage.counts.get(Activity::ScriptRun(RunOutcome::Succeeded)),
        200
    );
}
