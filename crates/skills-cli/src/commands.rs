//! The commands: for each its arguments, and what it does with them.

pub(crate) mod accept;
pub(crate) mod audit;
pub(crate) mod build;
pub(crate) mod call;
pub(crate) mod compat;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod deprecated_aliases;
pub(crate) mod doctor;
pub(crate) mod list;
pub(crate) mod mcp;
pub(crate) mod new;
pub(crate) mod policy;
pub(crate) mod prompt;
pub(crate) mod quality;
mod reference_output;
pub(crate) mod run;
pub(crate) mod search;
pub(crate) mod show;
pub(crate) mod tools;
pub(crate) mod trust;
pub(crate) mod usage;
pub(crate) mod validate;
pub(crate) mod wasm;
