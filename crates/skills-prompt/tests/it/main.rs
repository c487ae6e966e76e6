//! Tests of the public API: summaries, bodies, input and commands in; prompts and decisions out.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod active_skills;
mod budget;
mod explain;
mod implicit;
mod injection;
mod list_formats;
mod mentions;
mod phrases;
mod requirements;
mod root_aliases;
mod script_instructions;
mod skill_list;
mod skill_tree;
