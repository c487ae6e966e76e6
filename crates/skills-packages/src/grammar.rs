//! Parsers of grammars that other projects define, each behind one function.
//!
//! ```text
//! text of a skill --checks of the input--> parser of a library --> value of a type of this crate
//!                        \--> typed error <--/ a panic is caught
//! ```
//!
//! Anybody can write the text, and a fault of a library is not to end the host. What is known to
//! make a library panic, to recurse or to take long is refused before it is called, since a build
//! with `panic = "abort"` cannot catch a panic. Other crates of the workspace do not depend on these
//! libraries, so that there is no second place that calls them.

mod npm_version;
mod panic_guard;
mod python_requirement;
mod python_version;
mod toml_text;

pub use npm_version::{compare_npm_versions, npm_range_allows};
pub use panic_guard::{catch_panic, outside_guard};
pub use python_requirement::{InvalidRequirement, PythonRequirement, PythonSystem, normalize_name};
pub use python_version::PythonVersion;
pub use toml_text::{InvalidToml, parse_toml};

pub(crate) use python_version::canonical_specifiers;
