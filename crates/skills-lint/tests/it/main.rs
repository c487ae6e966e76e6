//! Tests of the rules over whole skills.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

mod hostile;
mod negatives;
mod planted;
