//! The file system state of a run, and what its calls may operate on, for all versions of WASI.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

use wasmtime::component::{HasData, Resource, ResourceTable, ResourceTableError};
use wasmtime_wasi::FsPerms;
use wasmtime_wasi::filesystem::{Descriptor, Dir, WasiFilesystemCtx, WasiFilesystemCtxView};

use super::error_code::FsErrorCode;
use super::open::{self, OpenRequest};
use super::preopens::Preopens;
use super::refused::Attempt;

/// The file system state of a run, as the interfaces see it.
pub(crate) struct FsView<'a> {
    pub(crate) table: &'a mut ResourceTable,
    pub(crate) wasi: &'a mut WasiFilesystemCtx,
    pub(crate) preopens: &'a mut Preopens,
}

/// Represents [`FsView`] where a type without a lifetime is needed.
pub(crate) struct HasFsView;

impl HasData for HasFsView {
    type Data<'a> = FsView<'a>;
}

/// Error of a file system call: an errno for the guest, or a trap.
pub(super) enum AccessError {
    /// The program gets an error code.
    Errno(io::Error),
    /// The program traps: it used an invalid handle, or has too many.
    Trap(wasmtime::Error),
}

impl From<io::Error> for AccessError {
    fn from(error: io::Error) -> Self {
        Self::Errno(error)
    }
}

impl From<FsErrorCode> for AccessError {
    fn from(refusal: FsErrorCode) -> Self {
        Self::Errno(refusal.into())
    }
}

impl From<ResourceTableError> for AccessError {
    fn from(error: ResourceTableError) -> Self {
        Self::Trap(error.into())
    }
}

/// An entry that may be created, modified or removed: the directory, the name in it, and a handle
/// of the directory if it was opened for this call and has to be [closed](FsView::finish).
pub(super) struct ResolvedEntry {
    pub(super) fd: Resource<Descriptor>,
    pub(super) path: String,
    pub(super) opened_parent: Option<Resource<Descriptor>>,
}

impl FsView<'_> {
    /// Returns the implementation of `wasmtime-wasi`.
    pub(super) fn inner(&mut self) -> WasiFilesystemCtxView<'_> {
        WasiFilesystemCtxView {
            ctx: self.wasi,
            table: self.table,
        }
    }

    pub(super) fn list_preopens(
        &mut self,
    ) -> wasmtime::Result<Vec<(Resource<Descriptor>, String)>> {
        let listed = self.preopens.list();
        listed
            .map(|(dir, name)| Ok((self.table.push(Descriptor::Dir(dir))?, name)))
            .collect()
    }

    /// Opens `path` beneath the directory `fd`, and notes it if it is refused.
    pub(super) fn open(
        &mut self,
        fd: &Resource<Descriptor>,
        path: &str,
        wish: OpenRequest,
    ) -> Result<Resource<Descriptor>, AccessError> {
        let dir = self.directory(fd)?;
        let opened = open::open(&dir, path, wish, self.preopens).inspect_err(|error| {
            self.preopens
                .note_refusal(&dir, path, wish.attempt(), error);
        })?;
        Ok(self.table.push(opened)?)
    }

    /// Returns the directory, which exists from now on.
    pub(super) fn directory(&mut self, fd: &Resource<Descriptor>) -> Result<Dir, AccessError> {
        self.ensure_scratch(fd)?
            .ok_or_else(|| FsErrorCode::NotDirectory.into())
    }

    /// Creates the scratch directory if `fd` is its placeholder. Returns the directory; `None` if
    /// the descriptor is a file.
    pub(super) fn ensure_scratch(
        &mut self,
        fd: &Resource<Descriptor>,
    ) -> Result<Option<Dir>, AccessError> {
        let Descriptor::Dir(dir) = self.table.get(fd)? else {
            return Ok(None);
        };
        if !self.preopens.is_scratch_placeholder(dir) {
            return Ok(Some(dir.clone()));
        }
        let made = self.preopens.create_scratch()?;
        // Later calls with this descriptor find the directory itself.
        *self.table.get_mut(fd)? = Descriptor::Dir(made.clone());
        Ok(Some(made))
    }

    /// Returns a file that may be written.
    pub(super) fn writable_file(
        &self,
        fd: &Resource<Descriptor>,
    ) -> Result<Arc<File>, AccessError> {
        match self.table.get(fd)? {
            Descriptor::File(file) if file.perms == FsPerms::ReadWrite => Ok(file.file.clone()),
            Descriptor::File(_) => Err(FsErrorCode::NotPermitted.into()),
            Descriptor::Dir(_) => Err(FsErrorCode::BadDescriptor.into()),
        }
    }

    /// Checks that an entry may be created, modified or removed; `path` names the entry itself, not
    /// the target of a symlink.
    pub(super) fn resolve_for_modify(
        &mut self,
        fd: Resource<Descriptor>,
        path: String,
    ) -> Result<ResolvedEntry, AccessError> {
        let dir = self.directory(&fd)?;
        let note = |preopens: &mut Preopens, error: &io::Error| {
            preopens.note_refusal(&dir, &path, Attempt::Write, error);
        };
        // The library rejects writing to read-only directories. In the scratch directory nothing is
        // protected.
        if dir.perms.write_not_permitted() {
            note(self.preopens, &FsErrorCode::NotPermitted.into());
        }
        let guard = &self.preopens.protected;
        if dir.perms.write_not_permitted() || guard.is_read_only() {
            return Ok(ResolvedEntry {
                fd,
                path,
                opened_parent: None,
            });
        }
        let entry = guard
            .check(&dir.dir, Path::new(&path))
            .inspect_err(|error| note(self.preopens, error))?;
        let path = entry
            .name
            .into_os_string()
            .into_string()
            .map_err(|_| FsErrorCode::Invalid)?;
        // The operation gets the directory that was checked: its path may lead elsewhere by now.
        let held = self.table.push(Descriptor::Dir(Dir::new(
            entry.parent,
            dir.perms,
            dir.open_mode,
            true,
        )))?;
        Ok(ResolvedEntry {
            fd: Resource::new_borrow(held.rep()),
            path,
            opened_parent: Some(held),
        })
    }

    /// Checks that an entry may be created, and counts it.
    pub(super) fn resolve_for_create(
        &mut self,
        fd: Resource<Descriptor>,
        path: String,
    ) -> Result<ResolvedEntry, AccessError> {
        let entry = self.resolve_for_modify(fd, path)?;
        // Counted after the check, so that rejected entries do not count.
        let counted = self.preopens.quota.count_entry().map_err(AccessError::from);
        self.or_release(entry, counted).map(|(entry, ())| entry)
    }

    /// Combines an entry with another result; if that is an error, the entry is released.
    pub(super) fn or_release<T>(
        &mut self,
        entry: ResolvedEntry,
        other: Result<T, AccessError>,
    ) -> Result<(ResolvedEntry, T), AccessError> {
        match other {
            Ok(other) => Ok((entry, other)),
            Err(failure) => {
                // Handles are limited: rejected calls must not use them up.
                self.release(entry.opened_parent)?;
                Err(failure)
            }
        }
    }

    /// Closes the handles that were opened for a call, also after a failure: handles are limited.
    /// Returns the result of the call.
    pub(super) fn finish<T, E: From<AccessError>>(
        &mut self,
        opened: impl IntoIterator<Item = Resource<Descriptor>>,
        result: Result<T, E>,
    ) -> Result<T, E> {
        for handle in opened {
            self.release(Some(handle))?;
        }
        result
    }

    /// Closes a handle that was opened for a call.
    fn release(&mut self, held: Option<Resource<Descriptor>>) -> Result<(), AccessError> {
        if let Some(held) = held {
            self.table.delete(held)?;
        }
        Ok(())
    }
}

#[cfg(all(test, unix))]
mod tests {
    use skills_policy::{Authorization, Capability, Policy, Request, RuleSource};
    use wasmtime::component::ResourceTable;
    use wasmtime_wasi::filesystem::WasiFilesystemCtx;

    use super::*;
    use crate::fs::StoredBytes;
    use crate::fs::preopens::Preopens;

    #[tokio::test]
    async fn a_rejected_pair_leaks_no_handle() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        for name in ["skill", "workspace"] {
            std::fs::create_dir(root.join(name)).unwrap();
        }
        let rules = Policy::default().allow(RuleSource::User, Capability::Write);
        let request = Request::new(root.join("skill"))
            .workspace(root.join("workspace"))
            .allowed_tool("Write", None);
        let Authorization::Granted(grants) = rules.authorize(&request) else {
            panic!("granted")
        };
        let (mut table, mut wasi) = (ResourceTable::new(), WasiFilesystemCtx::default());
        table.set_max_capacity(8);
        let mut directories = Preopens::open(
            &grants,
            root.as_path().into(),
            &StoredBytes::measure(&[]).await,
        )
        .unwrap();
        let mut files = FsView {
            table: &mut table,
            wasi: &mut wasi,
            preopens: &mut directories,
        };
        let listed = files.list_preopens().unwrap();
        let (workspace, _) = listed
            .iter()
            .find(|(_, name)| name == "/workspace")
            .unwrap();
        let fd = || Resource::new_borrow(workspace.rep());
        for _ in 0..100 {
            let from = files
                .resolve_for_modify(fd(), "mine".to_owned())
                .ok()
                .unwrap();
            let to = files.resolve_for_create(fd(), ".git/hooks".to_owned());
            assert!(matches!(
                files.or_release(from, to),
                Err(AccessError::Errno(_))
            ));
        }
    }
}
