//! The file system of a run: what `wasmtime-wasi` does, behind rules of our own.
//!
//! Every call of a program on a file comes through [`Files`], for both generations of WASI ([`p2`],
//! [`p3`](self)). It adds to `wasmtime-wasi`:
//!
//! - The private directory is made when something is first done with it; most programs never do.
//! - Nothing but regular files and directories is opened, so nothing that is opened can block.
//! - What stays as it is in a directory that may be written ([`guard`]).
//! - How much is written ([`quota`]).

mod directories;
mod entry;
mod guard;
mod open;
mod p2;
#[cfg(feature = "wasi-p3")]
mod p3;
mod quota;
mod refusal;
mod writer;

use std::sync::Arc;

use wasmtime::component::{HasData, Linker, Resource, ResourceTable};
use wasmtime_wasi::filesystem::{Descriptor, Dir, WasiFilesystemCtx, WasiFilesystemCtxView};

pub(crate) use directories::{Directories, SCRATCH};
pub(crate) use quota::Stored;

use crate::context::Context;
use crate::surface::Generation;

/// What the interfaces of files see of a run.
pub(crate) struct Files<'a> {
    pub(crate) table: &'a mut ResourceTable,
    pub(crate) wasi: &'a mut WasiFilesystemCtx,
    pub(crate) directories: &'a mut Directories,
}

/// Stands for [`Files`] where a type without a lifetime is needed.
pub(crate) struct HasFiles;

impl HasData for HasFiles {
    type Data<'a> = Files<'a>;
}

/// Adds the interfaces of files of a generation, and of those before it.
pub(crate) fn add_to_linker(
    linker: &mut Linker<Context>,
    generation: Generation,
) -> wasmtime::Result<()> {
    p2::add_to_linker(linker)?;
    match generation {
        Generation::Preview2 => Ok(()),
        #[cfg(feature = "wasi-p3")]
        Generation::Preview3 => p3::add_to_linker(linker),
        #[cfg(not(feature = "wasi-p3"))]
        Generation::Preview3 => Ok(()),
    }
}

impl Files<'_> {
    /// What does the work.
    fn inner(&mut self) -> WasiFilesystemCtxView<'_> {
        WasiFilesystemCtxView {
            ctx: self.wasi,
            table: self.table,
        }
    }

    fn list(&mut self) -> wasmtime::Result<Vec<(Resource<Descriptor>, String)>> {
        let listed = self.directories.listed();
        listed
            .map(|(dir, name)| Ok((self.table.push(Descriptor::Dir(dir))?, name)))
            .collect()
    }
}

/// Whether two handles are one and the same.
fn is_same(one: &Dir, other: &Dir) -> bool {
    Arc::ptr_eq(&one.dir, &other.dir)
}
