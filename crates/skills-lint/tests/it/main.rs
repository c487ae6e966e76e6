//! Tests of the rules over whole skills.
#![expect(
    clippy::disallowed_methods,
    reason = "tests read collections that the caller names"
)]

mod planted;
