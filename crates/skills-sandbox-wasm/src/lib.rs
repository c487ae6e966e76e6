//! Confines WebAssembly skills: runs WASI 0.2 command components with wasmtime.
//!
//! ```text
//! bytes --load--> Prepared component (compiled once per content) --\
//! Job ----------> WASI context from the grants --------------------+--> instance --> Outcome
//! Limits -------> memory limiter, output sinks, deadline ----------/
//! ```
//!
//! A component sees what it is given and nothing else: the skill read-only at `/skill`, a granted workspace at `/workspace`, a private
//! scratch directory at `/work`, the job's variables and input, and two output streams. There is no network and no other process.
//!
//! An endless loop is stopped by the engine's epoch, which a ticker thread advances only while something runs; a component that sleeps in
//! a host call is stopped by the deadline of its future. Memory is counted over all memories of a component.
//!
//! This crate must never know what a skill is.

#[cfg_attr(all(unix, not(test)), expect(dead_code, reason = "the engine takes it into use in a change of its own"))]
mod artifacts;
mod context;
mod ending;
mod engine;
mod limiter;
mod load;
mod output;
mod sandbox;
mod ticker;

pub use artifacts::{ArtifactCache, CacheError, CacheErrorKind, Usage};
pub use sandbox::WasmSandbox;

/// The largest component that is loaded, in bytes: 32 MiB. Compiling takes time and memory in proportion.
pub const MAX_COMPONENT_BYTES: usize = 32 << 20;
