//! `skills mcp`.

mod auth;
pub(crate) mod install;
pub(crate) mod log;
pub(crate) mod serve;
mod stdio;
