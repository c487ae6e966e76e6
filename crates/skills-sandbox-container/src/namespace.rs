//! Access of the host process to the namespaces of a running container.

#[cfg(target_os = "linux")]
mod listen;
#[cfg(target_os = "linux")]
mod memory;
#[cfg(target_os = "linux")]
mod verify;

use std::io;
use std::net::TcpListener;
use std::path::Path;

use skills_sandbox::SandboxError;

use crate::BACKEND;
use crate::connect::Engine;
use crate::container::RunningContainer;
use crate::mounts::ContainerMount;
use crate::request::ContainerRequest;

/// The result of comparing the mounts of a container with the files that were granted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum MountCheck {
    /// Each mount is the granted file.
    Verified,
    /// The container is not visible to this process, for this reason.
    NotVisible(String),
}

/// The sources of mounts, as they were when the run was planned.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct MountSources(Vec<FileIdentity>);

/// Device and inode number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileIdentity(u64, u64);

impl MountSources {
    /// Identifies the sources. Another program could replace a directory with a symlink while the
    /// engine mounts it, so paths with symlinks are rejected.
    pub(crate) fn identify(mounts: &[ContainerMount]) -> Result<Self, SandboxError> {
        let identities = mounts.iter().map(|mount| {
            identify(&mount.source).map_err(|error| {
                let source = mount.source.display();
                SandboxError::rejected(
                    BACKEND,
                    format!("cannot mount `{source}`, which must exist without symlinks in its path: {error}"),
                )
            })
        });
        Ok(Self(identities.collect::<Result<_, _>>()?))
    }

    /// Compares the mounts of a container that runs nothing yet with the sources.
    ///
    /// # Errors
    /// Fails if a mount is another file.
    #[cfg(target_os = "linux")]
    pub(crate) async fn compare(
        &self,
        running: &RunningContainer,
        engine: &Engine,
        request: &ContainerRequest,
    ) -> Result<MountCheck, SandboxError> {
        verify::compare(&self.0, running, engine, request).await
    }

    #[cfg(not(target_os = "linux"))]
    pub(crate) async fn compare(
        &self,
        _running: &RunningContainer,
        _engine: &Engine,
        _request: &ContainerRequest,
    ) -> Result<MountCheck, SandboxError> {
        let _ = &self.0;
        Ok(MountCheck::NotVisible(
            "the engine runs containers in a virtual machine".to_owned(),
        ))
    }
}

/// Listens on ports of the loopback device of a container.
///
/// # Errors
/// Fails if this process may not enter the namespace.
#[cfg(target_os = "linux")]
pub(crate) fn listen(pid: i32, ports: &[u16]) -> io::Result<Vec<TcpListener>> {
    listen::listen(pid, ports)
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn listen(_pid: i32, _ports: &[u16]) -> io::Result<Vec<TcpListener>> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Returns how many processes of a container were killed because memory ran out; `None` if that is not
/// visible on this host.
#[cfg(target_os = "linux")]
pub(crate) fn memory_kills(pid: i32) -> Option<u64> {
    memory::memory_kills(pid)
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn memory_kills(_pid: i32) -> Option<u64> {
    None
}

#[cfg(target_os = "linux")]
fn identify(path: &Path) -> io::Result<FileIdentity> {
    verify::identify(path)
}

#[cfg(not(target_os = "linux"))]
fn identify(path: &Path) -> io::Result<FileIdentity> {
    use std::os::unix::fs::MetadataExt;
    let metadata = path.symlink_metadata()?;
    Ok(FileIdentity(metadata.dev(), metadata.ino()))
}
