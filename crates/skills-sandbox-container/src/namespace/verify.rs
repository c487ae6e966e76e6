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

use super::{FileIdentity, MountCheck};
use crate::BACKEND;
use crate::connect::Engine;
use crate::container::RunningContainer;
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

pub(super) async fn compare(
    sources: &[FileIdentity],
    running: &RunningContainer,
    engine: &Engine,
    request: &ContainerRequest,
) -> Result<MountCheck, SandboxError> {
    let root = match container_root(running, engine, request).await {
        Ok(root) => root,
        Err(reason) => return Ok(MountCheck::NotVisible(reason)),
    };
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
    Ok(MountCheck::Verified)
}

/// Opens the root directory of the container, if its first process is visible on this host.
///
/// The number that an engine returns can be one of a virtual machine, so the control group of the process
/// must name the container. Runtimes that execute the process themselves may take a while for it after
/// the engine has started the container; the deadline of the run bounds that, since a container whose
/// mounts are unknown must not be used. With others the process is inside of a sandbox of their own.
async fn container_root(
    running: &RunningContainer,
    engine: &Engine,
    request: &ContainerRequest,
) -> Result<OwnedFd, String> {
    let pid = running
        .pid
        .ok_or("the engine does not return its process")?;
    let groups = fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap_or_default();
    if !groups.contains(running.container.id()) {
        return Err(NOT_VISIBLE.to_owned());
    }
    let expected = format!("{}\0{}\0", request.waiting_program, request.max_seconds);
    let is_waiting = async {
        let path = format!("/proc/{pid}/cmdline");
        while fs::read(&path).ok().as_deref() != Some(expected.as_bytes()) {
            tokio::time::sleep(EXEC_INTERVAL).await;
        }
    };
    let runtime = request.runtime.as_deref();
    let runtime = runtime.unwrap_or(&engine.facts.default_runtime);
    if DIRECT_RUNTIMES.iter().any(|name| runtime.contains(name)) {
        is_waiting.await;
    } else if timeout(EXEC_TIMEOUT, is_waiting).await.is_err() {
        return Err(NOT_VISIBLE.to_owned());
    }
    let root = format!("/proc/{pid}/root");
    open(
        root.as_str(),
        OFlag::O_PATH | OFlag::O_CLOEXEC,
        Mode::empty(),
    )
    .map_err(|error| format!("its files are not accessible: {error}"))
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
