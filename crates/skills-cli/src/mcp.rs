//! `skills mcp`.

pub(crate) mod install;
pub(crate) mod log;
pub(crate) mod serve;
mod streams;
mod tokens;
