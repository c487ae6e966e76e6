//! Tests of the public interface.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod source;
