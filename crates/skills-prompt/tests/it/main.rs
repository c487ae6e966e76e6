//! Tests at the boundary of the crate: items, bodies, input and commands in; prompts and decisions
//! out.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod active;
mod aliases;
mod budget;
mod catalogue;
mod explain;
mod forms;
mod implicit;
mod injection;
mod mentions;
mod needs;
mod spoken;
mod strategy;
mod tree;
