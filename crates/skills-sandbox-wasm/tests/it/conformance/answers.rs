//! What was observed so far.

use std::collections::BTreeMap;

use skills_sandbox::conformance::{AttemptResult, BackendVariant, CASES, Skipped};

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
    /// Notes an observation. A case may be observed in several ways, and one that is not as
    /// expected decides.
    pub(crate) fn observe(&mut self, number: u8, what: &str, answer: AttemptResult) {
        let is_right = expected(number).contains(&answer);
        if !is_right {
            eprintln!("case {number}: {answer}: {what}");
        }
        if !is_right || !self.0.contains_key(&number) {
            self.0.insert(number, answer);
        }
    }

    /// Notes an observation that is as the table says when `is_so`, else a hole.
    pub(crate) fn holds(&mut self, number: u8, what: &str, answer: AttemptResult, is_so: bool) {
        let otherwise = if answer == AttemptResult::Succeeded {
            AttemptResult::Denied
        } else {
            AttemptResult::Succeeded
        };
        self.observe(number, what, if is_so { answer } else { otherwise });
    }

    /// Makes attempts of which each must be refused.
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

    /// Returns what a case was answered so far.
    pub(crate) fn of(&self, number: u8) -> Option<AttemptResult> {
        self.0.get(&number).copied()
    }

    /// Adds what cannot be tried.
    pub(crate) fn finish(self) -> BTreeMap<u8, Result<AttemptResult, Skipped>> {
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
