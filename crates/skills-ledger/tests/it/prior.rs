use std::fs;

use skills_ledger::{ActivatedBy, Activity, Ledger, Summarizer, UsagePrior};

use super::{DAY, event, now};

const READ: Activity = Activity::Activated(ActivatedBy::User);

fn ledger() -> (tempfile::TempDir, Ledger) {
    let directory = tempfile::tempdir().unwrap();
    let ledger = Ledger::new(directory.path().join("ledger"));
    (directory, ledger)
}

#[test]
fn a_day_of_use_counts_once_and_fades() {
    let prior = |days: &[f64]| {
        let mut summarizer = Summarizer::new(now());
        for day in days {
            summarizer.add(&event("pdf", READ, *day));
        }
        UsagePrior::new(&summarizer.finish()).factor("pdf", "user")
    };
    assert_eq!(prior(&[]), 1.0);
    assert!(prior(&[0.0]) > prior(&[40.0]) && prior(&[40.0]) > 1.0);
    assert_eq!(prior(&[0.1; 1_000]), prior(&[0.1]));
    let daily: Vec<f64> = (0..365).map(f64::from).collect();
    assert!(prior(&daily) > 1.08 && prior(&daily) < 1.1);
}

/// Lists alone would keep a skill at the top of the lists.
#[test]
fn offers_are_no_use() {
    let mut summarizer = Summarizer::new(now());
    for activity in [Activity::Offered, Activity::Searched, Activity::Mentioned] {
        summarizer.add(&event("pdf", activity, 0.0));
    }
    assert_eq!(UsagePrior::new(&summarizer.finish()), UsagePrior::default());
}

#[test]
fn a_prior_is_stored_for_a_day() {
    let (_directory, ledger) = ledger();
    ledger.append(&[event("pdf", READ, 1.0)]).unwrap();
    let first = ledger.prior(now()).unwrap();
    assert!(first.factor("pdf", "user") > 1.0);
    ledger.append(&[event("tax", READ, 0.0)]).unwrap();
    let later = ledger.prior(now().plus(DAY / 2)).unwrap();
    assert!(later.factor("tax", "user") == 1.0 && later.factor("pdf", "user") > 1.0);
    let next = ledger.prior(now().plus(DAY)).unwrap();
    assert!(next.factor("tax", "user") > 1.0);
    // A clock that was set back does not keep it: the use is of today again.
    let again = ledger.prior(now()).unwrap();
    assert!(again.factor("tax", "user") > next.factor("tax", "user"));
}

#[test]
fn a_stored_prior_is_never_trusted() {
    let (_directory, ledger) = ledger();
    ledger.append(&[event("pdf", READ, 0.0)]).unwrap();
    let expected = ledger.prior(now()).unwrap();
    let path = ledger.directory().join("prior.json");
    let stored = fs::read(&path).unwrap();
    for damaged in [&b""[..], b"{}", b"\0", &stored[..stored.len() / 2]] {
        fs::write(&path, damaged).unwrap();
        let factor = ledger.prior(now()).unwrap().factor("pdf", "user");
        assert!((factor - expected.factor("pdf", "user")).abs() < 1e-9);
    }
    for days in ["1e308", "-5", "1e999"] {
        let computed = now().as_millis();
        let text = format!(r#"{{"computed":{computed},"skills":[["pdf","user",{days}]]}}"#);
        fs::write(&path, text).unwrap();
        let factor = ledger.prior(now()).unwrap().factor("pdf", "user");
        assert!((1.0..=1.1).contains(&factor), "{days}: {factor}");
    }
}
