//! HTTP to allowed hosts, with a simulated network: names resolve to invented public addresses, and
//! these connect to servers on loopback.

mod connections;
#[expect(clippy::expect_used, reason = "the helpers of tests fail as tests do")]
pub(crate) mod fixture;
mod hosts;
mod limits;
mod requests;
mod tls;
mod upstream;
