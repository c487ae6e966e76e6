//! Access of the host process to the namespaces of a running container.

mod first_process;
mod listen;
mod memory;
mod verify;

use skills_sandbox::SandboxError;

use crate::connect::Engine;
use crate::container::RunningContainer;
use crate::engine::BACKEND;
use crate::mounts::ContainerMount;
use crate::request::ContainerRequest;

pub(crate) use first_process::FirstProcess;
pub(crate) use listen::listen;
pub(crate) use memory::memory_kills;

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
            verify::identify(&mount.source).map_err(|error| {
                let source = mount.source.display();
                SandboxError::rejected(
                    BACKEND,
                    format!("cannot mount `{source}`, which must exist without symlinks in its path: {error}"),
                )
            })
        });
        Ok(Self(identities.collect::<Result<_, _>>()?))
    }

    /// Compares the mounts of a container that runs nothing yet with the sources. If they are visible, its
    /// first process is known from then on.
    ///
    /// # Errors
    /// Fails if a mount is another file.
    pub(crate) async fn compare(
        &self,
        running: &mut RunningContainer,
        engine: &Engine,
        request: &ContainerRequest,
    ) -> Result<MountCheck, SandboxError> {
        let process = match verify::find_first_process(running, engine, request).await {
            Ok(process) => process,
            Err(reason) => return Ok(MountCheck::NotVisible(reason)),
        };
        let pid = process.pid();
        // From here on it is killed with the container.
        running.first_process = Some(process);
        match verify::open_root(pid) {
            Ok(root) => verify::compare(&self.0, &root, request).map(|()| MountCheck::Verified),
            Err(error) => Ok(MountCheck::NotVisible(format!(
                "its files are not accessible: {error}"
            ))),
        }
    }
}
