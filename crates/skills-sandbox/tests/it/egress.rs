//! The way out, against an outside of our own: names lead to made-up public addresses, and these to
//! servers on loopback.

mod address;
mod hosts;
mod http;
#[expect(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "the helpers of tests fail as tests do"
)]
mod lab;
mod limits;
mod socks;
mod tls;
