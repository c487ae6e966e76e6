//! Reports to WASI 0.2 programs why the body of a response ended early.
//!
//! The library passes an error of its own type and then looks for the type of `wasi:http` in it, so
//! its `http-error-code` never finds one. This function replaces it.

use wasmtime::component::{Linker, Resource};
use wasmtime_wasi_http::p2::bindings::http::types::{ErrorCode, IoError};
use wasmtime_wasi_http::{Error, WasiHttpView};

/// The interface in which the library defines the function.
const TYPES_INTERFACE: &str = "wasi:http/types@0.2.12";

/// Replaces the library's function.
pub(super) fn add_to_linker<T: WasiHttpView + 'static>(
    linker: &mut Linker<T>,
) -> wasmtime::Result<()> {
    linker.allow_shadowing(true);
    linker.instance(TYPES_INTERFACE)?.func_wrap(
        "http-error-code",
        |mut store, (error,): (Resource<IoError>,)| {
            let view = store.data_mut().http();
            Ok((view.table.get(&error)?.downcast_ref().map(body_error_code),))
        },
    )?;
    linker.allow_shadowing(false);
    Ok(())
}

/// Returns the error code for a failed body.
fn body_error_code(error: &Error) -> ErrorCode {
    match error {
        Error::ConnectionReadTimeout => ErrorCode::ConnectionReadTimeout,
        Error::ConnectionTerminated => ErrorCode::ConnectionTerminated,
        Error::HttpRequestBodySize(bytes) => ErrorCode::HttpRequestBodySize(*bytes),
        Error::HttpResponseBodySize(bytes) => ErrorCode::HttpResponseBodySize(*bytes),
        Error::HttpResponseIncomplete => ErrorCode::HttpResponseIncomplete,
        Error::HttpProtocolError => ErrorCode::HttpProtocolError,
        _ => ErrorCode::InternalError(None),
    }
}
