//! The egress proxy, with a simulated network: names resolve to invented public addresses, and
//! these connect to servers on loopback.

mod address;
#[expect(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "the helpers of tests fail as tests do"
)]
mod fixture;
mod hosts;
mod http;
mod limits;
mod socks;
mod tls;
#[expect(clippy::unwrap_used, reason = "the helpers of tests fail as tests do")]
mod upstream;
