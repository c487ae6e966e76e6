//! Attempts that must be rejected.

use skills_sandbox_conformance::{AttemptResult, Observations};

use crate::cases::fixture::Fixture;

/// Runs attempts that must each be rejected.
pub(crate) async fn check_denied<W: AsRef<str>>(
    observations: &mut Observations,
    number: u8,
    fixture: &Fixture,
    attempts: &[Vec<W>],
) {
    for attempt in attempts {
        let words: Vec<&str> = attempt.iter().map(AsRef::as_ref).collect();
        let output = fixture.attempt(&words).await;
        observations.check(
            number,
            &format!("{words:?}: {output}"),
            AttemptResult::Denied,
            output.starts_with("refused: "),
        );
    }
}
