//! Sandboxes WebAssembly skills: runs WASI commands with wasmtime.
//!
//! ```text
//! bytes --> ComponentInfo --compile or cache--> PreparedComponent --\
//! Job ------> StoreState: files, streams, clocks from the grants ---+--> instance --> RunOutput
//! Limits ---> memory limiter, output sinks, quota, deadline --------/
//! ```
//!
//! A program has access only to what it is granted: the skill read-only at `/skill`, a granted
//! workspace at `/workspace`, a private scratch directory at `/work`, the job's variables and
//! input, two output streams, and through `wasi:http` the granted hosts. There are no sockets and
//! no other processes.
//!
//! An endless loop is stopped by the engine's epoch, which a ticker thread advances only while
//! something runs; a program that sleeps in a host call is stopped by the deadline of its future.
//! Memory is counted over all memories of a component.
//!
//! Components that may take the compiler long, or much memory, are compiled in a child process with
//! limits ([`CompileCommand`]); without one they are rejected.
//!
//! Compiled code can be cached on disk ([`CodeCache`]); entries are authenticated with a per-user
//! key.
//!
//! This crate must never know what a skill is.

mod code_cache;
mod compiler;
mod component_info;
mod engine;
mod fs;
#[cfg(feature = "http")]
mod http;
mod limiter;
mod load_error;
mod monitored_future;
mod output;
mod prepared_component;
mod profile;
mod report;
mod run;
mod sandbox;
mod stop_reason;
mod store_state;
mod termination;

#[cfg(feature = "http")]
pub use crate::http::HttpLimits;
pub use code_cache::{CacheUsage, CodeCache, CodeCacheError, CodeCacheErrorKind};
pub use compiler::{CompileCommand, compile_child};
pub use load_error::{LoadError, MAX_COMPONENT_BYTES};
pub use profile::WasmProfile;
pub use sandbox::WasmSandbox;
