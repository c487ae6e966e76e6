//! `skills mcp`.

pub(crate) mod install;
