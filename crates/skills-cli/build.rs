//! Lets the linker pack the relocations of the command, which makes it smaller and start faster.
#![expect(
    clippy::disallowed_methods,
    reason = "a build script reads the environment and asks for the version of the C library"
)]

use std::env;
use std::process::Command;

/// The oldest C library that reads packed relocations.
const PACKED_RELOCATIONS: (u32, u32) = (2, 36);

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // With a linker of its own a build may be for another system.
    let is_native =
        env::var_os("HOST") == env::var_os("TARGET") && env::var_os("RUSTC_LINKER").is_none();
    if is_native && glibc_version().is_some_and(|version| version >= PACKED_RELOCATIONS) {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

/// Returns the version of the C library of this system, if it is that of GNU.
fn glibc_version() -> Option<(u32, u32)> {
    let output = Command::new("getconf")
        .arg("GNU_LIBC_VERSION")
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let (major, minor) = text.trim().strip_prefix("glibc ")?.split_once('.')?;
    let minor = minor.split('.').next()?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}
