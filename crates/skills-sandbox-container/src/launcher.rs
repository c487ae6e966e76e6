//! Two small programs that containers run: one that waits, and one that starts the program of a run.
//!
//! | program | what it does |
//! |---|---|
//! | `wait SECONDS` | the first process: closes its memory to others, lets the kernel reap orphans, and ends after that time |
//! | `launch PROGRAM …` | opens the input, installs the filter of system calls, and executes the program in its place |
//! | `launch-quota PROGRAM …` | the same, with the filter of runs with a quota |
//!
//! Profiles of engines differ: some allow namespaces, keyrings and set-user-ID files. So the filter is
//! installed in addition to that of the engine, and no program can run without it. An image needs no
//! program for this, and cannot replace it.
//!
//! The input is a file, since an engine loses output of a program that does not read all of what is sent
//! to it.
#![expect(
    clippy::disallowed_methods,
    reason = "writes files to a private directory of this process"
)]

use std::io;
use std::path::Path;

/// The directory in a container.
pub(crate) const DIRECTORY: &str = "/.sandbox";

/// The programs in [`DIRECTORY`].
pub(crate) const WAIT: &str = "wait";
pub(crate) const LAUNCH: &str = "launch";
pub(crate) const LAUNCH_WITH_QUOTA: &str = "launch-quota";

/// The directory in [`DIRECTORY`] at which the one with the input of a container is mounted, and the file
/// in it.
pub(crate) const INPUT: &str = "input";
pub(crate) const INPUT_FILE: &str = "stdin";

/// What the launcher prints, with its exit code, if the input cannot be opened or the filter cannot be
/// installed, and if the program cannot be executed.
pub(crate) const SETUP_FAILED: (i64, &str) = (
    126,
    "sandbox: cannot open the input or install the filter\n",
);
pub(crate) const EXECUTE_FAILED: (i64, &str) = (127, "sandbox: cannot execute the program\n");

/// Writes the programs into a directory.
pub(crate) fn write_programs(directory: &Path) -> io::Result<()> {
    for (name, image) in images::all() {
        write_program(&directory.join(name), &image)?;
    }
    std::fs::create_dir(directory.join(INPUT))
}

/// Writes the input of a run into the directory that its container has.
pub(crate) fn write_input(directory: &Path, input: &[u8]) -> io::Result<()> {
    std::fs::write(directory.join(INPUT_FILE), input)
}

/// Returns true if there are programs for images of an architecture, as engines name it: that of this
/// host.
pub(crate) fn exists_for(architecture: &str) -> bool {
    images::ARCHITECTURE == Some(architecture)
}

/// Returns the number of system calls that the launcher denies.
pub(crate) fn denied_calls() -> usize {
    images::denied_calls()
}

fn write_program(path: &Path, image: &[u8]) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    std::fs::write(path, image)?;
    std::fs::set_permissions(path, PermissionsExt::from_mode(0o555))
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod images {
    pub(super) const ARCHITECTURE: Option<&str> = None;

    pub(super) fn all() -> [(&'static str, Vec<u8>); 0] {
        []
    }

    pub(super) fn denied_calls() -> usize {
        0
    }
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod images;
