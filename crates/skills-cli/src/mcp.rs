//! `skills mcp`: the MCP server and its registration with clients.

mod auth;
pub(crate) mod install;
pub(crate) mod log;
pub(crate) mod serve;
mod stdio;
