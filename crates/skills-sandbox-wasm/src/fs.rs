//! The file system of a run: what `wasmtime-wasi` does, behind rules of our own.
//!
//! Every call of a program on a file comes through [`FsView`], for both generations of WASI
//! ([`p2`], [`p3`](self)). It adds to `wasmtime-wasi`:
//!
//! - The private directory is made when something is first done with it; most programs never do.
//! - Nothing but regular files and directories is opened, so nothing that is opened can block.
//! - What stays as it is in a directory that may be written ([`guard`]).
//! - How much is written ([`quota`]).

mod error_code;
mod open;
mod p2;
#[cfg(feature = "wasi-p3")]
mod p3;
mod preopens;
mod protected;
mod quota;
mod resolve;
mod writer;

use std::sync::Arc;

use wasmtime::component::{HasData, Linker, Resource, ResourceTable};
use wasmtime_wasi::filesystem::{Descriptor, Dir, WasiFilesystemCtx, WasiFilesystemCtxView};

pub(crate) use preopens::{Preopens, SCRATCH_PATH};
pub(crate) use quota::StoredBytes;

use crate::component_info::WasiVersion;
use crate::store_state::StoreState;

/// What the interfaces of files see of a run.
pub(crate) struct FsView<'a> {
    pub(crate) table: &'a mut ResourceTable,
    pub(crate) wasi: &'a mut WasiFilesystemCtx,
    pub(crate) preopens: &'a mut Preopens,
}

/// Stands for [`FsView`] where a type without a lifetime is needed.
pub(crate) struct HasFsView;

impl HasData for HasFsView {
    type Data<'a> = FsView<'a>;
}

/// Adds the interfaces of files of a generation, and of those before it.
pub(crate) fn add_to_linker(
    linker: &mut Linker<StoreState>,
    generation: WasiVersion,
) -> wasmtime::Result<()> {
    p2::add_to_linker(linker)?;
    match generation {
        WasiVersion::P2 => Ok(()),
        #[cfg(feature = "wasi-p3")]
        WasiVersion::P3 => p3::add_to_linker(linker),
        #[cfg(not(feature = "wasi-p3"))]
        WasiVersion::P3 => Ok(()),
    }
}

impl FsView<'_> {
    /// What does the work.
    fn inner(&mut self) -> WasiFilesystemCtxView<'_> {
        WasiFilesystemCtxView {
            ctx: self.wasi,
            table: self.table,
        }
    }

    fn list_preopens(&mut self) -> wasmtime::Result<Vec<(Resource<Descriptor>, String)>> {
        let listed = self.preopens.list();
        listed
            .map(|(dir, name)| Ok((self.table.push(Descriptor::Dir(dir))?, name)))
            .collect()
    }
}

/// Whether two handles are one and the same.
fn is_same_directory(one: &Dir, other: &Dir) -> bool {
    Arc::ptr_eq(&one.dir, &other.dir)
}
