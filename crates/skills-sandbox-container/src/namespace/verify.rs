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
use crate::request::ContainerRequest;

/// How long the runtime may take, once the engine has started a container, to execute its first
/// process.
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
    pid: Option<i32>,
    request: &ContainerRequest,
) -> Result<MountCheck, SandboxError> {
    let root = match container_root(pid, request).await {
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

/// Opens the root directory of the container, if its first process is a process of this kernel: the
/// number that an engine returns can be one of a virtual machine.
async fn container_root(pid: Option<i32>, request: &ContainerRequest) -> Result<OwnedFd, String> {
    let pid = pid.ok_or("the engine does not return its process")?;
    let expected = format!("{}\0{}\0", request.waiting_program, request.max_seconds);
    let is_waiting = async {
        let path = format!("/proc/{pid}/cmdline");
        while fs::read(&path).ok().as_deref() != Some(expected.as_bytes()) {
            tokio::time::sleep(EXEC_INTERVAL).await;
        }
    };
    if timeout(EXEC_TIMEOUT, is_waiting).await.is_err() {
        return Err("its processes are not visible on this host".to_owned());
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
