//! What a call may act on, the same for all generations.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

use wasmtime::component::{Resource, ResourceTableError};
use wasmtime_wasi::FsPerms;
use wasmtime_wasi::filesystem::{Descriptor, Dir};

use super::Files;
use super::refusal::Refusal;

/// Why a call does not happen.
pub(super) enum Failure {
    /// The program is told, by an error code.
    Told(io::Error),
    /// The program is ended: it used a handle that it does not have, or has too many.
    Trap(wasmtime::Error),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Told(error)
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self::Told(refusal.into())
    }
}

impl From<ResourceTableError> for Failure {
    fn from(error: ResourceTableError) -> Self {
        Self::Trap(error.into())
    }
}

/// An entry that may be made, changed or removed, for a call of the library: the directory, the
/// name in it, and the same directory once more when it was opened for this and has to be
/// [released](Files::release).
pub(super) struct Changeable {
    pub(super) fd: Resource<Descriptor>,
    pub(super) path: String,
    pub(super) held: Option<Resource<Descriptor>>,
}

impl Files<'_> {
    /// Returns the directory, which exists from now on.
    pub(super) fn dir(&mut self, fd: &Resource<Descriptor>) -> Result<Dir, Failure> {
        self.used(fd)?.ok_or_else(|| Refusal::NotDirectory.into())
    }

    /// Makes the private directory when it is this one and was not used before. Returns the
    /// directory; nothing when the descriptor is a file.
    pub(super) fn used(&mut self, fd: &Resource<Descriptor>) -> Result<Option<Dir>, Failure> {
        let Descriptor::Dir(dir) = self.table.get(fd)? else {
            return Ok(None);
        };
        if !self.directories.is_unmade(dir) {
            return Ok(Some(dir.clone()));
        }
        let made = self.directories.make()?;
        *self.table.get_mut(fd)? = Descriptor::Dir(made.clone());
        Ok(Some(made))
    }

    /// Returns a file that may be written.
    pub(super) fn writable(&self, fd: &Resource<Descriptor>) -> Result<Arc<File>, Failure> {
        match self.table.get(fd)? {
            Descriptor::File(file) if file.perms == FsPerms::ReadWrite => Ok(file.file.clone()),
            Descriptor::File(_) => Err(Refusal::NotPermitted.into()),
            Descriptor::Dir(_) => Err(Refusal::BadDescriptor.into()),
        }
    }

    /// Makes sure that an entry may be made, changed or removed; `path` is what is changed itself,
    /// not what it leads to.
    pub(super) fn changeable(
        &mut self,
        fd: Resource<Descriptor>,
        path: String,
    ) -> Result<Changeable, Failure> {
        let dir = self.dir(&fd)?;
        let guard = &self.directories.guard;
        if dir.perms.write_not_permitted() || guard.is_idle() {
            return Ok(Changeable {
                fd,
                path,
                held: None,
            });
        }
        let entry = guard.check(&dir.dir, Path::new(&path))?;
        let path = entry
            .name
            .into_os_string()
            .into_string()
            .map_err(|_| Refusal::Invalid)?;
        let held = self.table.push(Descriptor::Dir(Dir::new(
            entry.directory,
            dir.perms,
            dir.open_mode,
            true,
        )))?;
        Ok(Changeable {
            fd: Resource::new_borrow(held.rep()),
            path,
            held: Some(held),
        })
    }

    /// Makes sure that an entry may be made, and counts it.
    pub(super) fn makeable(
        &mut self,
        fd: Resource<Descriptor>,
        path: String,
    ) -> Result<Changeable, Failure> {
        let entry = self.changeable(fd, path)?;
        let counted = self.directories.quota.entry().map_err(Failure::from);
        self.or_release(entry, counted).map(|(entry, ())| entry)
    }

    /// Goes on with an entry and something else; when there is nothing else, the entry is released.
    pub(super) fn or_release<T>(
        &mut self,
        entry: Changeable,
        other: Result<T, Failure>,
    ) -> Result<(Changeable, T), Failure> {
        match other {
            Ok(other) => Ok((entry, other)),
            Err(failure) => {
                self.release(entry.held)?;
                Err(failure)
            }
        }
    }

    /// Closes what was opened for a call.
    pub(super) fn release(&mut self, held: Option<Resource<Descriptor>>) -> Result<(), Failure> {
        if let Some(held) = held {
            self.table.delete(held)?;
        }
        Ok(())
    }
}

#[cfg(all(test, unix))]
mod tests {
    use skills_policy::{Capability, Decision, Layer, Request, Rules};
    use wasmtime::component::ResourceTable;
    use wasmtime_wasi::filesystem::WasiFilesystemCtx;

    use super::*;
    use crate::files::{Directories, Stored};

    #[tokio::test]
    async fn a_refused_pair_leaves_no_handle_behind() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        for name in ["skill", "workspace"] {
            std::fs::create_dir(root.join(name)).unwrap();
        }
        let rules = Rules::default().allow(Layer::User, Capability::Write);
        let request = Request::new(root.join("skill"))
            .workspace(root.join("workspace"))
            .tool("Write", None);
        let Decision::Granted(grants) = rules.decide(&request) else {
            panic!("granted")
        };
        let (mut table, mut wasi) = (ResourceTable::new(), WasiFilesystemCtx::default());
        table.set_max_capacity(8);
        let mut directories =
            Directories::open(&grants, root.as_path().into(), &Stored::measure(&[]).await).unwrap();
        let mut files = Files {
            table: &mut table,
            wasi: &mut wasi,
            directories: &mut directories,
        };
        let listed = files.list().unwrap();
        let (workspace, _) = listed
            .iter()
            .find(|(_, name)| name == "/workspace")
            .unwrap();
        let fd = || Resource::new_borrow(workspace.rep());
        for _ in 0..100 {
            let from = files.changeable(fd(), "mine".to_owned()).ok().unwrap();
            let to = files.makeable(fd(), ".git/hooks".to_owned());
            assert!(matches!(files.or_release(from, to), Err(Failure::Told(_))));
        }
    }
}
