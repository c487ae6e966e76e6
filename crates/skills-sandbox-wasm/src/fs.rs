//! The file system of a run: `wasmtime-wasi` with additional rules.
//!
//! Every file system call of a program goes through [`FsView`], for both versions of WASI ([`p2`],
//! [`p3`](self)). It adds to `wasmtime-wasi`:
//!
//! - The scratch directory is created on first use; most programs never use it.
//! - Only regular files and directories are opened, so opened files never block.
//! - Protected paths in writable directories ([`protected`]).
//! - A quota of written bytes ([`quota`]).

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

/// Adds the file system interfaces of a version, and of earlier ones.
pub(crate) fn add_to_linker(
    linker: &mut Linker<StoreState>,
    generation: WasiVersion,
) -> wasmtime::Result<()> {
    // Components of WASI 0.3 may import interfaces of 0.2 as well.
    p2::add_to_linker(linker)?;
    match generation {
        WasiVersion::P2 => Ok(()),
        #[cfg(feature = "wasi-p3")]
        WasiVersion::P3 => p3::add_to_linker(linker),
        #[cfg(not(feature = "wasi-p3"))]
        // Such a component was rejected when its exports were read.
        WasiVersion::P3 => Ok(()),
    }
}

impl FsView<'_> {
    /// Returns the implementation of `wasmtime-wasi`.
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

/// Returns true if two handles refer to the same directory.
fn is_same_directory(one: &Dir, other: &Dir) -> bool {
    Arc::ptr_eq(&one.dir, &other.dir)
}
