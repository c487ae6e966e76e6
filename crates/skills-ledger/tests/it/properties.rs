//! What holds for any ledger.

use proptest::prelude::*;
use skills_ledger::{
    Activity, Assessment, Event, Ledger, SessionHash, SkillFacts, Summarizer, Summary,
};

use super::{days_ago, digest, now};

const NAMES: [&str; 3] = ["pdf", "tax", "日历"];

fn events() -> impl Strategy<Value = Vec<Event<'static>>> {
    let activities: Vec<Activity> = Activity::all().collect();
    let one = (
        0..NAMES.len(),
        prop_oneof![Just("user"), Just("repo")],
        proptest::sample::select(activities),
        // A few in the future, and some beyond what is remembered.
        -1.0_f64..1_500.0,
        proptest::option::of(0_u8..4),
        proptest::option::of(0_u8..4),
    );
    let one = one.prop_map(|(name, scope, activity, days, content, session)| {
        let time = if days < 0.0 {
            now().plus(super::DAY.mul_f64(-days))
        } else {
            days_ago(days)
        };
        Event::new(NAMES[name], scope, activity, time)
            .digest(content.map(digest))
            .session(session.map(|number| SessionHash::new(&number.to_string())))
    });
    proptest::collection::vec(one, 0..200)
}

fn summarize(events: &[Event<'_>]) -> Summary {
    let mut summarizer = Summarizer::new(now());
    events.iter().for_each(|event| summarizer.add(event));
    summarizer.finish()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_order_of_events_does_not_matter(
        pair in events().prop_flat_map(|events| (Just(events.clone()), Just(events).prop_shuffle())),
    ) {
        let (events, shuffled) = pair;
        prop_assert_eq!(summarize(&events), summarize(&shuffled));
    }

    #[test]
    fn files_say_the_same_as_events(events in events(), parts in 1_usize..5) {
        let directory = tempfile::tempdir().unwrap();
        let ledger = Ledger::new(directory.path().join("ledger"));
        for part in events.chunks(events.len().div_ceil(parts).max(1)) {
            ledger.append(part).unwrap();
        }
        prop_assert_eq!(ledger.summarize(now()).unwrap(), summarize(&events));
    }

    #[test]
    fn results_are_trials_and_reasons_explain_verdicts(events in events()) {
        let summary = summarize(&events);
        for name in NAMES {
            let assessment = Assessment::new(&SkillFacts::new(name, "user"), &summary);
            for share in [assessment.failures, assessment.abandoned] {
                prop_assert!(share.hits <= share.trials);
            }
            let worst = assessment.reasons.first().map(|reason| reason.verdict());
            if let Some(worst) = worst {
                prop_assert!(assessment.verdict <= worst);
            }
            for reason in &assessment.reasons {
                prop_assert!(!reason.code().is_empty() && !reason.to_string().is_empty());
            }
        }
    }
}
