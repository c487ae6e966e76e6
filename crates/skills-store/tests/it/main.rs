//! Tests at the boundary of the crate.
#![cfg_attr(
    unix,
    expect(
        clippy::unwrap_used,
        clippy::disallowed_methods,
        reason = "tests make their own files and fail by panicking"
    )
)]

#[cfg(unix)]
mod private_dir;
#[cfg(unix)]
mod replace_file;
#[cfg(unix)]
mod temporary_dir;
#[cfg(unix)]
mod trusted_file;
