//! Lets the linker pack the relocations of the command and link the unwinder statically, which makes it
//! smaller and start faster.
#![expect(
    clippy::disallowed_methods,
    reason = "a build script reads the environment and asks for the version of the C library"
)]

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
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
        if let Some(directory) = static_unwinder() {
            println!("cargo::rustc-link-search=native={}", directory.display());
        }
    }
}

/// Returns a directory in which the linker finds the static unwinder of the C compiler under the name
/// of the shared one; `None` if there is none.
fn static_unwinder() -> Option<PathBuf> {
    let output = Command::new("cc")
        .arg("-print-file-name=libgcc_eh.a")
        .output()
        .ok()?;
    let archive = String::from_utf8(output.stdout).ok()?;
    // A compiler without one prints the name alone.
    let archive = Some(archive.trim()).filter(|path| Path::new(path).is_absolute())?;
    let directory = PathBuf::from(env::var_os("OUT_DIR")?);
    fs::write(directory.join("libgcc_s.so"), format!("INPUT({archive})\n")).ok()?;
    Some(directory)
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
