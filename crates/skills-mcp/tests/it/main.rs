//! The server as clients see it.
#![expect(
    clippy::panic,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests make their own files and fail by panicking"
)]

mod approval;
mod calls;
mod capabilities;
mod client;
mod fixture;
mod fixture_server;
#[cfg(feature = "http")]
mod http;
mod lifecycles;
mod line_approval;
mod long_texts;
mod project_skills;
mod roots;
mod skills;
mod usage;
