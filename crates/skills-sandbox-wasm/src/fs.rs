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
pub(crate) mod preopens;
mod protected;
pub(crate) mod quota;
mod refused;
pub(crate) mod view;
mod withheld_keys;
mod writer;

use wasmtime::component::Linker;

pub(crate) use preopens::SCRATCH_PATH;
pub(crate) use protected::InitialFiles;
pub(crate) use quota::StoredBytes;
pub(crate) use withheld_keys::KeyReport;

use crate::component_info::WasiVersion;
use crate::store_state::StoreState;

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
