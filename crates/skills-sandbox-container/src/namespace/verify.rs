//! Compares the mounts of a container with the files that were granted, by device and inode.
#![expect(
    clippy::disallowed_methods,
    reason = "files of the kernel about processes, not of a skill"
)]

use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::Duration;

use nix::fcntl::{AT_FDCWD, OFlag, OpenHow, ResolveFlag, open, openat2};
use nix::sys::stat::{Mode, SFlag, fstat};
use skills_sandbox::SandboxError;
use tokio::time::timeout;

use super::{FileIdentity, FirstProcess};
use crate::connect::Engine;
use crate::container::RunningContainer;
use crate::engine::BACKEND;
use crate::request::ContainerRequest;

const NOT_VISIBLE: &str = "its processes are not visible on this host";
/// Runtimes that execute the first process on the kernel of the engine.
const DIRECT_RUNTIMES: [&str; 2] = ["runc", "crun"];
/// How long other runtimes may take to execute the first process.
const EXEC_TIMEOUT: Duration = Duration::from_millis(500);
const EXEC_INTERVAL: Duration = Duration::from_millis(2);

pub(super) fn identify(path: &Path) -> io::Result<FileIdentity> {
    let file = open_path(AT_FDCWD, path, ResolveFlag::RESOLVE_NO_SYMLINKS)?;
    // The last component is opened itself.
    let kind = SFlag::from_bits_truncate(fstat(&file)?.st_mode) & SFlag::S_IFMT;
    if kind == SFlag::S_IFLNK {
        return Err(nix::errno::Errno::ELOOP.into());
    }
    identity_of(&file)
}

/// Compares each mount below the root directory of a container with its source.
pub(super) fn compare(
    sources: &[FileIdentity],
    root: &OwnedFd,
    request: &ContainerRequest,
) -> Result<(), SandboxError> {
    for (mount, source) in request.mounts.iter().zip(sources) {
        let found = open_path(root.as_fd(), &mount.target, ResolveFlag::RESOLVE_IN_ROOT)
            .and_then(|file| identity_of(&file));
        if found.ok() != Some(*source) {
            return Err(SandboxError::rejected(
                BACKEND,
                format!(
                    "`{}` changed while the container was created, so nothing was started",
                    mount.source.display()
                ),
            ));
        }
    }
    Ok(())
}

/// Finds the first process of a container on this host, once it has executed its program.
///
/// The number that an engine returns can be one of a virtual machine, so the control group of the process
/// must name the container. Runtimes that execute the process themselves may take a while for it after
/// the engine has started the container; the deadline of the run bounds that, since a container whose
/// mounts are unknown must not be used. With others the process is inside of a sandbox of their own.
pub(super) async fn find_first_process(
    running: &RunningContainer,
    engine: &Engine,
    request: &ContainerRequest,
) -> Result<FirstProcess, String> {
    let reported = running.reported_pid;
    // Opened first: what is checked then is this process, or none.
    let process = reported.and_then(FirstProcess::open).ok_or(NOT_VISIBLE)?;
    let pid = process.pid();
    let groups = fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap_or_default();
    if !groups.contains(running.container.id()) {
        return Err(NOT_VISIBLE.to_owned());
    }
    let expected = format!("{}\0{}\0", request.waiting_program, request.max_seconds);
    let is_waiting = async {
        // A process that has ended has no arguments to read.
        while let Ok(arguments) = fs::read(format!("/proc/{pid}/cmdline")) {
            if arguments == expected.as_bytes() {
                return true;
            }
            tokio::time::sleep(EXEC_INTERVAL).await;
        }
        false
    };
    let runtime = request.runtime.as_deref();
    let runtime = runtime.unwrap_or(&engine.facts.default_runtime);
    let is_found = if DIRECT_RUNTIMES.iter().any(|name| runtime.contains(name)) {
        is_waiting.await
    } else {
        timeout(EXEC_TIMEOUT, is_waiting).await.unwrap_or(false)
    };
    is_found
        .then_some(process)
        .ok_or_else(|| NOT_VISIBLE.to_owned())
}

/// Opens the root directory of a process.
pub(super) fn open_root(pid: i32) -> io::Result<OwnedFd> {
    let root = format!("/proc/{pid}/root");
    let flags = OFlag::O_PATH | OFlag::O_CLOEXEC;
    Ok(open(root.as_str(), flags, Mode::empty())?)
}

fn open_path(directory: BorrowedFd<'_>, path: &Path, resolve: ResolveFlag) -> io::Result<OwnedFd> {
    let how = OpenHow::new()
        .flags(OFlag::O_PATH | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC)
        .resolve(resolve);
    Ok(openat2(directory, path, how)?)
}

fn identity_of(file: &OwnedFd) -> io::Result<FileIdentity> {
    let found = fstat(file)?;
    Ok(FileIdentity(found.st_dev, found.st_ino))
}
