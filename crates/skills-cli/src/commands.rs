//! The commands: for each its arguments, and what it does with them.

pub(crate) mod accept;
#[cfg(feature = "install")]
pub(crate) mod add;
pub(crate) mod audit;
pub(crate) mod build;
pub(crate) mod call;
pub(crate) mod compat;
pub(crate) mod completions;
pub(crate) mod config;
#[cfg(all(feature = "packages", unix))]
pub(crate) mod deps;
pub(crate) mod doctor;
pub(crate) mod list;
#[cfg(feature = "install")]
pub(crate) mod lock;
#[cfg(feature = "mcp")]
pub(crate) mod mcp;
pub(crate) mod new;
#[cfg(feature = "install")]
pub(crate) mod outdated;
pub(crate) mod policy;
pub(crate) mod prompt;
#[cfg(feature = "install")]
pub(crate) mod publish;
pub(crate) mod quality;
mod reference_output;
#[cfg(feature = "install")]
pub(crate) mod remove;
pub(crate) mod run;
pub(crate) mod search;
pub(crate) mod show;
pub(crate) mod tools;
pub(crate) mod trust;
#[cfg(feature = "install")]
pub(crate) mod update;
pub(crate) mod usage;
pub(crate) mod validate;
#[cfg(feature = "install")]
pub(crate) mod verify;
pub(crate) mod wasm;
