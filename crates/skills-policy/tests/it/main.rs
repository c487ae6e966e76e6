//! Tests at the boundary of the crate: tools and rules in, decisions out.

mod decide;
mod property;
