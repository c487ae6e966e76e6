//! The observed results so far.

use std::collections::BTreeMap;

use skills_sandbox::conformance::{AttemptResult, BackendVariant, CASES, SkippedCase};

use crate::cases::fixture::Fixture;

#[derive(Default)]
pub(crate) struct Observations(BTreeMap<u8, AttemptResult>);

fn expected(number: u8) -> &'static [AttemptResult] {
    CASES
        .iter()
        .find(|case| case.number == number)
        .unwrap()
        .expected(BackendVariant::Wasm)
}

impl Observations {
    /// Records an observation. A case may be observed in several ways, and one that differs from
    /// the table decides.
    pub(crate) fn observe(&mut self, number: u8, what: &str, result: AttemptResult) {
        let is_right = expected(number).contains(&result);
        if !is_right {
            eprintln!("case {number}: {result}: {what}");
        }
        if !is_right || !self.0.contains_key(&number) {
            self.0.insert(number, result);
        }
    }

    /// Records an observation that matches the table if `is_so`, otherwise a successful escape.
    pub(crate) fn check(&mut self, number: u8, what: &str, result: AttemptResult, is_so: bool) {
        let otherwise = if result == AttemptResult::Succeeded {
            AttemptResult::Denied
        } else {
            AttemptResult::Succeeded
        };
        self.observe(number, what, if is_so { result } else { otherwise });
    }

    /// Runs attempts that must each be rejected.
    pub(crate) async fn check_denied<W: AsRef<str>>(
        &mut self,
        number: u8,
        fixture: &Fixture,
        attempts: &[Vec<W>],
    ) {
        for attempt in attempts {
            let words: Vec<&str> = attempt.iter().map(AsRef::as_ref).collect();
            let output = fixture.attempt(&words).await;
            self.check(
                number,
                &format!("{words:?}: {output}"),
                AttemptResult::Denied,
                output.starts_with("refused: "),
            );
        }
    }

    /// Returns the result of a case so far.
    pub(crate) fn result_of(&self, number: u8) -> Option<AttemptResult> {
        self.0.get(&number).copied()
    }

    /// Adds the cases that do not apply.
    pub(crate) fn finish(self) -> BTreeMap<u8, Result<AttemptResult, SkippedCase>> {
        let absent = CASES
            .iter()
            .filter(|case| case.expected(BackendVariant::Wasm) == [AttemptResult::NotApplicable])
            .map(|case| (case.number, AttemptResult::NotApplicable));
        absent
            .chain(self.0)
            .map(|(number, result)| (number, Ok(result)))
            .collect()
    }
}
