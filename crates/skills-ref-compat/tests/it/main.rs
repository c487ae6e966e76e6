//! Tests of the public interface: bytes in, messages out.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod clients;
mod reference;
