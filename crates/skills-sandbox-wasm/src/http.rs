//! HTTP for a program without sockets: the host sends its requests, to allowed hosts only.
//!
//! ```text
//! wasi:http --> Target --> HostConnector --> TLS --> HTTP/1.1 --> LimitedBody
//!                  \____ rejected: a wasi:http error for the program, an entry in the log
//! ```
//!
//! The rules are those of [`skills_egress::HostConnector`], which also keeps the log. A
//! connection carries one request and is not reused; redirects are not followed; the end of a run
//! closes all of its connections.

mod abort;
mod body;
mod client;
mod config;
mod connect;
mod context;
mod error_code;
mod exchange;
mod failure;
mod limits;
mod metered_stream;
mod outgoing;
mod target;
mod tls_config;

use wasmtime::component::Linker;
use wasmtime_wasi_http::WasiHttpView;

pub(crate) use config::HttpConfig;
pub(crate) use context::HttpContext;
pub use limits::HttpLimits;

/// Adds the outgoing interfaces of `wasi:http` in both versions.
pub(crate) fn add_to_linker<T: WasiHttpView + 'static>(
    linker: &mut Linker<T>,
) -> wasmtime::Result<()> {
    // Only HTTP: the linker has the other interfaces already, with our file system.
    wasmtime_wasi_http::p2::add_only_http_to_linker_async(linker)?;
    error_code::add_to_linker(linker)?;
    #[cfg(feature = "wasi-p3")]
    wasmtime_wasi_http::p3::add_to_linker(linker)?;
    Ok(())
}
