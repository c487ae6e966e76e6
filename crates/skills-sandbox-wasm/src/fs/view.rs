//! The file system state of a run.

use wasmtime::component::{HasData, Resource, ResourceTable};
use wasmtime_wasi::filesystem::{Descriptor, WasiFilesystemCtx, WasiFilesystemCtxView};

use super::preopens::Preopens;

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
}
