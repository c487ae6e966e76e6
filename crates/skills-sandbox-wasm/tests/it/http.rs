//! HTTP to listed hosts, against an outside of our own: names lead to made-up public addresses, and
//! these to servers on loopback.

mod hosts;
#[expect(clippy::expect_used, reason = "the helpers of tests fail as tests do")]
pub(crate) mod lab;
mod life;
mod limits;
mod requests;
mod tls;
