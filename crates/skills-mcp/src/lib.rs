//! Serves skills and their tools over the Model Context Protocol.
//!
//! `rmcp` is used in this crate alone. It must never know the files of skills or the policy.
