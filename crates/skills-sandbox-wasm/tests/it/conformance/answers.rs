//! The observed results so far.

use std::collections::BTreeMap;

use skills_sandbox::conformance::{AttemptResult, BackendVariant, CASES, SkippedCase};

use crate::cases::lab::Lab;

#[derive(Default)]
pub(crate) struct Answers(BTreeMap<u8, AttemptResult>);

fn expected(number: u8) -> &'static [AttemptResult] {
    CASES
        .iter()
        .find(|case| case.number == number)
        .unwrap()
        .expected(BackendVariant::Wasm)
}

impl Answers {
    /// Records an observation. A case may be observed in several ways, and one that differs from
    /// the table decides.
    pub(crate) fn observe(&mut self, number: u8, what: &str, answer: AttemptResult) {
        let is_right = expected(number).contains(&answer);
        if !is_right {
            eprintln!("case {number}: {answer}: {what}");
        }
        if !is_right || !self.0.contains_key(&number) {
            self.0.insert(number, answer);
        }
    }

    /// Records an observation that matches the table if `is_so`, otherwise a successful escape.
    pub(crate) fn holds(&mut self, number: u8, what: &str, answer: AttemptResult, is_so: bool) {
        let otherwise = if answer == AttemptResult::Succeeded {
            AttemptResult::Denied
        } else {
            AttemptResult::Succeeded
        };
        self.observe(number, what, if is_so { answer } else { otherwise });
    }

    /// Runs attempts that must each be rejected.
    pub(crate) async fn denied<W: AsRef<str>>(
        &mut self,
        number: u8,
        lab: &Lab,
        attempts: &[Vec<W>],
    ) {
        for attempt in attempts {
            let words: Vec<&str> = attempt.iter().map(AsRef::as_ref).collect();
            let said = lab.attempt(&words).await;
            self.holds(
                number,
                &format!("{words:?}: {said}"),
                AttemptResult::Denied,
                said.starts_with("refused: "),
            );
        }
    }

    /// Returns the result of a case so far.
    pub(crate) fn of(&self, number: u8) -> Option<AttemptResult> {
        self.0.get(&number).copied()
    }

    /// Adds the cases that cannot be tried.
    pub(crate) fn finish(self) -> BTreeMap<u8, Result<AttemptResult, SkippedCase>> {
        let absent = CASES
            .iter()
            .filter(|case| case.expected(BackendVariant::Wasm) == [AttemptResult::NotApplicable])
            .map(|case| (case.number, AttemptResult::NotApplicable));
        absent
            .chain(self.0)
            .map(|(number, answer)| (number, Ok(answer)))
            .collect()
    }
}
