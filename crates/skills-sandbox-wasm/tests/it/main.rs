//! Tests at the boundary of the crate: a real component in, an output out.
#![expect(
    clippy::panic,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests create their own files and fail by panicking"
)]

mod cases;
mod compile;
#[cfg(feature = "http")]
mod conformance;
mod guard;
#[cfg(feature = "http")]
mod http;
mod load;
mod quota;
mod refusals;
mod run;
